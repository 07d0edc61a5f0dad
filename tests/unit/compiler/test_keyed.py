"""Chains whose events all have one key have a kernel of their own, which finds what the kernel for chains finds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler import keyed_events
from cepheid.compiler.keyed import keyed_of
from cepheid.compiler.keyed_events import keyed_events_of, keyed_plan
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine import keyed, pool
from cepheid.engine.session import Work, prepare, run_plan
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse

N_EVENTS = 1200

KEYED = [
    "SEQ(A a, B b, C c) WHERE SAME[key] WITHIN 40 ms POLICY any",
    "SEQ(A a, B b, C c) WHERE SAME[key] AND a.v < b.v AND b.v < c.v WITHIN 80 ms POLICY any",
    "SEQ(A a, B b, C c) WHERE SAME[key] AND a.v < b.v AND b.v < c.v WITHIN 80 ms POLICY next",
    "SEQ(A a, B b, C c) WHERE SAME[name] AND a.x >= c.x AND b.v > 2 WITHIN 80 ms POLICY any",
    "SEQ(A a, B b) WHERE a.v <> b.v WITHIN 5 ms POLICY any",
    "SEQ(A a, B b, A c) WHERE a.key = b.key AND b.key = c.key AND b.w <> c.w WITHIN 100 ms POLICY next",
    "SEQ(* a, * b, * c) WHERE SAME[key] AND a.v < b.v AND a.v < c.v WITHIN 20 ms POLICY next",
    "SEQ(* a, * b, A c) WHERE SAME[key, w] AND a.v > b.v WITHIN 60 ms POLICY any",
    "SEQ(A a, B b, C c, A d) WHERE SAME[key] AND a.v <= d.v AND a.w <= b.w WITHIN 70 ms POLICY any",
    "SEQ(A a, B b) WHERE SAME[key] AND a.v < b.v POLICY next",
    "SEQ(A a, NOT B b, C c) WHERE SAME[key] WITHIN 60 ms POLICY next",
    "SEQ(A a, NOT B b, C c) WHERE SAME[key] WITHIN 60 ms POLICY any",
    "SEQ(A a, NOT B b, A c, NOT * d, C e) WHERE SAME[name] AND d.v > 2 AND a.v < e.v WITHIN 60 ms POLICY any",
    "SEQ(A a, NOT B b, NOT C c, A d, B e) WHERE b.w = 1 AND a.v <> d.v WITHIN 4 ms POLICY any",
    "SEQ(* a, NOT A b, * c, NOT B d, * e) WHERE SAME[key] AND a.v < c.v AND c.v < e.v WITHIN 60 ms POLICY next",
    "SEQ(A a, NOT * b, A c) WHERE SAME[key] POLICY any",
]

OTHERS = [
    "SEQ(A a, B b, C c) WHERE a.key = b.key WITHIN 20 ms POLICY any",
    "SEQ(A a, B b) WHERE SAME[key] AND a.v < b.v AND a.w < b.w WITHIN 20 ms POLICY any",
    "SEQ(A a, A b, A c, A d, A e, A f, A g, A h, A i) WHERE SAME[key] WITHIN 20 ms POLICY any",
]


def _events(*, shift: int = 0, narrow: bool = False, nulls: bool = False) -> pa.Table:
    random = np.random.default_rng(20261128)
    v, key = random.integers(-4, 4, N_EVENTS), random.integers(-2, 4, N_EVENTS)
    dtype = np.int32 if narrow else np.int64
    return pa.table(
        {
            "ts": np.sort(random.integers(0, N_EVENTS, N_EVENTS)) + shift,
            "type": pa.array(list("ABCD")).take(pa.array(random.integers(0, 4, N_EVENTS))),
            "key": pa.array(key.astype(dtype), mask=random.random(N_EVENTS) < 0.1) if nulls else key.astype(dtype),
            "name": pa.array(["one", "two", "three"]).take(pa.array(random.integers(0, 3, N_EVENTS))),
            "v": v.astype(dtype),
            "w": random.integers(0, 3, N_EVENTS),
            "x": random.normal(size=N_EVENTS),
        }
    )


def _plan(query: str, events: pa.Table) -> CompiledPlan:
    schema = schema_of(events, time="ts", time_unit="ms", type="type")
    return prepare(bind(parse("PATTERN " + query), schema))


def _run(plan: CompiledPlan, events: pa.Table) -> tuple[list[list[int]], tuple[int, ...]]:
    work = Work()
    found = run_plan(plan, read_events(events, plan.automaton.bound.schema), work=work)
    told = (work.n_events, work.n_stepped, work.n_tried, work.n_created, work.n_null_key)
    return [match.tolist() for match in np.split(found.positions, found.offsets[1:-1])], told


@pytest.fixture(params=[1, keyed.FIRST_ROOM], ids=["little room", "room"])
def room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_events, "FEWEST_EVENTS", 1)
    monkeypatch.setattr(keyed, "FIRST_ROOM", request.param)
    monkeypatch.setattr(pool, "FIRST_MATCHES", request.param)


@pytest.mark.parametrize("query", OTHERS)
def test_other_chains_have_no_table(query: str) -> None:
    plan = _plan(query, _events())
    assert plan.chain is not None
    assert keyed_of(plan.plan, plan.chain) is None


@pytest.mark.parametrize(
    "query",
    [
        "SEQ(A a, NOT B b, C c) WHERE SAME[key] AND b.v > a.v WITHIN 20 ms POLICY any",
        "SEQ(A a, NOT B b, C c) WHERE a.key = c.key AND b.key = a.key WITHIN 20 ms POLICY any",
        "SEQ(A a, NOT B b, C c) WHERE a.key = c.key WITHIN 20 ms POLICY any",
        "SEQ(A a, NOT B b, C c, D d) WHERE a.key = c.key AND c.key = d.key WITHIN 20 ms POLICY next",
        "SEQ(A a, B b, NOT C c) WHERE SAME[key] WITHIN 20 ms POLICY any",
        "SEQ(NOT A a, B b, C c) WHERE SAME[key] WITHIN 20 ms POLICY any",
        "SEQ(A a, NOT SEQ(B b, D d), C c) WHERE SAME[key] WITHIN 20 ms POLICY any",
        "SEQ(A a, NOT B b, C+ c, A d) WHERE SAME[key] WITHIN 20 ms POLICY any",
        "SEQ(A a, NOT B b, C c) WHERE SAME[key] WITHIN 20 ms POLICY strict",
        "SEQ(A a, NOT A b, NOT A c, NOT A d, NOT A e, NOT A f, NOT A g, B h, C i) WHERE SAME[key] POLICY any",
    ],
)
@pytest.mark.usefixtures("room")
def test_other_absences_are_left_to_the_other_kernel(query: str) -> None:
    plan = _plan(query, _events())
    assert keyed_plan(plan, N_EVENTS) is None


@pytest.mark.parametrize(
    "events",
    [_events(), _events(shift=-600, narrow=True), _events(nulls=True)],
    ids=["int64", "int32 and times before 1970", "NULL keys"],
)
@pytest.mark.parametrize("query", KEYED)
@pytest.mark.usefixtures("room")
def test_both_kernels_do_the_same(query: str, events: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan(query, events)
    batch = read_events(events, plan.automaton.bound.schema)
    assert batch.may_be_null(("key",)) or keyed_events_of(plan, batch) is not None
    found = _run(plan, events)
    monkeypatch.setattr(keyed_events, "FEWEST_EVENTS", N_EVENTS + 1)
    expected = _run(plan, events)
    if "NOT" in query:  # what a NOT has broken is not looked at once more
        assert found[1][2] <= expected[1][2]
        found, expected = (found[0], found[1][:2]), (expected[0], expected[1][:2])
    assert found == expected
    assert len(found[0]) >= 5


@pytest.mark.usefixtures("room")
def test_keys_that_lie_far_apart_are_left_to_the_other_kernel() -> None:
    events = _events()
    far = events.set_column(events.column_names.index("key"), "key", pa.array(np.arange(N_EVENTS) * 1000))
    plan = _plan(KEYED[0], far)
    assert keyed_events_of(plan, read_events(far, plan.automaton.bound.schema)) is None
    assert _run(plan, far)[0] == [[]]


@pytest.mark.parametrize("far", [2**63 - 8, -(2**63) + 8])
@pytest.mark.usefixtures("room")
def test_keys_may_be_of_any_size(far: int) -> None:
    events = _events()
    keys = pa.array(events["key"].to_numpy() + np.int64(far))
    moved = events.set_column(events.column_names.index("key"), "key", keys)
    found = _run(_plan(KEYED[1], moved), moved)
    assert found == _run(_plan(KEYED[1], events), events)
    assert len(found[0]) >= 5
