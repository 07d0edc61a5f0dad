"""Streams of events that do not come from Kafka (`cepheid.spark.kafka`): files that come into a folder, lines of text
from a port, and numbers from a clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.errors import SchemaError, SetupError
from cepheid.spark.json_values import REJECTION, Read, all_events, parse_json, rejection
from cepheid.spark.schema import spark_type
from cepheid.spark.values import named

FILE = "file_path"
"""The column of the file that an event came from."""

_VALUE = "value"


def fields_of(columns: Mapping[str, Any]) -> spark.StructType:
    """Fields of events as Spark's columns.

    Args:
        columns: name -> Arrow type.
    """
    return spark.StructType([spark.StructField(name, spark_type(arrow), True) for name, arrow in columns.items()])


def read_json_files(
    session: SparkSession, paths: Sequence[str], schema: spark.StructType, *, required: Sequence[str] = ()
) -> Read:
    """The lines of files of JSON lines, those that come later too.

    A file is read once, when it is there: write it elsewhere and move it into its place.

    Args:
        session: any.
        paths: folders or globs.
        schema: the fields to read, see `cepheid.spark.json_values.parse_json`.
        required: fields that every event must have.

    Raises:
        SetupError: a folder does not exist.
    """
    lines = []
    for path in paths:
        try:
            texts = session.readStream.text(path)
        except AnalysisException as error:
            raise no_folder(path, error) or error from None
        lines.append(texts.select(F.col("_metadata.file_path").alias(FILE), F.col(_VALUE)))
    every = reduce(DataFrame.union, lines)
    return parse_json(every.where(F.trim(_VALUE) != ""), _VALUE, schema, required=tuple(required))


def read_parquet_files(session: SparkSession, paths: Sequence[str], *, required: Sequence[str] = ()) -> Read:
    """The rows of Parquet files, those that come later too; their columns are those of the files that are there.

    Args:
        session: any.
        paths: folders or globs, in which there is a file already.
        required: columns that every event must have.

    Raises:
        SetupError: there is no such folder, or no file in it.
    """
    frames = []
    for path in paths:
        try:
            schema = session.read.parquet(path).schema
            frames.append(session.readStream.schema(schema).parquet(path))
        except AnalysisException as error:
            raise no_folder(path, error) or error from None
    return whole_rows(reduce(DataFrame.unionByName, frames), required)


def read_socket(
    session: SparkSession,
    host: str,
    port: int,
    schema: spark.StructType | None,
    *,
    required: Sequence[str] = (),
) -> Read:
    """Lines of text from a port: JSON objects, or with ``schema`` None plain text in the column ``value``.

    For trying things out: what was read before a failure is not read again.
    """
    lines = session.readStream.format("socket").option("host", host).option("port", port)
    texts = lines.option("includeTimestamp", schema is None).load()
    if schema is not None:
        return parse_json(texts.where(F.trim(_VALUE) != ""), _VALUE, schema, required=tuple(required))
    return all_events(texts)


def read_rate(session: SparkSession, rows_per_s: int) -> Read:
    """Numbers from 0 (``value``), so many a second, each with the time at which it is due (``timestamp``)."""
    rows = session.readStream.format("rate").option("rowsPerSecond", rows_per_s).load()
    return all_events(rows)


def in_columns(read: Read, schema: spark.StructType, source: str) -> Read:
    """What was read of a table, with some of its columns only.

    Args:
        read: of the table.
        schema: the columns, and the types that they are said to have.
        source: what the table is called, for errors.

    Raises:
        SchemaError: a column is not there, or has a type that Spark does not widen to the one that is said.
    """
    have = read.events.schema
    for field in schema.fields:
        if field.name not in have.names:
            raise SchemaError(
                f"{source} has no column {field.name!r}", remedy=f"its columns are: {', '.join(have.names)}"
            )
        kinds = have[field.name].dataType, field.dataType
        widened = all(isinstance(kind, spark.IntegralType) for kind in kinds) or all(
            isinstance(kind, spark.FractionalType) and not isinstance(kind, spark.DecimalType) for kind in kinds
        )
        if kinds[0] != kinds[1] and not widened:
            raise SchemaError(
                f"the column {field.name!r} of {source} is {kinds[0].simpleString()}, and the job says "
                f"{kinds[1].simpleString()}",
                remedy="declare the type that it has under columns",
            )
    columns = [named(field.name).cast(field.dataType).alias(field.name) for field in schema.fields]
    return Read(read.whole.select(*columns, named(REJECTION)), read.places)


def whole_rows(rows: DataFrame, required: Sequence[str]) -> Read:
    """Rows as events; one with NULL in a column that every event must have is rejected."""
    raw = F.to_json(F.struct(*(named(name) for name in rows.columns)))
    why = F.lit(None).cast("struct<column: string, reason: string, raw: string>")
    for name in reversed(required):
        why = F.when(named(name).isNull(), rejection(f"no {name}", raw, name)).otherwise(why)
    return Read(rows.withColumn(REJECTION, why))


def no_folder(path: str, error: AnalysisException) -> SetupError | None:
    """What it means that Spark cannot read a folder; None where that is not known."""
    match error.getCondition():
        case "PATH_NOT_FOUND":
            return SetupError(f"there is no folder {path}", remedy="correct the path, or make the folder")
        case "UNABLE_TO_INFER_SCHEMA":
            return SetupError(
                f"there is no Parquet file in {path} that tells the columns of its events",
                remedy="start the job when the first file is there",
            )
        case _:
            return None
