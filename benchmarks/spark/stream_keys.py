"""Memory and state of a stream in which half of all events have one key, and of one with a million keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.spark.figures import Figure
from benchmarks.spark.memory import PeakMemory
from cepheid.spark.detect import detect

N_BATCHES = 8
N_EVENTS_A_BATCH = 500_000
N_KEYS = 1_000_000
QUERY = (
    "PATTERN SEQ(A a, B b, C c) WHERE SAME[key] AND a.v1 < b.v1 AND b.v1 < c.v1 WITHIN 1 s "
    "RETURN a.id AS a, b.id AS b, c.id AS c"
)
BAR_GROWTH = 1.5
"""The most that state after the last micro-batch may be, to that after the third: it does not grow with the stream."""

_SCHEMA = "id long, type string, ts timestamp, key int, v1 int"


def measure_keys(spark: SparkSession, folder: Path) -> list[Figure]:
    """Run both streams to their end."""
    return [
        *_measured(spark, folder / "skewed", "half of all have one key", skewed=True),
        *_measured(spark, folder / "many", f"{N_KEYS:,} keys", skewed=False),
    ]


def _measured(spark: SparkSession, folder: Path, part: str, *, skewed: bool) -> list[Figure]:
    (folder / "in").mkdir(parents=True)
    for number in range(N_BATCHES):
        pq.write_table(_events(number, skewed=skewed), folder / "in" / f"{number:03}.parquet")
    events = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    matches = detect(events, QUERY, time="ts", type="type", order="id", watermark="1 s", partitions=16)
    writer = matches.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    with PeakMemory() as memory:
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    told = [p for p in query.recentProgress if p["numInputRows"]]
    state_bytes = [p["stateOperators"][0]["memoryUsedBytes"] for p in told]
    seconds = [p["durationMs"]["triggerExecution"] / 1000 for p in told]
    return [
        Figure(part, "peak memory of all processes, MB", memory.peak_bytes / 1e6),
        Figure(part, "state after the last micro-batch, MB", state_bytes[-1] / 1e6),
        Figure(part, "state, the last to the third micro-batch", state_bytes[-1] / state_bytes[2], BAR_GROWTH),
        Figure(part, "matches", sum(max(0, p["sink"]["numOutputRows"]) for p in told)),
        Figure(part, "events/s, the best micro-batch", N_EVENTS_A_BATCH / min(seconds)),
    ]


def _events(number: int, *, skewed: bool) -> pa.Table:
    """A micro-batch: with many keys, each comes about once in two micro-batches; the skewed one has an event a ms."""
    n = N_EVENTS_A_BATCH
    random = np.random.default_rng(number)
    keys = random.integers(0, N_KEYS, n)
    if skewed:
        keys[random.random(n) < 0.5] = 0
    numbers = np.arange(number * n, (number + 1) * n)
    types = np.array(list("ABCDE"), object)[random.integers(0, 5, n)]
    step_us = 20_000 if skewed else 1
    return pa.table(
        {
            "id": numbers,
            "type": pa.array(types, pa.string()),
            "ts": pa.array(numbers * step_us).cast(pa.timestamp("us", "UTC")),
            "key": keys.astype(np.int32),
            "v1": random.integers(1, 100_001, n).astype(np.int32),
        }
    )
