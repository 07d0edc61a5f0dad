"""A streaming job of files: read as they come, written once, and gone on with."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import socket
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from cepheid.engine.output_schema import LAST
from cepheid.errors import JobError, SetupError
from cepheid.job.load import load
from cepheid.job.streaming import _Batches, run_stream
from cepheid.job.telemetry import Written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = """
[source]
path = "in"
format = "jsonl"
time = "ts"
type = "kind"
columns = { card = "text", amount = "float" }

[query]
text = '''
PATTERN SEQ(Txn a, Denied d, Txn b)
WHERE   SAME[card] AND b.amount > a.amount
WITHIN  10 minutes
RETURN  a.card AS card, b.amount AS amount
'''

[queries.large]
text = "Txn t WHERE t.amount > :much RETURN t.card AS card, t.amount AS amount"
path = "large"

[parameters]
much = 4

[sink]
path = "found"

[sink.timed_out]
path = "left"

[rejected]
path = "bad"

[late]
path = "late"

[stream]
checkpoint = "checkpoint"
watermark = "1 minute"
trigger = "available now"
"""


def event(minute: int, kind: str, card: str, amount: float | None = None) -> str:
    return json.dumps({"ts": f"2024-05-01T10:{minute:02}:00Z", "kind": kind, "card": card, "amount": amount})


def write(folder: Path, name: str, lines: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_text("\n".join(lines) + "\n")
    hidden.rename(folder / name)


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]


def test_the_latency_goes_until_matches_are_written(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    told: list[Written] = []
    before_s = time.time()
    lasts = F.timestamp_micros(F.lit(int(before_s * 1e6)) - F.col("id") * 1_000_000)
    rows = spark.range(100).select(
        F.lit("matches").alias("output"),
        F.struct(lasts.alias(LAST)).alias("matches"),
        F.lit(None).cast("struct<a: int, b: int, c: int, d: int, e: int>").alias("held"),
    )
    batches = _Batches(
        SimpleNamespace(columns={"matches": [LAST]}),
        ("matches",),
        {"matches": lambda written, number: time.sleep(1.5)},
        SimpleNamespace(written=lambda number, written: told.append(written)),  # type: ignore[arg-type]
    )
    batches(rows, 0)
    took_s = time.time() - before_s
    latencies_s = told[0].latency_s
    assert latencies_s is not None
    for since_s, latency_s in zip((49, 94, 98), latencies_s, strict=True):
        assert since_s + 1.5 <= latency_s <= since_s + 2 + took_s


@pytest.mark.slow
def test_files_as_they_come(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    job = load(tmp_path / "job.toml")
    with pytest.raises(SetupError, match=r"there is no folder .*in"):
        run_stream(job, print, print)
    write(
        tmp_path / "in",
        "a.jsonl",
        [event(0, "Txn", "c1", 5), event(1, "Denied", "c1"), "nope", event(9, "Txn", "c2", 1)],
    )
    said: list[str] = []
    report = run_stream(job, said.append, said.append)
    assert (report.totals.n_events, report.totals.n_rejected, report.totals.n_matches) == (3, 1, 1)
    assert report.totals.n_partial_matches >= 1
    assert not report.stopped
    assert said[0].startswith("a new stream")

    write(tmp_path / "in", "b.jsonl", [event(10, "Txn", "c1", 50), event(2, "Denied", "c2"), event(30, "Txn", "c3", 1)])
    said.clear()
    report = run_stream(job, said.append, said.append)
    assert said[0].startswith("going on from")
    assert "is done; read so far: logOffset 0" in said[0]
    assert read(tmp_path / "found") == [{"card": "c1", "amount": 50.0}]
    assert read(tmp_path / "large") == [{"card": "c1", "amount": 5.0}, {"card": "c1", "amount": 50.0}]
    assert sorted((left["a"]["card"], left["d"]) for left in read(tmp_path / "left")) == [("c1", None), ("c2", None)]
    assert report.totals.latency_s is not None
    (late,) = read(tmp_path / "late")
    assert (late["card"], late["kind"], report.totals.n_late) == ("c2", "Denied", 1)
    (bad,) = read(tmp_path / "bad")
    assert (bad["reason"], bad["raw"], Path(bad["place"]).name) == ("not a JSON object", "nope", "a.jsonl")

    (tmp_path / "job.toml").write_text(JOB.replace("10 minutes", "11 minutes"))
    with pytest.raises(JobError, match="was made with a query of another form"):
        run_stream(load(tmp_path / "job.toml"), print, print)
    (tmp_path / "job.toml").write_text(JOB.replace('path = "large"\n', ""))
    with pytest.raises(JobError, match="was made with a query of another form"):
        run_stream(load(tmp_path / "job.toml"), print, print)
    (tmp_path / "job.toml").write_text(JOB.replace('format = "jsonl"', 'format = "csv"'))
    with pytest.raises(JobError, match="a source of another form"):
        run_stream(load(tmp_path / "job.toml"), print, print)


@pytest.mark.slow
def test_csv_files_as_they_come(spark: SparkSession, tmp_path: Path) -> None:
    job = JOB.replace('format = "jsonl"', 'format = "csv"\ntime_format = "%d.%m.%Y %H:%M"')
    (tmp_path / "job.toml").write_text(job + "\n[source.csv]\ndelimiter = ';'\n")
    header = "card;amount;ts;kind"
    write(
        tmp_path / "in",
        "a.csv",
        [header, "c1;5;01.05.2024 10:00;Txn", "c1;;01.05.2024 10:01;Denied", "c2;x;01.05.2024 10:02;Txn", "c2"],
    )
    # The columns of a file are told by its header, and one that lacks some is no guess.
    write(
        tmp_path / "in", "b.csv", ["kind;ts;note;amount;card", "Txn;01.05.2024 10:02;?;6;c1", ";01.05.2024 10:03;;1;"]
    )
    write(tmp_path / "in", "c.csv", ["card;sum;ts;kind", "c1;7;01.05.2024 10:00;Txn"])
    write(tmp_path / "in", "d.csv", [header, "c9;1;01.05.2024 11:00;Txn"])
    report = run_stream(load(tmp_path / "job.toml"), print, print)
    assert (report.totals.n_events, report.totals.n_rejected) == (4, 4)
    assert read(tmp_path / "found") == [{"card": "c1", "amount": 6.0}]
    bad = sorted((Path(row["place"]).name, row["column"], row["reason"]) for row in read(tmp_path / "bad"))
    assert bad == [
        ("a.csv:4", "amount", "not a float"),
        ("a.csv:5", None, "the number of fields is 1, not 4"),
        ("b.csv", "kind", "no kind"),
        ("c.csv", None, "the file has no column 'amount', which is declared; its columns are: card, sum, ts, kind"),
    ]


PORTS = """
[[source]]
kind = "rate"
rows_per_s = 5
event = "Tick"

[[source]]
kind = "socket"
port = {port}
event = "Line"
time = "timestamp"
order = ["value"]
columns = {{ value = "int" }}

[query]
text = "PATTERN SEQ(Tick t, Line a) WITHIN 1 minute RETURN t.value AS tick, a.value AS line"

[sink]
path = "found"

[rejected]
path = "bad"

[stream]
checkpoint = "checkpoint"
watermark = "0 s"
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_port_and_a_clock_until_a_signal(spark: SparkSession, tmp_path: Path) -> None:
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        (tmp_path / "job.toml").write_text(PORTS.format(port=server.getsockname()[1]))

        def send() -> None:
            connection, _ = server.accept()
            with connection:
                for number in itertools.count():
                    told = json.dumps({"timestamp": datetime.now(UTC).isoformat(), "value": number})
                    with contextlib.suppress(OSError):
                        connection.sendall(f"{told}\nnope\n".encode())
                    if ended.wait(0.2):
                        break

        sender = threading.Thread(target=send)
        sender.start()

        asked = threading.Event()

        def say(line: str) -> None:
            # A second signal would end the process as ever, and the tests with it.
            if (found := re.search(r"([\d,]+) match", line)) and found[1] != "0" and not asked.is_set():
                asked.set()
                os.kill(os.getpid(), signal.SIGTERM)

        try:
            report = run_stream(load(tmp_path / "job.toml"), say, print)
        finally:
            ended.set()
            sender.join()
    assert report.stopped
    assert report.totals.n_matches >= 1
    assert all(row["tick"] >= 0 and row["line"] >= 0 for row in read(tmp_path / "found"))
    assert {row["raw"] for row in read(tmp_path / "bad")} == {"nope"}
