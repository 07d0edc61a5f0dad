"""``check`` and ``explain`` of queries that read each other's matches, and of all queries of a job."""

import os
import subprocess
import sys

import pytest

from cepheid.cli.main import app

PAIR = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 h RETURN a.x AS low, b.x AS high"
TWICE = "PATTERN SEQ(pair p, pair q)\nWHERE p.high < q.low\nWITHIN 1 h\nFROM pair"


@pytest.fixture
def cepheid(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("CEPHEID_TRACEBACK", raising=False)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            app(list(arguments))
        said = capsys.readouterr()
        return left.value.code or 0, said.out, said.err

    return call


@pytest.mark.parametrize("command", ["check", "explain"])
def test_from_a_query_whose_file_is_not_there(cepheid, tmp_path, command):
    (tmp_path / "twice.cep").write_text(TWICE)
    code, out, err = cepheid(command, "twice.cep")
    assert (code, out) == (1, "")
    assert "twice.cep:4:1: the events are the matches of the query pair, and there is no file pair.cep" in err
    assert "   4 | FROM pair\n     | ^^^^^^^^^\n" in err
    assert "[queries.pair]" in err


def test_from_a_query_in_a_file_beside(cepheid, tmp_path):
    (tmp_path / "twice.cep").write_text(TWICE)
    (tmp_path / "pair.cep").write_text(PAIR)
    code, out, err = cepheid("check", "twice.cep")
    assert (code, out) == (0, "twice.cep: fine\n")
    assert "assumed from the query: x: float" in " ".join(err.split())
    code, out, _ = cepheid("explain", "twice.cep")
    assert code == 0
    assert "the events are the matches of the query pair" in out
    (tmp_path / "thrice.cep").write_text(
        TWICE.replace("pair", "twice").replace(".high", ".p.high").replace(".low", ".q.low")
    )
    assert cepheid("check", "thrice.cep")[:2] == (0, "thrice.cep: fine\n")


def test_the_schema_is_that_of_the_query_that_reads_events(cepheid, tmp_path):
    (tmp_path / "twice.cep").write_text(TWICE)
    (tmp_path / "pair.cep").write_text(PAIR)
    schema = '[one]\nqueries = ["pair"]\ntime = "ts"\ntype = "kind"\ntypes = { A = { x = "int" }, B = { x = "int" } }\n'
    (tmp_path / "schemas.toml").write_text(schema)
    assert cepheid("check", "twice.cep") == (0, "twice.cep: fine\n", "")
    (tmp_path / "schemas.toml").write_text(schema.replace("x =", "y ="))
    code, _, err = cepheid("check", "twice.cep")
    assert code == 1
    assert "pair.cep:1:29: a (A) has no attribute x" in err


def test_queries_in_a_circle(cepheid, tmp_path):
    (tmp_path / "one.cep").write_text("PATTERN SEQ(two a, two b) WITHIN 1 h FROM two")
    (tmp_path / "two.cep").write_text("PATTERN SEQ(one a, one b) WITHIN 1 h FROM one")
    code, _, err = cepheid("check", "one.cep")
    assert code == 1
    assert "would be its own matches" in err


def test_check_looks_at_all_queries_of_a_job_that_are_run(cepheid, tmp_path):
    (tmp_path / "events.csv").write_text("ts,kind,x\n2024-01-01T10:00:00Z,A,1\n")
    long = ", ".join(f"A v{number}" for number in range(63))
    job = f"""[source]
path = "events.csv"
time = "ts"
type = "kind"
[query]
text = "PATTERN SEQ(A a, A b) WITHIN 1 h"
[queries.long]
text = "PATTERN SEQ({long}) WITHIN 1 h"
"""
    (tmp_path / "job.toml").write_text(job)
    assert cepheid("check", "job.toml") == (0, "job.toml: fine\n", "")
    (tmp_path / "job.toml").write_text(job + 'path = "long.csv"\n')
    code, out, err = cepheid("check", "job.toml")
    assert (code, out) == (1, "")
    assert "job.toml [queries.long]:1:9: the compiled engine runs patterns of at most 62 elements" in err


def test_python_m_cepheid_is_the_command(tmp_path):
    called = subprocess.run([sys.executable, "-m", "cepheid", "--version"], capture_output=True, text=True, check=True)
    assert called.stdout.startswith("cepheid ")


def test_warnings_of_a_command_are_one_line(tmp_path):
    (tmp_path / "events.csv").write_text("ts,kind,x\n2024-01-01T10:00:00Z,A,1\n")
    (tmp_path / "file").write_text("")
    (tmp_path / "job.toml").write_text(
        '[source]\npath = "events.csv"\ntime = "ts"\ntype = "kind"\n'
        '[query]\ntext = "PATTERN SEQ(A a, A b) WITHIN 1 h"\n'
    )
    environment = {**os.environ, "CEPHEID_CACHE_DIR": str(tmp_path / "file")}
    called = subprocess.run(
        [sys.executable, "-m", "cepheid", "run", "job.toml"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = [line for line in called.stderr.splitlines() if "machine code" in line]
    assert line.startswith("warning: machine code is not kept")
    assert "RuntimeWarning" not in called.stderr
    assert "stacklevel" not in called.stderr
