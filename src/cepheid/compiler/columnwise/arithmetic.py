"""``+ - * / %`` and unary minus over columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.compiler.columnwise.casts import (
    INT64_MAX,
    INT64_MIN,
    floats,
    integers,
    scale_of,
    scaled_up,
    value_range,
)
from cepheid.compiler.columnwise.masks import all_valid, any_absent, number_column, without
from cepheid.events.column import BoolArray, Column, Int64Array, all_null
from cepheid.events.types import DataType, Kind

# |a * b| computed in floats is off by less than one part in 2**51: below this bound the product fits int64.
_SURELY_FITS = 9.2e18


def arithmetic(operator: str, left: Column, right: Column, result: DataType) -> Column:
    """``left operator right``.

    Args:
        operator: one of ``+ - * / %``.
        left, right: the operands, of equal length.
        result: the type of the result (`language.results.arithmetic_type`).

    Returns:
        The result; NULL where an operand is, where the divisor is 0, or where the result does not fit int64;
        absent where an operand is.
    """
    absent = any_absent((left, right))
    if Kind.NULL in (left.type.kind, right.type.kind):
        null = all_null(result, len(left))
        return Column(null.values, null.valid, result, absent=absent)
    valid = all_valid((left, right))
    values: npt.NDArray[Any]
    if result.kind is Kind.FLOAT:
        values, bad = _float_arithmetic(operator, floats(left), floats(right))
    else:
        values, bad = _whole_arithmetic(operator, left, right)
    return number_column(values, without(valid, bad), result, absent)


def negative(operand: Column) -> Column:
    """``-operand``; NULL for the least int64, which has no opposite."""
    if operand.type.kind is Kind.NULL:
        return operand
    if operand.type.kind is Kind.FLOAT:
        return number_column(-operand.values, operand.valid, operand.type, operand.absent)
    values = integers(operand)
    return number_column(-values, without(operand.valid, least_int64(values)), operand.type, operand.absent)


def least_int64(values: Int64Array) -> BoolArray | None:
    """Where a value is the least int64; None for nowhere."""
    bad = values == INT64_MIN
    return bad if bad.any() else None


def _float_arithmetic(
    operator: str, left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], BoolArray | None]:
    with np.errstate(all="ignore"):
        match operator:
            case "+":
                return left + right, None
            case "-":
                return left - right, None
            case "*":
                return left * right, None
            case "/":
                return left / right, right == 0
            case _:
                return np.fmod(left, right), right == 0


def _whole_arithmetic(operator: str, left: Column, right: Column) -> tuple[Int64Array, BoolArray | None]:
    """Arithmetic of whole numbers: integers, unscaled decimals, times and durations."""
    a, b = integers(left), integers(right)
    if operator == "*":
        values, flagged = _product(a, b)
        return _settled(values, flagged, a, b, 1, 1, lambda x, y: x * y)
    scale = max(scale_of(left.type), scale_of(right.type))
    up_a, up_b = scale - scale_of(left.type), scale - scale_of(right.type)
    scaled_a, outside_a = scaled_up(a, up_a)
    scaled_b, outside_b = scaled_up(b, up_b)
    if operator == "%":
        zero = b == 0
        # A divisor that does not fit when scaled is 0 here, too; its rows are computed anew below.
        values = np.fmod(scaled_a, np.where(scaled_b == 0, 1, scaled_b))
        values, too_big = _settled(
            values, _either(outside_a, outside_b), a, b, 10**up_a, 10**up_b, lambda x, y: _remainder(x, y)
        )
        return values, _either(too_big, zero)
    values, flagged = (_sum if operator == "+" else _difference)(scaled_a, scaled_b)
    flagged = _either(flagged, _either(outside_a, outside_b))
    exact: Callable[[int, int], int] = (lambda x, y: x + y) if operator == "+" else (lambda x, y: x - y)
    return _settled(values, flagged, a, b, 10**up_a, 10**up_b, exact)


def _settled(
    values: Int64Array,
    flagged: BoolArray | None,
    a: Int64Array,
    b: Int64Array,
    factor_a: int,
    factor_b: int,
    exact: Callable[[int, int], int],
) -> tuple[Int64Array, BoolArray | None]:
    """Results of which the flagged ones may be wrong: computed anew without bounds, NULL where they do not fit."""
    if flagged is None or not flagged.any():
        return values, None
    bad = np.zeros(len(values), np.bool_)
    for row in np.flatnonzero(flagged):
        value = exact(int(a[row]) * factor_a, int(b[row]) * factor_b)
        if INT64_MIN <= value <= INT64_MAX:
            values[row] = value
        else:
            bad[row] = True
    return values, bad


def _remainder(dividend: int, divisor: int) -> int:
    """The remainder with the sign of the dividend; 0 for a divisor of 0, whose rows are NULL anyway."""
    if divisor == 0:
        return 0
    rest = abs(dividend) % abs(divisor)
    return -rest if dividend < 0 else rest


def _either(one: BoolArray | None, other: BoolArray | None) -> BoolArray | None:
    if one is None or other is None:
        return other if one is None else one
    return one | other


def _sum(a: Int64Array, b: Int64Array) -> tuple[Int64Array, BoolArray | None]:
    values = a + b
    (low_a, high_a), (low_b, high_b) = value_range(a), value_range(b)
    if low_a + low_b >= INT64_MIN and high_a + high_b <= INT64_MAX:
        return values, None
    # Operands of one sign whose sum has the other.
    return values, ((a ^ values) & (b ^ values)) < 0


def _difference(a: Int64Array, b: Int64Array) -> tuple[Int64Array, BoolArray | None]:
    values = a - b
    (low_a, high_a), (low_b, high_b) = value_range(a), value_range(b)
    if low_a - high_b >= INT64_MIN and high_a - low_b <= INT64_MAX:
        return values, None
    return values, ((a ^ b) & (a ^ values)) < 0


def _product(a: Int64Array, b: Int64Array) -> tuple[Int64Array, BoolArray | None]:
    values = a * b
    corners: list[Any] = [x * y for x in value_range(a) for y in value_range(b)]
    if min(corners) >= INT64_MIN and max(corners) <= INT64_MAX:
        return values, None
    return values, np.abs(a.astype(np.float64) * b.astype(np.float64)) > _SURELY_FITS
