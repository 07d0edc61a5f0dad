"""The types of results: what arithmetic, aggregates and the mixing of two types give.

One table for every road. Rules for numbers follow Spark where the two are alike; a decimal is held as
an unscaled int64, so computed decimals have the 19 digits that one can have.
"""

from __future__ import annotations

from collections.abc import Iterable

from cepheid.events.types import DURATION, FLOAT, INT, NULL, TIMESTAMP, DataType, Kind, decimal

DECIMAL_DIGITS = 19
"""Digits of the widest decimal whose unscaled value always includes every int64."""

DECIMAL_SCALE_MOST = 38
"""Digits after the point that Arrow's and Spark's widest decimal can have."""

SCALARS = frozenset((Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.DECIMAL, Kind.TEXT, Kind.TIMESTAMP, Kind.DURATION))
"""The kinds of values that are compared and ordered."""

AGGREGATES = ("count", "sum", "avg", "min", "max")


def computed_decimal(scale: int) -> DataType:
    """The type of a computed decimal with ``scale`` digits after the point."""
    return decimal(max(DECIMAL_DIGITS, scale), scale)


def common_type(left: DataType, right: DataType) -> DataType | None:
    """The type in which a value of ``left`` and one of ``right`` are compared, or None if they cannot be.

    INT with FLOAT and DECIMAL with FLOAT give FLOAT, INT with DECIMAL an exact decimal; NULL takes the
    other's type; other kinds only meet their own.
    """
    if left == right:
        return left
    if left.kind is Kind.NULL:
        return right
    if right.kind is Kind.NULL:
        return left
    if left.is_number and right.is_number:
        kinds = {left.kind, right.kind}
        if Kind.FLOAT in kinds:
            return FLOAT
        return computed_decimal(max(left.scale or 0, right.scale or 0))
    return None


def common_type_of(types: Iterable[DataType]) -> DataType | None:
    """The type in which values of all ``types`` are compared, or None if they cannot be."""
    result = NULL
    for dtype in types:
        met = common_type(result, dtype)
        if met is None:
            return None
        result = met
    return result


def arithmetic_type(operator: str, left: DataType, right: DataType) -> DataType | None:
    """The type of ``left operator right``, or None where the language has no such operation.

    Args:
        operator: one of ``+ - * / %``.
        left: type of the left operand.
        right: type of the right operand.
    """
    if left.is_number and right.is_number:
        return _number_type(operator, left, right)
    if Kind.NULL in (left.kind, right.kind):
        other = right if left.kind is Kind.NULL else left
        if other.kind is Kind.NULL:
            return NULL
        return _number_type(operator, other, other) if other.is_number else None
    kinds = (left.kind, right.kind)
    match operator:
        case "+" if kinds in ((Kind.TIMESTAMP, Kind.DURATION), (Kind.DURATION, Kind.TIMESTAMP)):
            return TIMESTAMP
        case "-" if kinds == (Kind.TIMESTAMP, Kind.DURATION):
            return TIMESTAMP
        case "-" if kinds == (Kind.TIMESTAMP, Kind.TIMESTAMP):
            return DURATION
        case "+" | "-" if kinds == (Kind.DURATION, Kind.DURATION):
            return DURATION
        case "*" if kinds in ((Kind.DURATION, Kind.INT), (Kind.INT, Kind.DURATION)):
            return DURATION
        case "/" if kinds == (Kind.DURATION, Kind.DURATION):
            return FLOAT
        case _:
            return None


def _number_type(operator: str, left: DataType, right: DataType) -> DataType | None:
    kinds = {left.kind, right.kind}
    if operator == "/" or Kind.FLOAT in kinds:
        return FLOAT
    if kinds == {Kind.INT}:
        return INT
    scales = (left.scale or 0, right.scale or 0)
    scale = sum(scales) if operator == "*" else max(scales)
    return computed_decimal(scale) if scale <= DECIMAL_SCALE_MOST else None


def aggregate_type(function: str, argument: DataType | None) -> DataType | None:
    """The type of an aggregate, or None where ``function`` does not take ``argument``.

    Args:
        function: one of `AGGREGATES`.
        argument: the type that is aggregated; None for ``count(b)``.
    """
    if function == "count":
        return INT
    if argument is None:
        return None
    match function:
        case "sum" if argument.kind is Kind.DECIMAL:
            return computed_decimal(argument.scale or 0)
        case "sum" if argument.is_number:
            return argument
        case "avg" if argument.is_number:
            return FLOAT
        case "min" | "max" if argument.kind in SCALARS:
            return argument
        case _:
            return None
