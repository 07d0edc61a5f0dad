"""A query that can never match says so on every road, and one that merely has no matches does not."""

import os
import subprocess
import sys
import warnings
from datetime import timedelta

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import NoMatchWarning
from cepheid.job.load import load
from cepheid.job.run import run

EVENTS = pa.table(
    {
        "ts": pa.array(range(4), pa.timestamp("s", "UTC")),
        "kind": ["Login", "Payment", "Login", "Payment"],
        "x": [1, 2, 3, 4],
    }
)
OPTIONS = {"time": "ts", "type": "kind"}
HOPELESS = "PATTERN SEQ(Login a, Payment b) WHERE a.x > 5 AND b.x < 3 AND a.x < b.x WITHIN 1 h"
MESSAGE = "a.x < b.x can never hold together with a.x > 5 and b.x < 3, so there are no matches"
NONE = "PATTERN SEQ(Login a, Payment b) WHERE a.x > 50 WITHIN 1 h"
LIMITED = "PATTERN SEQ(Login a, Payment b) WHERE a.x > 5 AND a.x < :most WITHIN 1 h"
MISSPELT = "PATTERN SEQ(Login a, Paymnet b) WITHIN 1 h"
ABSENT = "PATTERN SEQ(Login a, Denied b) WITHIN 1 h"


def warned(query, **options):
    with pytest.warns(NoMatchWarning) as caught:
        assert cep.match(EVENTS, query, **OPTIONS, **options).num_rows == 0
    assert caught[0].filename == __file__  # the line that called
    return str(caught[0].message)


def test_conditions_that_exclude_each_other():
    said = warned(HOPELESS)
    assert said.startswith(f"1:63: {MESSAGE}\n   1 | PATTERN")
    assert "\n  -> correct one of the conditions" in said


def test_values_of_parameters():
    assert "a.x < 3 can never hold together with a.x > 5" in warned(LIMITED, parameters={"most": 3})
    assert cep.match(EVENTS, LIMITED, parameters={"most": 7}, **OPTIONS).num_rows == 0


def test_a_type_that_may_be_misspelt():
    assert warned(MISSPELT) == (
        "no event has the type Paymnet, which every match needs (did you mean Payment? the types are: Login, Payment)"
    )


@pytest.mark.parametrize("query", [NONE, ABSENT, "PATTERN SEQ(Login a, Paymnet? b, Login c) WHERE a.x > 50 WITHIN 1 h"])
def test_no_matches_by_chance_are_no_warning(query):
    assert cep.match(EVENTS, query, **OPTIONS).num_rows == 0


def test_no_events_are_no_warning():
    assert cep.match(EVENTS.slice(0, 0), MISSPELT, **OPTIONS).num_rows == 0


def test_a_set_of_queries_tells_of_a_few():
    queries = cep.QuerySet({f"q{number}": HOPELESS for number in range(7)} | {"fine": NONE, "typo": MISSPELT})
    with pytest.warns(NoMatchWarning) as caught:
        cep.match(EVENTS, queries, **OPTIONS)
    (warning,) = caught
    said = str(warning.message)
    assert said.count(MESSAGE) == 5
    assert said.startswith("q0:1:63: ")
    assert said.endswith("\n... and 3 more")


def test_the_query_behind_from():
    queries = {"pair": HOPELESS}
    with pytest.warns(NoMatchWarning, match="can never hold together"):
        cep.match(EVENTS, "PATTERN SEQ(pair p, pair q) WITHIN 1 h FROM pair", queries=queries, **OPTIONS)


def test_the_warning_can_be_switched_off():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoMatchWarning)
        assert cep.match(EVENTS, HOPELESS, **OPTIONS).num_rows == 0


def test_a_matcher_tells_when_it_knows_the_columns():
    matcher = cep.Matcher(HOPELESS, slack=timedelta(0), **OPTIONS)
    with pytest.warns(NoMatchWarning, match="can never hold together"):
        matcher.push(EVENTS)
    matcher.push(EVENTS)  # once is enough
    with pytest.warns(NoMatchWarning, match="can never hold together"):
        cep.Matcher(HOPELESS, schema=EVENTS.schema, **OPTIONS)


@pytest.mark.spark
def test_spark_tells_before_it_runs(spark):
    frame = spark.createDataFrame([(1, "Login", 1)], "ts long, kind string, x long")
    with pytest.warns(NoMatchWarning, match="can never hold together") as caught:
        cep.detect(frame, HOPELESS, time="ts", time_unit="s", type="kind")
    assert caught[0].filename == __file__
    with pytest.warns(NoMatchWarning, match="can never hold together"):
        cep.detect(frame, cep.QuerySet({"q": HOPELESS, "fine": NONE}), time="ts", time_unit="s", type="kind")


@pytest.fixture
def job(tmp_path):
    (tmp_path / "events.csv").write_text("ts,kind,x\n2024-01-01T10:00:00Z,Login,1\n2024-01-01T10:00:01Z,Payment,2\n")

    def made(query, more=""):
        text = f"[source]\npath = 'events.csv'\ntime = 'ts'\ntype = 'kind'\n[query]\ntext = '{query}'\n{more}"
        path = tmp_path / "job.toml"
        path.write_text(text)
        return path

    return made


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_job_tells_in_its_report(job, engine, request):
    if engine == "spark":
        request.getfixturevalue("spark")

    def told(query, more=""):
        return run(load(job(query, more)).with_engine(engine)).warnings

    (said,) = told(HOPELESS)
    assert "[query]:1:63: " in said
    assert MESSAGE in said
    assert told(NONE) == ()
    (said,) = told(MISSPELT)
    assert "job.toml [query]: no event has the type Paymnet" in said
    (said,) = told(ABSENT)
    assert said.endswith("no event has the type Denied, which every match needs (the types are: Login, Payment)")
    (said,) = told(LIMITED, "[parameters]\nmost = 3\n")
    assert "a.x < 3 can never hold together with a.x > 5" in said
    (said,) = told("PATTERN SEQ(Login a, Payment b) WITHIN 1 h", f"[queries.q]\ntext = '{HOPELESS}'\npath = 'q.csv'\n")
    assert "[queries.q]:1:63: " in said


@pytest.mark.parametrize("query", [HOPELESS, MISSPELT, ABSENT])
def test_the_command_shows_it_and_check_too(job, query):
    path = job(query)
    for command in ("run", "check"):
        done = subprocess.run(
            [sys.executable, "-m", "cepheid", command, str(path)],
            env=os.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr.count("warning: ") == 1
        assert "no matches" in done.stderr or "which every match needs" in done.stderr
