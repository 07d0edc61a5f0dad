"""The synthetic stream of the engine and Spark benchmarks: five types, a hundred keys, one event a millisecond.

Shorter streams are prefixes of one million events, for which the numbers of matches of the workloads are known.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

SEED = 20240601
N_EVENTS = 1_000_000
TYPES = ("A", "B", "C", "D", "E")
N_KEYS = 100
N_KEYS_DENSE = 10


def stream(n_events: int = N_EVENTS, *, n_drawn: int | None = None, dense: bool = False, seed: int = SEED) -> pa.Table:
    """Events in the order of their time.

    Times are a Poisson process with a mean gap of 1 ms, floored to milliseconds, so that some are equal. Types and
    keys are uniform, as are the values.

    Args:
        n_events: how many events to return.
        n_drawn: how many to draw of which the first ``n_events`` are returned; default the larger of ``n_events``
            and a million. (A stream that is drawn longer has other types and values, also in its first part.)
        dense: ten keys instead of a hundred (the key modulo 10): windows of one key hold ten times as many events.
        seed: of the random numbers.

    Returns:
        A table of id (int64, from 0), type (string, ``A`` to ``E``), ts (int64 ms), key (int32), v1 and v2 (int32,
        1 to 100,000), price (float64, 1.00 to 1000.00 in hundredths).
    """
    n = n_drawn or max(n_events, N_EVENTS)
    random = np.random.default_rng(seed)
    ts = np.cumsum(random.exponential(1.0, n))
    types = random.integers(0, len(TYPES), n)
    keys = random.integers(0, N_KEYS, n)
    v1 = random.integers(1, 100_001, n)
    v2 = random.integers(1, 100_001, n)
    price = random.uniform(1.0, 1000.0, n)
    if dense:
        keys = keys % N_KEYS_DENSE
    codes = pa.array(types[:n_events], pa.int32())
    return pa.table(
        {
            "id": np.arange(n_events, dtype=np.int64),
            "type": pa.array(TYPES).take(codes),
            "ts": np.floor(ts[:n_events]).astype(np.int64),
            "key": keys[:n_events].astype(np.int32),
            "v1": v1[:n_events].astype(np.int32),
            "v2": v2[:n_events].astype(np.int32),
            "price": np.round(price[:n_events], 2),
        }
    )
