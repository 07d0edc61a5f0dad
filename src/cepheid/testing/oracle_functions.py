"""What the built-in functions compute, how two values compare, and what fits an int64."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import TypeAlias, cast

from cepheid.errors import DataError
from cepheid.events.types import DataType, Kind
from cepheid.language.bound import Function

ROUNDING = Context(prec=400)
"""Wide enough that only the rounding that is asked for happens, for every float."""

Builtin: TypeAlias = Callable[..., object]
"""Gets the type of the result and the values of the arguments, None for NULL."""

DAY_US = 86_400_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def fits_int64(value: int) -> int | None:
    """``value``, or NULL where it overflows."""
    return value if -(2**63) <= value < 2**63 else None


def as_float(value: object) -> float:
    """A number as a float64."""
    return float(cast(float, value))


def compare(left: object, right: object) -> int:
    """-1, 0 or 1: NaN equals itself and is greater than any number; -0.0 equals 0.0; text by code points."""
    if isinstance(left, float) or isinstance(right, float):
        one, other = as_float(left), as_float(right)
        if math.isnan(one) or math.isnan(other):
            return int(math.isnan(one)) - int(math.isnan(other))
        return int(one > other) - int(one < other)
    lower = cast(int, left)
    upper = cast(int, right)
    return int(lower > upper) - int(lower < upper)


def _strict(function: Callable[..., object]) -> Builtin:
    """``function``, with NULL for a NULL argument."""

    def call(dtype: DataType, *values: object) -> object:
        return None if any(value is None for value in values) else function(dtype, *values)

    return call


def in_type(value: object, dtype: DataType) -> object:
    """``value`` as a value of ``dtype``: numbers become floats where floats are asked for."""
    return as_float(value) if dtype.kind is Kind.FLOAT and value is not None else value


def to_python(value: object, dtype: DataType) -> object:
    """``value`` as a registered function gets it: times as `datetime` (UTC), durations as `timedelta`."""
    if value is None:
        return None
    match dtype.kind:
        case Kind.TIMESTAMP:
            return EPOCH + timedelta(microseconds=cast(int, value))
        case Kind.DURATION:
            return timedelta(microseconds=cast(int, value))
        case _:
            return in_type(value, dtype)


PYTHON_TYPES: Mapping[Kind, type] = {
    Kind.BOOL: bool,
    Kind.INT: int,
    Kind.FLOAT: float,
    Kind.DECIMAL: Decimal,
    Kind.TEXT: str,
    Kind.TIMESTAMP: datetime,
    Kind.DURATION: timedelta,
}


def from_python(value: object, function: Function) -> object:
    """What a registered function gave, as a value.

    Raises:
        DataError: it is not of the declared type.
    """
    kind = function.result.kind
    if kind is Kind.FLOAT and isinstance(value, int | Decimal) and not isinstance(value, bool):
        value = float(value)
    if value is not None and (
        not isinstance(value, PYTHON_TYPES[kind]) or isinstance(value, bool) != (kind is Kind.BOOL)
    ):
        raise DataError(
            f"the function {function.name} gave {value!r}, which is no {function.result}",
            remedy="declare the type that it gives",
        )
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (moment - EPOCH) // timedelta(microseconds=1)
    return value // timedelta(microseconds=1) if isinstance(value, timedelta) else value


def _coalesce(dtype: DataType, *values: object) -> object:
    return in_type(next((value for value in values if value is not None), None), dtype)


def _extreme(sign: int) -> Builtin:
    def call(dtype: DataType, *values: object) -> object:
        best: object = None
        for value in values:
            if value is not None and (best is None or sign * compare(value, best) > 0):
                best = value
        return in_type(best, dtype)

    return call


def _abs(dtype: DataType, value: object) -> object:
    if isinstance(value, int):
        return fits_int64(abs(value))
    return value.copy_abs() if isinstance(value, Decimal) else abs(cast(float, value))


def _sign(dtype: DataType, value: object) -> object:
    if isinstance(value, float):
        return value if math.isnan(value) or value == 0 else math.copysign(1.0, value)
    return compare(value, 0)


def _rounded(value: object, digits: int, rounding: str) -> object:
    """``value`` with ``digits`` digits after the point (before it where negative)."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    # The shortest text of a float is what people see of it: 2.675 rounds to 2.68.
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(cast(int, value))
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding=rounding, context=ROUNDING)
    if isinstance(value, float):
        return math.copysign(float(rounded), value)
    if isinstance(value, Decimal):
        return rounded if digits >= 0 else rounded.quantize(Decimal(1), context=ROUNDING)
    return fits_int64(int(rounded))


def _round(dtype: DataType, value: object, digits: object = 0) -> object:
    n_digits = cast(int, digits)
    if isinstance(value, int) and n_digits >= 0:
        return value
    if isinstance(value, Decimal):
        n_digits = min(n_digits, dtype.scale or 0)
    if isinstance(value, float):
        # No float has digits beyond these, and none is left before the point.
        n_digits = max(-309, min(n_digits, 330))
    elif n_digits < -19:
        return Decimal(0) if isinstance(value, Decimal) else 0
    return _rounded(value, n_digits, ROUND_HALF_UP)


def _sqrt(dtype: DataType, value: object) -> float:
    number = as_float(value)
    return math.nan if number < 0 else math.sqrt(number)


def _power(dtype: DataType, base: object, exponent: object) -> float:
    one, other = as_float(base), as_float(exponent)
    odd = math.isfinite(other) and math.fmod(other, 2) in (1.0, -1.0)
    try:
        return math.pow(one, other)
    except OverflowError:
        return -math.inf if one < 0 and odd else math.inf
    except ValueError:
        if one == 0:
            return math.copysign(math.inf, one) if odd else math.inf
        return math.nan


def _distance(dtype: DataType, x1: object, y1: object, x2: object, y2: object) -> float:
    dx = as_float(x1) - as_float(x2)
    dy = as_float(y1) - as_float(y2)
    return math.sqrt(dx * dx + dy * dy)


def _substring(dtype: DataType, text: object, position: object, length: object) -> str:
    """From ``position`` (from 1; 0 is taken as 1, a negative one counts from the end), as Spark does."""
    whole, at, wanted = cast(str, text), cast(int, position), cast(int, length)
    start = at - 1 if at > 0 else len(whole) + at if at < 0 else 0
    return whole[max(start, 0) : max(start + wanted, 0)] if wanted > 0 else ""


def civil(time_us: int) -> tuple[int, int, int]:
    """Year, month and day of a time, in the proleptic Gregorian calendar, for any int64."""
    days = time_us // DAY_US + 719_468  # days since 0000-03-01
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def _of_day(unit_us: int, n_units: int) -> Callable[[DataType, object], int]:
    return lambda dtype, time: cast(int, time) // unit_us % n_units


FUNCTIONS: Mapping[str, Builtin] = {
    "abs": _strict(_abs),
    "sign": _strict(_sign),
    "floor": _strict(lambda dtype, value: _rounded(value, 0, ROUND_FLOOR)),
    "ceil": _strict(lambda dtype, value: _rounded(value, 0, ROUND_CEILING)),
    "round": _strict(_round),
    "sqrt": _strict(_sqrt),
    "power": _strict(_power),
    "least": _extreme(-1),
    "greatest": _extreme(1),
    "coalesce": _coalesce,
    "distance": _strict(_distance),
    "length": _strict(lambda dtype, text: len(text)),
    "lower": _strict(lambda dtype, text: text.lower()),
    "upper": _strict(lambda dtype, text: text.upper()),
    "trim": _strict(lambda dtype, text: text.strip(" ")),
    "substring": _strict(_substring),
    "concat": _strict(lambda dtype, *texts: "".join(texts)),
    "starts_with": _strict(lambda dtype, text, start: text.startswith(start)),
    "ends_with": _strict(lambda dtype, text, end: text.endswith(end)),
    "year": _strict(lambda dtype, time: civil(time)[0]),
    "month": _strict(lambda dtype, time: civil(time)[1]),
    "day": _strict(lambda dtype, time: civil(time)[2]),
    "hour": _strict(_of_day(3_600_000_000, 24)),
    "minute": _strict(_of_day(60_000_000, 60)),
    "second": _strict(_of_day(1_000_000, 60)),
    "day_of_week": _strict(lambda dtype, time: (time // DAY_US + 4) % 7 + 1),
}
"""Name in lower case -> built-in function (day_of_week: 1 is Sunday)."""
