"""One attribute of many events as arrays: what predicates, kernels and outputs compute with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.events.arrow_memory import array_of, numpy_of, texts_of
from cepheid.events.types import TEXT, DataType, Kind

Int64Array: TypeAlias = npt.NDArray[np.int64]
Int32Array: TypeAlias = npt.NDArray[np.int32]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

_NO_TEXT: Any = texts_of([""])


@dataclass(frozen=True, eq=False)
class Column:
    """Values of one type, one per row.

    Attributes:
        values: int64, or float64 for FLOAT; shape (n,), perhaps read-only, perhaps of stride 0 (a
            constant). BOOL is 0 or 1, TIMESTAMP and DURATION are microseconds, DECIMAL is the unscaled
            number (value * 10**scale), TEXT is a code: an index into ``dictionary``. A row without a
            value holds 0.
        valid: False where the row has no value (it is NULL or absent); None where all rows have one.
        type: the type.
        dictionary: for TEXT, a string or large_string array without NULLs and repetitions, never empty
            (so that every code can be looked up); else None.
        ordered: for TEXT, the dictionary is ascending by UTF-8 bytes, so that codes compare as the texts do.
        absent: True where the row has no value because the match does not bind the variable (SEMANTICS
            4.2), a subset of the rows that are not valid; None where no row is absent.
    """

    values: npt.NDArray[Any]
    valid: BoolArray | None
    type: DataType
    dictionary: Any = None
    ordered: bool = False
    absent: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_constant(self) -> bool:
        """True if all rows are known to hold the same value (or none has one)."""
        return len(self.values) > 1 and self.values.strides == (0,) and self.valid is None

    def take(self, rows: Int64Array, absent: BoolArray | None = None) -> Column:
        """The rows with these numbers, in this order.

        Args:
            rows: int64 indices into this column; what they are where ``absent`` holds does not matter,
                as long as they are not past the end (negative ones count from the end).
            absent: rows of the result that are absent, or None.
        """
        if absent is not None and len(self) == 0:
            return all_absent(self.type, len(rows))
        values = self.values[rows]
        valid = None if self.valid is None else self.valid[rows]
        gone = None if self.absent is None else self.absent[rows]
        if absent is not None:
            values[absent] = 0
            valid = ~absent if valid is None else valid & ~absent
            gone = absent if gone is None else gone | absent
        return Column(values, valid, self.type, self.dictionary, self.ordered, gone)

    def is_valid(self) -> BoolArray:
        """Where there is a value, as an array in any case. Not to be written to."""
        return np.broadcast_to(np.True_, len(self.values)) if self.valid is None else self.valid


@dataclass(frozen=True, eq=False)
class ArrowColumn:
    """Values that are carried, but not computed with as numbers: LIST, STRUCT, OTHER.

    Attributes:
        values: an Arrow array, shape (n,).
        type: the type.
        absent: as in `Column`.
    """

    values: Any
    type: DataType
    absent: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def valid(self) -> BoolArray | None:
        """False where the row has no value; None where all rows have one."""
        if self.values.null_count == 0 and self.absent is None:
            return None
        valid: BoolArray = numpy_of(self.values.is_valid())
        return valid if self.absent is None else valid & ~self.absent

    def is_valid(self) -> BoolArray:
        """Where there is a value, as an array in any case. Not to be written to."""
        valid = self.valid
        return np.broadcast_to(np.True_, len(self)) if valid is None else valid

    def take(self, rows: Int64Array, absent: BoolArray | None = None) -> ArrowColumn:
        """The rows with these numbers; see `Column.take`."""
        indices = array_of(rows, absent)
        gone = None if self.absent is None or len(self) == 0 else self.absent[rows]
        if absent is not None:
            gone = absent if gone is None else gone | absent
        return ArrowColumn(self.values.take(indices), self.type, gone)


AnyColumn: TypeAlias = Column | ArrowColumn


def text_column(
    codes: npt.NDArray[Any],
    valid: BoolArray | None,
    dictionary: Any,
    *,
    ordered: bool = False,
    absent: BoolArray | None = None,
) -> Column:
    """A TEXT column, from codes that need not be right where ``valid`` is False."""
    codes = codes.astype(np.int64, copy=False)
    if len(dictionary) == 0:
        dictionary, ordered = _NO_TEXT.cast(dictionary.type), True
    if valid is not None:
        if bool(valid.all()):
            valid = None
        else:
            codes = np.where(valid, codes, 0)
    return Column(codes, valid, TEXT, dictionary, ordered or len(dictionary) == 1, absent)


def all_null(dtype: DataType, n: int) -> Column:
    """A column of ``n`` NULLs."""
    kind = np.float64 if dtype.kind is Kind.FLOAT else np.int64
    text = dtype.kind is Kind.TEXT
    return Column(np.zeros(n, kind), np.zeros(n, np.bool_), dtype, _NO_TEXT if text else None, text)


def all_absent(dtype: DataType, n: int) -> Column:
    """A column of ``n`` absent values."""
    null = all_null(dtype, n)
    return Column(null.values, null.valid, dtype, null.dictionary, null.ordered, np.ones(n, np.bool_))


def constant(value: int | float | str, dtype: DataType, n: int) -> Column:
    """A column of ``n`` equal values, which takes no room.

    Args:
        value: as `Column.values` has it (a decimal unscaled, a time in microseconds); text as str.
        dtype: the type.
        n: the number of rows.
    """
    if dtype.kind is Kind.TEXT:
        return Column(np.broadcast_to(np.int64(0), n), None, dtype, texts_of([str(value)]), True)
    scalar = np.float64(value) if dtype.kind is Kind.FLOAT else np.int64(value)
    return Column(np.broadcast_to(scalar, n), None, dtype)


def unify(columns: Sequence[Column], *, ordered: bool = True) -> list[Column]:
    """The same columns, with one dictionary shared by those of TEXT: codes of different columns compare.

    Args:
        columns: of any types; those that are not TEXT are returned as they are.
        ordered: the shared dictionary is ascending by UTF-8 bytes, so that ``<`` on codes is ``<`` on
            texts. Without it only equality holds, which costs less for many distinct texts.
    """
    texts = [c for c in columns if c.type.kind is Kind.TEXT]
    if not texts:
        return list(columns)
    first = texts[0]
    if all(c.dictionary is first.dictionary for c in texts) and (first.ordered or not ordered):
        return list(columns)
    dictionary, codes = merge_dictionaries([c.dictionary for c in texts], ordered=ordered)
    new_codes = iter(codes)

    def recode(column: Column, mapping: Int64Array) -> Column:
        if column.is_constant:
            values = np.broadcast_to(mapping[column.values[0]], len(column))
        else:
            values = mapping[column.values]
            if column.valid is not None:
                values[~column.valid] = 0
        return Column(values, column.valid, column.type, dictionary, ordered, column.absent)

    return [recode(c, next(new_codes)) if c.type.kind is Kind.TEXT else c for c in columns]


def merge_dictionaries(dictionaries: Sequence[Any], *, ordered: bool) -> tuple[Any, Iterator[Int64Array]]:
    """One dictionary for several.

    Returns:
        The merged dictionary (ascending by UTF-8 bytes if ``ordered``), and for each of ``dictionaries``
        the new code of each of its entries, int64.
    """
    wide = any(pa.types.is_large_string(d.type) for d in dictionaries)
    texts = pa.chunked_array([d.cast(pa.large_string() if wide else pa.string()) for d in dictionaries])
    encoded = texts.dictionary_encode().combine_chunks()
    # An array of no or one chunk may come back as a ChunkedArray, depending on the version of Arrow.
    chunk = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    dictionary = chunk.dictionary
    codes = numpy_of(chunk.indices).astype(np.int64)
    if ordered:
        order = numpy_of(pc.array_sort_indices(dictionary)).astype(np.int64)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        dictionary, codes = dictionary.take(array_of(order)), rank[codes]
    ends = np.cumsum([len(d) for d in dictionaries])
    return dictionary, iter(np.split(codes, ends[:-1]))
