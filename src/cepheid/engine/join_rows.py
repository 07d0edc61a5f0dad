"""Joins two sets of rows of bound events: on the events that they share, on equalities, on order and on the window.

Rows on the right stand in the order of (key, rank of one of their events, the *anchor*). What a row on the left can be
joined with is then a range: of one key, and of the ranks that order and window leave to the anchor. What is in the
range is tried on the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.engine.join_events import NO_PARTITION, JoinEvents, Rows, comparable
from cepheid.events.column import BoolArray, Column, Int64Array, unify
from cepheid.events.types import Kind
from cepheid.language.bound import Conjunct
from cepheid.language.tree import Compare
from cepheid.plan.projection import Pair
from cepheid.plan.references import references

MOST_TRIED = 1 << 20
"""Pairs of rows that are tried at a time, which bounds the memory that they take."""

Sides = tuple[Int64Array, BoolArray, Int64Array, BoolArray]
"""Values of rows on the left, and where there are any; and the same on the right."""


@dataclass(frozen=True)
class JoinStep:
    """What has to hold between a row on the left and one on the right.

    Attributes:
        before, apart: see `plan.projection.Split`; of variables on different sides.
        conjuncts: conditions that read variables of both.
    """

    before: tuple[Pair, ...]
    apart: tuple[Pair, ...]
    conjuncts: tuple[Conjunct, ...]


def n_equalities(left: frozenset[str], right: frozenset[str], conjuncts: Sequence[Conjunct]) -> int:
    """How many of the conditions are equalities of one side with the other."""
    return sum(_equality(conjunct, left, right) is not None for conjunct in conjuncts)


def joined(events: JoinEvents, left: Rows, right: Rows, step: JoinStep) -> Iterator[tuple[Int64Array, Int64Array]]:
    """All pairs of rows that fit.

    Args:
        events: what the rows are made of.
        left, right: the rows. Variables that both have are bound to one event in both.
        step: what else has to hold.

    Yields:
        Numbers of rows on the left and on the right, so many at a time.
    """
    if not len(left) or not len(right):
        return
    anchor = _anchor(left, right, step)
    left_keys, right_keys = _keys(events, left, right, step)
    ranks = events.ranks[right.columns[anchor]]
    width = len(events.ranks) + 1
    usable = np.flatnonzero(right_keys >= 0)
    places = right_keys[usable] * width + ranks[usable]
    order = np.argsort(places, kind="stable")
    places, usable = places[order], usable[order]
    low, high = _bounds(events, left, anchor, step)
    begin = np.searchsorted(places, left_keys * width + low)
    end = np.searchsorted(places, left_keys * width + np.maximum(low, high))
    counts = np.where(left_keys >= 0, end - begin, 0)
    for first, last in _slices(counts):
        n_of = counts[first:last]
        one = np.repeat(np.arange(first, last), n_of)
        within = np.arange(len(one)) - np.repeat(np.cumsum(n_of) - n_of, n_of)
        other = usable[np.repeat(begin[first:last], n_of) + within]
        yield _fitting(events, left, right, step, one, other)


def _slices(counts: Int64Array) -> Iterator[tuple[int, int]]:
    """Ranges of rows on the left with at most so many candidates together, or one row."""
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        done = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + MOST_TRIED, "right")))
        if ends[last - 1] > done:
            yield first, last
        first = last


def _fitting(
    events: JoinEvents, left: Rows, right: Rows, step: JoinStep, one: Int64Array, other: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """The candidates of which all holds."""

    def narrow(fits: BoolArray) -> None:
        nonlocal one, other
        if not fits.all():
            one, other = one[fits], other[fits]

    for before, after in step.before:
        narrow(_ranks(events, left, right, before, one, other) < _ranks(events, left, right, after, one, other))
    for this, that in step.apart:
        narrow(_slots(left, right, this, one, other) != _slots(left, right, that, one, other))
    if events.longest_us is not None:
        first = np.minimum(left.first_us[one], right.first_us[other])
        last = np.maximum(left.last_us[one], right.last_us[other])
        narrow(events.in_window(first, last))
    for conjunct in step.conjuncts:
        if not len(one):
            break
        columns = {name: _slots(left, right, name, one, other) for name in conjunct.variables}
        narrow(events.holds(conjunct, columns, len(one)))
    return one, other


def _slots(left: Rows, right: Rows, name: str, one: Int64Array, other: Int64Array) -> Int64Array:
    return left.columns[name][one] if name in left.columns else right.columns[name][other]


def _ranks(events: JoinEvents, left: Rows, right: Rows, name: str, one: Int64Array, other: Int64Array) -> Int64Array:
    return events.ranks[_slots(left, right, name, one, other)]


def _anchor(left: Rows, right: Rows, step: JoinStep) -> str:
    """The variable on the right whose place is bounded by most on the left."""
    bounds = {name: sum(name in pair for pair in step.before) for name in right.columns if name not in left.columns}
    return max(bounds, key=bounds.__getitem__) if bounds else next(iter(right.columns))


def _bounds(events: JoinEvents, left: Rows, anchor: str, step: JoinStep) -> tuple[Int64Array, Int64Array]:
    """For each row on the left, the least rank that the anchor can have, and one more than the greatest."""
    low = np.zeros(len(left), np.int64)
    high = np.full(len(left), len(events.ranks), np.int64)
    if events.longest_us is not None:
        low = np.searchsorted(events.ordered_us, left.last_us - events.longest_us, "left")
        high = np.searchsorted(events.ordered_us, left.first_us + events.longest_us, "right")
    for before, after in step.before:
        if after == anchor and before in left.columns:
            low = np.maximum(low, events.ranks[left.columns[before]] + 1)
        if before == anchor and after in left.columns:
            high = np.minimum(high, events.ranks[left.columns[after]])
    return low, high


def _keys(events: JoinEvents, left: Rows, right: Rows, step: JoinStep) -> tuple[Int64Array, Int64Array]:
    """A number for each row, equal where all that has to be equal is; -1 for rows that are equal to none."""
    sides = [_shared(left, right, name) for name in right.columns if name in left.columns]
    if events.partitions is not None:
        one, other = (events.partitions[next(iter(rows.columns.values()))] for rows in (left, right))
        sides.append((one, one != NO_PARTITION, other, other != NO_PARTITION))
    names = frozenset(left.columns), frozenset(right.columns)
    for conjunct in step.conjuncts:
        equality = _equality(conjunct, *names)
        if equality is not None:
            values = _values(events, left, right, equality)
            if values is not None:
                sides.append(values)
    n_left, n_right = len(left), len(right)
    codes = np.zeros(n_left + n_right, np.int64)
    known = np.ones(n_left + n_right, np.bool_)
    for one, one_known, other, other_known in sides:
        _, numbers = np.unique(np.concatenate((one, other)), return_inverse=True)
        _, codes = np.unique(codes * (n_left + n_right + 1) + numbers.reshape(-1), return_inverse=True)
        codes = codes.reshape(-1)
        known &= np.concatenate((one_known, other_known))
    codes = np.where(known, codes, -1)
    return codes[:n_left], codes[n_left:]


def _shared(left: Rows, right: Rows, name: str) -> Sides:
    all_known = np.ones(len(left), np.bool_), np.ones(len(right), np.bool_)
    return left.columns[name], all_known[0], right.columns[name], all_known[1]


def _equality(conjunct: Conjunct, left: frozenset[str], right: frozenset[str]) -> Compare | None:
    """The condition, its left side over the rows on the left, where it is an equality of the two; else None."""
    node = conjunct.expression
    if not isinstance(node, Compare) or node.operator != "=":
        return None
    if any(reference.prev for reference in references(node).values()):
        return None  # absent, so that the condition holds whatever the other side is
    one, other = (frozenset(references(side)) for side in (node.left, node.right))
    if not one or not other:
        return None
    if one <= left and other <= right and not other <= left:
        return node
    if other <= left and one <= right and not one <= left:
        return Compare("=", node.right, node.left)
    return None


def _values(events: JoinEvents, left: Rows, right: Rows, equality: Compare) -> Sides | None:
    """The values of both sides of an equality; None where numbers of different kinds meet, which are tried instead."""
    one = events.value(equality.left, left.columns, len(left))
    other = events.value(equality.right, right.columns, len(right))
    if one.type.kind is not other.type.kind or one.type.scale != other.type.scale or one.type.kind is Kind.NULL:
        return None
    one, other = _alike(one, other)
    return comparable(one), one.is_valid(), comparable(other), other.is_valid()


def _alike(one: Column, other: Column) -> tuple[Column, Column]:
    one, other = unify([one, other], ordered=False)
    return one, other
