"""The rows of a job's stream: all outputs of its query, and the texts that could not be read, in one stream.

One streaming query then writes them all, so that they are of the same events and one checkpoint says how far it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.engine.output_schema import LAST
from cepheid.spark.json_values import Read
from cepheid.spark.kafka import KAFKA_ORDER
from cepheid.spark.sources import FILE
from cepheid.spark.timecut import time_us
from cepheid.spark.values import micros, named

OUTPUT = "output"
UNREAD = "unread"
"""The output of texts that are no events: ``source``, ``place`` (``topic/partition/offset``, or the file), ``column``,
``reason`` and ``raw``."""

UNREAD_COLUMNS = ("source", "place", "column", "reason", "raw")
_N_EVENTS, _NEWEST = "n_events", "newest_us"
_OBSERVED = "cepheid source "


def counted(events: DataFrame, source: str, *, time: str, time_unit: str | None) -> DataFrame:
    """The events of a source, counted on their way; see `counts_of`."""
    moment = time_us(time, events.schema[time].dataType, time_unit)
    newest = F.lit(None).cast("long") if moment is None else F.max(moment)
    return events.observe(_OBSERVED + source, F.count(F.lit(1)).alias(_N_EVENTS), newest.alias(_NEWEST))


def with_type(events: DataFrame, column: str, type: str) -> DataFrame:
    """The events with a column of their type."""
    return events.withColumn(column, F.lit(type))


def counts_of(observed: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, int], dict[str, int]]:
    """Source -> events that were read, and source -> the time of the newest (us), of what a batch observed."""
    of = {name.removeprefix(_OBSERVED): told for name, told in observed.items() if name.startswith(_OBSERVED)}
    newest = {name: int(told[_NEWEST]) for name, told in of.items() if told.get(_NEWEST) is not None}
    return {name: int(told.get(_N_EVENTS, 0)) for name, told in of.items()}, newest


def with_unread(tagged: DataFrame, reads: Mapping[str, Read]) -> DataFrame:
    """The tagged rows of outputs, and those of what could not be read, as one stream."""
    text = spark.StringType()
    unread = spark.StructType([spark.StructField(name, text, True) for name in UNREAD_COLUMNS])
    parts = [tagged.withColumn(UNREAD, F.lit(None).cast(unread))]
    for source, read in reads.items():
        rejected = read.rejected
        place = [named(name).cast("string") for name in (*KAFKA_ORDER, FILE) if name in rejected.columns]
        told = F.struct(
            F.lit(source).alias("source"),
            (F.concat_ws("/", *place) if place else F.lit(None).cast("string")).alias("place"),
            *(named(name).alias(name) for name in ("column", "reason", "raw")),
        )
        nothing = [
            F.lit(None).cast(field.dataType).alias(field.name) for field in tagged.schema.fields if field.name != OUTPUT
        ]
        parts.append(rejected.select(F.lit(UNREAD).alias(OUTPUT), *nothing, told.cast(unread).alias(UNREAD)))
    return reduce(DataFrame.union, parts)


@dataclass(frozen=True)
class Bucket:
    """What a bucket of keys holds after a batch in which it was called.

    Attributes:
        number: of the bucket.
        n_late: events of the batch that came too late.
        n_waiting: events that wait for the watermark.
        n_partial_matches: partial matches from which something can still come.
        n_bytes: of all that.
    """

    number: int
    n_late: int
    n_waiting: int
    n_partial_matches: int
    n_bytes: int


@dataclass(frozen=True)
class Summary:
    """What the rows of a batch are.

    Attributes:
        n_rows: output -> its rows.
        latency_s: quantiles of the seconds since the last event of each match; empty where there is none.
        buckets: those that were called.
    """

    n_rows: Mapping[str, int]
    latency_s: tuple[float, ...]
    buckets: tuple[Bucket, ...]


def summary_of(rows: DataFrame, matches: Sequence[str], quantiles: Sequence[float]) -> Summary:
    """The rows of a batch, counted by output in one job of Spark.

    Args:
        rows: tagged.
        matches: the outputs that are matches.
        quantiles: of the latency of all of them, each from 0 to 1.
    """
    lasts = []
    for name in matches:
        columns = rows.schema[name].dataType
        assert isinstance(columns, spark.StructType)
        lasts.append(micros(named(name).getField(LAST), columns[LAST].dataType))
    since_us = F.unix_micros(F.current_timestamp()) - F.coalesce(*lasts)
    is_match = named(OUTPUT).isin(list(matches))
    told = (
        rows.groupBy(F.when(~is_match, named(OUTPUT)).alias("other"))
        .agg(
            F.count(F.lit(1)).alias("n"),
            F.percentile_approx(since_us, list(quantiles), 10_000).alias("latency"),
            F.collect_list(named("held")).alias("buckets"),
            *(F.count_if(named(OUTPUT) == F.lit(name)).alias(f"n{i}") for i, name in enumerate(matches)),
        )
        .collect()
    )
    found = next((row for row in told if row["other"] is None), None)
    n_rows = {row["other"]: row["n"] for row in told if row is not found}
    if found is not None:
        n_rows |= {name: found[f"n{i}"] for i, name in enumerate(matches)}
    buckets = tuple(Bucket(*bucket) for row in told for bucket in row["buckets"])
    latency = () if found is None else tuple(us / 1e6 for us in found["latency"] or ())
    return Summary(n_rows, latency, buckets)
