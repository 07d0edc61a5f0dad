"""What the driver sends to the executors, opened there only by the same version of cepheid."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import types as spark

from cepheid import __version__
from cepheid.errors import SetupError


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
    """What `packed` was given.

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
    return pickle.loads(payload)


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
