"""Comparisons of columns, and membership in lists of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.compiler.columnwise.casts import floats, integers, scale_of
from cepheid.compiler.columnwise.distinct import compacted
from cepheid.compiler.columnwise.masks import all_valid, any_absent, truth_column
from cepheid.events.column import ArrowColumn, BoolArray, Column, Int64Array, unify
from cepheid.events.convert import column_of
from cepheid.events.types import Kind

_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ON_ARRAYS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_ON_TEXTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def compare(operator: str, left: Column, right: Column) -> Column:
    """``left operator right`` with operator one of ``= <> < <= > >=``.

    NULL where an operand is, absent where one is. NaN equals itself and is above all numbers; a decimal meets a
    whole number or another decimal exactly, and a float as the nearest float; text goes by its UTF-8 bytes.
    """
    return truth_column(_holds(operator, left, right), all_valid((left, right)), any_absent((left, right)))


def _holds(operator: str, left: Column, right: Column) -> BoolArray:
    """The comparison, where both have a value; anything elsewhere."""
    kinds = (left.type.kind, right.type.kind)
    if Kind.NULL in kinds:
        return np.zeros(len(left), np.bool_)
    if kinds[0] is Kind.TEXT:
        return _compare_texts(operator, left, right)
    if Kind.FLOAT in kinds:
        return _compare_floats(operator, floats(left), floats(right))
    a, b = integers(left), integers(right)
    up = scale_of(left.type) - scale_of(right.type)
    if up > 0:
        return _compare_scaled(_MIRRORED[operator], b, a, up)
    if up < 0:
        return _compare_scaled(operator, a, b, -up)
    result: BoolArray = _ON_ARRAYS[operator](a, b)
    return result


def _compare_floats(operator: str, a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> BoolArray:
    nan_a, nan_b = _nan(a), _nan(b)
    result: BoolArray = _ON_ARRAYS[operator](a, b)
    if nan_a is None and nan_b is None:
        return result
    none = np.zeros(len(a), np.bool_)
    nan_a, nan_b = (none if nan_a is None else nan_a), (none if nan_b is None else nan_b)
    either = nan_a | nan_b
    # NaN is the greatest value: among values of which one is NaN, being NaN is what is compared.
    result[either] = _ON_ARRAYS[operator](nan_a[either], nan_b[either])
    return result


def _nan(values: npt.NDArray[np.float64]) -> BoolArray | None:
    """Where values are NaN; None for nowhere."""
    if values.strides == (0,) and len(values):
        return None if values[0] == values[0] else np.ones(len(values), np.bool_)
    nan = np.isnan(values)
    return nan if nan.any() else None


def _compare_scaled(operator: str, a: Int64Array, b: Int64Array, up: int) -> BoolArray:
    """``a * 10**up operator b`` for whole numbers, without the product, which need not fit."""
    if up <= 18:
        # b = whole * 10**up + rest with 0 <= rest: the product is equal to b where a is whole and nothing rests.
        whole, rest = np.divmod(b, 10**up)
    else:
        whole, rest = np.where(b < 0, -1, 0), np.where(b < 0, 1, b)
    below: BoolArray = (a < whole) | ((a == whole) & (rest > 0))
    equal: BoolArray = (a == whole) & (rest == 0)
    match operator:
        case "=":
            return equal
        case "<>":
            return ~equal
        case "<":
            return below
        case "<=":
            return below | equal
        case ">":
            return ~(below | equal)
        case _:
            return ~below


def _compare_texts(operator: str, left: Column, right: Column) -> BoolArray:
    if len(left) == 0:
        return np.zeros(0, np.bool_)
    if len(left.dictionary) == 1 and len(right.dictionary) > 1:
        return _compare_texts(_MIRRORED[operator], right, left)
    if len(right.dictionary) == 1:
        # One text against many rows: compared once with each distinct text.
        left = compacted(left)
        text = pa.scalar(right.dictionary[0].as_py(), left.dictionary.type)
        table: BoolArray = _ON_TEXTS[operator](left.dictionary, text).to_numpy(zero_copy_only=False)
        by_row: BoolArray = table[left.values]
        return by_row
    one, other = unify([left, right], ordered=operator not in ("=", "<>"))
    result: BoolArray = _ON_ARRAYS[operator](one.values, other.values)
    return result


def is_in(operand: Column, options: Sequence[Column]) -> Column:
    """``operand IN (options)``: true where one is equal; else NULL where one is NULL, or the operand is."""
    absent = any_absent((operand, *options))
    found = np.zeros(len(operand), np.bool_)
    unknown = np.zeros(len(operand), np.bool_) if operand.valid is None else ~operand.valid
    for option in options:
        valid = all_valid((operand, option))
        equal = _holds("=", operand, option)
        if valid is None:
            found |= equal
        else:
            found |= equal & valid
            unknown |= ~valid
    valid = found | ~unknown
    if absent is not None:
        valid &= ~absent
    return truth_column(found, None if valid.all() else valid, absent)


def is_in_list(operand: Column, container: ArrowColumn) -> Column:
    """``operand IN container`` for a column of lists, each row looked up in its own list.

    Three-valued as `is_in`, so NULL is neither in a list nor not in it, be it empty; a NULL list gives NULL.
    """
    lists = container.values
    rows = np.asarray(pc.list_parent_indices(lists)).astype(np.int64, copy=False)
    elements, _ = column_of(pc.list_flatten(lists), "list")
    assert isinstance(elements, Column), "bind lets no value be looked up in lists of lists"
    met = operand.take(rows)
    equal = _holds("=", met, elements)
    valid = all_valid((met, elements))
    n = len(operand)
    found, unknown = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    found[rows[equal if valid is None else equal & valid]] = True
    if valid is not None:
        unknown[rows[~valid]] = True
    absent = any_absent((operand, container))
    known = found | ~unknown
    if operand.valid is not None:
        known &= operand.valid
    if container.valid is not None:
        known &= container.valid
    if absent is not None:
        known &= ~absent
    return truth_column(found, None if known.all() else known, absent)
