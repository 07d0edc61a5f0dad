"""Constants: their types, and how they take the type of what they meet."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal

from cepheid.events.types import BOOL, DURATION, FLOAT, INT, NULL, TEXT, TIMESTAMP, DataType, Kind, decimal
from cepheid.language.tree import Literal, LiteralKind

INT_LEAST = -(2**63)
INT_MOST = 2**63 - 1

DECIMAL_SCALE = 18
"""Digits after the point of a decimal constant: ten to this power fits an int64."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_KINDS = {
    LiteralKind.INT: INT,
    LiteralKind.FLOAT: FLOAT,
    LiteralKind.TEXT: TEXT,
    LiteralKind.BOOL: BOOL,
    LiteralKind.NULL: NULL,
    LiteralKind.DURATION: DURATION,
    LiteralKind.TIMESTAMP: TIMESTAMP,
}


def literal_type(literal: Literal) -> DataType:
    """The type of a constant as it stands; a decimal has the digits that its value needs."""
    if literal.kind is LiteralKind.DECIMAL:
        assert isinstance(literal.value, Decimal)
        return decimal_type(literal.value)
    return _KINDS[literal.kind]


def decimal_type(value: Decimal) -> DataType:
    """The narrowest decimal type that holds ``value``; equal values have equal types."""
    digits, scale = _digits(value)
    return decimal(max(1, len(digits), scale), scale)


def _digits(value: Decimal) -> tuple[tuple[int, ...], int]:
    """Digits and scale of ``value`` without trailing zeros after the point."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    kept = list(digits)
    while exponent < 0 and len(kept) > 1 and kept[-1] == 0:
        kept.pop()
        exponent += 1
    if kept == [0]:
        return (0,), 0
    return tuple(kept) + (0,) * max(0, exponent), max(0, -exponent)


def as_decimal(value: int | float | Decimal) -> Decimal | None:
    """``value`` as the decimal that its shortest text shows, or None if an int64 cannot hold its digits."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    if not exact.is_finite() or abs(exact.adjusted()) > DECIMAL_SCALE:
        return None
    digits, scale = _digits(exact)
    sign = exact.as_tuple().sign if any(digits) else 0
    if scale > DECIMAL_SCALE or int("".join(map(str, digits))) > INT_MOST + sign:
        return None
    return Decimal((sign, digits, -scale))


def number_as_written(exact: Decimal, nearest: float) -> Decimal | float:
    """The value of a FLOAT literal: the float, or the number as written where the float's text shows another.

    A float keeps 15 digits; a number with more stays exact for as long as it may still meet a decimal. One that no
    decimal can hold is its float at once.
    """
    if Decimal(repr(nearest)) == exact:
        return nearest
    # The greatest number below zero that fits has no counterpart above, and minus comes to a number later.
    return nearest if as_decimal(exact) is None and as_decimal(exact.copy_negate()) is None else exact


def minus(value: int | float | Decimal) -> int | float | Decimal:
    """``-value``, with all digits of a decimal."""
    return value.copy_negate() if isinstance(value, Decimal) else -value


def constant_value(literal: Literal) -> object:
    """What a constant is when it is computed with: a FLOAT one is a float, with however many digits it was written."""
    if literal.kind is LiteralKind.FLOAT and isinstance(literal.value, Decimal):
        return float(literal.value)
    return literal.value


def timestamp_us(text: str) -> int | None:
    """Microseconds since the epoch of an ISO date or time (UTC unless it says otherwise), or None."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    gap = moment - _EPOCH
    return (gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds


def coerced(literal: Literal, target: DataType) -> Literal | None:
    """``literal`` brought to the type of what it meets; itself where that needs no change.

    Returns:
        The constant, or None where it is text that is no timestamp. Whether the result's type can be
        compared with ``target`` is for the caller to test: a number stays a number where text is met.
    """
    value = literal.value
    match target.kind:
        case Kind.FLOAT if literal.kind in (LiteralKind.INT, LiteralKind.DECIMAL):
            assert isinstance(value, (int, Decimal))
            try:
                return Literal(float(value), LiteralKind.FLOAT, span=literal.span)
            except OverflowError:
                return literal
        case Kind.DECIMAL if literal.kind in (LiteralKind.INT, LiteralKind.FLOAT, LiteralKind.DECIMAL):
            assert isinstance(value, (int, float, Decimal))
            exact = as_decimal(value)
            if exact is not None:
                return Literal(exact, LiteralKind.DECIMAL, span=literal.span)
            # No int64 holds its digits: the other side is compared with it as a float.
            return coerced(literal, FLOAT)
        case Kind.TIMESTAMP if literal.kind is LiteralKind.TEXT:
            assert isinstance(value, str)
            moment = timestamp_us(value)
            return None if moment is None else Literal(moment, LiteralKind.TIMESTAMP, span=literal.span)
        case kind if kind is not Kind.NULL and literal.kind is LiteralKind.FLOAT and isinstance(value, Decimal):
            return Literal(float(value), LiteralKind.FLOAT, span=literal.span)
        case _:
            return literal


def negated(literal: Literal) -> Literal | None:
    """The constant ``-literal``, or None where it has no negative."""
    value = literal.value
    if literal.kind in (LiteralKind.INT, LiteralKind.FLOAT, LiteralKind.DECIMAL, LiteralKind.DURATION):
        assert isinstance(value, (int, float, Decimal))
        return Literal(minus(value), literal.kind, span=literal.span)
    return None
