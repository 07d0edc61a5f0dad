"""`[settings]` of a job file: what its queries may hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.errors import CapacityError, JobError
from cepheid.job.load import load
from cepheid.job.run import run

JOB = """
[source]
path = "events.csv"
time = "t"
time_unit = "s"
type = "kind"

[query]
text = "SEQ(A a, B b) WITHIN 100 RETURN a.t AS t"

[sink]
path = "matches.csv"

[settings]
max_partial_matches = 10
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    lines = ["t,kind", *(f"{i},A" for i in range(50)), "50,B"]
    (tmp_path / "events.csv").write_text("\n".join(lines) + "\n")
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    return path


def test_a_cap_stops_the_run(job: Path):
    with pytest.raises(CapacityError, match="max_partial_matches=10"):
        run(load(job))


def test_the_oldest_are_dropped(job: Path):
    job.write_text(JOB + 'on_cap = "drop oldest"\n')
    with pytest.warns(UserWarning, match="partial matches were dropped"):
        run(load(job))
    found = (job.parent / "matches.csv").read_text().split()[1:]
    assert found == [str(i) for i in range(50 - len(found), 50)]
    assert found


@pytest.mark.parametrize("wrong", ["max_partial_matches_per_key = 0", 'on_cap = "drop"', "cap = 1"])
def test_settings_that_are_none(job: Path, wrong: str):
    job.write_text(JOB + wrong + "\n")
    with pytest.raises(JobError):
        load(job)
