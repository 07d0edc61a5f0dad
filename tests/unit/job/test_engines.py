"""Both engines give a job the same matches and the same rejected events."""

import json

import pytest

from cepheid.job.engines import match_local, match_spark
from cepheid.job.load import parse
from cepheid.job.parameters import parameter_values
from cepheid.job.run import read, run

LOGINS = "t,user,x\n1,ann,1\n1,bob,2\n,cid,3\n2,cid,4\n"
LOGOUTS = '{"t": 1, "user": "ann"}\n{"t": 7, "user": "bob"}\n{"user": "cid"}\n{"t": 8, "user": "cid"}\n'
JOB = """
[[source]]
path = "in.csv"
time = "t"
time_unit = "s"
event = "Login"
[[source]]
path = "out.jsonl"
time = "t"
time_unit = "s"
event = "Logout"
[query]
text = "PATTERN SEQ(Login i, Logout o) WHERE SAME[user] AND o.t - i.t <= :most WITHIN 10 {returns}"
[parameters]
most = 6
"""


@pytest.fixture(params=["", "RETURN i.user AS user, o.t AS t"], ids=["events", "columns"])
def job(request, tmp_path):
    (tmp_path / "in.csv").write_text(LOGINS)
    (tmp_path / "out.jsonl").write_text(LOGOUTS)
    return parse(JOB.replace("{returns}", request.param), "job.toml", tmp_path)


def found(match, job):
    events, bound = read(job)
    return match(events.tables, job.query, events.schema, parameter_values(bound, job.model.parameters))


def rows(matches):
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in matches.drop_columns("match_id").to_pylist())


def users(matches):
    return sorted(row.get("user") or row["o"]["user"] for row in matches.to_pylist())


def test_local(job):
    local = found(match_local, job)
    assert users(local.matches) == ["ann", "bob", "cid"]
    assert local.n_matches == 3
    assert local.rejected["column"].to_pylist() == ["t", "t"]


def test_spark_finds_what_this_process_finds(job, spark):
    local, distributed = found(match_local, job), found(match_spark, job)
    assert distributed.matches.column_names == local.matches.column_names
    assert users(distributed.matches) == users(local.matches)
    if "o" in local.matches.column_names:
        assert rows(distributed.matches) == rows(local.matches)
    assert distributed.rejected.to_pylist() == local.rejected.to_pylist()


def test_a_report_adds_up(job):
    report = run(job)
    assert (report.n_events, report.n_matches, report.n_rejected) == (6, 3, 2)
    assert report.seconds == report.read_s + report.match_s + report.write_s
    assert report.events_per_s == pytest.approx(6 / report.seconds)
    assert report.n_bytes == len(LOGINS) + len(LOGOUTS)
    assert report.sink is None
    assert any("rejected rows are only counted" in warning for warning in report.warnings)


def test_progress_tells_each_step(job):
    steps = []
    run(job, steps.append)
    assert [(step.stage, step.text) for step in steps] == [
        ("read", "in.csv"),
        ("read", "out.jsonl"),
        ("match", "8 events"),
    ]


def test_null_keys_are_rejected_on_request(tmp_path):
    (tmp_path / "in.csv").write_text("t,user,x\n1,ann,1\n2,,2\n3,ann,3\n")
    text = JOB[JOB.index("[query]") :].replace("Logout o", "Login o").replace("{returns}", "").replace("o.t - i.t", "1")
    source = '[source]\npath = "in.csv"\ntime = "t"\ntime_unit = "s"\n'
    text = source + text.replace("Login ", "* ")
    kept = run(parse(text, "job.toml", tmp_path))
    assert (kept.n_matches, kept.n_rejected, kept.n_null_key) == (1, 0, 1)
    asked = run(parse(text + '[rejected]\npath = "bad.jsonl"\nnull_keys = true\n', "job.toml", tmp_path))
    assert (asked.n_matches, asked.n_rejected, asked.n_null_key) == (1, 1, 1)
    (bad,) = (json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines())
    assert "NULL in SAME" in bad["reason"]
    assert json.loads(bad["raw"])["user"] is None
