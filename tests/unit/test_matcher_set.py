"""`cepheid.Matcher` with a set of queries: each gives in each call what it gives alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler import routes
from cepheid.engine import together
from cepheid.errors import CapacityError, DataError, NotSupportedError, ParameterError, QueryError

N = 240
RANDOM = np.random.default_rng(8)
EVENTS = pa.table(
    {
        "ts": np.sort(RANDOM.integers(0, N, N)) + RANDOM.integers(0, 3, N),
        "kind": RANDOM.choice(list("ABCDE"), N),
        "k": pa.array(RANDOM.integers(0, 4, N), mask=RANDOM.random(N) < 0.03),
        "x": pa.array(RANDOM.normal(0, 10, N), mask=RANDOM.random(N) < 0.05),
        "s": RANDOM.choice(["north", "south"], N),
    }
)
QUERIES = {
    "rise": "SEQ(A a, B b) WHERE SAME[k] AND b.x > a.x AND a.x > 2 WITHIN 30",
    "loop": "SEQ(A a, C+ c, D d) WHERE c.x > :least AND a.s = 'north' WITHIN 20",
    "open": "SEQ(A a, NOT B b) WHERE SAME[s] AND a.x < -9 WITHIN 25 RETURN a.ts AS t, a.x AS x",
    "counted": "SEQ(A a, B b) WHERE SAME[k] AND a.x > 9 WITHIN 4 EVENTS",
    "strict": "SEQ(A a, B b) WHERE SAME[k] WITHIN 9 POLICY strict",
    "sliding": "SEQ(D a, E b) WHERE a.x > 3 AND b.x < 0 WINDOW 10 SLIDE 5",
    "any type": "SEQ(* a, * b) WHERE a.x > 18 AND b.x < -15 WITHIN 40",
    "never": "SEQ(A a, X b) WHERE a.x > 1e9 WITHIN 5",
    "of rises": "SEQ(rise p, rise q) WHERE SAME[k] AND q.b.x > p.b.x WITHIN 60 FROM rise",
}
COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "s", "slack": 2}
PARAMETERS = {"least": 1}


@pytest.fixture(params=["routed", "not routed"])
def routing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "routed":
        monkeypatch.setattr(together, "FEWEST", 0)
        monkeypatch.setattr(routes, "MOST_OF_EVENTS", 2.0)


def matcher(**options: Any) -> cep.Matcher:
    return cep.Matcher(cep.QuerySet(QUERIES), **COLUMNS, parameters=PARAMETERS, **options)


def alone(name: str) -> cep.Matcher:
    queries = {"rise": QUERIES["rise"]} if name == "of rises" else {}
    return cep.Matcher(QUERIES[name], **COLUMNS, queries=queries, parameters=PARAMETERS if name == "loop" else {})


def test_each_call_gives_for_each_query_what_it_gives_alone(routing: None):
    size = 30
    one, others = matcher(), {name: alone(name) for name in QUERIES}
    n_found = dict.fromkeys(QUERIES, 0)
    for start in range(0, N, size):
        part = EVENTS.slice(start, size)
        found = one.push(part)
        assert list(found) == list(QUERIES)
        for name, other in others.items():
            assert found[name].equals(other.push(part)), name
            assert one.late.equals(other.late)
            n_found[name] += len(found[name])
        if start == 120:
            found = one.advance(int(part["ts"][-1].as_py()) + 1)
            for name, other in others.items():
                assert found[name].equals(other.advance(int(part["ts"][-1].as_py()) + 1))
    last = one.close()
    for name, other in others.items():
        assert last[name].equals(other.close())
        assert n_found[name] + len(last[name]) > 0 or name == "never"


def test_another_matcher_goes_on_from_a_snapshot(routing: None):
    whole, one = matcher(), matcher()
    for start in range(0, N, 80):
        part = EVENTS.slice(start, 80)
        expected, found = whole.push(part), one.push(part)
        assert all(found[name].equals(expected[name]) for name in QUERIES)
        before, snapshot = one.gauges(), one.snapshot()
        one = matcher()
        one.restore(snapshot)
        after = one.gauges()
        for name in QUERIES:
            assert replace(after[name], n_bytes=0) == replace(before[name], n_bytes=0)
        assert one.snapshot() == snapshot
    expected, found = whole.close(), one.close()
    assert all(found[name].equals(expected[name]) for name in QUERIES)


def test_a_snapshot_of_other_queries_is_refused():
    one = matcher()
    one.push(EVENTS)
    snapshot = one.snapshot()
    other = cep.Matcher(cep.QuerySet({**QUERIES, "never": "SEQ(A a, Y b) WITHIN 5"}), **COLUMNS, parameters=PARAMETERS)
    with pytest.raises(DataError, match="made with query"):
        other.restore(snapshot)


def test_gauges_tell_what_each_query_holds():
    one = matcher()
    one.push(EVENTS.slice(0, 100))
    gauges, whole = one.gauges(), one.gauge()
    for name in QUERIES:
        other = alone(name)
        other.push(EVENTS.slice(0, 100))
        assert replace(gauges[name], n_bytes=0) == replace(other.gauge(), n_bytes=0), name
    assert whole.n_partial_matches == sum(gauge.n_partial_matches for gauge in gauges.values()) > 0
    assert (whole.n_arrived, whole.n_keys) == (100, None)
    n_of_composites = gauges["of rises"].n_waiting - gauges["rise"].n_waiting
    assert whole.n_waiting == gauges["rise"].n_waiting + n_of_composites > 0
    assert one.gauges(by_key=True)["rise"].keys.column_names == ["k", "n_partial_matches", "n_events"]
    one.close()
    assert one.gauge().n_partial_matches == one.gauge().n_events == one.gauge().n_waiting == 0
    with pytest.raises(DataError, match="keys of their own"):
        one.gauge(by_key=True)
    single = alone("rise")
    single.push(EVENTS)
    with pytest.raises(DataError, match="no set"):
        single.gauges()


def test_before_anything_was_pushed_there_are_no_columns():
    assert {name: found.num_rows for name, found in matcher().advance(5).items()} == dict.fromkeys(QUERIES, 0)


def test_errors_say_of_which_query_they_are():
    good = "SEQ(A a, B b) WITHIN 5"
    for bad, kind in (
        ("SEQ(A a, B+ b, C c)", QueryError),
        ("SEQ(A a, B b) WHERE a.y > 1 WITHIN 5", QueryError),
        (f"SEQ({', '.join(f'A a{n}' for n in range(70))}) WITHIN 5", NotSupportedError),
    ):
        with pytest.raises(kind) as raised:
            cep.Matcher(cep.QuerySet({"good": good, "bad": bad}), **COLUMNS, schema=EVENTS.schema)
        assert raised.value.origin == "bad"
    with pytest.raises(ParameterError, match="least"):
        cep.Matcher(cep.QuerySet(QUERIES), **COLUMNS, schema=EVENTS.schema)


def test_a_cap_is_for_each_query_and_ends_the_matcher():
    settings = cep.Settings(max_partial_matches=4)
    many = cep.QuerySet({"few": "SEQ(A a, X b) WHERE a.x > 25 WITHIN 900", "many": "SEQ(A a, X b) WITHIN 900"})
    one = cep.Matcher(many, **COLUMNS, settings=settings)
    with pytest.raises(CapacityError) as raised:
        one.push(EVENTS)
    assert raised.value.origin == "many"
    with pytest.raises(DataError, match="has failed before"):
        one.push(EVENTS)
    dropping = cep.Matcher(many, **COLUMNS, settings=replace(settings, on_cap="drop oldest"))
    with pytest.warns(UserWarning, match="were dropped"):
        dropping.push(EVENTS)
    assert dropping.gauges()["few"].n_dropped == 0 < dropping.gauge().n_dropped


def test_tables_come_back_as_they_were_given():
    found = matcher().push(EVENTS.to_pandas())
    assert type(found["rise"]).__module__.startswith("pandas")


def test_all_queries_go_on_in_another_plan():
    rules = {
        "loop": "SEQ(A a, B+ b, C c) WHERE SAME[k] AND b.x > a.x WITHIN 12 POLICY any",
        "single": "SEQ(A a, B b, C c) WHERE c.x > b.x WITHIN 20 POLICY any",
    }
    expected = cep.match(EVENTS, cep.QuerySet(rules), time="ts", type="kind", time_unit="s")
    lazy = cep.Settings(evaluation="lazy")
    found = cep.match(EVENTS, cep.QuerySet(rules), time="ts", type="kind", time_unit="s", settings=lazy)
    assert all(found[name].equals(expected[name]) for name in rules)
    one = cep.Matcher(cep.QuerySet(rules), **COLUMNS)
    parts = [one.push(EVENTS.slice(0, 100))]
    one.switch("lazy")
    parts += [one.push(EVENTS.slice(100)), one.close()]
    for name in rules:
        assert pa.concat_tables([part[name] for part in parts]).equals(expected[name])
        assert len(expected[name])
