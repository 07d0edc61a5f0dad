"""Arrow's data types as the language sees them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from cepheid.events.types import (
    BOOL,
    DURATION,
    FLOAT,
    INT,
    NULL,
    OTHER,
    TEXT,
    TIMESTAMP,
    DataType,
    Kind,
    decimal,
    list_of,
)


def data_type(arrow: Any) -> DataType:
    """The type that a column of the Arrow type ``arrow`` has in a query.

    All integers are INT (uint64 too: its values are checked when they are read), all floats FLOAT; dates are
    TIMESTAMP (their midnight, UTC); dictionary-encoded columns have the type of their values. Times of day,
    binary data, maps and unions are OTHER: they can be returned, but not computed with.
    """
    types = pa.types
    if types.is_dictionary(arrow) or types.is_run_end_encoded(arrow):
        return data_type(arrow.value_type)
    if types.is_boolean(arrow):
        return BOOL
    if types.is_integer(arrow):
        return INT
    if types.is_floating(arrow):
        return FLOAT
    if types.is_decimal(arrow):
        return decimal(arrow.precision, arrow.scale) if arrow.scale >= 0 else OTHER
    if is_text(arrow):
        return TEXT
    if types.is_timestamp(arrow) or types.is_date(arrow):
        return TIMESTAMP
    if types.is_duration(arrow):
        return DURATION
    if types.is_null(arrow):
        return NULL
    if is_list(arrow):
        return list_of(data_type(arrow.value_type))
    if types.is_struct(arrow):
        fields = tuple((field.name, data_type(field.type)) for field in arrow)
        return DataType(Kind.STRUCT, fields=fields)
    return OTHER


def is_text(arrow: Any) -> bool:
    """True for the Arrow types that hold UTF-8 text as such (not dictionary-encoded)."""
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


def is_list(arrow: Any) -> bool:
    """True for the Arrow types whose values are lists."""
    types = pa.types
    return bool(types.is_list(arrow) or types.is_large_list(arrow) or types.is_fixed_size_list(arrow))


def arrow_type(dtype: DataType) -> Any:
    """The Arrow type in which values of ``dtype`` are given out where they were computed, not carried."""
    match dtype.kind:
        case Kind.BOOL:
            return pa.bool_()
        case Kind.INT:
            return pa.int64()
        case Kind.FLOAT:
            return pa.float64()
        case Kind.DECIMAL:
            # What was computed fits int64 unscaled, which has up to 19 digits.
            scale = dtype.scale or 0
            return pa.decimal128(min(38, max(19, dtype.precision or 0, scale)), scale)
        case Kind.TEXT:
            return pa.string()
        case Kind.TIMESTAMP:
            return pa.timestamp("us", tz="UTC")
        case Kind.DURATION:
            return pa.duration("us")
        case Kind.LIST | Kind.SET if dtype.element is not None:
            return pa.list_(arrow_type(dtype.element))
        case Kind.STRUCT:
            return pa.struct([(name, arrow_type(field)) for name, field in dtype.fields])
        case Kind.NULL:
            return pa.null()
        case _:
            return pa.binary()
