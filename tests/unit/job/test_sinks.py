"""A job writes all of its files or none, and none over what it reads."""

import os

import pytest

from cepheid.connectors import writing
from cepheid.errors import JobError, SetupError
from cepheid.job.load import load
from cepheid.job.run import run

JOB = """
[source]
path = "{source}"
time = "t"
time_unit = "s"
type = "kind"
[query]
file = "rule.cep"
[sink]
path = "{sink}"
format = "csv"
[rejected]
path = "{rejected}"
format = "csv"
"""
EVENTS = "t,kind\n1,A\n2,B\nx,B\n"


@pytest.fixture
def job(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "events.csv").write_text(EVENTS)
    (tmp_path / "rule.cep").write_text("PATTERN SEQ(A a, B b) WITHIN 5 RETURN a.t AS t")

    def made(source="in/events.csv", sink="out.csv", rejected="bad.csv"):
        (tmp_path / "job.toml").write_text(JOB.format(source=source, sink=sink, rejected=rejected))
        return load(tmp_path / "job.toml")

    return made


@pytest.mark.parametrize(
    ("source", "sink"),
    [
        ("in/events.csv", "in/events.csv"),
        ("in/events.csv", "in/../in/events.csv"),
        ("in/events.csv", "link.csv"),
        ("link.csv", "in/events.csv"),
        ("in/*.csv", "in/events.csv"),
        ("in", "in/events.csv"),
        ("in", "in/deep/out.csv"),
    ],
)
@pytest.mark.parametrize("role", ["sink", "rejected"])
def test_what_is_read_is_not_written_over(job, tmp_path, source, sink, role):
    (tmp_path / "link.csv").symlink_to(tmp_path / "in" / "events.csv")
    with pytest.raises(JobError, match=rf"\[{role}\] would write .* into what \[source\] reads"):
        run(job(source, **{role: sink}))
    assert (tmp_path / "in" / "events.csv").read_text() == EVENTS


@pytest.mark.parametrize("sink", ["rule.cep", "job.toml"])
def test_the_job_itself_is_not_written_over(job, sink):
    with pytest.raises(JobError, match="which the job is made of"):
        run(job(sink=sink))


def test_two_outputs_need_two_files(job):
    with pytest.raises(JobError, match=r"\[rejected\] and \[sink\] both write"):
        run(job(sink="out.csv", rejected="./out.csv"))


def test_files_beside_the_events_are_no_events(job, tmp_path):
    assert run(job("in/events.csv", sink="in/out.csv")).n_matches == 1
    assert run(job("in/e*.csv", sink="in/out.csv")).n_matches == 1
    assert run(job("in", sink="in/_out.csv", rejected="in/.bad.csv")).n_matches == 1


def test_where_one_file_cannot_be_written_none_is(job, tmp_path, monkeypatch):
    (tmp_path / "out.csv").write_text("old")
    told, write = job(), writing._write_csv

    def second_fails(table, stream):
        if "reason" in table.column_names:
            raise OSError(28, "No space left on device")
        write(table, stream)

    monkeypatch.setitem(writing._WRITERS, "csv", second_fails)
    with pytest.raises(SetupError, match="No space left"):
        run(told)
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["in", "job.toml", "out.csv", "rule.cep"]
