"""Columns as Python values and back, for registered functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from numbers import Integral, Real

import numpy as np
import pyarrow as pa

from cepheid.compiler.columnwise.casts import INT64_MAX, INT64_MIN, as_type
from cepheid.compiler.columnwise.masks import any_absent
from cepheid.errors import DataError
from cepheid.events.column import Column, all_null, text_column
from cepheid.events.text import encode_text
from cepheid.events.types import DataType, Kind
from cepheid.language.bound import Function
from cepheid.language.faults import shortened
from cepheid.language.scope import article

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# More digits than any value here has: nothing is rounded but where it is asked for.
_WIDE = Context(prec=1_000, rounding=ROUND_HALF_UP)


def called(function: Function, arguments: Sequence[Column], n: int) -> Column:
    """A registered function over columns, row by row.

    It gets bool, int, float, `decimal.Decimal`, str, `datetime.datetime` (UTC) and `datetime.timedelta`, None for NULL;
    it is not called for rows in which an argument is absent, which are absent in the result.

    Raises:
        DataError: the function raises, or gives a value that is not of its declared type.
    """
    columns = [as_type(c, t) for c, t in zip(arguments, function.arguments, strict=True)]
    absent = any_absent(columns)
    rows = zip(*map(python_values, columns), strict=True) if columns else iter([()] * n)
    results: list[object] = []
    for row, values in enumerate(rows):
        if absent is not None and absent[row]:
            results.append(None)
            continue
        try:
            results.append(function.call(*values))
        except Exception as error:  # a user's function may raise anything
            raise DataError(
                f"the function {function.name} raised {_told(error)}, for {_shown(values)}",
                remedy="let it return None where it has no answer",
            ) from error
    column = column_from(results, function.result, f"the function {function.name}")
    return Column(column.values, column.valid, column.type, column.dictionary, column.ordered, absent)


def _shown(values: Sequence[object]) -> str:
    return "(" + ", ".join(_written(v) for v in values) + ")"


def _told(error: Exception) -> str:
    """An exception of a user's code, whose text may be empty, long, or raise in its turn."""
    name = type(error).__name__
    try:
        text = shortened(str(error))
    except Exception:  # noqa: BLE001 - it is the user's, too
        return name
    return f"{name}: {text}" if text else name


def _written(value: object) -> str:
    try:
        return shortened(repr(value))
    except Exception:  # noqa: BLE001 - it is the user's
        return f"a {type(value).__name__}"


def python_values(column: Column) -> list[object]:
    """The values of a column as Python has them; None for NULL."""
    if column.type.kind is Kind.NULL:
        return [None] * len(column)
    raw = column.values.tolist()
    values: list[object]
    match column.type.kind:
        case Kind.BOOL:
            values = [bool(v) for v in raw]
        case Kind.DECIMAL:
            scale = column.type.scale or 0
            values = [Decimal(v).scaleb(-scale) for v in raw]
        case Kind.TEXT:
            texts = column.dictionary.to_pylist()
            values = [texts[code] for code in raw]
        case Kind.TIMESTAMP:
            values = [_moment(us) for us in raw]
        case Kind.DURATION:
            values = [timedelta(microseconds=us) for us in raw]
        case _:
            values = raw
    if column.valid is not None:
        values = [v if ok else None for v, ok in zip(values, column.valid.tolist(), strict=True)]
    return values


def _moment(us: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=us)
    except OverflowError as error:
        raise DataError(
            f"a function got the time {us} microseconds since 1970, which Python's datetime cannot hold",
            remedy="leave such times out, or make them NULL",
        ) from error


def column_from(values: Sequence[object], dtype: DataType, origin: str) -> Column:
    """A column of Python values.

    Args:
        values: None for NULL.
        dtype: the type that they are to have.
        origin: what gave them, for errors.

    Raises:
        DataError: a value is not of this type, or does not fit int64.
    """
    valid = np.fromiter((v is not None for v in values), np.bool_, len(values))
    mask = None if valid.all() else valid
    if dtype.kind is Kind.NULL:
        return all_null(dtype, len(values))
    if dtype.kind is Kind.TEXT:
        for value in values:
            if value is not None and not isinstance(value, str):
                raise _wrong(value, dtype, origin)
        for value in values:
            if isinstance(value, str) and not _is_utf8(value):
                raise _wrong(value, dtype, origin)
        codes, _, dictionary = encode_text(pa.array(values, pa.string()))
        return text_column(codes, mask, dictionary)
    numbers = [0 if v is None else number_of(v, dtype, origin) for v in values]
    kind = np.float64 if dtype.kind is Kind.FLOAT else np.int64
    return Column(np.array(numbers, kind), mask, dtype)


def number_of(value: object, dtype: DataType, origin: str) -> int | float:
    """A Python value as `Column.values` has it."""
    if isinstance(value, bool | np.bool_):
        # To Python a bool is an int; to a query it is not.
        if dtype.kind is not Kind.BOOL:
            raise _wrong(value, dtype, origin)
        return int(value)
    result: int | None = None
    match dtype.kind:
        case Kind.INT if isinstance(value, Integral):
            result = int(value)
        case Kind.FLOAT if isinstance(value, Real | Decimal):
            try:
                return float(value)
            except (OverflowError, ValueError):  # an int beyond all floats, a decimal that is a signalling NaN
                raise _wrong(value, dtype, origin) from None
        case Kind.DECIMAL if isinstance(value, Decimal | Integral):
            result = _unscaled(value if isinstance(value, Decimal) else Decimal(int(value)), dtype.scale or 0)
        case Kind.TIMESTAMP if isinstance(value, datetime):
            moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            result = (moment - _EPOCH) // _MICROSECOND
        case Kind.DURATION if isinstance(value, timedelta):
            result = value // _MICROSECOND
    if result is None or not INT64_MIN <= result <= INT64_MAX:
        raise _wrong(value, dtype, origin)
    return result


def _unscaled(value: Decimal, scale: int) -> int | None:
    """``value * 10**scale``, rounded half away from zero; None where that is far beyond int64."""
    if not value.is_finite() or value.adjusted() + scale > 20:
        return None
    return int(_WIDE.to_integral_value(_WIDE.scaleb(value, scale)))


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _wrong(value: object, dtype: DataType, origin: str) -> DataError:
    return DataError(
        f"{origin} gave {_written(value)} ({type(value).__name__}), which is no {dtype}",
        remedy=f"let it give {article(dtype)}, or declare the type that it gives",
    )
