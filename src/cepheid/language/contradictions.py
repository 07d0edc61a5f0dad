"""Conditions that no event satisfies: what constants say of one attribute, taken together.

Only what is certain is reported: a condition that is not reported may still hold for no event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from cepheid.events.schema import Schema
from cepheid.events.types import DataType, Kind
from cepheid.language.bound import Variable
from cepheid.language.conjuncts import MIRRORED
from cepheid.language.faults import fault, shortened
from cepheid.language.literals import constant_value
from cepheid.language.printer import print_expression
from cepheid.language.scope import Scope
from cepheid.language.structure import Place
from cepheid.language.tree import (
    AnyOf,
    At,
    Attribute,
    Compare,
    Conjunction,
    Disjunction,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Not,
    Repeat,
)

EXACT_FLOAT = 2**53
"""Whole numbers up to this have a float of their own: an int column can be compared with a float exactly."""

_WHOLE = (Kind.INT, Kind.TIMESTAMP, Kind.DURATION)
"""The kinds whose values are whole numbers (of microseconds)."""

Value: TypeAlias = Fraction | str | bool

_SIGNS: Mapping[str, frozenset[int]] = {
    "=": frozenset((0,)),
    "<>": frozenset((-1, 1)),
    "<": frozenset((-1,)),
    "<=": frozenset((-1, 0)),
    ">": frozenset((1,)),
    ">=": frozenset((0, 1)),
}
"""Comparison -> the signs of ``left - right`` with which it holds."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A condition that cannot hold.

    Attributes:
        condition: the condition, or the branch of an OR.
        against: the conditions that it cannot hold together with, in the order of the text; empty where it
            cannot hold by itself.
        variables: the variables whose events it tests; where one of them may be absent, so may the test.
        branch: True where an OR has other branches, which may hold.
        reason: what the event type rules out, or None.
    """

    condition: Expression
    against: tuple[Expression, ...]
    variables: tuple[str, ...]
    branch: bool = False
    reason: str | None = None


@dataclass
class _Domain:
    """What the conditions read so far leave of one attribute."""

    dtype: DataType
    allowed: frozenset[Value] | None = None
    excluded: frozenset[Value] = frozenset()
    low: Value | None = None
    low_open: bool = False
    high: Value | None = None
    high_open: bool = False
    null: bool | None = None
    sources: tuple[Expression, ...] = ()
    reason: str | None = None

    def copy(self) -> _Domain:
        return _Domain(**{name: getattr(self, name) for name in self.__dataclass_fields__})

    def compare(self, operator: str, value: Value) -> None:
        self.null = False if self.null is None else self.null
        match operator:
            case "=":
                self.keep(frozenset((value,)))
            case "<>":
                self.excluded |= {value}
            case ">" | ">=":
                opened = operator == ">"
                if self.low is None or value > self.low or (value == self.low and opened):  # type: ignore[operator]
                    self.low, self.low_open = value, opened
            case _:
                opened = operator == "<"
                if self.high is None or value < self.high or (value == self.high and opened):  # type: ignore[operator]
                    self.high, self.high_open = value, opened

    def keep(self, values: frozenset[Value]) -> None:
        self.allowed = values if self.allowed is None else self.allowed & values

    def _within(self, value: Value) -> bool:
        if value in self.excluded:
            return False
        if self.low is not None and (value < self.low or (value == self.low and self.low_open)):  # type: ignore[operator]
            return False
        above = self.high is not None and (
            value > self.high or (value == self.high and self.high_open)  # type: ignore[operator]
        )
        return not above

    @property
    def empty(self) -> bool:
        """True where no value is left, once a condition has asked for one (which NULL never satisfies)."""
        if self.null is None:
            return False
        if self.null or self.allowed == frozenset():
            return True
        if self.allowed is not None:
            return not any(self._within(value) for value in self.allowed)
        if self.low is None or self.high is None:
            return False
        if self.low > self.high:  # type: ignore[operator]
            return True
        if self.low == self.high:
            return self.low_open or self.high_open or self.low in self.excluded
        return self.dtype.kind in _WHOLE and not self._has_whole()

    def _has_whole(self) -> bool:
        assert isinstance(self.low, Fraction)
        assert isinstance(self.high, Fraction)
        first = self.low.__ceil__()
        if first == self.low and self.low_open:
            first += 1
        last = self.high.__floor__()
        if last == self.high and self.high_open:
            last -= 1
        return first <= last and not (first == last and Fraction(first) in self.excluded)


@dataclass
class _State:
    """What a list of conditions leaves of all attributes."""

    schema: Schema
    variables: Mapping[str, Variable]
    types: Mapping[Expression, DataType]
    domains: dict[Attribute, _Domain] = field(default_factory=dict)
    signs: dict[tuple[Attribute, Attribute], tuple[frozenset[int], tuple[Expression, ...]]] = field(
        default_factory=dict
    )

    def copy(self) -> _State:
        domains = {key: domain.copy() for key, domain in self.domains.items()}
        return _State(self.schema, self.variables, self.types, domains, dict(self.signs))

    def domain(self, attribute: Attribute) -> _Domain:
        known = self.domains.get(attribute)
        if known is None:
            known = _Domain(self.types[attribute])
            if known.dtype.kind is Kind.BOOL:
                known.allowed = frozenset((False, True))
            self._of_type_column(attribute, known)
            self.domains[attribute] = known
        return known

    def _of_type_column(self, attribute: Attribute, domain: _Domain) -> None:
        assert attribute.variable is not None
        if attribute.path != (self.schema.type,):
            return
        types = self.variables[attribute.variable].types
        if types:
            domain.allowed = frozenset(types)
            domain.reason = f"{attribute.variable} takes events of the type {' or '.join(types)}"
        elif self.schema.known_types is not None:
            domain.allowed = frozenset(self.schema.known_types)
            domain.reason = f"the event types are {', '.join(self.schema.known_types)}"


def contradictions(
    conditions: Sequence[Expression],
    schema: Schema,
    variables: Mapping[str, Variable],
    types: Mapping[Expression, DataType],
) -> Iterator[Contradiction]:
    """Conditions of WHERE that no event satisfies.

    Args:
        conditions: the conjuncts, NOT pushed inward and constants coerced.
        schema: the events.
        variables: name -> variable.
        types: the type of every node in ``conditions``.
    """
    yield from _read(conditions, _State(schema, variables, types), branch=False)


def _read(conditions: Iterable[Expression], state: _State, branch: bool) -> Iterator[Contradiction]:
    """Contradictions of ``conditions`` with one another and with what ``state`` holds; ORs are read last."""
    later: list[Disjunction] = []
    for condition in conditions:
        if isinstance(condition, Disjunction):
            later.append(condition)
            continue
        yield from _one(condition, state, branch)
    for disjunction in later:
        for operand in disjunction.operands:
            parts = operand.operands if isinstance(operand, Conjunction) else (operand,)
            yield from _read(parts, state.copy(), branch=True)


def _one(condition: Expression, state: _State, branch: bool) -> Iterator[Contradiction]:
    match condition:
        case Literal() if condition.value is not True:
            yield Contradiction(condition, (), (), branch)
        case Compare(left=Literal() as left, right=Literal() as right):
            if not _constants(condition.operator, left, right):
                yield Contradiction(condition, (), (), branch)
        case Compare(left=Attribute() as left, right=Attribute() as right):
            yield from _two(condition, left, right, state, branch)
        case Compare(left=Attribute() as attribute, right=Literal() as literal):
            yield from _against(condition, attribute, condition.operator, (literal,), state, branch)
        case Compare(left=Literal() as literal, right=Attribute() as attribute):
            yield from _against(condition, attribute, MIRRORED[condition.operator], (literal,), state, branch)
        case In(operand=Attribute() as attribute) if all(isinstance(option, Literal) for option in condition.options):
            literals = tuple(option for option in condition.options if isinstance(option, Literal))
            yield from _against(condition, attribute, "<>" if condition.negated else "=", literals, state, branch)
        case IsNull(operand=Attribute() as attribute):
            yield from _null(condition, attribute, not condition.negated, state, branch)
        case Like(operand=Attribute() as attribute):
            yield from _null(condition, attribute, False, state, branch)
        case Attribute():
            yield from _flag(condition, condition, True, state, branch)
        case Negation(operand=Attribute() as attribute):
            yield from _flag(condition, attribute, False, state, branch)
        case _:
            return


def _constants(operator: str, left: Literal, right: Literal) -> bool:
    """True unless the comparison of two constants is certain to be false."""
    pair = (_value(left), _value(right))
    if pair[0] is None or pair[1] is None or isinstance(pair[0], str) is not isinstance(pair[1], str):
        return True
    return _sign(pair[0], pair[1]) in _SIGNS[operator]


def _sign(left: Value, right: Value) -> int:
    return 0 if left == right else -1 if left < right else 1  # type: ignore[operator]


def _value(literal: Literal) -> Value | None:
    """The value of a constant, in a form in which all of one kind are compared exactly; None for NULL."""
    value = constant_value(literal)
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return None
    return Fraction(value) if isinstance(value, (int, float, Decimal)) else None


def _usable(literal: Literal, dtype: DataType) -> bool:
    """True where comparing a value of ``dtype`` with the constant is exact."""
    if literal.kind is LiteralKind.FLOAT and dtype.kind is not Kind.FLOAT:
        value = literal.value
        return dtype.kind is Kind.INT and isinstance(value, float) and abs(value) < EXACT_FLOAT
    return True


def _against(
    condition: Expression,
    attribute: Attribute,
    operator: str,
    literals: tuple[Literal, ...],
    state: _State,
    branch: bool,
) -> Iterator[Contradiction]:
    """``attribute operator constant``; several constants are those of IN or, with ``<>``, of NOT IN."""
    if attribute.at is At.PREV:
        # Absent for a first element: a loop of one satisfies whatever is asked of it.
        return
    domain = state.domain(attribute)
    if operator == "<>" and any(literal.kind is LiteralKind.NULL for literal in literals):
        yield Contradiction(condition, (), _read_by(attribute), branch)
        return
    if not all(_usable(literal, domain.dtype) for literal in literals):
        return
    values = [value for value in map(_value, literals) if value is not None]
    if len(values) != sum(literal.kind is not LiteralKind.NULL for literal in literals):
        return
    if operator == "=":
        domain.null = False if domain.null is None else domain.null
        domain.keep(frozenset(values))
    else:
        for value in values:
            domain.compare(operator, value)
    yield from _judged(condition, attribute, state, branch)


def _null(
    condition: Expression, attribute: Attribute, wanted: bool, state: _State, branch: bool
) -> Iterator[Contradiction]:
    if attribute.at is At.PREV:
        return
    domain = state.domain(attribute)
    if domain.null is (not wanted):
        yield Contradiction(condition, domain.sources, _read_by(attribute), branch)
        return
    domain.null = wanted
    domain.sources = (*domain.sources, condition)


def _flag(
    condition: Expression, attribute: Attribute, wanted: bool, state: _State, branch: bool
) -> Iterator[Contradiction]:
    if attribute.at is At.PREV:
        return
    domain = state.domain(attribute)
    domain.null = False if domain.null is None else domain.null
    domain.keep(frozenset((wanted,)))
    yield from _judged(condition, attribute, state, branch)


def _judged(condition: Expression, attribute: Attribute, state: _State, branch: bool) -> Iterator[Contradiction]:
    domain = state.domain(attribute)
    if domain.empty:
        reason = domain.reason if not domain.sources else None
        yield Contradiction(condition, domain.sources, _read_by(attribute), branch, reason)
        # Told once: what else is asked of the attribute is judged without the conditions so far.
        del state.domains[attribute]
        return
    domain.sources = (*domain.sources, condition)


def _two(condition: Compare, left: Attribute, right: Attribute, state: _State, branch: bool) -> Iterator[Contradiction]:
    """Two attributes: the signs of their difference that all comparisons of the two leave."""
    if At.PREV in (left.at, right.at):
        return
    read = _read_by(left, right)
    holds = _SIGNS[condition.operator]
    if left == right:
        if 0 not in holds:
            yield Contradiction(condition, (), read, branch)
        return
    # Each comparison of ints with floats rounds alike, so the two always have one and the same sign.
    key, signs = (left, right), holds
    if (right, left) in state.signs:
        key, signs = (right, left), frozenset(-sign for sign in holds)
    known, sources = state.signs.get(key, (frozenset((-1, 0, 1)), ()))
    if not known & signs:
        yield Contradiction(condition, sources, read, branch)
        return
    state.signs[key] = (known & signs, (*sources, condition))


def _read_by(*attributes: Attribute) -> tuple[str, ...]:
    return tuple(dict.fromkeys(a.variable for a in attributes if a.variable is not None))


def check_satisfiable(conditions: Sequence[Expression], scope: Scope, types: Mapping[Expression, DataType]) -> None:
    """Refuse conditions that keep every match, or every match of one branch of the pattern, from happening.

    Conditions on variables that a match may do without (under ``?``, ``*``, NOT, or left out by ANY) are
    let pass: the query has matches without them.

    Raises:
        QueryError: at the first condition that can never hold.
    """
    for found in contradictions(conditions, scope.schema, scope.variables, types):
        if all(_certain(place) for name in found.variables for place in scope.places[name]):
            raise fault(message_of(found), found.condition, remedy_of(found))


def _certain(place: Place) -> bool:
    """True where every match of the branches of OR that lead to the element has it."""
    return not any(
        isinstance(above, Not)
        or (isinstance(above, Repeat) and above.minimum == 0)
        or (isinstance(above, AnyOf) and 1 < above.count < len(above.parts))
        for above in place.ancestors
    )


def message_of(found: Contradiction) -> str:
    """What is wrong, in one sentence. It shows the conditions as they are tested, with NOT pushed inward."""
    what = shortened(print_expression(found.condition))
    if found.branch:
        what += ", a part of an OR,"
    if found.reason is not None:
        return f"{what} can never hold: {found.reason}"
    if found.against:
        others = " and ".join(shortened(print_expression(other)) for other in found.against[-2:])
        return f"{what} can never hold together with {others}"
    return f"{what} can never hold"


def remedy_of(found: Contradiction) -> str:
    """What to do about it."""
    if found.reason is not None:
        return "correct the text, or the event type in the pattern"
    if found.against:
        return "correct one of the conditions, or join them by OR if either may hold"
    return "correct it, or remove it"
