"""Arrow arrays to columns and back, through their buffers: no Python value is made on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import DataError
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.events.arrow_types import arrow_type, data_type
from cepheid.events.column import AnyColumn, ArrowColumn, BoolArray, Column, Int64Array, all_null, text_column
from cepheid.events.text import chunks_of, encode_text, require_utf8
from cepheid.events.types import Kind

US_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
_INT64 = np.iinfo(np.int64)


def column_of(values: Any, name: str) -> tuple[AnyColumn, int]:
    """The column that an Arrow array holds.

    Args:
        values: an Arrow Array or ChunkedArray.
        name: of the attribute, for errors.

    Returns:
        The column, and the number of values that lost something (nanoseconds, which are floored).

    Raises:
        DataError: an unsigned number, a decimal or a time does not fit int64; a text is not UTF-8.
    """
    dtype = data_type(values.type)
    if pa.types.is_run_end_encoded(values.type):
        values = pa.chunked_array([pc.run_end_decode(c) for c in chunks_of(values)], type=values.type.value_type)
    if dtype.kind is Kind.TEXT:
        codes, valid, dictionary = encode_text(values)
        return text_column(codes, valid, require_utf8(dictionary, name)), 0
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if dtype.kind is Kind.NULL:
        return all_null(dtype, len(values)), 0
    if dtype.kind in (Kind.LIST, Kind.SET, Kind.STRUCT, Kind.OTHER):
        return ArrowColumn(one_array(values), dtype), 0
    numbers, valid, n_floored = numbers_of(values, name)
    return Column(numbers, valid, dtype), n_floored


def one_array(values: Any) -> Any:
    """The rows of a ChunkedArray as one Array."""
    if not isinstance(values, pa.ChunkedArray):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    combined = values.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        return combined.chunk(0) if combined.num_chunks == 1 else pa.array([], values.type)
    return combined


def plain_numbers(values: Any) -> npt.NDArray[Any] | None:
    """The buffer of a ChunkedArray of numbers that are read as they are: one chunk, no NULL, a type that fits; or None.

    Returns:
        Integers of up to 63 bits, float64 or float32; shape (n,), not copied.
    """
    arrow, types = values.type, pa.types
    plain = types.is_signed_integer(arrow) or types.is_float64(arrow) or types.is_float32(arrow)
    if not plain and not (types.is_unsigned_integer(arrow) and not types.is_uint64(arrow)):
        return None
    chunks = chunks_of(values)
    if len(chunks) != 1 or values.null_count:
        return None
    return _raw(chunks[0], np.dtype(arrow.to_pandas_dtype()))


def numbers_of(values: Any, name: str) -> tuple[npt.NDArray[Any], BoolArray | None, int]:
    """The values of an array of BOOL, INT, FLOAT, DECIMAL, TIMESTAMP or DURATION, as `Column.values` has them.

    Returns:
        The values (0 where there is none), where there is one (None: everywhere), and how many were floored.
    """
    chunks = chunks_of(values)
    if not chunks:
        floats = pa.types.is_floating(values.type)
        return np.zeros(0, np.float64 if floats else np.int64), None, 0
    parts = [_numbers(chunk, name) for chunk in chunks]
    numbers = parts[0][0] if len(parts) == 1 else np.concatenate([p[0] for p in parts])
    valid: BoolArray | None = None
    if values.null_count:
        valid = np.concatenate([numpy_of(chunk.is_valid()) for chunk in chunks])
        numbers = np.where(valid, numbers, 0)
    return numbers, valid, sum(p[1] for p in parts)


def _numbers(chunk: Any, name: str) -> tuple[npt.NDArray[Any], int]:
    """The values of one array; where there is none, whatever lies in the buffer."""
    arrow = chunk.type
    types = pa.types
    if types.is_boolean(arrow):
        return _raw(chunk.cast(pa.int8()), np.int8).astype(np.int64), 0
    if types.is_uint64(arrow):
        return _checked_unsigned(chunk, name), 0
    if types.is_integer(arrow):
        return _raw(chunk, np.dtype(arrow.to_pandas_dtype())).astype(np.int64, copy=False), 0
    if types.is_floating(arrow):
        return _raw(chunk, np.dtype(arrow.to_pandas_dtype())).astype(np.float64, copy=False), 0
    if types.is_decimal(arrow):
        return unscaled(chunk, name), 0
    if types.is_date32(arrow):
        return _multiplied(_raw(chunk, np.int32).astype(np.int64), 86_400_000_000, chunk, name), 0
    if types.is_date64(arrow):
        # Milliseconds that Arrow wants to be whole days, but does not check.
        return _multiplied(_raw(chunk, np.int64) // 86_400_000, 86_400_000_000, chunk, name), 0
    raw = _raw(chunk, np.int64)
    if arrow.unit == "ns":
        return floor_nanoseconds(raw, numpy_of(chunk.is_valid()) if chunk.null_count else None)
    return _multiplied(raw, US_PER_UNIT[arrow.unit], chunk, name), 0


def _raw(chunk: Any, dtype: Any) -> npt.NDArray[Any]:
    """The buffer of values of an array of fixed width, not copied."""
    values: npt.NDArray[Any] = np.frombuffer(chunk.buffers()[1], dtype)
    return values[chunk.offset : chunk.offset + len(chunk)]


def floor_nanoseconds(raw: Int64Array, valid: BoolArray | None) -> tuple[Int64Array, int]:
    """Nanoseconds as microseconds, rounded down; and how many values were not whole microseconds.

    Args:
        raw: nanoseconds, shape (n,).
        valid: False where a value is NULL, shape (n,); None for nowhere.
    """
    whole = raw // 1_000
    lost = whole * 1_000 != raw
    if valid is not None:
        lost &= valid
    return whole, int(np.count_nonzero(lost))


def _multiplied(raw: Int64Array, factor: int, chunk: Any, name: str) -> Int64Array:
    if factor == 1:
        return raw
    limit = _INT64.max // factor
    outside = (raw > limit) | (raw < -limit)
    if outside.any():
        bad = _first_bad(outside, chunk)
        if bad is not None:
            raise DataError(
                f"column {name!r} holds the time {raw[bad]} {chunk.type}, which is beyond int64 microseconds",
                remedy="leave such values out, or make them NULL (they are often placeholders)",
            )
    return np.multiply(raw, factor)


def _checked_unsigned(chunk: Any, name: str) -> Int64Array:
    raw = _raw(chunk, np.int64)
    if len(raw) and raw.min() < 0:
        bad = _first_bad(raw < 0, chunk)
        if bad is not None:
            raise DataError(
                f"column {name!r} holds {int(raw[bad].view(np.uint64))}, which does not fit a signed 64-bit integer",
                remedy="cast the column to text if it is an identifier, or to float64 if it is a measure",
            )
    return raw


def _first_bad(bad: BoolArray, chunk: Any) -> int | None:
    """The first row that is bad and has a value, or None."""
    if chunk.null_count:
        bad = bad & numpy_of(chunk.is_valid())
    rows = np.flatnonzero(bad)
    return int(rows[0]) if len(rows) else None


def unscaled(chunk: Any, name: str) -> Int64Array:
    """The unscaled integers of an array of decimals, as int64.

    A decimal lies in its buffer as an integer in two's complement, the low word first; it fits int64 if
    the higher words only repeat the sign of the lowest.

    Raises:
        DataError: a value that does not fit.
    """
    width = chunk.type.byte_width
    if width < 8:
        return _raw(chunk, np.int32).astype(np.int64)
    words = np.frombuffer(chunk.buffers()[1], np.int64).reshape(-1, width // 8)
    words = words[chunk.offset : chunk.offset + len(chunk)]
    low = np.ascontiguousarray(words[:, 0])
    sign = low >> 63
    for word in range(1, width // 8):
        wrong = words[:, word] != sign
        if wrong.any():
            bad = _first_bad(wrong, chunk)
            if bad is not None:
                raise DataError(
                    f"column {name!r} holds the decimal {chunk[bad].as_py()}, of more than 18 digits "
                    f"at the column's scale of {chunk.type.scale}",
                    remedy="cast the column to a decimal of a smaller scale, to float64, or to text",
                )
    return low


def arrow_of(column: AnyColumn, arrow: Any = None) -> Any:
    """The Arrow array that holds what a column holds; NULL where it is NULL or absent.

    Args:
        column: the column.
        arrow: the Arrow type to give (one of the column's kind), or None for that of computed values.

    Returns:
        An Arrow array of n values.
    """
    if isinstance(column, ArrowColumn):
        return column.values if arrow is None or column.values.type == arrow else column.values.cast(arrow)
    arrow = arrow_type(column.type) if arrow is None else arrow
    mask = None if column.valid is None else ~column.valid
    values = column.values
    match column.type.kind:
        case Kind.NULL:
            return pa.nulls(len(values), arrow)
        case Kind.BOOL:
            return array_of(values.astype(np.bool_), mask)
        case Kind.TEXT:
            codes = array_of(values, mask)
            if pa.types.is_dictionary(arrow):
                return pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), column.dictionary).cast(arrow)
            texts = column.dictionary.take(codes)
            return texts if texts.type == arrow else texts.cast(arrow)
        case Kind.DECIMAL:
            return _decimals(values, mask, column.type.scale or 0, arrow)
        case Kind.TIMESTAMP:
            array = array_of(values, mask).cast(pa.timestamp("us"))
            return _time_as(array, arrow)
        case Kind.DURATION:
            return array_of(values, mask).cast(pa.duration("us")).cast(arrow)
        case _:
            array = array_of(values, mask)
            return array if array.type == arrow else array.cast(arrow)


def _time_as(array: Any, arrow: Any) -> Any:
    """UTC microseconds as the timestamp or date type ``arrow``, the instant unchanged, the rest of a unit cut off."""
    if not pa.types.is_timestamp(arrow):
        return array.cast(arrow, safe=False)
    # From naive to a zone Arrow would read wall clock time of that zone: what we have is UTC.
    in_unit = array.cast(pa.timestamp(arrow.unit), safe=arrow.unit in ("us", "ns"))
    return in_unit.view(arrow)


def _decimals(values: Int64Array, mask: BoolArray | None, scale: int, arrow: Any) -> Any:
    words = np.empty((len(values), 2), np.int64)
    words[:, 0] = values
    words[:, 1] = values >> 63
    full = pa.decimal128(38, scale)
    validity = None if mask is None else array_of(~mask).buffers()[1]
    array = pa.Array.from_buffers(full, len(values), [validity, pa.py_buffer(words)])
    return array if arrow == full else array.cast(arrow)
