"""The rows of a job's stream: what its sources bring on the way in, and what its batches hold on the way out.

One streaming query writes all outputs, and the texts that could not be read: so they are of the same events, each
source is read and parsed once, and one checkpoint says how far it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.engine.output_schema import LAST
from cepheid.spark.json_values import REJECTION, Read
from cepheid.spark.kafka import KAFKA_ORDER
from cepheid.spark.sources import FILE
from cepheid.spark.streams.unread import UNREAD_COLUMN, UNREAD_TYPE
from cepheid.spark.timecut import time_us
from cepheid.spark.values import micros, named

OUTPUT = "output"
_N_EVENTS, _NEWEST = "n_events", "newest_us"
_OBSERVED = "cepheid source "


def counted(read: Read, source: str, *, time: str, time_unit: str | None) -> DataFrame:
    """What was read of a source, its events counted on their way (`counts_of`); why a row is none is in its column
    `UNREAD_COLUMN`.
    """
    rows = read.whole
    is_event = named(REJECTION).isNull()
    moment = time_us(time, rows.schema[time].dataType, time_unit)
    newest = F.lit(None).cast("long") if moment is None else F.max(F.when(is_event, moment))
    n_events = F.count(F.when(is_event, F.lit(1)))
    observed = rows.observe(_OBSERVED + source, n_events.alias(_N_EVENTS), newest.alias(_NEWEST))
    place = [named(name).cast("string") for name in (*KAFKA_ORDER, FILE) if name in read.places]
    unread = F.struct(
        F.lit(source).alias("source"),
        (F.concat_ws("/", *place) if place else F.lit(None).cast("string")).alias("place"),
        *(named(REJECTION).getField(name).alias(name) for name in ("column", "reason", "raw")),
    )
    # A row that is no event has no time, though one may be written in it: it moves no watermark.
    columns = [
        F.when(is_event, named(name)).alias(name) if name == time else named(name)
        for name in rows.columns
        if name != REJECTION
    ]
    return observed.select(*columns, F.when(~is_event, unread.cast(UNREAD_TYPE)).alias(UNREAD_COLUMN))


def without_unread(rows: DataFrame) -> DataFrame:
    """What `counted` gave, as far as its columns are those of events."""
    return rows.drop(UNREAD_COLUMN)


def with_type(events: DataFrame, column: str, type: str) -> DataFrame:
    """The events with a column of their type."""
    return events.withColumn(column, F.lit(type))


def counts_of(observed: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, int], dict[str, int]]:
    """Source -> events that were read, and source -> the time of the newest (us), of what a batch observed."""
    of = {name.removeprefix(_OBSERVED): told for name, told in observed.items() if name.startswith(_OBSERVED)}
    newest = {name: int(told[_NEWEST]) for name, told in of.items() if told.get(_NEWEST) is not None}
    return {name: int(told.get(_N_EVENTS, 0)) for name, told in of.items()}, newest


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
        last_us: quantiles of the times of the matches' last events, the newest first; empty where there is no match.
        buckets: those that were called.
    """

    n_rows: Mapping[str, int]
    last_us: tuple[int, ...]
    buckets: tuple[Bucket, ...]


def summary_of(rows: DataFrame, matches: Sequence[str], quantiles: Sequence[float]) -> Summary:
    """The rows of a batch, counted by output in one job of Spark.

    Args:
        rows: tagged.
        matches: the outputs that are matches.
        quantiles: of how long ago the last events of all of them are, each from 0 to 1, ascending. How long that is
            must be told when they are written: in Spark, the current time is that at which a query is planned.
    """
    lasts = []
    for name in matches:
        columns = rows.schema[name].dataType
        assert isinstance(columns, spark.StructType)
        lasts.append(micros(named(name).getField(LAST), columns[LAST].dataType))
    last_us = F.coalesce(*lasts)
    is_match = named(OUTPUT).isin(list(matches))
    told = (
        rows.groupBy(F.when(~is_match, named(OUTPUT)).alias("other"))
        .agg(
            F.count(F.lit(1)).alias("n"),
            F.percentile_approx(last_us, [1 - quantile for quantile in quantiles], 10_000).alias("last"),
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
    return Summary(n_rows, () if found is None else tuple(found["last"] or ()), buckets)
