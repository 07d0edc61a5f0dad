"""AFTER MATCH: which of the matches found are kept, and when that is known (SEMANTICS 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.load import order_kernel, skip_kernel
from cepheid.compiler.tables import CompiledPlan
from cepheid.events.column import BoolArray
from cepheid.kernels import layout as k
from cepheid.language.tree import SkipMode

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Kept:
    """What AFTER MATCH keeps.

    Attributes:
        numbers: int64, (n,): of the matches that are kept, in the order of SEMANTICS 7.2.
        decided: int64: for the number of every match, when it is known to be kept, us.
        firsts, onward, known: int64, (n,): of each that is kept, in an order of their own: the position of its first
            event, that of the first at which the next one may start, and when it is known to be kept, us.
        end_firsts, end_times: int64, (m,): the position of the first event of each start that matters, and when it
            ended, us.
    """

    numbers: Ints
    decided: Ints
    firsts: Ints
    onward: Ints
    known: Ints
    end_firsts: Ints
    end_times: Ints


def kept_matches(
    compiled: CompiledPlan,
    order: Ints,
    partitions: Ints | None,
    positions: Ints,
    taken: Ints,
    starts: Ints,
    decided: Ints,
    deciders: Ints,
    windows: Ints | None,
    barred: BoolArray | None = None,
) -> Kept:
    """The matches that are kept.

    Args:
        compiled: a plan with AFTER MATCH.
        order: the numbers of the matches, and of the ends of runs among them, in the order of SEMANTICS 7.2 by their
            own decision points, each match once.
        partitions: int64, (n,): the partition and window of each; None where there is one.
        positions, taken: int64, (m,): the events, by their positions in the batch, and the variables that they bind,
            one match after the other.
        starts: int64, (n + 1,): where each begins.
        decided: int64, (n,): when it was decided, or ended, us.
        deciders: int64, (n,): by which event, or -1: by the time.
        windows: int64, (n,): the window of each, where windows slide.
        barred: bool, by position: the events at which no match may start, as they lie before a frontier; None: none.
    """
    is_end = taken[starts[:-1]] == k.NO_ELEMENT
    firsts = positions[starts[:-1]]
    if partitions is None:
        partitions = np.zeros(len(firsts), np.int64)
    points, times = _points(decided, deciders)
    candidates = order[~is_end[order]]
    ends = np.arange(len(firsts))
    if barred is not None:
        candidates, ends = candidates[~barred[firsts[candidates]]], ends[~barred[firsts]]
    candidates = candidates[np.lexsort((np.arange(len(candidates)), firsts[candidates], partitions[candidates]))]
    # A match, too, is decided no later than its start ends.
    ends = ends[np.lexsort((firsts[ends], partitions[ends]))]
    room, kept, known = (np.empty(len(a), np.int64) for a in (ends, candidates, candidates))
    onward = _frontiers(compiled, positions, taken, starts, candidates)
    n_kept = skip_kernel(len(candidates))(
        partitions[candidates],
        firsts[candidates],
        onward,
        points[candidates],
        partitions[ends],
        firsts[ends],
        points[ends],
        room,
        kept,
        known,
    )
    numbers, moments = candidates[kept[:n_kept]], known[:n_kept]
    end_times = decided[ends]
    points[numbers] = moments
    decided = decided.copy()
    decided[numbers] = times[moments]
    least = () if windows is None else (windows[numbers],)
    result = np.empty(max(1, 2 * n_kept), np.int64)
    result[:n_kept] = numbers[np.lexsort((*least, moments))]
    order_kernel(n_kept, varying=True)(positions, taken, starts, points, n_kept, result)
    return Kept(
        result[:n_kept],
        decided,
        firsts=firsts[numbers],
        onward=onward[kept[:n_kept]],
        known=times[moments],
        end_firsts=firsts[ends],
        end_times=end_times,
    )


def _points(decided: Ints, deciders: Ints) -> tuple[Ints, Ints]:
    """Numbers of moments that ascend with time, and the time of each number, us."""
    late = deciders < 0
    deciders = np.where(late, -1, deciders)
    in_order = np.lexsort((deciders, late, decided))
    keys = (decided[in_order], late[in_order], deciders[in_order])
    same = np.logical_and.reduce([key[1:] == key[:-1] for key in keys])
    points = np.empty(len(decided), np.int64)
    points[in_order] = np.concatenate((np.zeros(1, np.int64), np.cumsum(~same)))[: len(decided)]
    times = np.empty(len(decided), np.int64)
    times[points] = decided
    return points, times


def _frontiers(compiled: CompiledPlan, positions: Ints, taken: Ints, starts: Ints, candidates: Ints) -> Ints:
    """Where the frontier stands after each candidate: the first position at which the next match may start."""
    automaton = compiled.automaton
    skip = automaton.bound.skip
    if skip.mode is SkipMode.PAST_LAST:
        return positions[starts[1:][candidates] - 1] + 1
    if skip.mode is SkipMode.TO_NEXT:
        return positions[starts[:-1][candidates]] + 1
    numbers = [v.index for v in automaton.variables if v.variable == skip.variable]
    places = np.flatnonzero(np.isin(taken, numbers))  # at least one in each match
    if skip.mode is SkipMode.TO_FIRST:
        return positions[places[np.searchsorted(places, starts[:-1][candidates])]]
    return positions[places[np.searchsorted(places, starts[1:][candidates]) - 1]]
