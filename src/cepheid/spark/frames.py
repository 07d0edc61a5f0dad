"""DataFrames of events as one DataFrame with a known schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.spark.schema import FrameSchema, frame_schema, frame_schema_by_type
from cepheid.spark.values import micros, named


@dataclass(frozen=True)
class Events:
    """Events, one per row.

    Attributes:
        frame: the DataFrame.
        schema: what its columns are.
    """

    frame: DataFrame
    schema: FrameSchema


def events_of(frame: DataFrame, *, time: str, time_unit: str | None, type: str | None, order: Sequence[str]) -> Events:
    """The events of one DataFrame; see `cepheid.spark.schema.frame_schema`."""
    schema = frame_schema(frame.schema, time=time, time_unit=time_unit, type=type, order=order)
    return Events(frame, schema)


def events_of_types(
    frames: Mapping[str, DataFrame], *, time: str, time_unit: str | None, type: str | None, order: Sequence[str]
) -> Events:
    """The union of a DataFrame per event type, with a column of the type.

    Attributes that a type lacks are NULL. Filters on the union reach each DataFrame by Spark's own optimizer, those
    on the type too.
    """
    schema = frame_schema_by_type(
        {name: frame.schema for name, frame in frames.items()}, time=time, time_unit=time_unit, type=type, order=order
    )
    return Events(union_of_types(frames, schema), schema)


def union_of_types(frames: Mapping[str, DataFrame], schema: FrameSchema, further: Sequence[str] = ()) -> DataFrame:
    """The union of a DataFrame per event type in the columns of ``schema``.

    Args:
        frames: event type -> DataFrame.
        schema: of the union.
        further: columns that all of them have, which stand behind those of the schema.
    """
    type_column = schema.events.type
    parts = []
    for name, frame in frames.items():
        columns = [
            (F.lit(name) if field.name == type_column else _taken(frame, field)).alias(field.name)
            for field in schema.spark.fields
        ]
        parts.append(frame.select(*columns, *map(named, further)))
    return reduce(DataFrame.union, parts)


def _taken(frame: DataFrame, field: spark.StructField) -> Column:
    """A column of a DataFrame in the type that it has in the union."""
    if field.name not in frame.columns:
        return F.lit(None).cast(field.dataType)
    column, have = named(field.name), frame.schema[field.name].dataType
    if have == field.dataType:
        return column
    if isinstance(field.dataType, spark.TimestampType):
        # A cast would read times without zone in the session's zone; they are UTC.
        return F.timestamp_micros(micros(column, have))
    return column.cast(field.dataType)
