"""What a slack policy costs in a stream: ``python -m benchmarks.spark.slack``.

W2 over a stream of Parquet files, a million events in each micro-batch, once with a watermark that follows the events
and once with a `cepheid.Slack` in each bucket. Both give matches and late events, so that the same columns of the same
events travel. Exits with 1 where the policy takes more than a tenth of the events/s.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from benchmarks.spark.jobs import COLUMNS_READ, W2
from benchmarks.spark.streaming import N_BUCKETS, N_EVENTS_A_BATCH, run_to_its_end
from benchmarks.stream import stream
from cepheid.policies.slack.settings import Slack
from cepheid.spark.detect import detect
from cepheid.spark.session import local_session

BAR = 0.9
N_WARM_UP = 2
N_BATCHES = 4
N_TIMES = 2

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


def write_files(folder: Path) -> Path:
    """The stream of the other benchmarks, each event received 50 ms later on average, in the order of reception."""
    path = folder / "stream"
    path.mkdir(parents=True)
    events = stream(N_BATCHES * N_EVENTS_A_BATCH)
    delays = np.random.default_rng(1).geometric(0.02, len(events))
    received = events["ts"].to_numpy() + delays
    events = events.append_column("got", pa.array(received)).take(pa.array(np.argsort(received, kind="stable")))
    for number in range(N_BATCHES):
        file = path / f"{number:03}.parquet"
        part = events.slice(number * N_EVENTS_A_BATCH, N_EVENTS_A_BATCH)
        pq.write_table(part, file, row_group_size=N_EVENTS_A_BATCH // 10)
        os.utime(file, (1_000_000 + number, 1_000_000 + number))
    return path


def main() -> int:
    """Measure in turn, print; 1 where the bar is missed."""
    session = local_session("slack", config={"spark.sql.shuffle.partitions": "2"})
    times: dict[str, list[float]] = {name: [] for name in PIPELINES}
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder))
        schema = session.read.parquet(str(files)).schema
        for number in range(N_TIMES):
            for name, build in PIPELINES.items():
                events = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(files))
                batches = run_to_its_end(build(events), Path(folder) / f"checkpoint-{name}-{number}")
                times[name] += [s for n_events, s, _ in batches if n_events][N_WARM_UP:]
                print(f"{name:<10} {[round(s, 2) for s in times[name]]}", file=sys.stderr, flush=True)
    speed = {name: N_EVENTS_A_BATCH / min(found) for name, found in times.items()}
    ratio = speed["slack"] / speed["watermark"]
    for name in PIPELINES:
        print(f"{name:<10}{speed[name]:>12,.0f} events/s")
    verdict = "FAILED" if ratio < BAR else "holds "
    print(f"{verdict} a slack policy leaves {ratio:.1%} of the events/s; at least {BAR:.0%}", flush=True)
    session.stop()
    return 0 if ratio >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
