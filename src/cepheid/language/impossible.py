"""Conditions that no match satisfies together: what they say of the order of values, with the order of the events.

Comparisons of attributes, and of their differences with constants, are bounds on differences of two values, as are the
order of the pattern, its window, and SAME. They can be satisfied together unless they close a circle of bounds whose
sum is negative (Bellman, "On a routing problem", 1958). Only what is certain is reported: other queries may have no
matches either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import floor, isfinite
from typing import TypeAlias

from cepheid.events.schema import TIME_UNITS
from cepheid.events.types import Kind
from cepheid.language.bound import BoundQuery
from cepheid.language.contradictions import EXACT_FLOAT
from cepheid.language.literals import constant_value
from cepheid.language.structure import Place, always_before, always_bound, is_loop, places
from cepheid.language.tree import (
    Aggregate,
    Arithmetic,
    At,
    Attribute,
    Compare,
    Expression,
    In,
    Literal,
    LiteralKind,
    Negative,
    Repeat,
    walk,
)

MOST_BOUNDS = 300
"""A query with more bounds is not looked at: that would take longer than many a run."""

_EXACT = (Kind.INT, Kind.TIMESTAMP, Kind.DURATION, Kind.DECIMAL)
_WHOLE = (Kind.INT, Kind.TIMESTAMP, Kind.DURATION)

_Value: TypeAlias = tuple[str, tuple[str, ...], At] | None
"""What has one value in a match: an attribute of an event of a variable, or (path empty) the number of its events; None
is the number 0."""


@dataclass(frozen=True)
class _Bound:
    """``high - low <= most``, or ``<`` where it is strict; ``why`` says so: a condition, or a clause of the query."""

    high: _Value
    low: _Value
    most: Fraction
    strict: bool
    why: Expression | str


@dataclass(frozen=True)
class Impossible:
    """Conditions that no match satisfies together.

    Attributes:
        conditions: in the order of the text; none where it is the clauses alone.
        clauses: what else takes part, in words: ``the order of the pattern``.
    """

    conditions: tuple[Expression, ...]
    clauses: tuple[str, ...]


def impossible(bound: BoundQuery) -> Impossible | None:
    """The first conditions found that no match satisfies together, or None."""
    reader = _Reader(bound)
    bounds, unequal = reader.read()
    told = unequal or any(not isinstance(b.why, str) for b in bounds)
    if not told or len(bounds) > MOST_BOUNDS:
        return None
    circle = _negative_circle(bounds)
    if circle is None:
        for below, above in unequal:
            one, other = _negative_circle([*bounds, below]), _negative_circle([*bounds, above])
            if one is not None and other is not None:
                circle = [*one, *other]
                break
    if circle is None:
        return None
    order = [conjunct.expression for conjunct in bound.conjuncts]
    reasons = dict.fromkeys(b.why for b in circle)
    conditions = [why for why in reasons if not isinstance(why, str)]
    return Impossible(tuple(sorted(conditions, key=order.index)), tuple(why for why in reasons if isinstance(why, str)))


def _negative_circle(bounds: list[_Bound]) -> list[_Bound] | None:
    """Bounds that lead round in a circle to something less than itself, or None where there are none."""
    values = {value for b in bounds for value in (b.high, b.low)}
    most = {value: (Fraction(0), 0) for value in values}
    by: dict[_Value, _Bound] = {}
    changed: _Bound | None = None
    for _ in range(len(values) + 1):
        changed = None
        for b in bounds:
            total, n_strict = most[b.low]
            reached = (total + b.most, n_strict - b.strict)
            if reached < most[b.high]:
                most[b.high] = reached
                by[b.high] = changed = b
        if changed is None:
            return None
    assert changed is not None
    # As many steps back as there are values lead into the circle.
    at = changed.high
    for _ in values:
        at = by[at].low
    circle: list[_Bound] = []
    start = at
    while not circle or at != start:
        circle.append(by[at])
        at = by[at].low
    return circle


class _Reader:
    """Reads the bounds of a query."""

    def __init__(self, bound: BoundQuery) -> None:
        self.bound = bound
        by_name: dict[str, list[Place]] = {}
        for place in places(bound.pattern):
            by_name.setdefault(place.event.name or "", []).append(place)
        # Those that every match binds, once or in one loop: their conditions are true in every match.
        self.places: Mapping[str, Place] = {
            name: by_name[name][0]
            for name in always_bound(bound.pattern)
            if len(by_name[name]) == 1 and not bound.variables[name].groups and not bound.variables[name].negated
        }
        texts = {
            literal.value
            for conjunct in bound.conjuncts
            for literal in walk(conjunct.expression)
            if isinstance(literal, Literal) and isinstance(literal.value, str)
        }
        # Any numbers in the order of the texts will do.
        self.ranks = {text: Fraction(rank) for rank, text in enumerate(sorted(texts))}

    def read(self) -> tuple[list[_Bound], list[tuple[_Bound, _Bound]]]:
        """All bounds, and pairs of bounds of which each must not be the only possibility (``<>``)."""
        bounds: list[_Bound] = []
        unequal: list[tuple[_Bound, _Bound]] = []
        for conjunct in self.bound.conjuncts:
            if conjunct.negated is None and all(name in self.places for name in conjunct.variables):
                for operator, difference in self._compared(conjunct.expression):
                    made = list(self._bounds(operator, difference, conjunct.expression))
                    if operator == "<>":
                        unequal.append((made[0], made[1]))
                    else:
                        bounds.extend(made)
        values = {value for b in (*bounds, *(b for pair in unequal for b in pair)) for value in (b.high, b.low)}
        known = [value for value in values if value is not None]
        return [*bounds, *self._of_counts(known), *self._of_times(known), *self._of_partition(known)], unequal

    # --- conditions -------------------------------------------------------------------------------

    def _compared(self, condition: Expression) -> Iterator[tuple[str, tuple[_Value, _Value, Fraction, bool]]]:
        """The comparisons in a condition, as operators between a difference (see `_difference`) and 0."""
        if isinstance(condition, Compare):
            found = self._difference(condition.left, condition.right)
            if found is not None:
                yield condition.operator, found
        elif isinstance(condition, In) and not condition.negated:
            options = [self._difference(condition.operand, option) for option in condition.options]
            known = [option for option in options if option is not None and option[0] is not None and option[1] is None]
            if known and len(known) == len(options):
                yield "<=", min(known, key=lambda option: option[2])
                yield ">=", max(known, key=lambda option: option[2])

    def _difference(self, left: Expression, right: Expression) -> tuple[_Value, _Value, Fraction, bool] | None:
        """``left - right`` as one value less another plus a constant, and whether it is whole; None for others."""
        types = self.bound.types
        running = {
            node.variable
            for side in (left, right)
            for node in walk(side)
            if isinstance(node, Attribute) and self._is_of_each(node)
        }
        kinds = {types[side].kind for side in (left, right) if not isinstance(side, Literal)}
        sides = []
        for side in (left, right):
            read = self._plain(side, kinds) if not kinds <= {*_EXACT} or isinstance(side, Literal) else self._sum(side)
            if read is None or any(v is not None and v[0] in running for part in read[:2] for v in part):
                return None
            sides.append(read)
        (a_plus, a_minus, a), (b_plus, b_minus, b) = sides
        plus, minus = [*a_plus, *b_minus], [*a_minus, *b_plus]
        for value in [v for v in plus if v in minus]:
            plus.remove(value)
            minus.remove(value)
        if len(plus) > 1 or len(minus) > 1 or not (plus or minus):
            return None
        return (plus[0] if plus else None), (minus[0] if minus else None), a - b, kinds <= {*_WHOLE}

    def _is_of_each(self, node: Attribute) -> bool:
        """Whether a condition with this attribute is tested on each element of a loop."""
        return node.variable in self.places and self._loops(node.variable) and node.at in (At.EACH, At.PREV)

    def _loops(self, name: str | None) -> bool:
        return name is not None and self.bound.variables[name].loop

    def _value(self, node: Attribute | Aggregate) -> _Value:
        """What a node reads, or None where that has no single value."""
        if node.variable is None or node.variable not in self.places:
            return None
        if isinstance(node, Aggregate):
            return (node.variable, (), At.EACH) if node.function == "count" and node.argument is None else None
        if self._loops(node.variable):
            return (node.variable, node.path, node.at) if node.at in (At.FIRST, At.LAST) else None
        return (node.variable, node.path, At.EACH) if node.at is not At.PREV else None

    def _plain(self, side: Expression, kinds: set[Kind]) -> tuple[list[_Value], list[_Value], Fraction] | None:
        """An attribute or a constant by itself, of a kind that has an order."""
        if isinstance(side, Literal):
            constant = self._constant(side, kinds)
            return None if constant is None else ([], [], constant)
        if isinstance(side, Attribute) and len(kinds) == 1 and kinds <= {Kind.FLOAT, Kind.TEXT, Kind.BOOL}:
            value = self._value(side)
            return None if value is None else ([value], [], Fraction(0))
        return None

    def _constant(self, literal: Literal, kinds: set[Kind]) -> Fraction | None:
        value = constant_value(literal)
        if isinstance(value, str):
            return self.ranks[value] if kinds == {Kind.TEXT} else None
        if literal.kind is LiteralKind.FLOAT:
            if not isinstance(value, float) or not isfinite(value):
                return None
            # An int is compared with a float as a float: exact in this range.
            is_exact = kinds == {Kind.FLOAT} or (kinds == {Kind.INT} and abs(value) < EXACT_FLOAT)
            return Fraction(value) if is_exact else None
        if isinstance(value, int | Decimal):
            if isinstance(value, bool) != (kinds == {Kind.BOOL}) or kinds & {Kind.TEXT}:
                return None
            exact = Fraction(value)
            return exact if kinds != {Kind.FLOAT} or abs(exact) < EXACT_FLOAT else None
        return None

    def _sum(self, side: Expression) -> tuple[list[_Value], list[_Value], Fraction] | None:
        """A sum of attributes and constants: those added, those taken away, and what the constants make.

        Where one of it overflows, the comparison is NULL, so that it does not hold either.
        """
        match side:
            case Literal():
                constant = self._constant(side, {Kind.INT})
                return None if constant is None or side.kind is LiteralKind.FLOAT else ([], [], constant)
            case Attribute() | Aggregate():
                value = self._value(side)
                return (
                    None if value is None or self.bound.types[side].kind not in _EXACT else ([value], [], Fraction(0))
                )
            case Negative(operand=operand):
                inner = self._sum(operand)
                return None if inner is None else (inner[1], inner[0], -inner[2])
            case Arithmetic(operator="+" | "-" as operator, left=left, right=right):
                one, other = self._sum(left), self._sum(right)
                if one is None or other is None:
                    return None
                if operator == "-":
                    other = (other[1], other[0], -other[2])
                return [*one[0], *other[0]], [*one[1], *other[1]], one[2] + other[2]
        return None

    def _bounds(
        self, operator: str, difference: tuple[_Value, _Value, Fraction, bool], why: Expression
    ) -> Iterator[_Bound]:
        """``high - low + constant  operator  0``, as bounds; for ``<>`` the two of which one holds."""
        high, low, constant, whole = difference
        if operator in ("<", "<=", "=", "<>"):
            yield _tight(_Bound(high, low, -constant, operator in ("<", "<>"), why), whole)
        if operator in (">", ">=", "=", "<>"):
            yield _tight(_Bound(low, high, constant, operator in (">", "<>"), why), whole)

    # --- clauses ----------------------------------------------------------------------------------

    def _of_counts(self, values: list[tuple[str, tuple[str, ...], At]]) -> Iterator[_Bound]:
        """How many events a variable takes."""
        for value in values:
            name, path, _ = value
            if path:
                continue
            above = self.places[name].ancestors
            own = above[-1] if above and isinstance(above[-1], Repeat) and is_loop(above[-1]) else None
            least, most = (1, 1) if own is None else (own.minimum, own.maximum)
            yield _Bound(None, value, Fraction(-least), False, "the quantifier")
            if most is not None:
                yield _Bound(value, None, Fraction(most), False, "the quantifier")

    def _of_times(self, values: list[tuple[str, tuple[str, ...], At]]) -> Iterator[_Bound]:
        """The order of the pattern and its window, on the times of its events."""
        schema, window = self.bound.schema, self.bound.window
        kind = schema.fields[schema.time].kind
        unit_us = 1 if kind is Kind.TIMESTAMP else TIME_UNITS[schema.time_unit or "us"] if kind is Kind.INT else None
        if unit_us is None:
            return
        longest, strict = window.within_us, window.exclusive
        if window.size_us is not None:
            longest, strict = window.size_us, not window.closed
        times = [value for value in values if value[1] == (schema.time,)]
        for one in times:
            for other in times:
                if one == other:
                    continue
                if always_before(self.places[one[0]], self.places[other[0]]):
                    yield _Bound(one, other, Fraction(0), False, "the order of the pattern")
                if longest is not None:
                    yield _Bound(one, other, Fraction(longest, unit_us), strict, "the window")

    def _of_partition(self, values: list[tuple[str, tuple[str, ...], At]]) -> Iterator[_Bound]:
        """Attributes of SAME are equal in all events."""
        for key in self.bound.partition:
            if isinstance(key, Attribute):
                alike = [value for value in values if value[1] == key.path]
                for one, other in pairwise(alike):
                    yield _Bound(one, other, Fraction(0), False, "SAME")
                    yield _Bound(other, one, Fraction(0), False, "SAME")


def _tight(bound: _Bound, whole: bool) -> _Bound:
    """The same for whole numbers: below 3 is at most 2."""
    if not whole:
        return bound
    most = floor(bound.most)
    if bound.strict and most == bound.most:
        most -= 1
    return _Bound(bound.high, bound.low, Fraction(most), False, bound.why)
