"""What a slack policy costs in a stream: ``python -m benchmarks.spark.slack``.

W2 over two streams of the same events, one with a watermark that follows them and one with a `cepheid.Slack` in each
bucket. Both give matches and late events, so that the same columns of the same events travel. Both run in one session,
and take turns: a micro-batch of the one, then the same events in the other, and which of them is first changes. Exits
with 1 where the median of the times says that the policy takes more than a tenth of the events/s.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.spark.jobs import COLUMNS_READ, W2
from benchmarks.spark.streaming import N_BUCKETS
from benchmarks.stream import stream
from cepheid.policies.slack.settings import Slack
from cepheid.spark.detect import detect
from cepheid.spark.session import local_session

BAR = 0.9
N_EVENTS_A_BATCH = 250_000
N_WARM_UP = 2
N_BATCHES = 7
"""Micro-batches that count; the times of the first ones, in which workers start, do not."""

QUERY = W2.format(more="", within="1000 ms")


def with_watermark(events: DataFrame) -> DataFrame:
    """The matches, and the late events, by a watermark."""
    found: Any = detect(
        events, QUERY, watermark="1 s", partitions=N_BUCKETS, outputs=("matches", "late"), **COLUMNS_READ
    )
    return found.tagged


def with_slack(events: DataFrame) -> DataFrame:
    """The same by a policy in each bucket."""
    found: Any = detect(
        events,
        QUERY,
        slack=Slack.probabilistic(0.05),
        received="got",
        partitions=N_BUCKETS,
        outputs=("matches", "late"),
        **COLUMNS_READ,
    )
    return found.tagged


PIPELINES = {"watermark": with_watermark, "slack": with_slack}


def write_files(folder: Path) -> list[Path]:
    """The stream of the other benchmarks, each event received 50 ms later on average, in the order of reception."""
    folder.mkdir(parents=True)
    n_files = N_WARM_UP + N_BATCHES
    events = stream(n_files * N_EVENTS_A_BATCH)
    delays = np.random.default_rng(1).geometric(0.02, len(events))
    received = events["ts"].to_numpy() + delays
    events = events.append_column("got", pa.array(received)).take(pa.array(np.argsort(received, kind="stable")))
    files = [folder / f"{number:03}.parquet" for number in range(n_files)]
    for number, file in enumerate(files):
        part = events.slice(number * N_EVENTS_A_BATCH, N_EVENTS_A_BATCH)
        pq.write_table(part, file, row_group_size=N_EVENTS_A_BATCH // 10)
    return files


def started(session: SparkSession, name: str, schema: Any, folder: Path) -> StreamingQuery:
    """A pipeline over a folder that is still empty."""
    source = folder / name
    source.mkdir()
    frame = PIPELINES[name](session.readStream.schema(schema).parquet(str(source)))
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(folder / f"checkpoint-{name}"))
    return writer.start()


def seconds_of(query: StreamingQuery, file: Path, source: Path) -> float:
    """How long a pipeline takes for the micro-batch of one file more."""
    hidden = source / f".{file.name}"
    shutil.copy(file, hidden)
    hidden.rename(source / file.name)
    query.processAllAvailable()
    told = [json.loads(progress.json) for progress in query.recentProgress]
    of_events = [p["durationMs"]["triggerExecution"] for p in told if p["numInputRows"]]
    assert len(of_events) == len(list(source.glob("*.parquet"))), "a file is a micro-batch"
    return float(of_events[-1]) / 1000


def main() -> int:
    """Measure in turn, print; 1 where the bar is missed."""
    session = local_session("slack", config={"spark.sql.shuffle.partitions": "2"})
    times: dict[str, list[float]] = {name: [] for name in PIPELINES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_files(folder / "events")
        schema = session.read.parquet(str(files[0])).schema
        queries = {name: started(session, name, schema, folder) for name in PIPELINES}
        for number, file in enumerate(files):
            turns = list(PIPELINES) if number % 2 else list(PIPELINES)[::-1]
            for name in turns:
                times[name].append(seconds_of(queries[name], file, folder / name))
            told = ", ".join(f"{name} {found[-1]:.2f} s" for name, found in times.items())
            print(f"micro-batch {number + 1} of {len(files)}: {told}", file=sys.stderr, flush=True)
        for query in queries.values():
            query.stop()
    counted = {name: found[N_WARM_UP:] for name, found in times.items()}
    medians = {name: statistics.median(found) for name, found in counted.items()}
    for name, median in medians.items():
        least, greatest = min(counted[name]), max(counted[name])
        print(
            f"{name:<10}{N_EVENTS_A_BATCH / median:>12,.0f} events/s   "
            f"micro-batches of {least:.2f} to {greatest:.2f} s, median {median:.2f} s"
        )
    ratio = medians["watermark"] / medians["slack"]
    verdict = "FAILED" if ratio < BAR else "holds "
    print(f"{verdict} a slack policy leaves {ratio:.1%} of the events/s; at least {BAR:.0%}", flush=True)
    session.stop()
    return 0 if ratio >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
