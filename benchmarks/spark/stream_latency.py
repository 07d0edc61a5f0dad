"""How long a match waits after its last event, where 100,000 events a second are offered steadily.

A thread writes a Parquet file five times a second, with events whose times are spread over the fifth of a second that
ends when the file is there. There are so many keys that each has ten events a second, as in W2. An event waits until
its file is there, until the micro-batch before is done, and for its own micro-batch; the parts of the latter are
told by Spark. A stream of the same kind is run before, so that Java and the workers have started and their code is
compiled: what events wait in the first seconds of a job says nothing of events that are offered steadily.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark.figures import Figure, percentile
from benchmarks.spark.jobs import W2
from cepheid.spark.detect import detect

EVENTS_PER_S = 100_000
FILES_PER_S = 5
N_KEYS = 10_000
BAR_P95_S = 1.5
WARM_UP = 1 / 3
"""The share of the time in which Java compiles what it runs: micro-batches that end in it do not count, and a stream
before takes as long.
"""

SCHEMA = "id long, type string, ts timestamp, key int, v1 int"
_PARTS = ("latestOffset", "getBatch", "walCommit", "queryPlanning", "addBatch", "commitOffsets")


def write_backlog(folder: Path, n_files: int, n_events: int) -> None:
    """Files of so many events each, as a `Feeder` would have written them at once."""
    feeder = Feeder(folder, n_events * FILES_PER_S)
    for number in range(n_files):
        # At the rate at which a key has its ten events a second.
        seconds = n_events / EVENTS_PER_S
        pq.write_table(feeder.events(1e9 + number * seconds, seconds), folder / f"{number:08}.parquet")
        os.utime(folder / f"{number:08}.parquet", (1_000_000 + number, 1_000_000 + number))


class Feeder:
    """Writes events at a steady rate, from `start` to `stop`, with the times at which they are due.

    Attributes:
        n_events: that were offered.
    """

    def __init__(self, folder: Path, events_per_s: int = EVENTS_PER_S, n_keys: int = N_KEYS) -> None:
        self.n_events = 0
        self._folder = folder
        self._per_file = events_per_s // FILES_PER_S
        self._n_keys = n_keys
        self._random = np.random.default_rng(7)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        folder.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        """Begin with the next file."""
        self._thread.start()

    def stop(self) -> None:
        """Write no more."""
        self._done.set()
        self._thread.join()

    def _write(self) -> None:
        period_s = 1 / FILES_PER_S
        due = time.time()
        number = 0
        while not self._done.wait(max(0.0, due + period_s - time.time())):
            hidden = self._folder / f".{number}.parquet"
            pq.write_table(self.events(due, period_s), hidden)
            hidden.rename(self._folder / f"{number:08}.parquet")
            os.utime(self._folder / f"{number:08}.parquet")
            number += 1
            due += period_s

    def events(self, since_s: float, period_s: float) -> pa.Table:
        """The events of one file, their times spread over ``period_s`` from ``since_s`` (s since the epoch)."""
        n, random = self._per_file, self._random
        types = np.array(list("ABCDE"), object)[random.integers(0, 5, n)]
        table = pa.table(
            {
                "id": np.arange(self.n_events, self.n_events + n),
                "type": pa.array(types, pa.string()),
                "ts": pa.array((since_s * 1e6 + np.arange(n) * (period_s * 1e6 / n)).astype(np.int64)).cast(
                    pa.timestamp("us", "UTC")
                ),
                "key": random.integers(0, self._n_keys, n).astype(np.int32),
                "v1": random.integers(1, 100_001, n).astype(np.int32),
            }
        )
        self.n_events += n
        return table


@dataclass
class Latencies:
    """Takes the matches of each micro-batch.

    Attributes:
        since: the time on the monotonic clock from which they count, s.
        of_batches: the seconds between the last event of each match and the moment when it was there.
    """

    since: float
    of_batches: dict[int, list[float]] = field(default_factory=dict)

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Bring the matches of a micro-batch to this process."""
        last = rows.select("last_ts").toArrow()["last_ts"]
        now_us = time.time() * 1e6
        if time.monotonic() < self.since:
            return
        self.of_batches[number] = ((now_us - last.cast("int64").to_numpy()) / 1e6).tolist()


def measure_latency(spark: SparkSession, folder: Path, seconds: float, slack: str = "0 s") -> list[Figure]:
    """Offer events for a while, and see how late the matches are."""
    _offered(spark, folder / "before", seconds * WARM_UP, slack)
    told, latencies = _offered(spark, folder, seconds, slack)
    return _figures(told, latencies)


def _offered(spark: SparkSession, folder: Path, seconds: float, slack: str) -> tuple[list[Any], Latencies]:
    """A stream for some seconds: what Spark tells of the micro-batches that count, and how late their matches are."""
    feeder = Feeder(folder / "offered")
    events = spark.readStream.schema(SCHEMA).parquet(str(folder / "offered"))
    matches = detect(
        events, W2.format(more="", within="1 s"), time="ts", type="type", order="id", watermark=slack, partitions=8
    )
    begin = time.monotonic()
    latencies = Latencies(begin + seconds * WARM_UP)
    writer = matches.writeStream.foreachBatch(latencies).option("checkpointLocation", str(folder / "checkpoint"))
    feeder.start()
    query = writer.start()
    try:
        while time.monotonic() < begin + seconds and query.isActive:
            time.sleep(0.1)
        feeder.stop()
        query.processAllAvailable()  # a query that is stopped in a micro-batch says so at length
    finally:
        feeder.stop()
        query.stop()
    told = [p for p in query.recentProgress if p["batchId"] in latencies.of_batches and p["numInputRows"]]
    return told, latencies


def _figures(told: list[Any], latencies: Latencies) -> list[Figure]:
    part = "100 k events/s"
    waited = [s for found in latencies.of_batches.values() for s in found]
    spent = [p["durationMs"] for p in told]
    took_s = [one["triggerExecution"] / 1000 for one in spent]
    if not took_s:
        return [Figure(part, "event to match, p95, s", float("nan"), BAR_P95_S)]
    n_a_batch = statistics.median(p["numInputRows"] for p in told)
    figures = [
        Figure(part, "event to match, p50, s", percentile(waited, 0.50)),
        Figure(part, "event to match, p95, s", percentile(waited, 0.95), BAR_P95_S),
        Figure(part, "event to match, p99, s", percentile(waited, 0.99)),
        Figure(part, "matches", len(waited)),
        Figure(part, "events of a micro-batch, median", n_a_batch),
        Figure(part, "micro-batch, median, s", statistics.median(took_s)),
    ]
    for name in _PARTS:
        figures.append(Figure(part, f"  of it {name}, s", statistics.median(one.get(name, 0) / 1000 for one in spent)))
    operators = [p["stateOperators"][0] for p in told if p["stateOperators"]]
    commits_s = statistics.median(one["commitTimeMs"] / 1000 for one in operators)
    figures.append(Figure(part, "  state written, all tasks together, s", commits_s))
    return figures
