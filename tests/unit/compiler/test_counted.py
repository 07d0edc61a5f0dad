"""The places of events in their partitions."""

from __future__ import annotations

import numpy as np

from cepheid.compiler.counted import count_events

NOBODY = np.zeros(0, np.int64)


def test_without_partitions_the_place_is_the_position():
    counted = count_events(None, NOBODY, 3)
    assert counted.places.tolist() == [0, 1, 2]
    assert counted.event_at(np.array([0, 0]), np.array([2, 3])).tolist() == [2, -1]


def test_each_partition_counts_its_own_events():
    counted = count_events(np.array([7, 5, 7, 7, 5]), NOBODY, 5)
    assert counted.places.tolist() == [0, 0, 1, 2, 1]
    of_seven = counted.partitions[0]
    assert counted.event_at(np.array([of_seven] * 2), np.array([2, 3])).tolist() == [3, -1]


def test_events_without_a_partition_count_for_none():
    counted = count_events(np.array([7, 7, 7]), np.array([1]), 3)
    assert counted.places[[0, 2]].tolist() == [0, 1]
