"""A stream that runs for long at half the rate that it can bear: do its memory and its state stay where they are?

``python -m benchmarks.spark.soak [--minutes 20] [--picture FILE] [--json FILE]``. First the sustainable rate is
measured, with files that are there already. Then a thread offers half of that, of keys that come and go: each is seen
for a hundred seconds and never again. Once for each micro-batch the memory of Spark's JVM and of the Python workers,
the state, the partial matches, the watermark and the latency are read. What grows is told by straight lines through
the second half of the run: a line that rises by more than its bar within that half is a leak until it is explained,
and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.spark.jobs import W2
from benchmarks.spark.memory import rss_bytes_by_command, workers_pss_bytes
from benchmarks.spark.stream_latency import FILES_PER_S, SCHEMA, Feeder, write_backlog
from cepheid.spark.detect import detect
from cepheid.spark.session import local_session
from cepheid.spark.stream_rows import Bucket

LOOK_S = 0.1
CALIBRATION_FILES = 14
CALIBRATION_EVENTS = 200_000
KEYS_A_SECOND = 100
"""So many keys are new each second, of the `N_KEYS` that are seen at a time, and so many go."""


@dataclass(frozen=True)
class Sample:
    """What was seen after a micro-batch.

    Attributes:
        seconds: since the start.
        jvm_bytes, python_bytes, driver_bytes: resident memory of Spark's JVM, of all Python workers, of this process.
        python_pss_bytes: the workers', with what they share counted once.
        heap_bytes: what the JVM's collector left at its last run.
        state_bytes: what all buckets hold, as the engine counts it.
        store_bytes: memory of the state, as Spark tells it.
        n_partial: partial matches of all buckets.
        lag_s: from the watermark to the beginning of the micro-batch.
        batch_s: how long it took.
        latency_s: from the last event of a match until the match was there, p95; NaN where there was no match.
        n_behind: events that were offered and not yet taken.
    """

    seconds: float
    jvm_bytes: float
    python_bytes: float
    python_pss_bytes: float
    driver_bytes: float
    heap_bytes: float
    state_bytes: float
    store_bytes: float
    n_partial: float
    lag_s: float
    batch_s: float
    latency_s: float
    n_behind: float


@dataclass(frozen=True)
class Curve:
    """How a curve is told.

    Attributes:
        said: its name.
        unit, scale: what it is told in, and how many of the sample's are one of it.
        bar: the most by which it may rise within the second half, as a share of its mean there. Times depend on what
            else the machine does: theirs is wider.
        least: where no value is above this, in the sample's unit, the curve is not held to its bar: one key that comes
            would decide.
    """

    said: str
    unit: str
    scale: float
    bar: float
    least: float


def _memory(said: str) -> Curve:
    return Curve(said, "MB", 1e6, 0.10, 32e6)


CURVES = {
    "jvm_bytes": _memory("JVM, resident"),
    "heap_bytes": _memory("JVM, heap after collections"),
    "python_bytes": _memory("Python workers, resident (RSS)"),
    "python_pss_bytes": _memory("Python workers, shared once (PSS)"),
    "driver_bytes": _memory("Python of the driver, resident"),
    "state_bytes": Curve("what the buckets hold", "MB", 1e6, 0.10, 1e6),
    "store_bytes": _memory("Spark's store of state"),
    "n_partial": Curve("partial matches", "thousand", 1e3, 0.10, 1e3),
    "lag_s": Curve("watermark behind the clock", "s", 1.0, 0.25, 0.5),
    "batch_s": Curve("micro-batch", "s", 1.0, 0.25, 0.5),
    "latency_s": Curve("event to match, p95", "s", 1.0, 0.25, 0.5),
}


class MovingKeys(Feeder):
    """Offers events of keys that come and go."""

    def events(self, since_s: float, period_s: float) -> pa.Table:
        """The events of one file, their keys moved on by its number."""
        first = self.n_events * KEYS_A_SECOND // (self._per_file * FILES_PER_S)
        table = super().events(since_s, period_s)
        at = table.schema.get_field_index("key")
        keys = pc.add(table.column(at), pa.scalar(first, pa.int32()))
        return table.set_column(at, table.schema.field(at), keys)


class Told:
    """Takes the rows of each micro-batch.

    Attributes:
        n_matches: of all of them.
        latency_s: micro-batch -> the p95 of its matches.
        held: bucket -> its partial matches and bytes when it was last called.
    """

    def __init__(self) -> None:
        self.n_matches = 0
        self.latency_s: dict[int, float] = {}
        self.held: dict[int, tuple[int, int]] = {}

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Count the rows of a micro-batch."""
        told = rows.agg(
            F.count("matches.last_ts").alias("n"),
            # The clock is read when all is done: the matches that waited longest have the least times.
            F.percentile_approx(F.unix_micros("matches.last_ts"), 0.05, 10_000).alias("last_us"),
            F.collect_list("held").alias("held"),
        ).collect()[0]
        self.n_matches += told["n"]
        self.latency_s[number] = math.nan if told["last_us"] is None else time.time() - told["last_us"] / 1e6
        buckets = (Bucket(*bucket) for bucket in told["held"])
        self.held |= {bucket.number: (bucket.n_partial_matches, bucket.n_bytes) for bucket in buckets}


def sustainable_rate(spark: SparkSession, folder: Path) -> float:
    """Events per second of micro-batches that follow each other at once."""
    write_backlog(folder / "backlog", CALIBRATION_FILES, CALIBRATION_EVENTS)
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "backlog"))
    writer = _matches(events).writeStream.foreachBatch(Told())
    query = writer.option("checkpointLocation", str(folder / "calibration")).trigger(availableNow=True).start()
    query.awaitTermination()
    took_s = [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress if p["numInputRows"]]
    return CALIBRATION_EVENTS / statistics.median(took_s[len(took_s) // 2 :])


def soak(spark: SparkSession, folder: Path, events_per_s: int, minutes: float) -> tuple[list[Sample], int]:
    """Run the stream: a sample for each micro-batch, and the number of matches."""
    feeder = MovingKeys(folder / "offered", events_per_s)
    events = (
        spark.readStream.schema(SCHEMA)
        .option("cleanSource", "delete")
        .option("maxFilesPerTrigger", 100)
        .parquet(str(folder / "offered"))
    )
    told = Told()
    query = _matches(events).writeStream.foreachBatch(told).option("checkpointLocation", str(folder / "ck")).start()
    feeder.start()
    samples: list[Sample] = []
    begin, n_taken, last = time.monotonic(), 0, -1
    pools = _pools(spark)
    try:
        while (now := time.monotonic() - begin) < minutes * 60:
            if not query.isActive:
                raise RuntimeError(f"the stream ended: {query.exception()}")
            newest = query.lastProgress
            if newest is None or newest["batchId"] == last:
                time.sleep(LOOK_S)
                continue
            n_taken += sum(p["numInputRows"] for p in query.recentProgress if p["batchId"] > last)
            last = newest["batchId"]
            if newest["numInputRows"]:
                n_behind = feeder.n_events - n_taken
                samples.append(
                    _sample(now, newest, told, sum(p.getCollectionUsage().getUsed() for p in pools), n_behind)
                )
        feeder.stop()
        query.processAllAvailable()
    finally:
        feeder.stop()
        query.stop()
    return samples, told.n_matches


def _sample(now: float, progress: Any, told: Told, heap_bytes: int, n_behind: int) -> Sample:
    """What is seen after a micro-batch that Spark told of."""
    by_command = rss_bytes_by_command(os.getpid())
    begin, watermark = (
        datetime.fromisoformat(text).timestamp() for text in (progress["timestamp"], progress["eventTime"]["watermark"])
    )
    held = tuple(told.held.values())
    return Sample(
        seconds=now,
        jvm_bytes=by_command.get("java", 0),
        python_bytes=sum(n for command, n in by_command.items() if command not in ("java", "self")),
        python_pss_bytes=workers_pss_bytes(os.getpid()),
        driver_bytes=by_command["self"],
        heap_bytes=heap_bytes,
        state_bytes=sum(n_bytes for _, n_bytes in held),
        store_bytes=progress["stateOperators"][0]["memoryUsedBytes"],
        n_partial=sum(n for n, _ in held),
        lag_s=begin - watermark if watermark else math.nan,
        batch_s=progress["durationMs"]["triggerExecution"] / 1000,
        latency_s=told.latency_s.get(progress["batchId"], math.nan),
        n_behind=n_behind,
    )


def _matches(events: DataFrame) -> DataFrame:
    """The matches of W2, and what the buckets hold, as tagged rows."""
    columns = {"time": "ts", "type": "type", "order": "id"}
    query = W2.format(more="", within="1 s")
    found = detect(events, query, watermark="1 s", partitions=8, outputs=("matches", "held"), **columns)
    return cast("DataFrame", found.tagged)


def _pools(spark: SparkSession) -> list[Any]:
    """The pools of the JVM's heap that its collector tells about."""
    factory = spark.sparkContext._jvm.java.lang.management.ManagementFactory
    return [pool for pool in factory.getMemoryPoolMXBeans() if pool.getCollectionUsage() is not None]


def growth(seconds: Sequence[float], values: Sequence[float]) -> float:
    """By how much a straight line through the second half of the time rises within it, as a share of its mean."""
    t, v = np.array(seconds), np.array(values, float)
    late = (t >= (t[0] + t[-1]) / 2) & np.isfinite(v)
    if late.sum() < 2:
        return math.nan
    t, v = t[late], v[late]
    slope = float(np.polyfit(t, v, 1)[0])
    return slope * float(t[-1] - t[0]) / max(1e-9, float(v.mean()))


def verdict(samples: Sequence[Sample]) -> tuple[list[str], bool]:
    """A line for each curve, and whether none of them rises."""
    lines, flat = [], True
    seconds = [sample.seconds for sample in samples]
    for name, curve in CURVES.items():
        values = np.array([getattr(sample, name) for sample in samples], float)
        share = growth(seconds, list(values))
        # What cannot be told is not flat.
        grows = not share <= curve.bar and not np.nanmax(values) <= curve.least
        flat = flat and not grows
        half = values[np.array(seconds) >= (seconds[0] + seconds[-1]) / 2]
        lines.append(
            f"{curve.said:<36} mean {np.nanmean(half) / curve.scale:>9,.2f}, "
            f"greatest {np.nanmax(values) / curve.scale:>9,.2f} {curve.unit:<8} "
            f"{share:+7.1%} within the second half{'  GROWS' if grows else ''}"
        )
    return lines, flat


def draw(samples: Sequence[Sample], picture: Path, title: str) -> None:
    """Draw the curves, those of a kind below each other; names are beside them, so that they cover nothing."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    minutes = [sample.seconds / 60 for sample in samples]
    kinds = [
        ("memory, MB", ("jvm_bytes", "heap_bytes", "python_bytes", "python_pss_bytes", "driver_bytes")),
        ("state, MB", ("state_bytes", "store_bytes")),
        ("thousand", ("n_partial",)),
        ("seconds", ("lag_s", "latency_s", "batch_s")),
    ]
    figure, rooms = plt.subplots(len(kinds), 1, figsize=(11, 11), sharex=True, layout="constrained")
    figure.suptitle(title)
    for room, (unit, names) in zip(rooms, kinds, strict=True):
        for name in names:
            curve = CURVES[name]
            values = [getattr(sample, name) / curve.scale for sample in samples]
            room.plot(minutes, values, label=curve.said, linewidth=1)
        room.set_ylabel(unit)
        room.set_ylim(bottom=0)
        room.grid(alpha=0.3)
        room.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
    rooms[-1].set_xlabel("minutes since the start of the stream")
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)


def main() -> int:
    """Run, print, draw; 1 where something grows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark.soak", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--events-per-s", type=int, help="instead of half of what is measured")
    parser.add_argument("--picture", type=Path, default=Path("build/soak.png"))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the samples there, too")
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(Path.cwd()), *filter(None, sys.path)]))
    with tempfile.TemporaryDirectory(prefix="cepheid-soak-") as name:
        folder = Path(name)
        config = {"spark.driver.extraJavaOptions": "-Xms1g", "spark.sql.streaming.minBatchesToRetain": "20"}
        spark = local_session("cepheid-soak", cores=2, memory="1g", shuffle_partitions=2, config=config)
        rate = given.events_per_s
        if rate is None:
            most = sustainable_rate(spark, folder)
            rate = int(most / 2)
            print(f"sustainable: {most:,.0f} events/s; offered: {rate:,} events/s", flush=True)
        samples, n_matches = soak(spark, folder, rate, given.minutes)
        spark.stop()
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(sample) for sample in samples], indent=1) + "\n", encoding="utf-8")
    lines, flat = verdict(samples)
    median_s = statistics.median(sample.batch_s for sample in samples)
    print(f"{given.minutes:g} minutes, {rate:,} events/s, {n_matches:,} matches, micro-batch {median_s:.2f} s (median)")
    print(f"{len(samples)} micro-batches, {max(sample.n_behind for sample in samples):,} events behind at most")
    print(*lines, sep="\n")
    draw(samples, given.picture, f"W2, {rate:,} events/s for {given.minutes:g} minutes")
    print(f"drawn: {given.picture}")
    print("nothing grows" if flat else "FAILED something grows")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
