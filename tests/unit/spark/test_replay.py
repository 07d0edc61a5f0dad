"""A replay reads its events in parts: moments stay whole, and events that do not say when they came have a place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from cepheid.spark.replay import _RECEIVED_US, _TIME_US, Moments

EVENTS = [(5, None), (12, None), (31, None), (1, 10), (2, 10), (9, 11), (11, 11), (11, 14), (14, 14), (20, 21)]


def batches_of(events: list[tuple[int, int | None]], size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(events), size):
        times, received = zip(*events[start : start + size], strict=True)
        yield pa.record_batch([pa.array(times, pa.int64()), pa.array(received, pa.int64())], [_TIME_US, _RECEIVED_US])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 10])
def test_moments_are_whole_and_every_event_has_one(size: int) -> None:
    parts = list(Moments().of(batches_of(EVENTS, size)))
    received = [set(part[_RECEIVED_US].to_pylist()) for part, _ in parts]
    assert all(max(one) < min(other) for one, other in pairwise(received))
    columns = [pa.concat_tables([part for part, _ in parts])[name].to_pylist() for name in (_TIME_US, _RECEIVED_US)]
    found = sorted(zip(*columns, strict=True))
    # With the first event that was generated with it or later; the last one with what came last.
    placed = {(5, 11), (12, 14), (31, 21)}
    assert found == sorted([*placed, *((t, r) for t, r in EVENTS if r is not None)])
    assert sum(n for _, n in parts) == 3


def test_events_of_which_none_says_when_it_came() -> None:
    events = [(time, None) for time in (3, 7, 20)]
    ((part, n),) = Moments().of(batches_of(events, 2))
    assert (part[_RECEIVED_US].to_pylist(), n) == ([3, 7, 20], 3)
    assert np.array_equal(part[_TIME_US].to_numpy(), [3, 7, 20])
