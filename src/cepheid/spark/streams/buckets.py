"""To which bucket an event belongs, and how buckets are spread over Spark's partitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as F

N_BUCKETS = 16
"""Buckets of a keyed query by default."""

_SEED = 42
_EVEN_MODULUS = 76_800  # 2**10 * 3 * 25: its divisors are the usual numbers of partitions
_N_TRIED = 2_000_000

BUCKET = "cepheid bucket"
"""The column of the number of an event's bucket."""


def bucket_of(keys: Sequence[Column], n_buckets: int) -> Column:
    """The number of the bucket of events with these keys, from 0; NULL keys have one, too."""
    if not keys or n_buckets == 1:
        return F.lit(0)
    return F.pmod(F.xxhash64(*keys), F.lit(n_buckets)).cast("int")


@cache
def labels(n_buckets: int) -> tuple[int, ...]:
    """The keys under which Spark knows the buckets, int32.

    Spark sends a key to the partition that its hash says, so that of the numbers from 0 some partitions would get
    several and some none. These are chosen so that hash number i is i modulo 76,800: where the number of partitions
    divides that (2, 4, 5, 8, 10, 16, 25, 200, ...), each gets its share. A label depends on its number alone.
    """
    hashed = _murmur3(np.arange(_N_TRIED, dtype=np.uint32)).astype(np.int64)
    places, first = np.unique(hashed % _EVEN_MODULUS, return_index=True)
    by_place = dict(zip(places[: n_buckets + 1].tolist(), first[: n_buckets + 1].tolist(), strict=True))
    return tuple(by_place[number] for number in range(n_buckets))


def _murmur3(values: npt.NDArray[np.uint32]) -> npt.NDArray[np.int32]:
    """Spark's hash of integers (Murmur3, x86, 32 bits)."""
    with np.errstate(over="ignore"):
        mixed = _rotated(values * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        word = _rotated(np.uint32(_SEED) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        word ^= np.uint32(4)
        word = (word ^ (word >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        word = (word ^ (word >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        word ^= word >> np.uint32(16)
    return word.view(np.int32)


def _rotated(words: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
