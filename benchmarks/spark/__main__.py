"""Patterns on Spark against the same road without a pattern.

``python -m benchmarks.spark [--streaming] [--quick] [--json FILE]``; with ``--streaming``, in streams: how many events
a second (`benchmarks.spark.streaming`), how late matches are (`stream_latency`), how long a restart takes
(`stream_restart`), and what keys that are many or one need (`stream_keys`). ``--parts`` chooses among these.

Each job runs once to warm up (its matches are counted then), then several times in turn with the others; its best time
counts. The output goes to Spark's noop sink, which computes every value. Before, the matches in a stream of a million
events are counted, whose number is known. Exits with 1 where a bar is missed or that number is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.spark.figures import Figure, missed, print_figures
from benchmarks.spark.jobs import JOBS, MATCHES_OF_A_MILLION, read, run, w2, write_events
from benchmarks.spark.memory import PeakMemory
from benchmarks.spark.stream_keys import measure_keys
from benchmarks.spark.stream_latency import measure_latency
from benchmarks.spark.stream_restart import N_RETAINED, measure_restart
from benchmarks.spark.streaming import StreamRow, measure_streaming
from cepheid.spark.session import local_session

N_EVENTS = 5_000_000
N_EVENTS_QUICK = 2_000_000
N_CORES = 2
STREAM_PARTS = ("rate", "latency", "restart", "keys")
LATENCY_S = 60.0
"""Seconds in which events are offered."""
N_RETAINED_QUICK = 200_000


@dataclass(frozen=True)
class Row:
    """One line of the result.

    Attributes:
        workload, engine, peer, bar: as in `Job`.
        events_per_s: events of the whole stream by the best time.
        matches: rows that came out; None for a pass-through.
        peak_rss_bytes: most memory of the driver, the JVM and the Python workers together.
        ratio: events/s to those of the peer.
    """

    workload: str
    engine: str
    events_per_s: float
    matches: int | None
    peak_rss_bytes: int
    peer: str
    ratio: float | None
    bar: float | None


def measure(n_events: int, n_times: int, folder: Path) -> tuple[list[Row], int]:
    """Run all jobs in turn; also the number of matches of W2 in a million events."""
    spark = local_session("cepheid-benchmark", cores=N_CORES, memory="3g", shuffle_partitions=2 * N_CORES)
    n_known = w2(read(spark, write_events(folder, 1_000_000))).count()
    events = read(spark, write_events(folder, n_events))
    frames = [job.build(events) for job in JOBS]
    counts = [frame.count() for frame in frames]
    best, peaks = [float("inf")] * len(frames), [0] * len(frames)
    for _ in range(n_times):
        for i, frame in enumerate(frames):
            with PeakMemory() as memory:
                start = time.perf_counter()
                run(frame)
                best[i] = min(best[i], time.perf_counter() - start)
            peaks[i] = max(peaks[i], memory.peak_bytes)
    spark.stop()
    speed = {(job.workload, job.engine): n_events / s for job, s in zip(JOBS, best, strict=True)}
    rows = [
        Row(
            job.workload,
            job.engine,
            speed[job.workload, job.engine],
            count if job.peer else None,
            peak,
            job.peer,
            speed[job.workload, job.engine] / speed[job.workload, job.peer] if job.peer else None,
            job.bar,
        )
        for job, count, peak in zip(JOBS, counts, peaks, strict=True)
    ]
    return rows, n_known


def measure_streams(folder: Path, parts: Sequence[str], *, quick: bool) -> tuple[list[StreamRow], list[Figure]]:
    """Run the parts of the benchmark of streams, those of one session in turn."""
    rows: list[StreamRow] = []
    figures: list[Figure] = []
    if "restart" in parts:  # in processes of its own, while no other session takes memory
        figures += measure_restart(folder / "restart", N_RETAINED_QUICK if quick else N_RETAINED)
    if set(parts) == {"restart"}:
        return rows, figures
    # A task for each core: each has a state of its own to read and to write.
    spark = local_session("cepheid-benchmark", cores=N_CORES, memory="3g", shuffle_partitions=N_CORES)
    if "rate" in parts:
        rows = measure_streaming(spark, folder / "rate", n_batches=4 if quick else 12, n_times=1 if quick else 3)
    if "latency" in parts:
        figures += measure_latency(spark, folder / "latency", LATENCY_S / (2 if quick else 1))
    if "keys" in parts:
        figures += measure_keys(spark, folder / "keys")
    spark.stop()
    return rows, figures


def too_slow(rows: Sequence[Row | StreamRow]) -> list[str]:
    """What misses its bar, in words."""
    return [
        f"{row.workload}, {row.engine}: {row.ratio:.2f} times the speed of {row.peer}, the bar is {row.bar:.2f}"
        for row in rows
        if row.bar is not None and row.ratio is not None and row.ratio < row.bar
    ]


def faults(rows: list[Row], n_known: int) -> list[str]:
    """What is not as it should be, in words."""
    found = too_slow(rows)
    if n_known != MATCHES_OF_A_MILLION:
        found.append(f"W2 has {n_known} matches in a million events, {MATCHES_OF_A_MILLION} are right")
    return found


def print_table(rows: Sequence[Row | StreamRow]) -> None:
    """The rows as plain text."""
    print(f"{'workload':<26}{'engine':<22}{'events/s':>12}{'matches':>10}{'peak MB':>9}{'ratio':>8}{'bar':>7}")
    for row in rows:
        matches = "" if row.matches is None else f"{row.matches:,}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        bar = "" if row.bar is None else f"{row.bar:.2f}"
        print(
            f"{row.workload:<26}{row.engine:<22}{row.events_per_s:>12,.0f}{matches:>10}"
            f"{row.peak_rss_bytes / 1e6:>9,.0f}{ratio:>8}{bar:>7}"
        )


def main() -> int:
    """Measure, print, write; 1 where something is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two million events instead of five, fewer repetitions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    parser.add_argument("--streaming", action="store_true", help="patterns in streams instead of tables")
    parser.add_argument("--parts", nargs="+", choices=STREAM_PARTS, default=STREAM_PARTS, help="of --streaming")
    given = parser.parse_args()
    n_events = N_EVENTS_QUICK if given.quick else N_EVENTS
    # The functions of these jobs are shipped by name: the workers must find this package where the driver did.
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(Path.cwd()), *filter(None, sys.path)]))
    with tempfile.TemporaryDirectory(prefix="cepheid-benchmark-") as folder:
        figures: list[Figure] = []
        if given.streaming:
            in_streams, figures = measure_streams(Path(folder), given.parts, quick=given.quick)
            rows: Sequence[Row | StreamRow] = in_streams
            wrong = too_slow(rows) + missed(figures)
        else:
            measured, n_known = measure(n_events, 3 if given.quick else 5, Path(folder))
            rows, wrong = measured, faults(measured, n_known)
    if rows:
        print_table(rows)
    print_figures(figures)
    if given.json is not None:
        every = [asdict(row) for row in (*rows, *figures)]
        given.json.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
    for line in wrong:
        print(f"FAILED {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
