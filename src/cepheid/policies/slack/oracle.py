"""The offline optimum that ProbSlack is held against (section 4.1 of the paper): it knows all events."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheid.ports.slack import Grid, Int64Array


def known_slack(grid: Grid, windows: Int64Array, generated: Int64Array, received: Int64Array) -> Int64Array:
    """The least slack with which each window misses nothing.

    Args:
        grid: the windows.
        windows: int64, their numbers, ascending and without gaps.
        generated, received: int64, (n,): the events, ticks.

    Returns:
        int64, ticks: from the end of the window to when the last of its events was received, and not before the window
        begins, ``-slide``. (The paper says that Oracle starts from the slack of the event-driven policy, which waits
        for an event after the window. Its figures 7 and 8 show less than that can give, and what this gives.)
    """
    ends = windows * grid.slide + grid.phase
    latest = ends - grid.slide
    by_time = np.argsort(generated, kind="stable")
    times, arrivals = generated[by_time], received[by_time]
    first = np.searchsorted(times, ends - grid.size, "left")
    after = np.searchsorted(times, ends, "right")
    holds = after > first
    if holds.any():
        # One entry more, so that every end is a place; reduceat takes from each even place to the next odd one.
        padded = np.concatenate((arrivals, [np.iinfo(np.int64).min]))
        places = np.stack((first[holds], after[holds]), axis=1).reshape(-1)
        latest[holds] = np.maximum(latest[holds], np.maximum.reduceat(padded, places)[::2])
    found: NDArray[np.int64] = latest - ends
    return found


def oracle_slack(known: Int64Array, slide: int, budget: float) -> tuple[Int64Array, NDArray[np.bool_]]:
    """The slack of Oracle: the windows that would take longest are given up at once.

    Args:
        known: int64: of `known_slack`.
        slide: f, ticks.
        budget: the ratio of windows that may miss events (δ).

    Returns:
        the slack of each window, ticks, and which were given up.
    """
    n_given_up = int(budget * len(known) + 1e-9)
    given_up = np.zeros(len(known), np.bool_)
    given_up[np.argsort(-known, kind="stable")[:n_given_up]] = True
    return np.where(given_up, -slide, known), given_up
