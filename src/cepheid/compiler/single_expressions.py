"""Expressions over one event as functions of its values, for what most queries are made of.

What they give is what `compiler.vector` gives in a row; property tests hold the two against each other.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from cepheid.compiler.columnwise.texts import like_expression
from cepheid.events.single import EventReader, Values, datetime_us
from cepheid.events.types import BOOL, FLOAT, DataType, Kind
from cepheid.language.literals import constant_value, literal_type
from cepheid.language.results import arithmetic_type
from cepheid.language.tree import (
    Arithmetic,
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
    Negative,
)

Reads: TypeAlias = Callable[[Values], Any]
"""A value of an event; None for NULL. Times and durations are us, as in columns."""

_LEAST, _MOST = -(2**63), 2**63 - 1
_WHOLE = (Kind.INT, Kind.TIMESTAMP, Kind.DURATION)
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class SingleExpressions:
    """Makes the functions."""

    def __init__(self, reader: EventReader, arrow: Any) -> None:
        """Take the events.

        Args:
            reader: reads them.
            arrow: their pyarrow Schema.
        """
        self.reader = reader
        self.arrow = arrow

    def of(self, node: Expression) -> tuple[Reads, DataType] | None:
        """The value of an expression and its type; None where it is made of more than is known here.

        Values of DECIMAL are unscaled.
        """
        match node:
            case Literal(kind=kind) if kind not in (LiteralKind.NULL, LiteralKind.DECIMAL):
                constant = constant_value(node)
                return (lambda values: constant), literal_type(node)
            case Attribute():
                return self._attribute(node)
            case Compare():
                return self._comparison(node)
            case Conjunction(operands=operands):
                return self._connected(operands, decisive=False)
            case Disjunction(operands=operands):
                return self._connected(operands, decisive=True)
            case Negation(operand=inner):
                return self._negation(self.of(inner))
            case IsNull(operand=inner, negated=negated):
                made = self.of(inner)
                if made is None:
                    return None
                reads = made[0]
                return (lambda values: (reads(values) is None) is not negated), BOOL
            case In():
                return self._membership(node)
            case Like():
                return self._like(node)
            case Arithmetic() | Negative():
                return self._computed(node)
        return None

    def _attribute(self, node: Attribute) -> tuple[Reads, DataType] | None:
        dtype = self.reader.schema.fields[node.path[0]]
        arrow = self.arrow.field(node.path[0]).type
        if len(node.path) > 1 or pa.types.is_uint64(arrow):
            return None
        at = self.reader.names.index(node.path[0])
        reads = operator.itemgetter(at)
        match dtype.kind:
            case Kind.INT | Kind.FLOAT | Kind.TEXT | Kind.BOOL:
                return reads, dtype
            case Kind.TIMESTAMP if pa.types.is_timestamp(arrow) and arrow.unit != "ns":
                return (lambda values: None if (v := values[at]) is None else datetime_us(v)), dtype
            case Kind.DECIMAL if dtype.precision is not None and dtype.precision <= 18:
                scale = dtype.scale or 0
                return (lambda values: None if (v := values[at]) is None else int(v.scaleb(scale))), dtype
        return None

    def _comparison(self, node: Compare) -> tuple[Reads, DataType] | None:
        left, right = self.of(node.left), self.of(node.right)
        if left is None or right is None:
            return None
        return self._compared(node.operator, left, right)

    @staticmethod
    def _compared(
        name: str, left: tuple[Reads, DataType], right: tuple[Reads, DataType]
    ) -> tuple[Reads, DataType] | None:
        """``left name right``."""
        (a, of_a), (b, of_b) = left, right
        holds = _OPERATORS[name]
        kinds = {of_a.kind, of_b.kind}
        if Kind.DECIMAL in kinds or Kind.NULL in kinds:
            return None
        if Kind.FLOAT in kinds:
            a, b = as_float(a, of_a), as_float(b, of_b)

            def of_floats(values: Values) -> bool | None:
                x, y = a(values), b(values)
                if x is None or y is None:
                    return None
                if x != x or y != y:  # NaN is the greatest value, and equal to itself
                    return holds(x != x, y != y)
                return holds(x, y)

            return of_floats, BOOL

        def of_others(values: Values) -> bool | None:
            x, y = a(values), b(values)
            return None if x is None or y is None else holds(x, y)

        return of_others, BOOL

    def _connected(self, operands: Sequence[Expression], *, decisive: bool) -> tuple[Reads, DataType] | None:
        made = [self.of(operand) for operand in operands]
        if any(one is None or one[1].kind is not Kind.BOOL for one in made):
            return None
        parts = [one[0] for one in made if one is not None]

        def joined(values: Values) -> bool | None:
            result: bool | None = not decisive
            for part in parts:
                truth: bool | None = part(values)
                if truth is None:
                    result = None
                elif truth is decisive:
                    return decisive
            return result

        return joined, BOOL

    @staticmethod
    def _negation(inner: tuple[Reads, DataType] | None) -> tuple[Reads, DataType] | None:
        if inner is None or inner[1].kind is not Kind.BOOL:
            return None
        reads = inner[0]
        return (lambda values: None if (truth := reads(values)) is None else not truth), BOOL

    def _membership(self, node: In) -> tuple[Reads, DataType] | None:
        operand = self.of(node.operand)
        if operand is None or operand[1].kind not in (Kind.INT, Kind.TEXT):
            return None
        reads, dtype = operand
        constants = set()
        for option in node.options:
            if not isinstance(option, Literal) or literal_type(option).kind is not dtype.kind:
                return None
            constants.add(constant_value(option))
        negated = node.negated
        return (lambda values: None if (v := reads(values)) is None else (v in constants) is not negated), BOOL

    def _like(self, node: Like) -> tuple[Reads, DataType] | None:
        operand = self.of(node.operand)
        if operand is None or operand[1].kind is not Kind.TEXT:
            return None
        reads, negated = operand[0], node.negated
        fits = like_expression(node.pattern).fullmatch

        def likeness(values: Values) -> bool | None:
            text = reads(values)
            return None if text is None else (fits(text) is not None) is not negated

        return likeness, BOOL

    def _computed(self, node: Arithmetic | Negative) -> tuple[Reads, DataType] | None:
        if isinstance(node, Negative):
            inner = self.of(node.operand)
            if inner is None:
                return None
            if inner[1].kind not in (*_WHOLE, Kind.FLOAT):
                return None
            reads, of_floats = inner[0], inner[1].kind is Kind.FLOAT

            def minus(values: Values) -> Any:
                value = reads(values)
                return None if value is None or (not of_floats and value == _LEAST) else -value

            return minus, inner[1]
        left, right = self.of(node.left), self.of(node.right)
        if left is None or right is None:
            return None
        result = arithmetic_type(node.operator, left[1], right[1])
        if result is None or any(one.kind not in (*_WHOLE, Kind.FLOAT) for one in (left[1], right[1], result)):
            return None
        if result.kind is Kind.FLOAT:
            return _float_arithmetic(node.operator, as_float(*left), as_float(*right)), FLOAT
        return _whole_arithmetic(node.operator, left[0], right[0]), result


def as_float(reads: Reads, dtype: DataType) -> Reads:
    """A number as a float."""
    if dtype.kind is Kind.FLOAT:
        return reads
    return lambda values: None if (v := reads(values)) is None else float(v)


def as_int(reads: Reads, dtype: DataType) -> Reads:
    """A truth value as a number; others as they are."""
    if dtype.kind is Kind.BOOL:
        return lambda values: None if (v := reads(values)) is None else int(v)
    return reads


_BITS_OF_NAN: int = struct.unpack("<q", struct.pack("<d", math.nan))[0]


def ordered(reads: Reads) -> Reads:
    """A float as an integer of the same order; see `compiler.columns.ordered_ints`."""
    pack, unpack = struct.Struct("<d").pack, struct.Struct("<q").unpack

    def bits(values: Values) -> int | None:
        value = reads(values)
        if value is None:
            return None
        if value != value:
            return _BITS_OF_NAN
        found: int = unpack(pack(value + 0.0))[0]
        return found ^ _MOST if found < 0 else found

    return bits


def _float_arithmetic(name: str, a: Reads, b: Reads) -> Reads:
    def value(values: Values) -> float | None:
        x, y = a(values), b(values)
        if x is None or y is None:
            return None
        result: float
        match name:
            case "+":
                result = x + y
            case "-":
                result = x - y
            case "*":
                result = x * y
            case "/":
                if y == 0:
                    return None
                result = x / y
            case _:
                if y == 0:
                    return None
                result = math.fmod(x, y) if math.isfinite(x) else math.nan
        return result

    return value


def _whole_arithmetic(name: str, a: Reads, b: Reads) -> Reads:
    def value(values: Values) -> int | None:
        x, y = a(values), b(values)
        if x is None or y is None:
            return None
        result: int
        match name:
            case "+":
                result = x + y
            case "-":
                result = x - y
            case "*":
                result = x * y
            case _:
                if y == 0:
                    return None
                result = abs(x) % abs(y)
                result = -result if x < 0 else result
        return result if _LEAST <= result <= _MOST else None

    return value
