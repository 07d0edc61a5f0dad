"""Jobs that write what timed out, and what was rejected, beside the matches."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cepheid.errors import JobError, NotSupportedError
from cepheid.job.load import load
from cepheid.job.run import run

EVENTS = "t,kind,k,x\n1,A,1,5\n2,B,1,9\n3,A,2,6\nnoon,B,2,1\n4,A,,7\n"
JOB = """
[source]
path = "events.csv"
time = "t"
time_unit = "s"
type = "kind"

[query]
text = "SEQ(A a, B b) WHERE SAME[k] AND b.x > :least WITHIN 10 RETURN b.x AS x"

[queries.neighbours]
text = "SEQ(A a, B b) WHERE b.x > a.x WITHIN 10 RETURN a.x AS x"
path = "neighbours.csv"

[parameters]
least = 3

[sink]
path = "matches.csv"

[sink.timed_out]
path = "left.parquet"

[sink.rejected]
path = "bad.csv"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events.csv").write_text(EVENTS, encoding="utf-8")
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_what_timed_out_has_a_file_of_its_own(folder: Path, engine: str, request: pytest.FixtureRequest):
    if engine == "spark":
        request.getfixturevalue("spark")
    report = run(load(folder / "job.toml").with_engine(engine))
    assert (report.n_matches, report.n_timed_out) == (1, 1)
    assert report.timed_out_sink == folder / "left.parquet"
    assert report.rejected_sink == folder / "bad.csv"
    assert report.others["neighbours"][1] == 1
    (row,) = pq.read_table(folder / "left.parquet").to_pylist()
    assert row == {
        "first_time": datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC),
        "last_time": datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC),
        "closed_time": datetime(1970, 1, 1, 0, 0, 13, tzinfo=UTC),
        "k": 2,
        "a": {"t": 3, "kind": "A", "k": 2, "x": 6},
        "b": None,
    }
    rejected = (folder / "bad.csv").read_text(encoding="utf-8")
    assert "noon" in rejected
    assert len(rejected.splitlines()) == 2


def test_events_without_a_key_are_rejected_where_asked_for(folder: Path):
    text = JOB.replace('path = "bad.csv"', 'path = "bad.csv"\nnull_keys = true')
    (folder / "job.toml").write_text(text, encoding="utf-8")
    assert run(load(folder / "job.toml")).n_rejected == 2


def test_a_query_that_cannot_run_writes_nothing(folder: Path):
    many = ", ".join(f"A more{number}" for number in range(61))  # with a and b one element more than there may be
    text = JOB.replace("SEQ(A a, B b) WHERE SAME", f"SEQ(A a, {many}, B b) WHERE SAME")
    (folder / "job.toml").write_text(text, encoding="utf-8")
    with pytest.raises(NotSupportedError):
        run(load(folder / "job.toml"))
    assert not (folder / "matches.csv").exists()


def test_rejected_may_stand_in_one_place_only(folder: Path):
    (folder / "job.toml").write_text(JOB + '\n[rejected]\npath = "more.csv"\n', encoding="utf-8")
    with pytest.raises(JobError, match=r"\[rejected\] and \[sink.rejected\] are the same"):
        load(folder / "job.toml")


def test_no_two_outputs_share_a_file(folder: Path):
    (folder / "job.toml").write_text(JOB.replace("left.parquet", "bad.csv"), encoding="utf-8")
    with pytest.raises(JobError, match=r"\[sink.timed_out\] and \[sink.rejected\] both write"):
        run(load(folder / "job.toml"))
