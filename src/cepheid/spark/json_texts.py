"""Rows as JSON texts, in Spark's own plan: as `cepheid.connectors.writing` writes them."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.spark.values import named

_OPTIONS = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    # A time without zone is UTC.
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'",
}
_HELD = (spark.DecimalType, spark.DayTimeIntervalType)


def json_text(columns: spark.StructType) -> Column:
    """A row of these columns as a JSON object: times in ISO 8601 with microseconds, decimals as texts, lengths of time
    in seconds, NaN and infinities as texts, and NULL as null.
    """
    row = F.struct(*(_plain(named(f.name), f.dataType).alias(f.name) for f in columns.fields))
    return F.to_json(row, _OPTIONS)


def _plain(column: Column, of: spark.DataType) -> Column:
    if not _has_held(of):
        return column
    match of:
        case spark.DecimalType():
            return column.cast("string")
        case spark.DayTimeIntervalType():
            return _seconds(column)
        case spark.ArrayType():
            return F.transform(column, lambda item: _plain(item, of.elementType))
        case spark.StructType():
            fields = (_plain(column.getField(f.name), f.dataType).alias(f.name) for f in of.fields)
            return F.when(column.isNotNull(), F.struct(*fields))
        case _:
            return column


def _has_held(of: spark.DataType) -> bool:
    match of:
        case spark.ArrayType():
            return _has_held(of.elementType)
        case spark.StructType():
            return any(_has_held(f.dataType) for f in of.fields)
        case _:
            return isinstance(of, _HELD)


def _seconds(interval: Column) -> Column:
    units = (("DAY", 86_400), ("HOUR", 3_600), ("MINUTE", 60), ("SECOND", 1))
    first, *rest = (F.extract(F.lit(unit), interval).cast("double") * F.lit(length) for unit, length in units)
    return sum(rest, first)
