"""``least``, ``greatest`` and ``coalesce`` over columns: the functions that pass NULLs over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.compiler.columnwise.casts import INT64_MAX, INT64_MIN, as_type, scale_of
from cepheid.compiler.columnwise.comparison import compare
from cepheid.compiler.columnwise.masks import any_absent, truth_of
from cepheid.events.column import BoolArray, Column, unify
from cepheid.events.types import DataType


def chosen(function: str, columns: Sequence[Column], result: DataType) -> Column:
    """The least, the greatest or the first of the values that are not NULL, row by row.

    Args:
        function: ``least``, ``greatest`` or ``coalesce``.
        columns: the arguments.
        result: the type in which they meet.
    """
    absent = any_absent(columns)
    alike = unify([as_type(c, result) for c in columns], ordered=function != "coalesce")
    best = alike[0]
    for other in alike[1:]:
        best = _better(function, best, other)
    valid = best.valid
    values = best.values
    lost = _lost(columns, alike)
    if lost is not None:
        values, valid = values.copy(), best.is_valid().copy()
        for row in np.flatnonzero(lost):
            exact = _exact(function, columns, int(row), result.scale or 0)
            valid[row] = INT64_MIN <= exact <= INT64_MAX
            values[row] = exact if valid[row] else 0
    if absent is not None:
        valid = ~absent if valid is None else valid & ~absent
        values = np.where(valid, values, values.dtype.type(0))
    return Column(values, valid, result, best.dictionary, best.ordered, absent)


def _better(function: str, one: Column, other: Column) -> Column:
    """One of two columns of one type, row by row: the value of the only one that has one, or the one that is asked."""
    take_other: BoolArray = np.zeros(len(one), np.bool_)
    if function != "coalesce":
        operator = "<" if function == "least" else ">"
        take_other = truth_of(compare(operator, other, one)) & one.is_valid() & other.is_valid()
    if one.valid is not None:
        take_other |= ~one.valid & other.is_valid()
    valid = None if one.valid is None or other.valid is None else one.valid | other.valid
    values = np.where(take_other, other.values, one.values)
    return Column(values, valid, one.type, one.dictionary, one.ordered)


def is_choice(function: str) -> bool:
    """True for the functions of this module."""
    return function in ("least", "greatest", "coalesce")


def _lost(columns: Sequence[Column], alike: Sequence[Column]) -> BoolArray | None:
    """Rows in which a decimal did not fit the common scale, so that the choice may be wrong; None for none."""
    lost: BoolArray | None = None
    for before, after in zip(columns, alike, strict=True):
        if after.valid is not None and after.valid is not before.valid:
            gone = before.is_valid() & ~after.valid
            if gone.any():
                lost = gone if lost is None else lost | gone
    return lost


def _exact(function: str, columns: Sequence[Column], row: int, scale: int) -> int:
    """The choice in one row among whole numbers and decimals, unscaled at ``scale``, without bounds."""
    values: list[int] = [int(c.values[row]) * 10 ** (scale - scale_of(c.type)) for c in columns if c.is_valid()[row]]
    match function:
        case "least":
            return min(values)
        case "greatest":
            return max(values)
        case _:
            return values[0]
