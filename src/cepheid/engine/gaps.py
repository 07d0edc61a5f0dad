"""NOT where a query is put together: whether what it looks for lies in the gap of a match, and when that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cepheid.engine.bindings import Bindings, Elements
from cepheid.engine.join_events import JoinEvents, Rows
from cepheid.engine.join_rows import JoinStep, joined
from cepheid.engine.matches import Matches
from cepheid.events.column import BoolArray, Int64Array
from cepheid.language.bound import Conjunct
from cepheid.plan.projection import Gap


@dataclass(frozen=True)
class TestedGap:
    """A NOT, and the part that has what it looks for.

    Attributes:
        gap: what the query says of it.
        part: the name of the part.
        loops: the variables of the query that are loops.
    """

    gap: Gap
    part: str
    loops: frozenset[str]

    @property
    def is_trailing(self) -> bool:
        """Whether it stands at the end of the pattern, so that the window ends its gap."""
        return not self.gap.right

    def ends_us(self, events: JoinEvents, found: Matches) -> Int64Array:
        """The watermark at which all is known that can lie in the gap of each match."""
        times = events.batch.time_us
        if self.is_trailing:
            assert events.longest_us is not None, "a NOT at the end has a window"
            return times[found.positions[found.offsets[:-1]]] + events.longest_us
        bindings = Bindings(events.bound, events.batch, found)
        rights = [times[_first(bindings, name, self.loops)] for name in self.gap.right]
        first: Int64Array = np.stack(rights).min(axis=0)
        return first


def _first(bindings: Bindings, name: str, loops: frozenset[str]) -> Int64Array:
    return bindings.elements(name).first() if name in loops else bindings.single(name)


def _last(bindings: Bindings, name: str, loops: frozenset[str]) -> Int64Array:
    return bindings.elements(name).last() if name in loops else bindings.single(name)


def decisions_of(events: JoinEvents, gaps: Sequence[TestedGap], found: Matches) -> Matches:
    """The matches with the time of their decision points (SEMANTICS 7.2)."""
    decided = found.decided_us
    for gap in gaps:
        if gap.is_trailing and len(found):
            decided = np.maximum(decided, gap.ends_us(events, found))
    return replace(found, decided_us=decided)


def broken(events: JoinEvents, tested: TestedGap, rows: Int64Array, found: Matches) -> BoolArray:
    """Where what a NOT looks for lies in the gap of a match.

    Args:
        events: all that is held.
        tested: the NOT.
        rows: of slots, of the variables under it.
        found: the matches, as slots.
    """
    gap = tested.gap
    is_broken = np.zeros(len(found), np.bool_)
    if not len(rows) or not len(found):
        return is_broken
    bindings = Bindings(events.bound, events.batch, found)
    columns = {name: _last(bindings, name, tested.loops) for name in gap.left}
    columns |= {name: _first(bindings, name, tested.loops) for name in gap.right}
    on_loops = [c for c in gap.conjuncts if tested.loops & set(c.variables)]
    plain = [c for c in gap.conjuncts if c not in on_loops]
    for conjunct in plain:
        columns |= {name: bindings.single(name) for name in conjunct.variables if name not in gap.negated}
    times = events.batch.time_us
    left = Rows(columns, times[bindings.first], times[bindings.last])
    right = events.rows(gap.negated, rows)
    before = [(one, other) for one in gap.left for other in gap.negated]
    before += [(one, other) for one in gap.negated for other in gap.right]
    step = JoinStep(tuple(before), (), tuple(plain))
    for one, other in joined(events, left, right, step):
        fits = np.ones(len(one), np.bool_)
        for conjunct in on_loops:
            fits &= _holds_for_each(events, tested, conjunct, bindings, one, right.take(other))
        is_broken[one[fits]] = True
    return is_broken


def _holds_for_each(
    events: JoinEvents, tested: TestedGap, conjunct: Conjunct, bindings: Bindings, matches: Int64Array, negated: Rows
) -> BoolArray:
    """Where a condition holds for all elements of the loops that it reads.

    Args:
        events, tested, bindings: see `broken`.
        conjunct: the condition.
        matches: the number of the match in each of n rows.
        negated: what the NOT found in each of them.
    """
    n = len(matches)
    row = np.arange(n)
    columns: dict[str, Int64Array] = {}
    for name in conjunct.variables:
        if name in tested.loops:
            elements: Elements = bindings.elements(name)
            counts = elements.counts[matches[row]]
            within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
            at = np.repeat(elements.offsets[:-1][matches[row]], counts) + within
            columns = {other: np.repeat(slots, counts) for other, slots in columns.items()}
            columns[name] = elements.positions[at]
            row = np.repeat(row, counts)
        elif name in negated.columns:
            columns[name] = negated.columns[name][row]
        else:
            columns[name] = bindings.single(name)[matches[row]]
    fails = ~events.holds(conjunct, columns, len(row))
    holds = np.ones(n, np.bool_)
    holds[row[fails]] = False
    return holds
