"""The operator on buckets as Spark calls it: shipped as bytes, opened once in each worker."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from cepheid import __version__
from cepheid.spark.shipment import opened, packed

RESULTS = "bucket int, payload binary"
"""The columns in which Spark gets what a bucket gives."""

STATE = "state binary"
"""The columns of Spark's state store."""


class StateOperator(Protocol):
    """What runs on the executors: `cepheid.spark.streams.step.BucketStep`, or several of them."""

    def __call__(self, run: bytes, bucket: int, payloads: Sequence[bytes], group: Any) -> Iterator[bytes]:
        """Run over the packs of one bucket in one micro-batch."""
        ...


_MOST_OPENED = 16
_opened: OrderedDict[bytes, StateOperator] = OrderedDict()


@dataclass(frozen=True)
class StateShipment:
    """An operator on buckets as bytes; callable as `applyInPandasWithState` wants it.

    Attributes:
        version: the version of cepheid on the driver.
        payload: the pickled operator.
        digest: a hash of it.
    """

    version: str
    payload: bytes
    digest: bytes

    @classmethod
    def of(cls, step: StateOperator) -> StateShipment:
        """Pack an operator."""
        payload = packed(step)
        return cls(__version__, payload, hashlib.blake2b(payload, digest_size=16).digest())

    def open(self) -> StateOperator:
        """The operator; the same one for every bucket and micro-batch of a worker.

        Raises:
            SetupError: it was packed by another version of cepheid.
        """
        step = _opened.get(self.digest)
        if step is None:
            step = _opened[self.digest] = opened(self.version, self.payload)
            if len(_opened) > _MOST_OPENED:
                _opened.popitem(last=False)
        return step

    def __call__(self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], group: Any) -> Iterator[pd.DataFrame]:
        """Run the operator on one bucket."""
        payloads = [payload for frame in frames for payload in frame["payload"]]
        for result in self.open()(self.digest, int(key[0]), payloads, group):
            yield pd.DataFrame({"bucket": pd.Series([int(key[0])], dtype="int32"), "payload": [result]})
