"""Patterns in a stream of Parquet files, a million events in each micro-batch, beside the same road without a pattern.

The stream is run to its end several times, in turn with its peers; of each micro-batch after the first ones, in which
workers start, the best time counts. The first run of each does not count: a stream goes on for days, and in the first
half minute Java's compiler is busy with what Spark does in a micro-batch, on one of the two cores. Peers read the same
columns of the same events and do nothing with them.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.spark.jobs import COLUMNS, COLUMNS_READ, W2
from benchmarks.spark.memory import PeakMemory
from benchmarks.stream import stream
from cepheid.spark.detect import detect

N_EVENTS_A_BATCH = 1_000_000
N_WARM_UP = 2
BAR = 0.75
"""Of the events/s of the faster peer."""

N_BUCKETS = 16


def write_files(folder: Path, n_batches: int) -> Path:
    """Write a stream as one Parquet file for each micro-batch, in row groups that two cores can share."""
    path = folder / "stream"
    path.mkdir(parents=True)
    events = stream(n_batches * N_EVENTS_A_BATCH)
    for number in range(n_batches):
        file = path / f"{number:03}.parquet"
        part = events.slice(number * N_EVENTS_A_BATCH, N_EVENTS_A_BATCH)
        pq.write_table(part, file, row_group_size=N_EVENTS_A_BATCH // 10)
        os.utime(file, (1_000_000 + number, 1_000_000 + number))
    return path


def _identity(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _nothing(key: tuple[Any, ...], frames: Iterator[pd.DataFrame], group: Any) -> Iterator[pd.DataFrame]:
    n_rows = sum(len(frame) for frame in frames)
    group.update((b"\0" * 20_000,))
    yield pd.DataFrame({"n": [n_rows]})


def shuffled(events: DataFrame) -> DataFrame:
    """Columns of W2 through a shuffle by key and a Python operator that does nothing."""
    frame = events.where(F.col("type").isin("A", "B", "C")).select(*COLUMNS).repartition("key")
    return frame.mapInArrow(_identity, frame.schema)


def stateful(events: DataFrame) -> DataFrame:
    """The same through Spark's stateful operator, in as many groups as W2 has buckets, with 20 kB of state each."""
    bucket = F.pmod(F.xxhash64("key"), F.lit(N_BUCKETS)).cast("int").alias("bucket")
    frame = events.where(F.col("type").isin("A", "B", "C")).select(*COLUMNS, bucket)
    return frame.groupBy("bucket").applyInPandasWithState(_nothing, "n long", "state binary", "append", "NoTimeout")


def w2(events: DataFrame) -> DataFrame:
    """The matches of W2."""
    return detect(events, W2.format(more="", within="1000 ms"), watermark="1 s", partitions=N_BUCKETS, **COLUMNS_READ)


PIPELINES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "shuffle, mapInArrow": shuffled,
    "applyInPandasWithState": stateful,
    "cepheid": w2,
}


@dataclass(frozen=True)
class StreamRow:
    """One pipeline.

    Attributes:
        workload, engine: what is looked for, and what runs it.
        events_per_s: events of a micro-batch by the best time of one.
        median_batch_s: the median time of the micro-batches that count.
        matches: rows that came out of all micro-batches; None for a peer.
        peak_rss_bytes: most memory of the driver, the JVM and the Python workers together.
        peer, ratio, bar: the faster peer, events/s to those of it, and the least ratio.
    """

    workload: str
    engine: str
    events_per_s: float
    median_batch_s: float
    matches: int | None
    peak_rss_bytes: int
    peer: str = ""
    ratio: float | None = None
    bar: float | None = None


def measure_streaming(spark: SparkSession, folder: Path, n_batches: int, n_times: int) -> list[StreamRow]:
    """Run all pipelines in turn, once before and so often that it counts."""
    files = write_files(folder, n_batches)
    schema = spark.read.parquet(str(files)).schema
    times: dict[str, list[float]] = {name: [] for name in PIPELINES}
    n_matches: dict[str, int] = {}
    peaks = dict.fromkeys(PIPELINES, 0)
    for number in range(1 + n_times):
        for name, build in PIPELINES.items():
            events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(files))
            checkpoint = folder / f"checkpoint-{number}"
            with PeakMemory() as memory:
                batches = run_to_its_end(build(events), checkpoint)
            shutil.rmtree(checkpoint)
            if number:
                times[name] += [s for n_events, s, _ in batches if n_events][N_WARM_UP:]
            n_matches[name] = sum(n_out for _, _, n_out in batches)
            peaks[name] = max(peaks[name], memory.peak_bytes)
    speed = {name: N_EVENTS_A_BATCH / min(found) for name, found in times.items()}
    peer = max((name for name in PIPELINES if name != "cepheid"), key=speed.__getitem__)
    rows = []
    for name, found in times.items():
        own = name == "cepheid"
        rows.append(
            StreamRow(
                "W2, 1 M events a batch",
                name,
                speed[name],
                statistics.median(found),
                n_matches[name] if own else None,
                peaks[name],
                peer if own else "",
                speed[name] / speed[peer] if own else None,
                BAR if own else None,
            )
        )
    return rows


def run_to_its_end(frame: DataFrame, checkpoint: Path) -> list[tuple[int, float, int]]:
    """Run a stream to its end: for each micro-batch its events, seconds, and the rows that came out."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    told = [json.loads(progress.json) for progress in query.recentProgress]
    return [
        (p["numInputRows"], p["durationMs"]["triggerExecution"] / 1000, max(0, p["sink"]["numOutputRows"]))
        for p in told
    ]
