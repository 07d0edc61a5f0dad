"""What the driver sends to the executors, opened there only by the same version of cepheid."""

from __future__ import annotations

import gc
import hashlib
import pickle
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark import TaskContext, cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import types as spark

from cepheid import __version__
from cepheid.errors import SetupError

_MOST_OPENED = 16
_opened: OrderedDict[bytes, Any] = OrderedDict()


class Operator(Protocol):
    """What runs on the executors: the Arrow batches of one partition in, others out."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Run over the RecordBatches of one partition."""
        ...


@dataclass(frozen=True)
class Shipment:
    """An operator as bytes, with the version that packed it; callable like the operator itself.

    Classes of cepheid travel by name and must be installed on the executors; registered Python functions travel by
    value, as functions do in Spark.

    Attributes:
        version: the version of cepheid on the driver.
        payload: the pickled operator.
        columns: what the operator calls the columns that it gets, in their order.
    """

    version: str
    payload: bytes
    columns: tuple[str, ...]

    @classmethod
    def of(cls, operator: Operator, columns: Sequence[str]) -> Shipment:
        """Pack an operator."""
        return cls(__version__, packed(operator), tuple(columns))

    def open(self) -> Operator:
        """The operator.

        Raises:
            SetupError: it was packed by another version of cepheid.
        """
        operator: Operator = opened(self.version, self.payload)
        return operator

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Open the shipment and run the operator on one partition."""
        return self.open()(batch.rename_columns(list(self.columns)) for batch in batches)


def packed(operator: object) -> bytes:
    """An operator as bytes."""
    payload: bytes = cloudpickle.dumps(operator)  # type: ignore[no-untyped-call]
    return payload


def opened(version: str, payload: bytes) -> Any:
    """What `packed` was given; the same object for every task of a worker.

    Args:
        version: of the cepheid that packed it.
        payload: the bytes.

    Raises:
        SetupError: it was packed by another version of cepheid.
    """
    # Before unpickling: what another version packed may not even unpickle here.
    if version != __version__:
        raise SetupError(
            f"the driver runs cepheid {version}, but this executor has cepheid {__version__}",
            remedy=f"install cepheid=={version} in the Python environment of every executor",
        )
    digest = hashlib.blake2b(payload, digest_size=16).digest()
    if digest in _opened:
        _opened.move_to_end(digest)
        return _opened[digest]
    operator = _opened[digest] = pickle.loads(payload)
    while len(_opened) > _MOST_OPENED:
        _opened.popitem(last=False)
    _set_aside()
    return operator


def _set_aside() -> None:
    """Keep what a worker has imported out of the sight of Python's collector.

    Spark's worker collects garbage after each task, and would look at a hundred thousand objects of libraries:
    30 to 40 ms each time, more than the work on a small micro-batch. What is garbage by now is collected before.
    """
    if TaskContext.get() is not None:  # the driver's process is the user's
        gc.collect()
        gc.freeze()


def through(frame: DataFrame, operator: Operator, output: spark.StructType) -> DataFrame:
    """Each partition of a DataFrame through an operator on the executors.

    Columns travel by position: `mapInArrow` looks them up by names that must not hold dots or backticks.

    Args:
        frame: the DataFrame.
        operator: gets the columns of ``frame`` under their names.
        output: the schema of what the operator gives.
    """
    shipment = Shipment.of(operator, frame.columns)
    return frame.toDF(*(f"c{i}" for i in range(len(shipment.columns)))).mapInArrow(shipment, output)
