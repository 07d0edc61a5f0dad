"""Events routed to the queries of a set: each gets all that fit it, and no other that a constant tells."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler import routes as routes_module
from cepheid.compiler.routes import Routes
from cepheid.compiler.sieve import Sieve
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.session import prepare, run_plan
from cepheid.engine.together import run_together
from cepheid.errors import DataError
from cepheid.events.ingest import read_events, schema_of
from cepheid.kernels import records as r
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.query import QuerySet

OPERATORS = ("=", "<", "<=", ">", ">=")
N = 200
RANDOM = np.random.default_rng(3)
DAY = datetime(2024, 1, 1, tzinfo=UTC)

COLUMNS: dict[str, tuple[Any, Sequence[str]]] = {
    "uniform": (RANDOM.uniform(0, 1000, N), ("0", "1000", "500.5", "-1", "1e9", "3")),
    "skewed": (RANDOM.lognormal(0, 6, N), ("0.001", "1", "5000", "1e12", "1e-300")),
    "signed": (RANDOM.normal(0, 1, N), ("-0.5", "0.0", "0.5", "-1e-300", "-0.0")),
    "huge": (RANDOM.choice([-1.7e308, -1.0, 0.0, 1.0, 1.7e308], N), ("0", "1.0", "-1.7e308", "1.7e308")),
    "odd": (RANDOM.choice([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], N), ("0", "1", "-5", "2.5")),
    "all nan": (np.full(N, np.nan), ("0", "1")),
    "equal": (np.full(N, 7.0), ("6.5", "7", "8")),
    "halves": (RANDOM.normal(0, 1, N).astype(np.float32), ("0.1", "0.5", "-1")),
    "whole": (RANDOM.integers(-50, 50, N), ("-50", "0", "49", "100", "0.5", "-0.5", "-7.0")),
    "narrow": (RANDOM.integers(-50, 50, N).astype(np.int8), ("-50", "0", "49", "1000")),
    "unsigned": (RANDOM.choice([0, 2**31, 2**32 - 1], N).astype(np.uint32), ("0", str(2**31), "-1")),
    "great": (RANDOM.choice([2**62, 2**62 + 1, -(2**63), 2**63 - 1], N), (str(2**62), str(2**62 + 1), "0")),
    "great and floats": (RANDOM.choice([2**53, 2**53 + 1, 2**53 + 2], N), ("3.5", "9007199254740993.0")),
    "decimals": ([Decimal(int(i)).scaleb(-2) for i in RANDOM.integers(-50, 50, N)], ("-0.25", "0.125", "0", "0.01")),
    "truths": (RANDOM.integers(0, 2, N).astype(np.bool_), ("FALSE", "TRUE")),
    "times": (
        [DAY + timedelta(seconds=int(i)) for i in RANDOM.integers(0, 9, N)],
        ("'2024-01-01'", "TIMESTAMP '2024-01-01 00:00:04'", "'2024-01-01 00:00:04.5'"),
    ),
    "spans": ([timedelta(seconds=int(i)) for i in RANDOM.integers(0, 9, N)], ("0 s", "4 s", "4500 ms")),
    "with nulls": (pa.array([None if i % 3 else i for i in range(N)]), ("0", "100", "-1")),
    "floats with nulls": (pa.array([None if i % 3 else i / 7 for i in range(N)]), ("0", "10.0", "-1")),
    "text": (RANDOM.choice(["a", "b", "ab", ""], N), ("''", "'a'", "'zz'")),
}
NOT_TOLD = {"text": ("<", "<=", ">", ">="), "great and floats": OPERATORS}
"""Comparisons that are evaluated, at least with some of the constants."""
POSSIBLE = {"truths": ("=", "<=", ">=")}
"""Others are refused with some of the constants."""


@pytest.fixture(autouse=True)
def all_are_routed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes_module, "MOST_OF_EVENTS", 10.0)


def batch_of(values: Any, types: int = 3, **columns: Any) -> tuple[Any, Any]:
    kinds = [f"T{number % types}" for number in range(len(values))]
    table = pa.table({"t": np.arange(len(values)), "kind": kinds, "x": pa.array(values), **columns})
    schema = schema_of(table, time="t", time_unit="s", type="kind")
    return read_events(table, schema), schema


def plans_of(queries: Sequence[str], schema: Any) -> list[CompiledPlan]:
    return [prepare(bind(parse(query), schema)) for query in queries]


def require_same(batch: Any, queries: Sequence[str], schema: Any) -> None:
    plans = plans_of(queries, schema)
    routes = Routes(batch, plans)
    sifted = Sieve(plans, batch).takers(batch)
    for number, (query, plan) in enumerate(zip(queries, plans, strict=True)):
        routed = routes.of(number)
        assert routed is not None, query
        found, right = run_plan(plan, batch, routed=routed), run_plan(plan, batch)
        assert np.array_equal(found.positions, right.positions), query
        assert len(found) == len(right)
        assert sifted[number][right.positions].all(), query


@pytest.mark.parametrize("name", COLUMNS)
def test_a_query_gets_the_events_that_it_finds_alone(name: str):
    values, constants = COLUMNS[name]
    batch, schema = batch_of(values)
    operators = POSSIBLE.get(name, OPERATORS)
    conditions = [f"a.x {operator} {constant}" for operator in operators for constant in constants]
    conditions += [f"{constants[0]} {operator} a.x" for operator in operators]
    conditions += [f"a.x IN ({', '.join(constants)})", f"a.x > {constants[0]} AND a.x <= {constants[1]}"]
    types = ("T0", "(T0 | T2)", "*")
    require_same(batch, [f"{types[i % 3]} a WHERE {condition}" for i, condition in enumerate(conditions)], schema)


@pytest.mark.parametrize("name", COLUMNS)
def test_comparisons_with_constants_are_not_evaluated(name: str):
    values, constants = COLUMNS[name]
    batch, schema = batch_of(values)
    operators = [one for one in POSSIBLE.get(name, OPERATORS) if one not in NOT_TOLD.get(name, ())]
    queries = [f"T0 a WHERE a.x {operator} {constant}" for operator in operators for constant in constants]
    routes = Routes(batch, plans_of(queries, schema))
    for number, query in enumerate(queries):
        routed = routes.of(number)
        assert routed is not None
        assert not routed.left, query


def test_a_sieve_lets_nothing_pass_that_a_constant_tells():
    queries = ["T0 a WHERE a.x > 3 AND a.x <= 40", "(T1 | T2) a WHERE a.s = 'u'", "SEQ(T1 a, * b) WHERE b.x < 2"]
    batch, schema = batch_of(pa.array([1, 2, None] * 30), s=["u", "v", "w"] * 30)
    sieve = Sieve(plans_of(queries, schema), batch)
    assert np.array_equal(np.flatnonzero(sieve.takers(batch)[2]), [i for i in range(90) if i % 3 < 2])  # no NULL
    # Its texts have other codes, and one of them is new.
    batch, schema = batch_of(np.arange(90), s=["x", "w", "u"] * 30)
    taken = sieve.takers(batch)
    for number, plan in enumerate(plans_of(queries, schema)[:2]):
        assert np.array_equal(np.flatnonzero(taken[number]), run_plan(plan, batch).positions)
    assert np.array_equal(np.flatnonzero(taken[2]), [0, *range(1, 90, 3)])


def test_other_conditions_are_evaluated_on_what_is_left():
    batch, schema = batch_of(RANDOM.choice(["a", "b"], 1000), y=RANDOM.integers(0, 9, 1000))
    queries = ["T1 a WHERE a.x = 'a' AND a.t < 40 AND a.y + 1 > 4", "SEQ(T0 a, T0 b) WHERE abs(a.y) = 3 AND b.t = 30"]
    require_same(batch, queries, schema)
    routed = Routes(batch, plans_of(queries, schema)).of(0)
    assert routed is not None
    assert len(routed.left) == 2  # by the time, which leaves fewer events than the text
    assert len(routed.records) < 20


def test_an_event_that_fits_two_elements_by_two_attributes_comes_once():
    batch, schema = batch_of(np.arange(50), y=np.arange(50)[::-1].copy())
    queries = ["SEQ(T0 a, T0 b) WHERE a.x < 30 AND b.y < 40 WITHIN 6 s POLICY any"] * 2
    require_same(batch, queries, schema)
    routed = Routes(batch, plans_of(queries, schema)).of(1)
    assert routed is not None
    positions = routed.records[:, r.R_POSITION]
    assert (np.diff(positions) > 0).all()
    assert sorted(set(routed.records[:, r.R_FIT].tolist())) == [1, 2, 3]


@pytest.mark.parametrize("n_types", [1, 300, 900])
def test_many_types(n_types: int):
    batch, schema = batch_of(np.arange(900.0), n_types)
    queries = [f"SEQ(T{i} a, T0 b) WHERE a.x >= 50 AND b.x < 700" for i in range(0, n_types, max(1, n_types // 5))]
    require_same(batch, queries, schema)


def test_partitions_and_events_without_one():
    n = 400
    keys = pa.array([None if i % 7 == 0 else int(i % 5) for i in range(n)])
    batch, schema = batch_of(RANDOM.uniform(0, 1, n), k=keys, k32=np.arange(n, dtype=np.int32) % 4, s=["u", "v"] * 200)
    pattern = "PATTERN SEQ(T0 a, T1 b) WHERE {} AND a.x < 0.5 AND b.x > 0.2 WITHIN 20 s POLICY any"
    queries = [pattern.format(f"SAME[{by}]") for by in ("k", "k32", "s", "k, s", "k + 1")] + [pattern.format("a.x < 2")]
    require_same(batch, queries, schema)


def test_few_records_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes_module, "RECORDS_AT_ONCE", 0.5)
    batch, schema = batch_of(RANDOM.uniform(0, 1, 300), y=RANDOM.uniform(0, 1, 300))
    queries = [f"SEQ(T0 a, T1 b) WHERE a.{'xy'[i % 2]} < {i / 10} AND b.x > 0.5" for i in range(9)]
    queries.insert(4, "SEQ(T0 a, T2 b)")
    require_same(batch, queries, schema)


def test_a_query_that_takes_much_is_run_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes_module, "MOST_OF_EVENTS", 1 / 4)
    batch, schema = batch_of(np.arange(400.0))
    routes = Routes(
        batch, plans_of(["T0 a WHERE a.x >= 0", "T0 a WHERE a.x < 200", "SEQ(T0 a, T1 b) POLICY strict"], schema)
    )
    assert [routes.of(number) is None for number in range(3)] == [True, False, True]


def test_no_events():
    batch, schema = batch_of(np.zeros(0))
    require_same(batch, ["SEQ(T0 a, T0 b) WHERE a.x >= 5000", "T1 a"], schema)


def test_events_without_types():
    table = pa.table({"t": np.arange(90), "x": np.arange(90)[::-1].copy()})
    schema = schema_of(table, time="t", time_unit="s")
    require_same(read_events(table, schema), ["SEQ(* a, * b) WHERE a.x < 20 AND b.x < 9", "* a WHERE a.x = 4"], schema)


def test_events_out_of_order():
    table = pa.table({"t": np.arange(90)[::-1].copy(), "kind": ["A", "B", "C"] * 30, "x": np.arange(90)})
    schema = schema_of(table, time="t", time_unit="s", type="kind")
    require_same(read_events(table, schema), ["SEQ(A a, B b) WHERE a.x < 40", "SEQ(C a, B b) WHERE b.x < 9"], schema)


def test_a_value_that_does_not_fit_is_told_of_the_query_that_reads_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("cepheid.engine.together.FEWEST", 0)
    n = 30
    table = pa.table(
        {"t": np.arange(n), "kind": ["A", "B"] * 15, "x": np.arange(n), "u": pa.array([2**64 - 1] * n, pa.uint64())}
    )
    schema = schema_of(table, time="t", time_unit="s", type="kind")
    read = "SEQ(A a, B b) WHERE {} AND a.x < 9 AND b.x < 12"
    for condition in ("a.u > 5", "SAME[u]"):
        bounds = QuerySet({"good": read.format("a.x > 1"), "bad": read.format(condition)}).bind(schema)
        with pytest.raises(DataError, match="u") as raised:
            run_together(bounds, read_events(table, schema))
        assert raised.value.origin == "bad"
