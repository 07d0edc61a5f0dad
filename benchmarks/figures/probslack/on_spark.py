"""Figures 12 and 13: the phones' reports through Spark Structured Streaming, the windows of each bucket closed apart.

The paper's prototype is in Flink, with a keyed window for each bus. Here `cepheid.detect` hashes phones to buckets,
and each bucket has a policy of its own, which tells its phones apart. The stream is Parquet, a micro-batch for each
session. A window is complete when it is closed; times are those of the server that received the reports, so that they
do not depend on this machine, and neither on when Spark begins a micro-batch.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.figures.cores import Tell
from benchmarks.figures.probslack.runs import AVERAGE, BY_EVENT, IGNORE, OURS, Run
from benchmarks.figures.probslack.umts import FILE, PERIOD, WARM_UP, data_folder
from cepheid.policies.slack.settings import Slack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FREQUENCIES = (400, 1000)
BUDGETS = (0.1, 0.3)
POLICIES = (BY_EVENT, IGNORE, AVERAGE, OURS)
N_BUCKETS = 8
QUERY = """
PATTERN SEQ(Report a) WHERE SAME[device] AND a.seq % 10 = 0 WINDOW {f} ms SLIDE {f} ms RETURN a.seq AS seq
"""


def slack_of(name: str, delta: float) -> Slack:
    """The policy as users ask for it."""
    if name == BY_EVENT:
        return Slack.event_driven(per="device")
    if name == IGNORE:
        return Slack.ignore()
    if name == AVERAGE:
        return Slack.average_delay(per="device")
    return Slack.probabilistic(
        delta,
        per="device",
        period=PERIOD,
        warm_up=WARM_UP,
    )


def through_spark(tell: Tell) -> tuple[list[Run], list[Run]]:
    """The runs by frequency (δ = 0.1) and by budget (f = 400 ms)."""
    from cepheid.spark.session import local_session

    session = local_session("probslack", config={"spark.sql.shuffle.partitions": "2"})
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        events = _written(root / "in")
        by_f = []
        for f in FREQUENCIES:
            for name in POLICIES:
                by_f.append(_run(session, root, events, name, f, 0.1))
            tell(f"figure 12: f = {f} ms")
        by_delta = [run for run in by_f if run.f == 400]
        for delta in BUDGETS[1:]:
            by_delta.append(_run(session, root, events, OURS, 400, delta))
            tell(f"figure 13: δ = {delta}")
        # What does not depend on the budget is the same for all.
        fixed = [run for run in by_delta if run.policy in (BY_EVENT, IGNORE, AVERAGE)]
        for delta in BUDGETS[1:]:
            by_delta += [Run(**{**run.__dict__, "delta": delta}) for run in fixed]
    session.stop()
    return by_f, by_delta


def _written(folder: Path) -> pa.Table:
    """The reports as one Parquet file for each session, in the order of reception."""
    table = pyarrow.csv.read_csv(data_folder() / FILE)
    table = table.select(["session", "device", "seq", "gts_detect_ms", "rts_server_ms"])
    table = table.sort_by([("rts_server_ms", "ascending"), ("device", "ascending"), ("seq", "ascending")])
    folder.mkdir()
    for number, name in enumerate(sorted(set(table["session"].to_pylist()))):
        part = table.filter(pa.compute.equal(table["session"], name))
        path = folder / f"{number}.parquet"
        pq.write_table(part.append_column("kind", pa.array(["Report"] * len(part))), path)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return table


def _run(session: SparkSession, root: Path, events: Any, name: str, f: int, delta: float) -> Run:
    from cepheid.spark.detect import detect
    from cepheid.spark.streams.outputs import parquet_writer

    out = root / f"{name} {f} {delta}".replace(" ", "_")
    fields = "session string, device string, seq long, gts_detect_ms long, rts_server_ms long, kind string"
    frame = session.readStream.schema(fields).option("maxFilesPerTrigger", 1).parquet(str(root / "in"))
    found: Any = detect(
        frame,
        QUERY.format(f=f),
        time="gts_detect_ms",
        type="kind",
        time_unit="ms",
        order=["session", "device", "seq"],
        slack=slack_of(name, delta),
        received="rts_server_ms",
        outputs=("closed", "slack"),
        partitions=N_BUCKETS,
    )
    writer = found.tagged.writeStream.option("checkpointLocation", str(out / "checkpoint"))
    write = found.written_by({told: parquet_writer(str(out / told)) for told in ("closed", "slack")})
    writer.trigger(availableNow=True).foreachBatch(write).start().awaitTermination()
    closed, figures = (session.read.parquet(str(out / told)).toArrow() for told in ("closed", "slack"))
    buckets = _buckets(session, set(events["device"].to_pylist()))
    return _told(name, f, delta, closed.sort_by("window_end"), figures, buckets, events)


def _buckets(session: SparkSession, devices: Iterable[str]) -> dict[str, int]:
    """The label of the bucket of each phone."""
    from pyspark.sql import functions as F

    from cepheid.spark.streams.buckets import bucket_of, labels

    frame = session.createDataFrame([(device,) for device in sorted(devices)], "device string")
    numbers = frame.withColumn("bucket", bucket_of([F.col("device")], N_BUCKETS)).collect()
    return {row["device"]: labels(N_BUCKETS)[row["bucket"]] for row in numbers}


def _told(name: str, f: int, delta: float, closed: Any, figures: Any, buckets: dict[str, int], events: Any) -> Run:
    """MER, mean slack and completion time of what was closed.

    The completion time of a report goes from its generation until its window is complete: closed, or for a report that
    comes later, received. A window of 400 ms holds one report at most, since a phone sends one each half second: when
    it has come, the next one is known to lie behind the window, which is then closed before its end. BL-IG waits for
    the end in any case. `Run.by_end` leaves that out of the comparison: every window stays open to its end at least.
    """
    device = np.array([buckets[d] for d in events["device"].to_pylist()])
    generated, received = (events[column].to_numpy() for column in ("gts_detect_ms", "rts_server_ms"))
    n_closed, n_missed, n_early, slack_ms = 0, 0, 0, 0.0
    took: list[Any] = []
    took_by_end: list[Any] = []
    for bucket in sorted(set(device.tolist())):
        rows = closed.filter(pa.compute.equal(closed["bucket"], bucket))
        own_figures = figures.filter(pa.compute.equal(figures["bucket"], bucket))
        last = own_figures.sort_by([("batch", "descending")]).slice(0, 1).to_pylist()[0]
        n_closed += last["n_windows"]
        n_missed += last["n_missed"]
        slack_ms += last["n_windows"] * last["mean_slack_us"] / 1000
        ends, at = (
            rows[c].cast(pa.timestamp("us")).cast(pa.int64()).to_numpy() // 1000 for c in ("window_end", "closed_at")
        )
        counts, reasons = rows["n_windows"].to_numpy(), np.array(rows["reason"].to_pylist())
        n_early += int(counts[at < ends].sum())
        own = device == bucket
        run = np.searchsorted(ends, generated[own], "right")
        # The first window that ends after the report, perhaps in a run of windows that were closed together.
        before = np.maximum(run - 1, 0)
        inside = (run > 0) & (generated[own] < ends[before] + (counts[before] - 1) * f)
        run = np.where(inside, before, run)
        known = run < len(ends)
        run = run[known]
        step = np.where(np.isin(reasons[run], ("silent", "learned", "elapsed")), f, 0)
        ahead = np.where(inside[known], (generated[own][known] - ends[run]) // f + 1, 0)
        moment = at[run] + np.minimum(ahead, counts[run] - 1) * step
        took.append(np.maximum(moment, received[own][known]) - generated[own][known])
        end = ends[run] + np.minimum(ahead, counts[run] - 1) * f
        took_by_end.append(np.maximum(np.maximum(moment, end), received[own][known]) - generated[own][known])
    completion, by_end = (float(np.concatenate(each).mean()) for each in (took, took_by_end))
    slack = slack_ms / n_closed
    return Run(name, "umts on spark", 0, f, delta, n_missed / n_closed, slack, n_closed, completion, by_end, n_early)
