"""The order of matches of varying length, each once."""

from __future__ import annotations

import numpy as np

from cepheid.engine.order import varying_order


def ordered(*matches: tuple[list[tuple[int, int]], int, int], ambiguous: bool = True) -> list[int]:
    """The numbers of matches, given as (event, variable) pairs, the time that decided them and the event that did."""
    starts = np.cumsum([0, *(len(bindings) for bindings, _, _ in matches)])
    entries = [entry for bindings, _, _ in matches for entry in bindings]
    positions, taken = (np.array([entry[i] for entry in entries], np.int64) for i in (0, 1))
    decided, deciders = (np.array([match[i] for match in matches], np.int64) for i in (1, 2))
    return varying_order(positions, taken, starts, decided, deciders, scattered=True, ambiguous=ambiguous).tolist()


def test_an_event_decides_before_its_time_does():
    assert ordered(([(0, 0)], 5, -1), ([(1, 0)], 5, 3), ([(2, 0)], 4, -1)) == [2, 1, 0]


def test_what_one_moment_decides_is_in_the_order_of_its_events():
    assert ordered(([(0, 0), (2, 1)], 5, 2), ([(0, 0), (1, 1), (2, 1)], 5, 2), ([(0, 0)], 5, 2)) == [2, 1, 0]


def test_equal_matches_are_reported_once_at_the_earlier_moment():
    twice = [(0, 0), (3, 1)]
    assert ordered((twice, 9, -1), (twice, 5, 3), ([(0, 1), (3, 0)], 5, 3)) == [1, 2]
    assert ordered((twice, 9, -1), (twice, 5, 3), ambiguous=False) == [1, 0]


def test_the_first_event_counts_as_any_other():
    assert ordered(([(0, 0), (1, 0)], 1, 1), ([(1, 0)], 2, 2)) == [0, 1]
