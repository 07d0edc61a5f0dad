"""Events in sliding windows."""

from __future__ import annotations

import numpy as np
import pytest

from cepheid.compiler.sliding import partitions_of, spread
from cepheid.errors import DataError
from cepheid.language.bound import BoundWindow


def starts(window: BoundWindow, *clock: int) -> list[list[int]]:
    """For each event, the starts of the windows that hold it."""
    copied, windows = spread(window, np.array(clock, np.int64))
    return [(windows.numbers[copied == i] * windows.slide).tolist() for i in range(len(clock))]


def test_a_window_holds_its_start_and_not_its_end():
    window = BoundWindow(size_us=10, slide_us=5)
    assert starts(window, 0, 4, 5, 9, 10) == [[-5, 0], [-5, 0], [0, 5], [0, 5], [5, 10]]


def test_a_closed_window_holds_its_end():
    assert starts(BoundWindow(size_us=10, slide_us=5, closed=True), 10, 11) == [[0, 5, 10], [5, 10]]


def test_times_before_the_epoch_have_windows_too():
    assert starts(BoundWindow(size_us=4, slide_us=2), -1, -2, -3) == [[-4, -2], [-4, -2], [-6, -4]]


def test_windows_of_events_begin_with_the_first_event():
    assert starts(BoundWindow(size_events=3, slide_events=2), 0, 1, 2, 3) == [[0], [0], [0, 2], [2]]


def test_partitions_and_windows_are_told_apart():
    _, windows = spread(BoundWindow(size_us=2, slide_us=1), np.array([0, 0, 1]))
    codes = partitions_of(np.array([7, 7, 9, 9, 7, 7]), windows)
    assert len(set(codes.tolist())) == 5  # 7: windows -1, 0, 1; 9: windows -1 and 0
    assert codes[1] == codes[4]


def test_partitions_are_told_apart_where_windows_are_short_beside_the_stream():
    clock = np.array([0, 0, 2**61, 2**61, 2**61 + 1, 2**61 + 1])
    _, windows = spread(BoundWindow(size_us=1, slide_us=1), clock)
    codes = partitions_of(np.array([0, 8, 0, 8, 0, 16]), windows)
    assert len(set(codes.tolist())) == 6


def test_more_copies_than_an_int64_counts_are_refused():
    with pytest.raises(DataError, match="more than a batch can hold"):
        spread(BoundWindow(size_us=2**62, slide_us=1), np.zeros(4, np.int64))


def test_too_many_copies_are_refused():
    with pytest.raises(DataError, match="more than a batch can hold"):
        spread(BoundWindow(size_us=2**32, slide_us=1), np.array([0]))
