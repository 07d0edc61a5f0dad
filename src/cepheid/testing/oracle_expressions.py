"""The value of an expression, by the book: NULL is None, what a match does not bind is `ABSENT`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact
from enum import Enum
from typing import Final, Protocol, cast

from cepheid.errors import DataError, ParameterError
from cepheid.events.types import FLOAT, DataType, Kind
from cepheid.language.bound import Catalog
from cepheid.language.tree import (
    Aggregate,
    Arithmetic,
    At,
    Attribute,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    Expression,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Negative,
    Parameter,
    Remote,
)
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.oracle_functions import FUNCTIONS, as_float, compare, fits_int64, from_python, in_type, to_python


class Absent(Enum):
    """The value of what this match does not bind (SEMANTICS 4.2)."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT

EXACT = Context(prec=200, traps=[Inexact])
"""Decimal arithmetic that raises rather than rounds."""


class Scope(Protocol):
    """Which events an expression reads."""

    def event(self, variable: str | None, at: At) -> OracleEvent | Absent:
        """The event that ``b.x``, ``first(b).x``, ``last(b).x`` or ``prev(b).x`` reads."""
        ...

    def elements(self, variable: str) -> Sequence[OracleEvent] | Absent:
        """The events over which an aggregate runs."""
        ...


@dataclass(frozen=True)
class OneEvent:
    """The scope of an expression over one event, under any name: SAME, and the argument of an aggregate."""

    of: OracleEvent

    def event(self, variable: str | None, at: At) -> OracleEvent | Absent:
        """The event, whatever the variable."""
        return self.of

    def elements(self, variable: str) -> Sequence[OracleEvent] | Absent:
        """The event alone."""
        return (self.of,)


@dataclass(frozen=True)
class Evaluator:
    """Evaluates expressions.

    Attributes:
        types: the type of every expression, as bind found it.
        catalog: the declared functions and stores.
        stores: store -> key -> element. A key of one part is that value, of several a tuple; an element is a
            mapping of fields, or the value itself where the store has no fields.
    """

    types: Mapping[Expression, DataType]
    catalog: Catalog = field(default_factory=Catalog)
    stores: Mapping[str, Mapping[object, object]] = field(default_factory=dict)

    def holds(self, condition: Expression, scope: Scope) -> bool:
        """True where a conjunct holds: it is true, or all absent."""
        value = self.value(condition, scope)
        return value is True or value is ABSENT

    def value(self, expression: Expression, scope: Scope) -> object:
        """The value of ``expression``; None for NULL."""
        match expression:
            case Literal():
                return in_type(expression.value, FLOAT) if expression.kind is LiteralKind.FLOAT else expression.value
            case Attribute():
                found = scope.event(expression.variable, expression.at)
                return ABSENT if isinstance(found, Absent) else self._attribute(expression, found)
            case Aggregate():
                events = scope.elements(expression.variable)
                return ABSENT if isinstance(events, Absent) else self._aggregate(expression, events)
            case Conjunction():
                return _and([self.value(operand, scope) for operand in expression.operands])
            case Disjunction():
                values = [_not(self.value(operand, scope)) for operand in expression.operands]
                return _not(_and(values))
            case Negation():
                return _not(self.value(expression.operand, scope))
            case Parameter():
                raise ParameterError(
                    f"the parameter :{expression.name} has no value",
                    remedy="bind its value with cepheid.language.parameters before the query is run",
                )
            case _:
                return self._strict(expression, scope)

    def _strict(self, expression: Expression, scope: Scope) -> object:
        """Everything that is absent as soon as one operand is."""
        match expression:
            case Arithmetic() | Compare():
                operands: tuple[Expression, ...] = (expression.left, expression.right)
            case Negative() | IsNull() | Like():
                operands = (expression.operand,)
            case In():
                operands = (expression.operand, *expression.options)
            case InSet():
                operands = (expression.operand, expression.container)
            case Call():
                operands = expression.arguments
            case Remote():
                operands = expression.key
            case _:
                raise TypeError(f"not an expression: {expression!r}")
        values = [self.value(operand, scope) for operand in operands]
        if any(value is ABSENT for value in values):
            return ABSENT
        match expression:
            case Arithmetic():
                return arithmetic(expression.operator, values[0], values[1], self.types[expression])
            case Compare():
                return _compared(expression.operator, values[0], values[1])
            case Negative():
                return _negative(values[0])
            case IsNull():
                return (values[0] is None) is not expression.negated
            case Like():
                return _flipped(_like(values[0], expression.pattern), expression.negated)
            case In():
                return _flipped(_among(values[0], values[1:]), expression.negated)
            case InSet():
                container = values[1]
                found = None if container is None else _among(values[0], tuple(cast(Collection[object], container)))
                return _flipped(found, expression.negated)
            case Call():
                return self._call(expression, values)
            case _:
                assert isinstance(expression, Remote)
                return self._remote(expression, values)

    def _attribute(self, attribute: Attribute, event: OracleEvent) -> object:
        value: object = event.values
        for name in attribute.path:
            if value is None:
                return None
            value = cast(Mapping[str, object], value).get(name)
        return in_type(value, self.types[attribute])

    def _aggregate(self, aggregate: Aggregate, events: Sequence[OracleEvent]) -> object:
        argument = aggregate.argument
        if argument is None:
            return len(events)
        found = [self.value(argument, OneEvent(event)) for event in events]
        values = [value for value in found if value is not None]
        if aggregate.function == "count":
            return len(values)
        if not values:
            return None
        match aggregate.function:
            case "sum":
                return self._sum(values, self.types[aggregate])
            case "avg":
                return _average(values, self.types[argument])
            case "min" | "max":
                best = values[0]
                for value in values[1:]:
                    order = compare(value, best)
                    if (order < 0) if aggregate.function == "min" else (order > 0):
                        best = value
                return best
            case _:
                raise TypeError(f"not an aggregate: {aggregate.function}")

    def _sum(self, values: Sequence[object], dtype: DataType) -> object:
        match dtype.kind:
            case Kind.FLOAT:
                total = 0.0
                for value in values:
                    total += as_float(value)
                return total
            case Kind.DECIMAL:
                exact = Decimal(0)
                for value in values:
                    exact = EXACT.add(exact, cast(Decimal, value))
                return _fitting(exact, dtype)
            case _:
                return fits_int64(sum(cast(Sequence[int], values)))

    def _call(self, call: Call, values: list[object]) -> object:
        registered = self.catalog.functions.get(call.function)
        if registered is not None:
            pairs = zip(values, registered.arguments, strict=True)
            return from_python(registered.call(*(to_python(value, dtype) for value, dtype in pairs)), registered)
        return FUNCTIONS[call.function.lower()](self.types[call], *values)

    def _remote(self, remote: Remote, values: list[object]) -> object:
        if remote.store not in self.stores:
            raise DataError(
                f"the query reads the store {remote.store}, and none was given",
                remedy=f"pass stores={{{remote.store!r}: ...}}",
            )
        store = self.stores[remote.store]
        key = values[0] if len(values) == 1 else tuple(values)
        missing = frozenset[object]() if self.types[remote].kind is Kind.SET else None
        element = store.get(key)
        if element is None:
            return missing
        value: object = element
        for name in remote.path:
            value = None if value is None else cast(Mapping[str, object], value).get(name)
        return missing if value is None else value


def arithmetic(operator: str, left: object, right: object, dtype: DataType) -> object:
    """``left operator right`` as a value of ``dtype``: NULL on overflow and on division by zero."""
    if left is None or right is None:
        return None
    match dtype.kind:
        case Kind.FLOAT:
            return _float_arithmetic(operator, as_float(left), as_float(right))
        case Kind.DECIMAL:
            return _decimal_arithmetic(operator, Decimal(cast(int, left)), Decimal(cast(int, right)), dtype)
        case _:
            return _int_arithmetic(operator, cast(int, left), cast(int, right))


def _float_arithmetic(operator: str, left: float, right: float) -> float | None:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return None if right == 0 else left / right
        case _:
            if right == 0:
                return None
            return math.nan if math.isinf(left) or math.isnan(left) or math.isnan(right) else math.fmod(left, right)


def _int_arithmetic(operator: str, left: int, right: int) -> int | None:
    match operator:
        case "+":
            return fits_int64(left + right)
        case "-":
            return fits_int64(left - right)
        case "*":
            return fits_int64(left * right)
        case _:
            if right == 0:
                return None
            rest = abs(left) % abs(right)
            return -rest if left < 0 else rest


def _decimal_arithmetic(operator: str, left: Decimal, right: Decimal, dtype: DataType) -> Decimal | None:
    match operator:
        case "+":
            return _fitting(EXACT.add(left, right), dtype)
        case "-":
            return _fitting(EXACT.subtract(left, right), dtype)
        case "*":
            return _fitting(EXACT.multiply(left, right), dtype)
        case _:
            return None if right == 0 else _fitting(EXACT.remainder(left, right), dtype)


def _fitting(value: Decimal, dtype: DataType) -> Decimal | None:
    """``value``, or NULL where its digits without the point do not fit an int64."""
    unscaled = EXACT.scaleb(value, dtype.scale or 0)
    return None if fits_int64(int(unscaled)) is None else value


def _average(values: Sequence[object], dtype: DataType) -> float:
    """The exact sum by the count, in one division of floats; floats are added in order."""
    if dtype.kind is Kind.FLOAT:
        total = 0.0
        for value in values:
            total += as_float(value)
        return total / len(values)
    if dtype.kind is Kind.DECIMAL:
        scale = dtype.scale or 0
        unscaled = sum(int(EXACT.scaleb(cast(Decimal, value), scale)) for value in values)
        return float(unscaled) / float(len(values) * 10**scale)
    return float(sum(cast(Sequence[int], values))) / float(len(values))


def _negative(value: object) -> object:
    if isinstance(value, int):
        return fits_int64(-value)
    if isinstance(value, Decimal):
        return EXACT.minus(value)
    return None if value is None else -cast(float, value)


def _compared(operator: str, left: object, right: object) -> bool | None:
    if left is None or right is None:
        return None
    order = compare(left, right)
    match operator:
        case "=":
            return order == 0
        case "<>":
            return order != 0
        case "<":
            return order < 0
        case "<=":
            return order <= 0
        case ">":
            return order > 0
        case _:
            return order >= 0


def _among(value: object, options: Sequence[object]) -> bool | None:
    if value is None:
        return None
    if any(option is not None and compare(value, option) == 0 for option in options):
        return True
    return None if any(option is None for option in options) else False


def _like(value: object, pattern: str) -> bool | None:
    if value is None:
        return None
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        match character:
            case "%":
                parts.append(".*")
            case "_":
                parts.append(".")
            case "\\":
                parts.append(re.escape(next(characters, "\\")))
            case _:
                parts.append(re.escape(character))
    return re.fullmatch("".join(parts), cast(str, value), re.DOTALL) is not None


def _flipped(value: bool | None, negated: bool) -> bool | None:
    return value if value is None or not negated else not value


def _not(value: object) -> object:
    return not value if isinstance(value, bool) else value


def _and(values: Sequence[object]) -> object:
    """AND: what is absent takes no part; all absent is absent."""
    present = [value for value in values if value is not ABSENT]
    if not present:
        return ABSENT
    if any(value is False for value in present):
        return False
    return None if any(value is None for value in present) else True
