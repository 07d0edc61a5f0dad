"""Jobs with further queries: for FROM, and with files of their own."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import cepheid as cep
from cepheid.errors import JobError, ParameterError, QueryError
from cepheid.job.load import load
from cepheid.job.run import run

EVENTS = "t,kind,k,x\n1,A,1,5\n2,B,1,9\n3,A,1,6\n4,B,1,12\n5,A,2,1\n6,B,2,8\n"
PAIR = "SEQ(A a, B b) WHERE SAME[k] AND b.x - a.x >= :least RETURN a.k AS k, b.x AS high"
JOB = f"""
[source]
path = "events.csv"
time = "t"
time_unit = "s"
type = "kind"

[query]
text = "SEQ(pair p, pair q) WHERE SAME[k] FROM pair RETURN p.high AS high, q.high AS higher"

[queries.pair]
text = "{PAIR}"
path = "pairs.parquet"

[queries.large]
file = "large.cep"
path = "large.csv"

[queries."not run"]
text = "A a WHERE a.x > 3"

[parameters]
least = 4

[sink]
path = "matches.parquet"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events.csv").write_text(EVENTS, encoding="utf-8")
    (tmp_path / "large.cep").write_text("* a WHERE a.x > :more RETURN a.x AS x", encoding="utf-8")
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path


def test_every_query_with_a_path_writes_its_matches(folder: Path):
    report = run(load(folder / "job.toml"), parameters={"more": "8"})
    assert report.n_matches == 1
    assert pq.read_table(folder / "matches.parquet").to_pylist() == [{"high": 9, "higher": 12}]
    assert [row["high"] for row in pq.read_table(folder / "pairs.parquet").to_pylist()] == [9, 12, 8]
    assert (folder / "large.csv").read_text(encoding="utf-8").split() == ['"x"', "9", "12"]
    assert {name: n for name, (_, n) in report.others.items()} == {"pair": 3, "large": 2}


def test_only_as_many_matches_as_asked_for_are_written(folder: Path):
    run(load(folder / "job.toml"), parameters={"more": "8"}, limit=1)
    assert len(pq.read_table(folder / "pairs.parquet")) == 1


def test_a_parameter_of_a_further_query_is_needed(folder: Path):
    with pytest.raises(ParameterError, match=":more has no value"):
        run(load(folder / "job.toml"))
    assert not (folder / "matches.parquet").exists()


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (('path = "large.csv"', 'path = "matches.parquet"'), JobError, "both write"),
        (('path = "large.csv"', 'path = "events.csv"'), JobError, "would write"),
        (('path = "large.csv"', 'path = "large.cep"'), JobError, "large.cep"),
        (('file = "large.cep"', 'file = "none.cep"'), JobError, "there is no query file"),
        (("FROM pair", "FROM pari"), QueryError, "did you mean pair"),
        (('path = "large.csv"', 'pth = "large.csv"'), JobError, "did you mean 'path'"),
    ],
)
def test_errors(folder: Path, change: tuple[str, str], kind: type[cep.errors.CepheidError], message: str):
    (folder / "job.toml").write_text(JOB.replace(*change), encoding="utf-8")
    with pytest.raises(kind) as caught:
        run(load(folder / "job.toml"), parameters={"more": "8"})
    assert message in str(caught.value)
