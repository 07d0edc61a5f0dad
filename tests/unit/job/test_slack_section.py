"""Jobs whose events come late: ``[slack]``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv
import pytest

import cepheid as cep
from cepheid.errors import JobError
from cepheid.job.load import load
from cepheid.job.run import run
from tests.unit.test_slack import WITHIN, table

SOURCE = """
[source]
path = "events.csv"
time = "ts"
time_unit = "ms"
type = "kind"

[source.columns]
ts = "int"
got = "int"
device = "int"
number = "int"

[query]
file = "query.cep"
"""


def job(folder: Path, text: str) -> Path:
    pacsv.write_csv(table(12, 900), folder / "events.csv")
    (folder / "query.cep").write_text(WITHIN)
    path = folder / "job.toml"
    path.write_text(SOURCE + text)
    return path


def test_a_job_closes_windows_and_tells(tmp_path: Path) -> None:
    text = """
[slack]
received = "got"
miss_ratio = 0.2
period = 500
warm_up = 64
decisions = "closed.jsonl"
"""
    report = run(load(job(tmp_path, text)))
    how = cep.Slack.probabilistic(0.2, period=500, warm_up=64)
    options = {"time": "ts", "type": "kind", "time_unit": "ms", "slack": how, "received": "got"}
    right = cep.match(table(12, 900), WITHIN, outputs=("matches", "late", "closed"), **options)
    assert report.n_matches == len(right.matches)
    assert report.n_late == len(right.late) > 5
    assert report.slack_report is not None
    assert 0 < report.slack_report.miss_ratio <= 0.2
    lines = [json.loads(line) for line in (tmp_path / "closed.jsonl").read_text().splitlines()]
    assert len(lines) == len(right.closed)
    assert [line["reason"] for line in lines] == right.closed["reason"].to_pylist()
    assert np.sum([line["p_miss"] is not None for line in lines]) > 100


@pytest.mark.slow
@pytest.mark.spark
def test_a_job_on_spark_tells_the_same(tmp_path: Path) -> None:
    text = """
[slack]
received = "got"
miss_ratio = 0.2
per = "device"
decisions = "closed.jsonl"
fitted = "fitted.jsonl"

[late]
path = "late.csv"
"""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    path = job(tmp_path / "here", text)
    here = run(load(path))
    other = job(tmp_path / "there", text)
    other.write_text('engine = "spark"\n' + other.read_text())
    there = run(load(other))
    assert here.n_late is not None
    assert here.n_late > 5
    assert (there.n_matches, there.n_late) == (here.n_matches, here.n_late)
    assert here.slack_report is not None
    assert there.slack_report is not None
    assert there.slack_report.figures.equals(here.slack_report.figures)
    for name in ("closed.jsonl", "fitted.jsonl", "late.csv"):
        lines = [(tmp_path / place / name).read_text().splitlines() for place in ("here", "there")]
        assert sorted(lines[0]) == sorted(lines[1]), name
        assert len(lines[0]) > 5, name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[slack]\nreceived = "got"', "needs miss_ratio"),
        ("[slack]\nmiss_ratio = 0.1", "received"),
        ('[slack]\nreceived = "got"\nkind = "ignore"\nmiss_ratio = 0.1', "takes no miss_ratio"),
        ('[slack]\nreceived = "got"\nmiss_ratio = 0.1\nevery = "0 s"', "above 0"),
        ('[slack]\nreceived = "got"\nmiss_ratio = 1.5', "less than 1"),
        ('[slack]\nreceived = "got"\nmiss_ratio = 0.1\n[stream]\ncheckpoint = "c"\nwatermark = "5 s"', "leave one out"),
        ('[stream]\ncheckpoint = "c"', 'watermark = "10 s"'),
    ],
)
def test_what_does_not_do_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = job(tmp_path, text)
    with pytest.raises(JobError) as raised:
        load(path)
    assert words in f"{raised.value} {raised.value.remedy}"
