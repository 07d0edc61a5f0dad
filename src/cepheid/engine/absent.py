"""The matches of what stands under a NOT of a group, as the kernel around it asks for them (SEMANTICS 2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cepheid.compiler.columns import evaluated, partition_codes
from cepheid.compiler.groups import GroupMatches
from cepheid.compiler.requests import detached
from cepheid.compiler.tables import GroupPlan
from cepheid.compiler.vector import holds
from cepheid.engine.absent_checks import in_every_way
from cepheid.engine.bindings import Bindings
from cepheid.engine.branches import readings
from cepheid.engine.matches import Matches
from cepheid.engine.narrowing import chosen
from cepheid.events.batch import EventBatch
from cepheid.events.column import BoolArray, Int64Array
from cepheid.language.bound import BoundQuery
from cepheid.plan.absent_groups import in_several_ways, read_from_outside


def absent_matches(around: BoundQuery, group: GroupPlan, batch: EventBatch, found: Matches) -> GroupMatches:
    """Those of the matches that count.

    Args:
        around: the query with the NOT.
        group: what found them.
        batch: the events.
        found: these.
    """
    bound = group.compiled.automaton.bound
    windows = _window_numbers(bound, found)
    opens = _opens(group, batch, found.positions[found.offsets[:-1]])
    checked = group.checked
    if not checked.checks and read_from_outside(around).isdisjoint(bound.variables):
        kept = _nearest(around, found, windows, opens)
        windows = None if windows is None else windows[kept]
        opens = opens[kept]
        found = chosen(found, kept)
    optional = [name for name, variable in bound.variables.items() if variable.optional]
    names = list(bound.variables)
    checks = None
    if checked.checks:
        index, empty, checks = in_every_way(group.compiled, checked, batch, found)
        windows, opens = None if windows is None else windows[index], opens[index]
    elif in_several_ways(around, bound.pattern):
        index, empty = _in_every_way(bound, batch, found, optional)
        windows, opens = None if windows is None else windows[index], opens[index]
    else:
        index, bindings, empty = np.arange(len(found)), Bindings(bound, batch, found), {}
        for name in optional:
            not_taken = bindings.not_taken(name)
            empty[name] = np.ones(len(found), np.bool_) if not_taken is None else ~not_taken
    lengths = np.diff(found.offsets)[index]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    entries = np.repeat(found.offsets[:-1][index] - offsets[:-1], lengths) + np.arange(offsets[-1])
    of_variables = [names[v] for v in found.variables[entries]]
    return GroupMatches(offsets, found.positions[entries], of_variables, windows, empty, opens, checks)


def _in_every_way(
    bound: BoundQuery, batch: EventBatch, found: Matches, optional: Sequence[str]
) -> tuple[Int64Array, dict[str, BoolArray]]:
    """Each match once for each way of reading its events.

    Returns:
        the number of the match in each of them; and for each of these variables, where it is empty if it took nothing.
    """
    names, codes, types = list(bound.variables), batch.type_codes, batch.type_names or (None,)
    kinds = np.zeros(len(found.positions), np.int64) if codes is None else codes[found.positions]
    events = list(zip(found.variables.tolist(), kinds.tolist(), strict=True))
    known: dict[tuple[tuple[int, int], ...], tuple[frozenset[str], ...]] = {}
    index: list[int] = []
    taken: list[frozenset[str]] = []
    for match, (begin, end) in enumerate(pairwise(found.offsets.tolist())):
        sequence = tuple(events[begin:end])
        if sequence not in known:
            known[sequence] = readings(bound.pattern, tuple((names[v], types[kind]) for v, kind in sequence))
        taken += known[sequence]
        index += [match] * len(known[sequence])
    empty = {name: np.array([name in one for one in taken], np.bool_) for name in optional}
    return np.array(index, np.int64), empty


def _window_numbers(bound: BoundQuery, found: Matches) -> Int64Array | None:
    if found.window_start_us is None:
        return None
    slide = bound.window.slide_us if bound.window.slide_us is not None else bound.window.slide_events
    assert slide is not None
    return found.window_start_us // slide


def _opens(group: GroupPlan, batch: EventBatch, firsts: Int64Array) -> Int64Array:
    """For matches that begin with some events, the last event before which closes a loop that must be open.

    Args:
        group: what found them.
        batch: the events.
        firsts: int64, (n,): positions.

    Returns:
        int64, (n,): the positions, -1 where there is none.
    """
    found = np.full(len(firsts), -1, np.int64)
    if not group.closers:
        return found
    n = len(batch)
    codes = np.zeros(n, np.int64)
    if group.compiled.automaton.partition:
        columns = [evaluated(group.compiled, batch, by) for by in group.compiled.automaton.partition]
        codes, valid = partition_codes(columns)
        if valid is not None:
            codes = np.where(valid, codes, codes.max(initial=0) + 1)
    in_partition = np.lexsort((np.arange(n), codes))  # the events, each partition's after those of another
    rank = np.empty(n, np.int64)
    rank[in_partition] = np.arange(n)
    for conditions in group.closers:
        closes = np.ones(n, np.bool_)
        for condition in conditions:
            closes &= holds(evaluated(group.compiled, batch, detached(condition.expression)))
        ranks = np.sort(rank[closes])
        before = np.searchsorted(ranks, rank[firsts]) - 1
        events = in_partition[ranks[np.maximum(before, 0)]] if len(ranks) else np.zeros(len(firsts), np.int64)
        there = (before >= 0) & (codes[events] == codes[firsts]) if len(ranks) else np.zeros(len(firsts), np.bool_)
        np.maximum(found, np.where(there, events, -1), out=found)
    return found


def _nearest(around: BoundQuery, found: Matches, windows: Int64Array | None, opens: Int64Array) -> BoolArray:
    """Where no other match is in all gaps in which this one is: nothing counts but its first event, its last, and how
    far back its left neighbour may lie.

    Of those with one last event that is the one which begins last; where BETWEEN EACH says how far from its left
    neighbour it may begin, each first event is needed once.
    """
    n = len(found)
    firsts, lasts = found.positions[found.offsets[:-1]], found.positions[found.offsets[1:] - 1]
    window = np.zeros(n, np.int64) if windows is None else windows
    order = np.lexsort((firsts, opens, lasts, window))
    same = (np.diff(lasts[order]) == 0) & (np.diff(window[order]) == 0) & (np.diff(opens[order]) == 0)
    if around.window.each_us is not None or around.window.each_events is not None:
        same &= np.diff(firsts[order]) == 0
    kept = np.ones(n, np.bool_)
    kept[order[:-1][same]] = False
    return kept
