"""The index of events by type and value: it holds all that fit, and little else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler import event_index
from cepheid.compiler.event_index import EventIndex
from cepheid.engine.session import prepare, run_plan
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse

OPERATORS = ("=", "<", "<=", ">", ">=")
N = 400
RANDOM = np.random.default_rng(3)

COLUMNS: dict[str, tuple[Any, Sequence[str]]] = {
    "uniform": (RANDOM.uniform(0, 1000, N), ("0", "1000", "500.5", "-1", "1e9", "3")),
    "skewed": (RANDOM.lognormal(0, 6, N), ("0.001", "1", "5000", "1e12")),
    "signed": (RANDOM.normal(0, 1, N), ("-0.5", "0.0", "0.5", "-1e-300")),
    "huge": (RANDOM.choice([-1.7e308, -1.0, 0.0, 1.0, 1.7e308], N), ("0", "1.0", "-1", "1e308")),
    "odd": (RANDOM.choice([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], N), ("0", "1", "-5", "2.5")),
    "all nan": (np.full(N, np.nan), ("0", "1")),
    "equal": (np.full(N, 7.0), ("6.5", "7", "8")),
    "whole": (RANDOM.integers(-50, 50, N), ("-50", "0", "49", "100", "0.5")),
    "great": (RANDOM.choice([2**62, 2**62 + 1, -(2**63), 2**63 - 1], N), (str(2**62), str(2**62 + 1), "0")),
    "with nulls": (pa.array([None if i % 3 else i for i in range(N)]), ("0", "100", "-1")),
    "text": (RANDOM.choice(["a", "b", "ab", ""], N), ("''", "'a'", "'zz'")),
}


@pytest.fixture(autouse=True, params=[0, event_index.MANY_EVENTS], ids=["kernels", "NumPy"])
def bound_of_kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_index, "MANY_EVENTS", request.param)


def batch_of(values: Any, types: int = 3) -> tuple[Any, Any]:
    kinds = [f"T{number % types}" for number in range(len(values))]
    table = pa.table({"t": np.arange(len(values)), "kind": kinds, "x": pa.array(values)})
    schema = schema_of(table, time="t", time_unit="s", type="kind")
    return read_events(table, schema), schema


@pytest.mark.parametrize("name", COLUMNS)
def test_all_events_that_fit_are_candidates(name: str):
    values, constants = COLUMNS[name]
    batch, schema = batch_of(values)
    index = EventIndex(batch)
    conditions = [f"a.x {operator} {constant}" for operator in OPERATORS for constant in constants]
    conditions += [f"{constants[0]} {operator} a.x" for operator in OPERATORS]
    conditions += [f"a.x IN ({', '.join(constants)})", f"a.x > {constants[0]} AND a.x <= {constants[1]}"]
    for types in ("T0", "(T0 | T2)", "*"):
        for condition in conditions:
            query = f"{types} a WHERE {condition}"
            compiled = prepare(bind(parse(query), schema))
            wanted = run_plan(compiled, batch).positions
            parts = index.candidates(compiled.automaton.elements[0])
            found = np.concatenate([np.zeros(0, np.int64), *parts])
            assert len(np.unique(found)) == len(found), query
            assert np.isin(wanted, found).all(), query


def test_candidates_are_few():
    batch, schema = batch_of(RANDOM.uniform(0, 1000, 100_000))
    index = EventIndex(batch)
    for low in (0.0, 10.0, 500.0, 980.0):
        compiled = prepare(bind(parse(f"T1 a WHERE a.x > {low} AND a.x < {low + 20}"), schema))
        n_fit = len(run_plan(compiled, batch))
        assert n_fit <= sum(map(len, index.candidates(compiled.automaton.elements[0]))) <= 1.25 * n_fit


def test_the_most_selective_condition_is_used():
    batch, schema = batch_of(RANDOM.choice(["a", "b"], 1000))
    index = EventIndex(batch)
    compiled = prepare(bind(parse("T1 a WHERE a.x = 'a' AND a.t < 10"), schema))
    assert sum(map(len, index.candidates(compiled.automaton.elements[0]))) < 100


@pytest.mark.parametrize("n_types", [1, 5000, 70_000])
def test_many_types(n_types: int):
    batch, schema = batch_of(np.arange(70_000.0), n_types)
    index = EventIndex(batch)
    compiled = prepare(bind(parse("SEQ(T0 a, T0 b) WHERE a.x >= 5000 AND b.x < 60000"), schema))
    found, right = run_plan(compiled, batch, index=index), run_plan(compiled, batch)
    assert np.array_equal(found.positions, right.positions)


def test_no_events():
    batch, schema = batch_of(np.zeros(0))
    compiled = prepare(bind(parse("SEQ(T0 a, T0 b) WHERE a.x >= 5000"), schema))
    assert len(run_plan(compiled, batch, index=EventIndex(batch))) == 0
