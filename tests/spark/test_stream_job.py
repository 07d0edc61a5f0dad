"""A streaming job of files: read as they come, written once, and gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cepheid.errors import JobError, SetupError
from cepheid.job.load import load
from cepheid.job.streaming import run_stream

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
