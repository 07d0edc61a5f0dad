"""Values of one type as values of another, where two types meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events.column import BoolArray, Column, Int64Array, all_null
from cepheid.events.types import DataType, Kind

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

_EXACT_FLOAT = 2**53
_EXACT_POWER = 22


def scale_of(dtype: DataType) -> int:
    """Digits after the point: of a DECIMAL, 0 for whole numbers."""
    return dtype.scale or 0


def integers(column: Column) -> Int64Array:
    """The values of a column that is not FLOAT, as int64."""
    return column.values.astype(np.int64, copy=False)


def floats(column: Column) -> npt.NDArray[np.float64]:
    """The values of a column of numbers (or of BOOL, times, durations) as float64, each the nearest one."""
    values = column.values
    if values.dtype == np.float64:
        return values
    scale = scale_of(column.type)
    if scale == 0:
        return values.astype(np.float64)
    low, high = value_range(values)
    if scale <= _EXACT_POWER and low >= -_EXACT_FLOAT and high <= _EXACT_FLOAT:
        return values / np.float64(10**scale)
    # Both numbers must be exact for the quotient to be rounded once: the other rows by Python, which does that.
    quotients = values / np.float64(10.0**scale)
    inexact = np.abs(values.astype(np.float64)) >= _EXACT_FLOAT
    if scale > _EXACT_POWER:
        inexact[:] = True
    for row in np.flatnonzero(inexact):
        quotients[row] = int(values[row]) / 10**scale
    return quotients


def value_range(values: npt.NDArray[Any]) -> tuple[int, int]:
    """The least and the greatest of whole numbers; (0, 0) for none."""
    if len(values) == 0:
        return 0, 0
    if values.strides == (0,):
        return int(values[0]), int(values[0])
    return int(values.min()), int(values.max())


def scaled_up(values: Int64Array, digits: int) -> tuple[Int64Array, BoolArray | None]:
    """``values * 10**digits``, and where that does not fit int64 (the value is then 0; None: nowhere)."""
    if digits == 0:
        return values, None
    factor = 10**digits
    low, high = value_range(values)
    if low * factor >= INT64_MIN and high * factor <= INT64_MAX:
        return (values * factor if factor <= INT64_MAX else np.zeros(len(values), np.int64)), None
    limit = INT64_MAX // factor
    outside = (values > limit) | (values < -limit)
    kept = np.where(outside, 0, values)
    return (kept * factor if factor <= INT64_MAX else np.zeros(len(values), np.int64)), outside


def as_type(column: Column, dtype: DataType) -> Column:
    """A column brought to the type in which it meets others (`language.results.common_type`).

    NULLs take any type; whole numbers and decimals become FLOAT or a decimal of a larger scale, NULL where that does
    not fit int64; other kinds stay as they are.
    """
    if column.type == dtype:
        return column
    if column.type.kind is Kind.NULL:
        null = all_null(dtype, len(column))
        return Column(null.values, null.valid, dtype, null.dictionary, null.ordered, column.absent)
    if dtype.kind is Kind.FLOAT:
        return Column(floats(column), column.valid, dtype, absent=column.absent)
    if dtype.kind is Kind.DECIMAL:
        values, outside = scaled_up(integers(column), scale_of(dtype) - scale_of(column.type))
        valid = column.valid
        if outside is not None:
            valid = ~outside if valid is None else valid & ~outside
        return Column(values, valid, dtype, absent=column.absent)
    return column
