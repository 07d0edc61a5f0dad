"""Which plans are chains; and the kernel for chains finds what the kernel for all plans finds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler.tables import CompiledPlan
from cepheid.engine import pool
from cepheid.engine.session import prepare, run_plan
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse

N_EVENTS = 400

CHAINS = [
    "SEQ(A a, B b, C c) WHERE SAME[key] WITHIN 20 ms POLICY any",
    "SEQ(A a, B b, C c) WHERE SAME[key] AND a.v < b.v AND b.v < c.v WITHIN 30 ms POLICY any",
    "SEQ(A a, B b, C c) WHERE SAME[key] AND a.v < b.v AND b.v < c.v WITHIN 30 ms POLICY next",
    "SEQ(A a, B b, C c) WHERE a.key = b.key AND a.key = c.key AND a.x < b.x AND a.v <> c.v WITHIN 30 ms POLICY any",
    "SEQ(A a, B b, C c) WHERE a.v <= b.v AND b.v >= c.v AND a.x > c.x WITHIN 10 ms POLICY any",
    "SEQ(A a, B b) WHERE a.v = b.v AND a.w <> b.w AND a.x > b.x WITHIN 60 ms POLICY any",
    "SEQ(A a, B b, C c, A d) WHERE a.v <> c.v AND b.v > d.v AND a.w = d.w WITHIN 12 ms POLICY next",
    "SEQ(* a, * b, * c) WHERE SAME[key] AND a.v < b.v AND b.v < c.v WITHIN 30 ms POLICY next",
    "SEQ(* a, * b, A c) WHERE SAME[key] AND a.v > b.v WITHIN 20 ms POLICY any",
]

OTHERS = [
    "SEQ(A a, B+ b, C c) WHERE SAME[key] WITHIN 20 ms POLICY next",
    "SEQ(A a, B? b, C c) WHERE SAME[key] WITHIN 20 ms POLICY any",
    "SEQ(A a, NOT B b, C c) WHERE SAME[key] WITHIN 20 ms POLICY next",
    "SEQ(A a, B b) WHERE a.v + b.v > 5 WITHIN 20 ms POLICY any",
]


def _events(*, nulls: bool = False) -> pa.Table:
    random = np.random.default_rng(20241106)
    v = random.integers(0, 8, N_EVENTS)
    return pa.table(
        {
            "ts": np.sort(random.integers(0, N_EVENTS, N_EVENTS)),
            "type": pa.array(list("ABCD")).take(pa.array(random.integers(0, 4, N_EVENTS))),
            "key": random.integers(0, 4, N_EVENTS),
            "v": pa.array(v, mask=random.random(N_EVENTS) < 0.1) if nulls else v,
            "w": random.integers(0, 3, N_EVENTS),
            "x": random.normal(size=N_EVENTS),
        }
    )


def _plan(query: str, events: pa.Table) -> CompiledPlan:
    schema = schema_of(events, time="ts", time_unit="ms", type="type")
    return prepare(bind(parse("PATTERN " + query), schema))


def _matches(plan: CompiledPlan, events: pa.Table) -> list[list[int]]:
    found = run_plan(plan, read_events(events, plan.automaton.bound.schema))
    return np.split(found.positions, found.offsets[1:-1])


@pytest.fixture(params=[1, pool.FIRST_ROWS], ids=["little room", "room"])
def room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FIRST_ROWS", request.param)
    monkeypatch.setattr(pool, "FIRST_MATCHES", request.param)


@pytest.mark.parametrize("query", OTHERS)
def test_other_plans_are_no_chains(query: str) -> None:
    assert _plan(query, _events()).chain is None


@pytest.mark.parametrize("nulls", [False, True], ids=["values", "NULLs"])
@pytest.mark.parametrize("query", CHAINS)
@pytest.mark.usefixtures("room")
def test_both_kernels_find_the_same(query: str, nulls: bool) -> None:
    events = _events(nulls=nulls)
    plan = _plan(query, events)
    assert plan.chain is not None
    found = _matches(plan, events)
    general = _plan(query, events)
    general.__dict__["chain"] = None  # as if it had been computed
    expected = _matches(general, events)
    assert len(found) == len(expected) >= 5
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
