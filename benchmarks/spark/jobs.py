"""The jobs that are compared: patterns in a Parquet file, and the same road without a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.stream import stream
from cepheid.spark.detect import detect

W2 = """
PATTERN SEQ(A a, B b, C c)
WHERE   SAME[key] AND a.v1 < b.v1 AND b.v1 < c.v1{more}
WITHIN  {within}
POLICY  any
RETURN  a.key AS key, a.ts AS first_ts, c.ts AS last_ts
"""
MATCHES_OF_A_MILLION = 67_656
"""Matches of W2 in a stream of a million events."""

# Three of five types, and of their values (uniform from 1 to 100,000) the greatest sixtieth: a hundredth of the events.
ONE_IN_A_HUNDRED = " AND a.v1 > 98333 AND b.v1 > 98333 AND c.v1 > 98333"
COLUMNS = ("id", "type", "ts", "key", "v1")
"""What W2 reads; `order` is the column id."""

COLUMNS_READ = {"time": "ts", "type": "type", "time_unit": "ms", "order": "id"}


@dataclass(frozen=True)
class Job:
    """One DataFrame to run, again and again.

    Attributes:
        workload: what is looked for, and in which events.
        engine: what runs it.
        build: gives the DataFrame.
        peer: the engine of the same workload that it is compared with; empty where it is a peer itself.
        bar: the least ratio of its events/s to those of its peer.
    """

    workload: str
    engine: str
    build: Callable[[DataFrame], DataFrame]
    peer: str = ""
    bar: float | None = None


def write_events(folder: Path, n_events: int) -> str:
    """Write the stream as Parquet, in row groups that two cores can share; returns the path."""
    path = folder / f"stream-{n_events}.parquet"
    pq.write_table(stream(n_events), path, row_group_size=max(1, n_events // 10))
    return str(path)


def _identity(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def passed_through(events: DataFrame) -> DataFrame:
    """Columns of W2 through a shuffle by key and a Python operator that does nothing."""
    frame = events.select(*COLUMNS).repartition("key")
    return frame.mapInArrow(_identity, frame.schema)


def passed_through_of_types(events: DataFrame) -> DataFrame:
    """The same for the types of W2 only."""
    return passed_through(events.where(F.col("type").isin("A", "B", "C")))


def w2(events: DataFrame) -> DataFrame:
    """The matches of W2."""
    return detect(events, W2.format(more="", within="1000 ms"), **COLUMNS_READ)


def w2_selective(events: DataFrame) -> DataFrame:
    """The matches of W2 among a hundredth of the events, in a longer window: in a second there would be none."""
    return detect(events, W2.format(more=ONE_IN_A_HUNDRED, within="60 s"), **COLUMNS_READ)


JOBS = (
    Job("W2", "pass-through", passed_through_of_types),
    # At most one and a half times the peer's time.
    Job("W2", "cepheid", w2, "pass-through", round(1 / 1.5, 3)),
    Job("W2 of 1 % of the events", "pass-through of all", passed_through),
    Job("W2 of 1 % of the events", "cepheid", w2_selective, "pass-through of all", 3.0),
)
"""All jobs, peers before those that are compared with them."""


def run(frame: DataFrame) -> None:
    """Run a DataFrame to its end, every value computed and none kept."""
    frame.write.format("noop").mode("overwrite").save()


def read(spark: SparkSession, path: str) -> DataFrame:
    """The events as a DataFrame."""
    return spark.read.parquet(path)
