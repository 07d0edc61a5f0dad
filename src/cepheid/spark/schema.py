"""Types of Spark columns and the Arrow types that carry them, both ways, and the schema of a DataFrame's events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark

from cepheid.errors import SchemaError
from cepheid.events import arrow_types
from cepheid.events.ingest import schema_of
from cepheid.events.merge import read_tables
from cepheid.events.schema import Schema
from cepheid.events.types import OTHER, DataType

TYPE_COLUMN = "type"
"""The column that gets the event type where each type has a DataFrame of its own and no other name is given."""

_SIMPLE: Mapping[Any, type[spark.DataType]] = {
    pa.null(): spark.NullType,
    pa.bool_(): spark.BooleanType,
    pa.int8(): spark.ByteType,
    pa.int16(): spark.ShortType,
    pa.int32(): spark.IntegerType,
    pa.int64(): spark.LongType,
    pa.float32(): spark.FloatType,
    pa.float64(): spark.DoubleType,
    pa.string(): spark.StringType,
    pa.large_string(): spark.StringType,
    pa.binary(): spark.BinaryType,
    pa.large_binary(): spark.BinaryType,
    pa.date32(): spark.DateType,
}
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)


@dataclass(frozen=True)
class FrameSchema:
    """The events of one DataFrame, or of several whose union has one column more, the event type.

    Attributes:
        events: the events.
        arrow: the Arrow schema in which they come to the engine, columns in the order of ``events.fields``.
        spark: the schema of the DataFrame of all events, columns in the same order.
    """

    events: Schema
    arrow: Any
    spark: spark.StructType


def data_type(column: spark.DataType) -> DataType:
    """The type of an attribute that a column of type ``column`` holds.

    Text of any collation is TEXT; maps, binary, variants and times of day are OTHER: carried and returned, not
    computed with.
    """
    return OTHER if _is_opaque(column) else arrow_types.data_type(arrow_type(column))


def spark_type(column: Any) -> spark.DataType:
    """The type of the Spark column that takes Arrow values of type ``column``.

    A timestamp with a zone becomes TIMESTAMP, one without TIMESTAMP_NTZ. Variants are known by the mark that
    Spark puts on the Arrow field.

    Raises:
        SchemaError: Spark has no column of that type.
    """
    simple = _SIMPLE.get(column)
    if simple is not None:
        return simple()
    if pa.types.is_decimal(column):
        return spark.DecimalType(column.precision, column.scale)
    if pa.types.is_timestamp(column):
        return spark.TimestampType() if column.tz is not None else spark.TimestampNTZType()
    if pa.types.is_duration(column):
        return spark.DayTimeIntervalType()
    if pa.types.is_time64(column):
        return spark.TimeType()
    if pa.types.is_dictionary(column):
        return spark_type(column.value_type)
    if pa.types.is_list(column) or pa.types.is_large_list(column):
        return spark.ArrayType(spark_type(column.value_type), True)
    if pa.types.is_map(column):
        return spark.MapType(spark_type(column.key_type), spark_type(column.item_type), True)
    if pa.types.is_struct(column):
        if any(f.metadata and f.metadata.get(b"variant") == b"true" for f in column):
            return spark.VariantType()
        return spark.StructType([spark.StructField(f.name, spark_type(f.type), True) for f in column])
    raise SchemaError(
        f"Spark has no column type for Arrow's {column}", remedy="cast the column, or leave it out of RETURN"
    )


def arrow_type(column: spark.DataType) -> Any:
    """The Arrow type in which values of a Spark column of type ``column`` come to Python, and go back.

    Instants are given the zone UTC; Spark itself says its session's zone, which changes no value.

    Raises:
        SchemaError: Spark hands values of this type to no Python worker.
    """
    for arrow, simple in _SIMPLE.items():
        if type(column) is simple and not isinstance(column, spark.StringType):
            return arrow
    match column:
        case spark.StringType() | spark.CharType() | spark.VarcharType():
            return pa.string()
        case spark.TimestampType():
            return pa.timestamp("us", "UTC")
        case spark.TimestampNTZType():
            return pa.timestamp("us")
        case spark.DayTimeIntervalType():
            return pa.duration("us")
        case spark.DecimalType():
            return pa.decimal128(column.precision, column.scale)
        case spark.ArrayType():
            return pa.list_(pa.field("element", arrow_type(column.elementType), column.containsNull))
        case spark.MapType():
            return pa.map_(
                pa.field("key", arrow_type(column.keyType), False),
                pa.field("value", arrow_type(column.valueType), column.valueContainsNull),
            )
        case spark.StructType():
            return pa.struct([pa.field(f.name, arrow_type(f.dataType), f.nullable) for f in column.fields])
        case spark.VariantType():
            return _VARIANT
        case spark.UserDefinedType():
            return arrow_type(column.sqlType())
    # Not every Spark that cepheid runs on has the type TIME.
    if column.typeName() == "time":
        return pa.time64("ns")
    raise SchemaError(
        f"Spark does not hand values of type {column.simpleString()} to Python",
        remedy="cast the column, drop it, or add a RETURN clause that does not name it",
    )


def frame_schema(
    columns: spark.StructType,
    *,
    time: str,
    time_unit: str | None = None,
    type: str | None = None,
    order: Sequence[str] = (),
) -> FrameSchema:
    """The schema of the events of one DataFrame.

    Args:
        columns: the DataFrame's schema.
        time: the column of event time: timestamps, dates, ISO text, or numbers with a ``time_unit``.
        time_unit: the unit of a time column of numbers.
        type: the column of the event type (text), or None.
        order: the columns of the order key.

    Raises:
        SchemaError: a column is missing, named twice, or of a type that its role does not take.
    """
    arrow = _arrow_schema(columns, "the DataFrame")
    events = schema_of(arrow, time=time, time_unit=time_unit, type=type, order=order)
    return FrameSchema(_opaque(events, columns), arrow, columns)


def frame_schema_by_type(
    columns: Mapping[str, spark.StructType],
    *,
    time: str,
    time_unit: str | None = None,
    type: str | None = None,
    order: Sequence[str] = (),
) -> FrameSchema:
    """The schema of events whose types have a DataFrame each.

    Args:
        columns: event type -> the schema of its DataFrame. Time and order columns have the same names in all.
        time, time_unit, order: as for `frame_schema`.
        type: the name of the column that gets the event type; default `TYPE_COLUMN`.

    Raises:
        SchemaError: as `frame_schema`; or two DataFrames have an attribute of one name in clashing types.
    """
    tables = {
        name: _arrow_schema(struct, f"the DataFrame of {name!r}").empty_table() for name, struct in columns.items()
    }
    merged, events = read_tables(tables, time=time, time_unit=time_unit, type=type or TYPE_COLUMN, order=order)
    _arrow_schema(spark.StructType([spark.StructField(n, spark.NullType()) for n in events.fields]), "their union")
    union = spark.StructType()
    for field in merged.schema:
        union.add(field.name, spark_type(field.type), True)
    return FrameSchema(_opaque(events, union), _arrow_schema(union, "their union"), union)


def _arrow_schema(columns: spark.StructType, what: str) -> Any:
    # Spark resolves names without regard to case unless told otherwise, so x and X are ambiguous there.
    twice = [name for name, count in Counter(n.lower() for n in columns.names).items() if count > 1]
    if twice:
        raise SchemaError(
            f"{what} has more than one column named {twice[0]!r} (letter case aside)",
            remedy="rename or drop one of them",
        )
    # A column that cannot come to Python may stand in the DataFrame as long as the query does not need it.
    return pa.schema(
        [pa.field(f.name, pa.binary() if _is_stuck(f.dataType) else arrow_type(f.dataType)) for f in columns.fields]
    )


def _opaque(events: Schema, columns: spark.StructType) -> Schema:
    """The schema without a look into the structs that carry variants."""
    opaque = {f.name for f in columns.fields if _is_opaque(f.dataType)}

    def hide(fields: Mapping[str, DataType]) -> dict[str, DataType]:
        return {name: OTHER if name in opaque else dtype for name, dtype in fields.items()}

    per_type = {name: hide(fields) for name, fields in events.per_type.items()}
    return replace(events, fields=hide(events.fields), per_type=per_type)


def _is_opaque(column: spark.DataType) -> bool:
    return isinstance(column, spark.VariantType) or _is_stuck(column)


def _is_stuck(column: spark.DataType) -> bool:
    try:
        arrow_type(column)
    except SchemaError:
        return True
    return False
