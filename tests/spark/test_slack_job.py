"""A streaming job with ``[slack]``: killed in the middle, it goes on with what it learned; and one on real delays."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from cepheid.job.load import load
from cepheid.job.streaming import run_stream
from tests.kafka.job_process import JobProcess
from tests.unit.test_slack import table
from workloads.umts_delays.feed import FILE, parts, reports, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = """
[source]
path = "in"
format = "jsonl"
time = "ts"
time_unit = "ms"
type = "kind"
order = ["number"]
columns = { got = "int", kind = "text", device = "int", number = "int" }

[query]
text = '''
PATTERN SEQ(A a, B b)
WHERE   SAME[device]
WINDOW  400 ms SLIDE 100 ms
RETURN  a.number AS a, b.number AS b
'''

[sink]
path = "found"

[late]
path = "late"

[slack]
received = "got"
miss_ratio = 0.2
per = "device"
period = 300
warm_up = 64
decisions = "closed"
fitted = "fitted"

[stream]
checkpoint = "checkpoint"
trigger = "available now"
"""
ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ("found", "late", "closed")


def read(folder: Path) -> list[str]:
    rows = [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    # Late events name the file that they came in, which lies in another folder for each run.
    return sorted(json.dumps({name: value for name, value in row.items() if name != "file_path"}) for row in rows)


def by_moment(events: pa.Table, n: int) -> list[list[dict[str, Any]]]:
    rows = [{**row, "rts_server_ms": row["got"]} for row in events.to_pylist()]
    return list(parts(rows, n))


def feed(folder: Path, numbered: Iterable[tuple[int, list[dict[str, Any]]]]) -> None:
    for number, part in numbered:
        write(folder, number, part)


@pytest.mark.slow
def test_a_job_that_is_killed_goes_on_with_what_it_learned(spark: SparkSession, tmp_path: Path) -> None:
    told = list(enumerate(by_moment(table(21, 700, n_sources=3), 300)))
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
    (whole / "job.toml").write_text(JOB)
    feed(whole / "in", told)
    run_stream(load(whole / "job.toml"), lambda _: None, lambda _: None)

    (cut / "job.toml").write_text(JOB.replace("available now", "as it comes"))
    feed(cut / "in", told[:4])
    job = JobProcess(cut / "job.toml", {})
    try:
        job.wait_for(r"batch \d+: .* windows closed, .* of them miss an event, mean slack")
        feed(cut / "in", told[4:6])
    finally:
        job.kill()
    feed(cut / "in", told[6:])
    (cut / "job.toml").write_text(JOB)
    said: list[str] = []
    run_stream(load(cut / "job.toml"), said.append, lambda _: None)
    assert said[0].startswith("going on from")
    # What was learned before the end of the first process is known to the second: no decision is another one.
    for name in WRITTEN:
        right = read(whole / name)
        assert len(right) > 10, name
        assert read(cut / name) == right, name
    fitted = [json.loads(line) for line in read(cut / "fitted")]
    assert {row["source"] for row in fitted} == {"0", "1", "2"}
    reasons = {json.loads(line)["reason"] for line in read(cut / "closed")}
    assert "learned" in reasons


@pytest.mark.slow
def test_the_job_on_reports_over_umts(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Path(os.environ.get("CEPHEID_DATA") or ROOT.parent / "shared" / "data")
    if not (data / FILE).is_file():
        pytest.skip(f"{FILE} is not in {data} (CEPHEID_DATA names it)")
    monkeypatch.setenv("UMTS_FOLDER", str(tmp_path / "reports"))
    of_workload = ROOT / "workloads" / "umts_delays"
    text = (of_workload / "stream.toml").read_text()
    (tmp_path / "job.toml").write_text(text)
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "slow_timers.cep").write_text((of_workload / "queries" / "slow_timers.cep").read_text())
    feed(tmp_path / "reports", enumerate(parts(reports(data / FILE), 6_000)))
    said: list[str] = []
    report = run_stream(load(tmp_path / "job.toml"), said.append, lambda _: None)
    assert report.totals.n_events == 46_800
    told = re.search(r"([\d,]+) windows closed, ([\d.]+)% of them miss an event, mean slack (-?[\d.]+) s", said[-1])
    assert told is not None, said[-1]
    assert float(told[2]) <= 20
    assert float(told[3]) < 0  # most windows are known to be complete before they end
    found = read(tmp_path / "found")
    assert 200 < len(found) <= 433  # of the 433 matches in all reports; each bucket closes windows for itself
    assert len(read(tmp_path / "late")) == report.totals.n_late > 0
    chances = [json.loads(line)["p_miss"] for line in read(tmp_path / "closed")]
    assert sum(chance is not None for chance in chances) > 1_000
