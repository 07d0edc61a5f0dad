"""Built-in functions of numbers and times over columns."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.compiler.columnwise.arithmetic import least_int64
from cepheid.compiler.columnwise.casts import INT64_MAX, INT64_MIN, floats, integers, scale_of, value_range
from cepheid.compiler.columnwise.masks import all_valid, any_absent, number_column, without
from cepheid.events.column import BoolArray, Column, Int64Array
from cepheid.events.types import FLOAT, INT, DataType, Kind

DAY_US = 86_400_000_000
_PART_OF_DAY = {"hour": (3_600_000_000, 24), "minute": (60_000_000, 60), "second": (1_000_000, 60)}
DATE_PARTS = ("year", "month", "day", *_PART_OF_DAY, "day_of_week")
# Powers of ten that are floats.
_EXACT_POWER = 22
# Below it a tie between two rounded numbers is a decimal of at most 15 digits.
_EXACT_DECIMAL = 1e14
_WIDE = Context(prec=700, rounding=ROUND_HALF_UP)


def absolute(x: Column) -> Column:
    """The absolute value; NULL for the least int64."""
    if x.type.kind is Kind.FLOAT:
        return number_column(np.abs(x.values), x.valid, x.type, x.absent)
    values = integers(x)
    return number_column(np.abs(values), without(x.valid, least_int64(values)), x.type, x.absent)


def sign(x: Column) -> Column:
    """-1, 0 or 1: INT, of a FLOAT a FLOAT (NaN of NaN)."""
    if x.type.kind is Kind.FLOAT:
        return number_column(np.sign(x.values) + 0.0, x.valid, FLOAT, x.absent)
    return number_column(np.sign(integers(x)), x.valid, INT, x.absent)


def floor(x: Column, result: DataType) -> Column:
    """The greatest whole number that is not above: of a FLOAT a FLOAT, of a DECIMAL one of scale 0."""
    if x.type.kind is Kind.FLOAT:
        return number_column(np.floor(x.values), x.valid, result, x.absent)
    return Column(_floored(integers(x), scale_of(x.type)), x.valid, result, absent=x.absent)


def ceil(x: Column, result: DataType) -> Column:
    """The least whole number that is not below: of a FLOAT a FLOAT, of a DECIMAL one of scale 0."""
    if x.type.kind is Kind.FLOAT:
        return number_column(np.ceil(x.values), x.valid, result, x.absent)
    values, scale = integers(x), scale_of(x.type)
    whole = _floored(values, scale)
    if scale:
        exact = whole * 10**scale == values if scale <= 18 else values == 0
        whole = whole + ~exact
    return Column(whole, x.valid, result, absent=x.absent)


def _floored(values: Int64Array, scale: int) -> Int64Array:
    """Unscaled decimals as whole numbers, rounded down."""
    if scale == 0:
        return values
    return values // 10**scale if scale <= 18 else np.where(values < 0, -1, 0)


def rounded(x: Column, digits: int, result: DataType) -> Column:
    """Half away from zero, to ``digits`` after the point (before it, where negative).

    Of a FLOAT it is the shortest text that is rounded: 2.675 to 2.68, though the float is a little less. An INT that is
    rounded beyond int64 is NULL.
    """
    if x.type.kind is Kind.FLOAT:
        return number_column(_rounded_floats(x.values, digits), x.valid, result, x.absent)
    drop = scale_of(x.type) - digits
    # What a decimal of the result's scale lacks of the digits that were rounded away: round(1234.5, -2) is 1200.
    restore = scale_of(result) - digits
    if drop <= 0:
        return Column(integers(x), x.valid, result, absent=x.absent)
    values, bad = _rounded_integers(integers(x), drop, restore)
    return number_column(values, without(x.valid, bad), result, x.absent)


def _rounded_floats(values: npt.NDArray[np.float64], digits: int) -> npt.NDArray[np.float64]:
    """As the shortest decimal text of each float would be rounded.

    Let r / 10**digits be the candidate below. The float is rounded up if its text is not below the tie between r and
    r + 1, which is so exactly if it is not below the float nearest to the tie: nearest floats keep the order of
    decimals, and a decimal of at most 15 digits is the shortest text of its float.
    """
    size = np.abs(values)
    result = values.copy()
    if abs(digits) <= _EXACT_POWER:
        factor = float(10 ** abs(digits))
        with np.errstate(all="ignore"):
            if digits < 0:
                below = np.floor(size / factor)
                whole = below + (size >= (2 * below + 1) * (factor / 2))
                rounded_size, easy = whole * factor, size < _EXACT_DECIMAL
            else:
                scaled = size * factor
                below = np.floor(scaled)
                whole = below + (size >= (2 * below + 1) / (2 * factor))
                rounded_size, easy = whole / factor, scaled < _EXACT_DECIMAL
        np.copyto(result, np.copysign(rounded_size, values), where=easy)
    else:
        easy = np.zeros(len(values), np.bool_)
    hard = ~easy & np.isfinite(values)
    if digits >= 0:
        hard &= values != np.floor(values)
    for row in np.flatnonzero(hard):
        result[row] = _rounded_text(float(values[row]), digits)
    return result


def _rounded_text(value: float, digits: int) -> float:
    """One float, by way of its text."""
    # No float has digits beyond these, and none is left before the point.
    unit = Decimal(1).scaleb(-max(-309, min(digits, 330)))
    return math.copysign(float(Decimal(repr(value)).quantize(unit, context=_WIDE)), value)


def _rounded_integers(values: Int64Array, drop: int, restore: int) -> tuple[Int64Array, BoolArray | None]:
    """Whole numbers without their last ``drop`` digits, with ``restore`` zeros in place of them."""
    if drop > 19:
        return np.zeros(len(values), np.int64), None
    low, high = value_range(values)
    size = 10**drop
    if drop <= 18 and low > -(2**62) and high < 2**62:
        magnitude = (np.abs(values) + size // 2) // size
        if (max(-low, high) + size) // size * 10**restore <= INT64_MAX:
            return np.sign(values) * magnitude * 10**restore, None
    result, bad = np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    for row, value in enumerate(values.tolist()):
        exact = (abs(value) + size // 2) // size * 10**restore * (-1 if value < 0 else 1)
        bad[row] = not INT64_MIN <= exact <= INT64_MAX
        result[row] = 0 if bad[row] else exact
    return result, bad


def square_root(x: Column) -> Column:
    """The square root, a FLOAT; NaN of a negative number."""
    with np.errstate(invalid="ignore"):
        return number_column(np.sqrt(floats(x)), x.valid, FLOAT, x.absent)


def power(x: Column, y: Column) -> Column:
    """The first to the power of the second, a FLOAT, as the C library has it: NumPy's own differs in the last digit."""
    valid = all_valid((x, y))
    pairs = zip(floats(x).tolist(), floats(y).tolist(), strict=True)
    values = np.array([_power(base, exponent) for base, exponent in pairs], np.float64)
    return number_column(values, valid, FLOAT, any_absent((x, y)))


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except (OverflowError, ValueError):
        # Where Python raises, IEEE 754 has an infinity or NaN, on which all libraries agree.
        with np.errstate(all="ignore"):
            return float(np.power(np.float64(base), np.float64(exponent)))


def distance(x1: Column, y1: Column, x2: Column, y2: Column) -> Column:
    """The Euclidean distance of two points: the root of the sum of the squared differences, a FLOAT."""
    columns = (x1, y1, x2, y2)
    with np.errstate(all="ignore"):
        dx, dy = floats(x1) - floats(x2), floats(y1) - floats(y2)
        values = np.sqrt(dx * dx + dy * dy)
    return number_column(values, all_valid(columns), FLOAT, any_absent(columns))


def date_part(name: str, x: Column) -> Column:
    """A part of a TIMESTAMP, UTC, an INT; ``day_of_week`` counts from 1 for Sunday."""
    us = integers(x)
    days = us // DAY_US
    values: Any
    if name in _PART_OF_DAY:
        unit_us, n_units = _PART_OF_DAY[name]
        values = us // unit_us % n_units
    elif name == "day_of_week":
        values = (days + 4) % 7 + 1  # day 0 was a Thursday
    else:
        dates = days.astype("datetime64[D]")
        months = dates.astype("datetime64[M]")
        if name == "day":
            values = (dates - months).astype(np.int64) + 1
        elif name == "month":
            values = months.astype(np.int64) % 12 + 1
        else:
            values = dates.astype("datetime64[Y]").astype(np.int64) + 1970
    return number_column(values, x.valid, INT, x.absent)
