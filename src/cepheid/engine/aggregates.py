"""count, sum, avg, min and max of the values that a variable has in each match."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.compiler.columnwise.casts import INT64_MAX, INT64_MIN, scale_of, value_range
from cepheid.events.column import AnyColumn, BoolArray, Column, Int64Array, unify
from cepheid.events.types import FLOAT, INT, DataType, Kind

# Sums of floats are off by far less than the distance of this bound to 2**63: what stays below it fits int64.
_SURELY_FITS = 9.2e18
_LEAST_FLOAT_BITS = np.int64(0x7FFFFFFFFFFFFFFF)


def counted(values: AnyColumn | None, match_of: Int64Array, n: int) -> Column:
    """The number of values that are not NULL, by match; of all elements where ``values`` is None."""
    if values is not None and values.valid is not None:
        match_of = match_of[values.valid]
    return Column(np.bincount(match_of, minlength=n).astype(np.int64, copy=False), None, INT)


def aggregated(function: str, values: Column, match_of: Int64Array, n: int, result: DataType) -> Column:
    """An aggregate of the values that are not NULL, by match; NULL where there are none.

    Args:
        function: sum, avg, min or max.
        values: one for each element, match after match.
        match_of: the number of the match of each element, ascending.
        n: the number of matches.
        result: the type of the aggregate (`language.results.aggregate_type`).

    Returns:
        n values. A sum of whole numbers that does not fit int64 is NULL; floats are added one by one, in order,
        from 0.0; an average is the exact sum by the count, as floats.
    """
    if function in ("min", "max"):
        best = extremes(function, values, match_of, n)
        return values.take(np.maximum(best, 0), best < 0) if len(values) else _nothing(values, n)
    kept, seen = _valid(values, match_of)
    counts = np.bincount(seen, minlength=n)
    valid: BoolArray = counts > 0
    numbers: npt.NDArray[Any]
    if values.type.kind is Kind.FLOAT:
        with np.errstate(all="ignore"):
            # bincount adds its weights one after the other, which keeps the order (reduceat adds in pairs).
            numbers = np.bincount(seen, weights=kept, minlength=n)
            if function == "avg":
                numbers = numbers / np.maximum(counts, 1)
    else:
        sums, exact = _whole_sums(kept.astype(np.int64, copy=False), seen, counts)
        if function == "avg":
            unit = 10 ** scale_of(values.type)
            numbers = sums.astype(np.float64) / (np.maximum(counts, 1) * np.float64(unit))
            for match, total in exact.items():
                numbers[match] = float(total) / float(int(counts[match]) * unit)
        else:
            numbers = sums
            for match, total in exact.items():
                valid[match] = INT64_MIN <= total <= INT64_MAX
                numbers[match] = total if valid[match] else 0
    numbers[~valid] = 0
    return Column(numbers, None if valid.all() else valid, FLOAT if function == "avg" else result)


def _nothing(values: Column, n: int) -> Column:
    none = np.zeros(n, np.bool_)
    return Column(np.zeros(n, values.values.dtype), none, values.type, values.dictionary, values.ordered)


def _valid(values: Column, match_of: Int64Array) -> tuple[npt.NDArray[Any], Int64Array]:
    """The values that are not NULL, and their matches."""
    if values.valid is None:
        return values.values, match_of
    return values.values[values.valid], match_of[values.valid]


def _whole_sums(values: Int64Array, match_of: Int64Array, counts: Int64Array) -> tuple[Int64Array, dict[int, int]]:
    """Sums of whole numbers by match; and, for matches in which they may not fit int64, the exact ones."""
    sums = np.zeros(len(counts), np.int64)
    some = counts > 0
    if not len(values):
        return sums, {}
    ends = np.cumsum(counts)
    sums[some] = np.add.reduceat(values, (ends - counts)[some])
    low, high = value_range(values)
    most = int(counts.max())
    if low * most >= INT64_MIN and high * most <= INT64_MAX:
        return sums, {}
    sizes = np.bincount(match_of, weights=np.abs(values.astype(np.float64)), minlength=len(counts))
    exact = {}
    for match in np.flatnonzero(sizes > _SURELY_FITS).tolist():
        exact[match] = sum(values[ends[match] - counts[match] : ends[match]].tolist())
    return sums, exact


def extremes(function: str, values: Column, match_of: Int64Array, n: int) -> Int64Array:
    """Which element has the least or greatest value in each match: its number, the first of equal ones; -1 for none."""
    ordered = unify([values])[0]
    keys = _ordered_keys(ordered)
    elements = np.arange(len(values))
    if ordered.valid is not None:
        keys, match_of, elements = keys[ordered.valid], match_of[ordered.valid], elements[ordered.valid]
    best = np.full(n, -1, np.int64)
    if not len(keys):
        return best
    counts = np.bincount(match_of, minlength=n)
    some = counts > 0
    starts = (np.cumsum(counts) - counts)[some]
    reduce = np.minimum if function == "min" else np.maximum
    extreme = np.zeros(n, np.int64)
    extreme[some] = reduce.reduceat(keys, starts)
    hits = np.flatnonzero(keys == extreme[match_of])
    # Written from the last to the first, the first stays.
    best[match_of[hits[::-1]]] = elements[hits[::-1]]
    return best


def _ordered_keys(column: Column) -> Int64Array:
    """Integers that are ordered as the values are: NaN above all numbers, the two zeros equal."""
    values = column.values
    if values.dtype != np.float64:
        return values.astype(np.int64, copy=False)
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = plain.view(np.int64)
    # The bits of negative floats descend as their values ascend.
    return bits ^ ((bits >> 63) & _LEAST_FLOAT_BITS)
