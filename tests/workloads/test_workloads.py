"""Every workload finds what it is expected to: in a part of its events as the oracle does, in all by the engine."""

import os
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from cepheid.cli.schema_file import read_schema
from cepheid.connectors.locations import list_files
from cepheid.errors import SetupError
from cepheid.job.engines import match_local
from cepheid.job.load import load
from cepheid.job.parameters import parameter_values
from cepheid.job.run import read, run
from cepheid.language.parameters import with_parameters
from cepheid.query import Query
from cepheid.testing.oracle import match
from tests.workloads.prefixes import oracle_events

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "workloads"


def expectations():
    """(folder, expected) of every query of every workload."""
    found = []
    for path in sorted(WORKLOADS.glob("*/expected.toml")):
        for name, expected in tomllib.loads(path.read_text()).items():
            found.append(pytest.param(path.parent, expected, id=f"{path.parent.name}-{name}"))
    return found


@pytest.fixture(autouse=True)
def _data(monkeypatch):
    if not os.environ.get("CEPHEID_DATA"):
        monkeypatch.setenv("CEPHEID_DATA", str(ROOT.parent / "shared" / "data"))


def job_of(folder, expected):
    job = load(folder / "job.toml").with_query(folder / expected["file"])
    # The parameters of the job are those of its own query.
    job = replace(job, model=job.model.model_copy(update={"parameters": expected.get("parameters", {})}))
    try:
        for source in job.model.source:
            for path in job.paths_of(source):
                list_files(path)
    except SetupError as error:
        pytest.skip(f"its data is not here: {error.message}")
    return job


@pytest.mark.parametrize(("folder", "expected"), expectations())
def test_a_part_has_the_matches_of_the_oracle(folder, expected):
    job = job_of(folder, expected)
    events, bound = read(job)
    part = expected["part"]
    tables = {name: table.slice(part["first"], part["n_events"]) for name, table in events.tables.items()}
    values = parameter_values(bound, job.model.parameters)
    found = match_local(tables, job.query, events.schema, values)
    truth = match(with_parameters(bound, values), oracle_events(tables, events.schema), timed_out=False)
    assert len(truth.matches) == part["n_matches"]
    assert found.n_matches == part["n_matches"]
    assert len(found.matches) == part["n_matches"]


@pytest.mark.parametrize(("folder", "expected"), expectations())
def test_all_events_have_the_expected_matches(folder, expected):
    report = run(job_of(folder, expected))
    assert report.n_events == expected["n_events"]
    assert report.n_matches == expected["n_matches"]
    assert report.n_rejected == 0


@pytest.mark.parametrize(("folder", "expected"), expectations())
def test_queries_fit_their_schema_without_data(folder, expected):
    path = folder / expected["file"]
    Query.from_file(path).bind(*read_schema(folder / "schemas.toml", path))


def test_no_query_is_left_out():
    named = {(p.values[0] / p.values[1]["file"]).resolve() for p in expectations()}
    there = {p.resolve() for p in WORKLOADS.glob("*/queries/*.cep")}
    assert there <= named
