"""A stream that runs for long at half the rate that it can bear: do its memory and its state stay where they are?

``python -m benchmarks.spark.soak [--minutes 20] [--picture FILE]``. First the sustainable rate is measured, with files
that are there already. Then a thread offers half of that, and twice a second the memory of Spark's JVM and of the
Python workers is read. What grows is told by straight lines through the second half of the run: a line that rises
by more than a tenth of its height within that half is a leak until it is explained, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from benchmarks.spark.jobs import W2
from benchmarks.spark.memory import rss_bytes_by_command
from benchmarks.spark.stream_latency import SCHEMA, Feeder, write_backlog
from cepheid.spark.detect import detect
from cepheid.spark.session import local_session

SAMPLE_S = 0.5
CALIBRATION_FILES = 14
CALIBRATION_EVENTS = 200_000
BAR_GROWTH = 0.10
"""The most by which a curve may rise within the second half, as a share of its mean there."""


@dataclass
class Samples:
    """What was seen while the stream ran; each list has an entry for each sample.

    Attributes:
        seconds: since the start.
        jvm_bytes, python_bytes, driver_bytes: resident memory of Spark's JVM, of all Python workers, of this process.
        heap_bytes: what the JVM's collector left at its last run.
        state_bytes: memory of the state, as Spark tells it.
        batch_s: how long the last micro-batch took.
        n_behind: events that were offered and not yet taken.
    """

    seconds: list[float] = field(default_factory=list)
    jvm_bytes: list[float] = field(default_factory=list)
    python_bytes: list[float] = field(default_factory=list)
    driver_bytes: list[float] = field(default_factory=list)
    heap_bytes: list[float] = field(default_factory=list)
    state_bytes: list[float] = field(default_factory=list)
    batch_s: list[float] = field(default_factory=list)
    n_behind: list[float] = field(default_factory=list)


CURVES = {
    "jvm_bytes": "memory of the JVM",
    "python_bytes": "memory of the Python workers",
    "driver_bytes": "memory of the driver's Python",
    "heap_bytes": "heap of the JVM after collections",
    "state_bytes": "state",
}


class Counted:
    """Takes the matches of each micro-batch."""

    def __init__(self) -> None:
        self.n_matches = 0

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Count the matches of a micro-batch."""
        self.n_matches += rows.count()


def sustainable_rate(spark: SparkSession, folder: Path) -> float:
    """Events per second of micro-batches that follow each other at once."""
    write_backlog(folder / "backlog", CALIBRATION_FILES, CALIBRATION_EVENTS)
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "backlog"))
    writer = _matches(events).writeStream.foreachBatch(Counted())
    query = writer.option("checkpointLocation", str(folder / "calibration")).trigger(availableNow=True).start()
    query.awaitTermination()
    took_s = [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress if p["numInputRows"]]
    return CALIBRATION_EVENTS / statistics.median(took_s[len(took_s) // 2 :])


def soak(spark: SparkSession, folder: Path, events_per_s: int, minutes: float) -> tuple[Samples, int]:
    """Run the stream; also the number of matches."""
    feeder = Feeder(folder / "offered", events_per_s)
    events = (
        spark.readStream.schema(SCHEMA)
        .option("cleanSource", "delete")
        .option("maxFilesPerTrigger", 100)
        .parquet(str(folder / "offered"))
    )
    counted = Counted()
    query = _matches(events).writeStream.foreachBatch(counted).option("checkpointLocation", str(folder / "ck")).start()
    feeder.start()
    samples, begin, n_taken, last = Samples(), time.monotonic(), 0, -1
    pools = _pools(spark)
    try:
        while (now := time.monotonic() - begin) < minutes * 60:
            if not query.isActive:
                raise RuntimeError(f"the stream ended: {query.exception()}")
            for p in query.recentProgress:
                if p["batchId"] > last:
                    last, n_taken = p["batchId"], n_taken + p["numInputRows"]
            progress = query.lastProgress
            if progress is not None and progress["stateOperators"]:
                by_command = rss_bytes_by_command(os.getpid())
                samples.seconds.append(now)
                samples.jvm_bytes.append(by_command.get("java", 0))
                samples.driver_bytes.append(by_command.get("self", 0))
                samples.python_bytes.append(sum(n for c, n in by_command.items() if c not in ("java", "self")))
                samples.heap_bytes.append(sum(pool.getCollectionUsage().getUsed() for pool in pools))
                samples.state_bytes.append(progress["stateOperators"][0]["memoryUsedBytes"])
                samples.batch_s.append(progress["durationMs"].get("triggerExecution", 0) / 1000)
                samples.n_behind.append(feeder.n_events - n_taken)
            time.sleep(SAMPLE_S)
        feeder.stop()
        query.processAllAvailable()
    finally:
        feeder.stop()
        query.stop()
    return samples, counted.n_matches


def _matches(events: DataFrame) -> DataFrame:
    return detect(
        events, W2.format(more="", within="1 s"), time="ts", type="type", order="id", watermark="1 s", partitions=8
    )


def _pools(spark: SparkSession) -> list[Any]:
    """The pools of the JVM's heap that its collector tells about."""
    factory = spark.sparkContext._jvm.java.lang.management.ManagementFactory
    return [pool for pool in factory.getMemoryPoolMXBeans() if pool.getCollectionUsage() is not None]


def growth(seconds: list[float], values: list[float]) -> float:
    """By how much a straight line through the second half rises within it, as a share of its mean."""
    half = len(values) // 2
    t, v = np.array(seconds[half:]), np.array(values[half:], float)
    slope = float(np.polyfit(t, v, 1)[0])
    return slope * float(t[-1] - t[0]) / max(1.0, float(v.mean()))


def verdict(samples: Samples) -> tuple[list[str], bool]:
    """A line for each curve, and whether none of them rises."""
    lines, flat = [], True
    for name, said in CURVES.items():
        values = getattr(samples, name)
        share = growth(samples.seconds, values)
        # A curve of a few megabytes moves by more than its bar whenever one key comes or goes.
        grows = share > BAR_GROWTH and max(values) > 32e6
        flat = flat and not grows
        half = values[len(values) // 2 :]
        lines.append(
            f"{said:<36} mean {statistics.mean(half) / 1e6:>8,.1f} MB, greatest {max(values) / 1e6:>8,.1f} MB, "
            f"{share:+.1%} within the second half{'  GROWS' if grows else ''}"
        )
    return lines, flat


def draw(samples: Samples, picture: Path, title: str) -> None:
    """Draw the curves."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    minutes = np.array(samples.seconds) / 60
    figure, (memory, state, batches) = plt.subplots(3, 1, figsize=(9, 9), sharex=True)
    for name in ("jvm_bytes", "heap_bytes", "python_bytes", "driver_bytes"):
        memory.plot(minutes, np.array(getattr(samples, name)) / 1e6, label=CURVES[name], linewidth=1)
    memory.set_ylabel("MB")
    memory.set_ylim(bottom=0)
    memory.legend(loc="best", fontsize=8)
    memory.set_title(title)
    state.plot(minutes, np.array(samples.state_bytes) / 1e6, linewidth=1)
    state.set_ylabel("state, MB")
    state.set_ylim(bottom=0)
    batches.plot(minutes, samples.batch_s, linewidth=1, label="micro-batch, s")
    batches.set_ylabel("micro-batch, s")
    batches.set_ylim(bottom=0)
    behind = batches.twinx()
    behind.plot(minutes, np.array(samples.n_behind) / 1e3, linewidth=1, color="tab:orange")
    behind.set_ylabel("thousand events waiting", color="tab:orange")
    behind.set_ylim(bottom=0)
    batches.set_xlabel("minutes")
    figure.tight_layout()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)


def main() -> int:
    """Run, print, draw; 1 where something grows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark.soak", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--events-per-s", type=int, help="instead of half of what is measured")
    parser.add_argument("--picture", type=Path, default=Path("build/soak.png"))
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
    lines, flat = verdict(samples)
    median_s = statistics.median(samples.batch_s)
    print(f"{given.minutes:g} minutes, {rate:,} events/s, {n_matches:,} matches, micro-batch {median_s:.2f} s (median)")
    print(*lines, sep="\n")
    draw(samples, given.picture, f"W2, {rate:,} events/s for {given.minutes:g} minutes")
    print(f"drawn: {given.picture}")
    print("nothing grows" if flat else "FAILED something grows")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
