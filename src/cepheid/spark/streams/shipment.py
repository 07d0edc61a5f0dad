"""The operator on buckets as Spark calls it: shipped as bytes, opened once in each worker."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from cepheid import __version__
from cepheid.spark.shipment import opened, packed
from cepheid.spark.state_info import mend

mend()

RESULTS = "bucket int, payload binary"
"""The columns in which Spark gets what a bucket gives."""

STATE = "state binary"
"""The columns of Spark's state store."""


class StateOperator(Protocol):
    """What runs on the executors: `cepheid.spark.streams.step.BucketStep`, or several of them."""

    def __call__(self, run: bytes, bucket: int, payloads: Sequence[bytes], group: Any) -> Iterator[bytes]:
        """Run over the packs of one bucket in one micro-batch."""
        ...


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
        """The operator.

        Raises:
            SetupError: it was packed by another version of cepheid.
        """
        step: StateOperator = opened(self.version, self.payload)
        return step

    def __call__(self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], group: Any) -> Iterator[pd.DataFrame]:
        """Run the operator on one bucket."""
        payloads = [payload for frame in frames for payload in frame["payload"]]
        for result in self.open()(self.digest, int(key[0]), payloads, group):
            yield pd.DataFrame({"bucket": pd.Series([int(key[0])], dtype="int32"), "payload": [result]})
