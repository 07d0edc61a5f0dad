"""The matches of what stands under a NOT of a group, as the kernel around it asks for them (SEMANTICS 2.2)."""

from __future__ import annotations

import numpy as np

from cepheid.compiler.groups import GroupMatches
from cepheid.engine.bindings import Bindings
from cepheid.engine.matches import Matches
from cepheid.engine.narrowing import chosen
from cepheid.events.batch import EventBatch
from cepheid.events.column import BoolArray, Int64Array
from cepheid.language.bound import BoundQuery
from cepheid.plan.absent_groups import read_from_outside


def absent_matches(around: BoundQuery, bound: BoundQuery, batch: EventBatch, found: Matches) -> GroupMatches:
    """Those of the matches that count.

    Args:
        around: the query with the NOT.
        bound: the query whose matches are those of what stands under it (`plan.absent_groups`).
        batch: the events.
        found: these.
    """
    windows = _window_numbers(bound, found)
    if read_from_outside(around).isdisjoint(bound.variables):
        kept = _nearest(around, found, windows)
        windows = None if windows is None else windows[kept]
        found = chosen(found, kept)
    bindings = Bindings(bound, batch, found)
    empty = {}
    for name, variable in bound.variables.items():
        if variable.optional:
            not_taken = bindings.not_taken(name)
            empty[name] = np.ones(len(found), np.bool_) if not_taken is None else ~not_taken
    names = list(bound.variables)
    return GroupMatches(found.offsets, found.positions, [names[v] for v in found.variables], windows, empty)


def _window_numbers(bound: BoundQuery, found: Matches) -> Int64Array | None:
    if found.window_start_us is None:
        return None
    slide = bound.window.slide_us if bound.window.slide_us is not None else bound.window.slide_events
    assert slide is not None
    return found.window_start_us // slide


def _nearest(around: BoundQuery, found: Matches, windows: Int64Array | None) -> BoolArray:
    """Where no other match is in all gaps in which this one is: nothing counts but its first event and its last.

    Of those with one last event that is the one which begins last; where BETWEEN EACH says how far from its left
    neighbour it may begin, each first event is needed once.
    """
    n = len(found)
    firsts, lasts = found.positions[found.offsets[:-1]], found.positions[found.offsets[1:] - 1]
    window = np.zeros(n, np.int64) if windows is None else windows
    order = np.lexsort((firsts, lasts, window))
    same = (np.diff(lasts[order]) == 0) & (np.diff(window[order]) == 0)
    if around.window.each_us is not None or around.window.each_events is not None:
        same &= np.diff(firsts[order]) == 0
    kept = np.ones(n, np.bool_)
    kept[order[:-1][same]] = False
    return kept
