"""The values of numbers, lengths of time and timestamps as a query writes them."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from cepheid.errors import QueryError, Span
from cepheid.events.schema import TIME_UNITS
from cepheid.language.lexer import UNITS, Token, tokenize
from cepheid.language.literals import number_as_written
from cepheid.language.tree import Extent, Literal, LiteralKind

_SUFFIX = {"k": 1_000, "K": 1_000, "M": 1_000_000}
_MAX_DIGITS = 400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def number(token: Token) -> Literal:
    """The literal that ``token`` (a NUMBER) writes: INT without a point or exponent, else FLOAT."""
    value = _exact(token)
    if isinstance(value, Fraction):
        # 1.5K is the whole number 1500; 1.0005K is 1000.5.
        if value.denominator == 1 and (token.value[-1] in _SUFFIX or token.value.replace("_", "").isdigit()):
            return Literal(int(value), LiteralKind.INT, span=token.span)
        value = float(value)
    return Literal(_as_written(token, value), LiteralKind.FLOAT, span=token.span)


def _as_written(token: Token, nearest: float) -> Decimal | float:
    """The number, with all its digits where a decimal holds them."""
    raw = token.value.replace("_", "")
    if not 1e-19 < nearest < 1e19:  # No decimal is beyond; and Python's own have exponents that end somewhere.
        return nearest
    zeros = {1: 0, 1_000: 3, 1_000_000: 6}[_SUFFIX.get(raw[-1], 1)]
    sign, digits, exponent = Decimal(raw.rstrip("kKM")).as_tuple()
    assert isinstance(exponent, int), "the lexer writes no infinities"
    return number_as_written(Decimal((sign, digits, exponent + zeros)), nearest)


def extent_value(token: Token, unit: str | None, factor: int) -> int | float:
    """The number of a window's length.

    Args:
        token: a NUMBER.
        unit: the unit of the tree, or None.
        factor: how many of ``unit`` one of the written unit is.
    """
    value = _exact(token)
    if isinstance(value, Fraction):
        value *= factor
        whole: int | float = int(value) if value.denominator == 1 else float(value)
    else:
        whole = value * factor
        if whole.is_integer():
            whole = int(whole)
    if unit == "events" and not isinstance(whole, int):
        raise QueryError("a number of events is whole", remedy="write WITHIN 2000 EVENTS", span=token.span)
    if whole > 2**63 - 1:
        raise QueryError("this window is longer than any time", remedy="write a smaller number", span=token.span)
    return whole


def extent(length: str | int | float | timedelta, unit: str | None = None) -> Extent:
    """A window's length from its text, a timedelta, or a number and a unit.

    Args:
        length: ``"5 minutes"``, ``"2000 events"``, a timedelta, or a number.
        unit: of a number; None for the unit of the time column.

    Raises:
        QueryError: for what is no length.
    """
    if isinstance(length, timedelta) and unit is None:
        us = length // timedelta(microseconds=1)
        if us >= 0:
            name, size_us = next((n, s) for n, s in reversed(tuple(TIME_UNITS.items())) if us % s == 0)
            return Extent(us // size_us, name if us else "s")
    text = length if isinstance(length, str) else _written(length)
    if text is not None and (unit is None or isinstance(unit, str)):
        found = _read_extent(f"{text} {unit or ''}")
        if found is not None:
            return found
    shown = f"{length!r}" if unit is None else f"{length!r} {unit}"
    raise QueryError(
        f"{shown} is no length of a window", remedy="write '5 minutes', '50 ms', '2000 events', or a timedelta"
    )


def _written(length: object) -> str | None:
    """A number as a query writes it, or None."""
    if isinstance(length, bool) or not isinstance(length, int | float):
        return None
    return repr(length) if math.isfinite(length) and length >= 0 else None


def _read_extent(text: str) -> Extent | None:
    tokens = tokenize(text)
    types = [token.type for token in tokens]
    if types == ["NUMBER", "$END"]:
        return Extent(extent_value(tokens[0], None, 1), None)
    if types == ["NUMBER", "UNIT", "$END"]:
        unit, factor = UNITS[tokens[1].value.lower()]
        return Extent(extent_value(tokens[0], unit, factor), unit)
    return None


def duration_us(token: Token, unit: Token) -> int:
    """The microseconds of ``token`` (a NUMBER) in ``unit`` (a UNIT)."""
    span = token.span.join(unit.span)
    name, factor = UNITS[unit.value.lower()]
    if name == "events":
        raise QueryError(
            "a number of events is no length of time",
            remedy="events are counted in WITHIN 2000 EVENTS; in a condition use count(b)",
            span=span,
        )
    value = _exact(token)
    if not isinstance(value, Fraction):
        value = Fraction(value)
    us = value * factor * TIME_UNITS[name]
    if us.denominator != 1:
        raise QueryError(
            "a length of time is a whole number of microseconds", remedy="round it to microseconds", span=span
        )
    return int(us)


def timestamp_us(text: str, span: Span | None) -> int:
    """Microseconds since the epoch of an ISO timestamp; UTC where it names no zone."""
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise QueryError(
            f"{text!r} is no timestamp",
            remedy="write TIMESTAMP '2024-01-31 10:00:00', with +02:00 or Z at the end where it is not UTC",
            span=span,
        ) from None
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _exact(token: Token) -> Fraction | float:
    """The value of ``token``: a fraction, or a float where it has an exponent."""
    raw = token.value.replace("_", "")
    if len(raw) > _MAX_DIGITS:
        raise QueryError(
            "this number has too many digits", remedy=f"write at most {_MAX_DIGITS} characters", span=token.span
        )
    factor = _SUFFIX.get(raw[-1], 1)
    if factor > 1:
        raw = raw[:-1]
    if "e" in raw or "E" in raw:
        value = float(raw) * factor
        if not math.isfinite(value):
            raise QueryError("this number is too large", remedy="numbers go up to about 1.8e308", span=token.span)
        return value
    return Fraction(raw) * factor
