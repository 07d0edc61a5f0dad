"""`cepheid.Matcher.push` of one event: what it takes, what it gives, what it refuses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row

import cepheid as cep
from cepheid.engine import one_by_one, pool
from cepheid.errors import CapacityError, DataError, SchemaError
from cepheid.events.types import FLOAT

QUERY = "PATTERN SEQ(A a, B b) WHERE SAME[k] AND a.v < b.v WITHIN 10"
COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "s"}
SCHEMA = pa.schema({"ts": pa.int64(), "kind": pa.string(), "k": pa.string(), "v": pa.float64()})
EVENTS = [
    {"ts": 0, "kind": "A", "k": "x", "v": 1.0},
    {"ts": 1, "kind": "A", "k": "y", "v": 2.0},
    {"ts": 2, "kind": "B", "k": "x", "v": 3.0},
    {"ts": 2, "kind": "B", "k": "y", "v": None},
    {"ts": 3, "kind": "C", "k": "y", "v": 9.0},
    {"ts": 4, "kind": "B", "k": "y", "v": 5.0},
    {"ts": 40, "kind": "A", "k": "z", "v": 0.0},
]


def matcher(query: str = QUERY, **options: Any) -> cep.Matcher:
    return cep.Matcher(query, **{**COLUMNS, "slack": 0, "schema": SCHEMA, **options})


def pushed(one: cep.Matcher, events: list[Any]) -> list[Any]:
    return [row for event in events for row in one.push(event)] + list(one.close())


def whole(query: str = QUERY, events: list[Any] = EVENTS) -> list[Any]:
    rows: list[Any] = cep.match(pa.Table.from_pylist(events, SCHEMA), query, **COLUMNS).to_pylist()
    return rows


class Named(NamedTuple):
    ts: int
    kind: str
    k: str
    v: float | None


@dataclass
class Plain:
    ts: int
    kind: str
    k: str
    v: float | None


@pytest.mark.parametrize(
    "form",
    [
        dict,
        lambda e: Named(**e),
        lambda e: Plain(**e),
        lambda e: Row(**e),
        lambda e: tuple(e.values()),
        lambda e: dict(reversed(e.items())),
        lambda e: pa.Table.from_pylist([e], SCHEMA),
    ],
    ids=["dict", "named tuple", "dataclass", "row of Spark", "tuple", "dict in another order", "table"],
)
def test_an_event_may_be_many_things(form: Any):
    one = matcher()
    found: list[Any] = []
    for event in EVENTS:
        given = one.push(form(event))
        found += given if isinstance(given, list) else given.to_pylist()
    rest = one.close()
    assert found + (rest if isinstance(rest, list) else rest.to_pylist()) == whole()
    assert len(found) == 2


def test_the_first_event_tells_the_columns():
    one = matcher(schema=None)
    assert pushed(one, EVENTS) == whole()
    with pytest.raises(SchemaError, match="a tuple of 4 values without names"):
        matcher(schema=None).push((0, "A", "x", 1.0))
    with pytest.raises(SchemaError, match="the event cannot be read"):
        matcher(schema=None).push({"ts": 0, "kind": "A", "k": object(), "v": 1.0})


def test_values_are_brought_to_the_types_of_the_columns():
    columns = pa.schema(
        {
            "ts": pa.timestamp("us", "UTC"),
            "kind": pa.dictionary(pa.int32(), pa.string()),
            "n": pa.int8(),
            "d": pa.decimal128(10, 2),
            "r": pa.float32(),
        }
    )
    one = cep.Matcher(
        "PATTERN SEQ(A a, B b) WITHIN 1 min RETURN a.ts AS ts, b.n AS n, b.d AS d, b.r AS r",
        time="ts",
        type="kind",
        slack=timedelta(0),
        schema=columns,
    )
    assert one.batched_because is None
    one.push({"ts": "2024-05-01T00:00:00Z", "kind": "A", "n": 1, "d": Decimal("1.5"), "r": 1})
    one.push({"ts": pd.Timestamp("2024-05-01T00:00:01Z"), "kind": "B", "n": 2.0, "d": 3, "r": 0.1})
    [row] = one.close()
    assert row["ts"] == datetime(2024, 5, 1, tzinfo=UTC)
    assert (row["n"], row["d"], row["r"]) == (2, Decimal("3.00"), pa.scalar(0.1, pa.float32()).as_py())


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"ts": 1, "kind": "A", "k": "x", "w": 1.0}, "a new column 'w'"),
        ({"ts": 1, "kind": "A", "k": "x", "v": 1.0, "w": None}, "a new column 'w'"),
        ({"ts": 1, "kind": "A", "k": 7.5, "v": "much"}, "the column 'v' is double, and the event has 'much'"),
        ({"ts": 1.5, "kind": "A", "k": "x", "v": 1.0}, "the column 'ts' is int64, and the event has 1.5"),
        ({"ts": 2**70, "kind": "A", "k": "x", "v": 1.0}, "the column 'ts' is int64"),
        ({"ts": 1, "kind": "A", "k": "\ud800", "v": 1.0}, "the column 'k' is string"),
        ((1, "A", "x"), "a tuple of 3 values without names"),
    ],
)
def test_an_event_that_does_not_fit_changes_nothing(event: Any, said: str):
    one = matcher()
    found = one.push(EVENTS[0])
    with pytest.raises(SchemaError, match=said):
        one.push(event)
    assert one.gauge().n_arrived == 1
    assert found + pushed(one, EVENTS[1:]) == whole()


def test_events_without_time_or_type_are_rejected():
    one = matcher()
    one.push(EVENTS[0])
    assert len(one.rejected) == 0
    for event, column in (({"kind": "A"}, "ts"), ({"ts": 1, "k": "x"}, "kind"), ({"ts": 2**62, "kind": "A"}, "ts")):
        with pytest.warns(UserWarning, match=f"1 of 1 events were rejected \\(1 for {column}\\)"):
            assert one.push(event) == []
        assert one.rejected["column"].to_pylist() == [column]
    assert one.rejected["row"].to_pylist() == [3]
    assert [{**row, "match_id": ""} for row in pushed(one, EVENTS[1:])] == [{**row, "match_id": ""} for row in whole()]


def test_late_events_and_clocks_that_jump_back():
    one = matcher(slack=2)
    one.push({"ts": 10, "kind": "A", "k": "x", "v": 1.0})
    assert one.late == []
    assert one.push({"ts": 7, "kind": "A", "k": "x", "v": 0.5}) == []
    assert one.late == [{"ts": 7, "kind": "A", "k": "x", "v": 0.5}]
    one.push({"ts": 8, "kind": "B", "k": "x", "v": 2.0})  # on time, and before the A
    one.push({"ts": 9, "kind": "A", "k": "x", "v": 1.0})
    assert one.late == []
    found = one.push({"ts": 14, "kind": "B", "k": "x", "v": 3.0}) + one.push(
        {"ts": 11, "kind": "B", "k": "x", "v": 1.0}
    )
    assert one.late != []
    found += one.close()
    assert [(row["a"]["ts"], row["b"]["ts"]) for row in found] == [(9, 14), (10, 14)]
    gauge = one.gauge()
    assert (gauge.n_arrived, gauge.n_late, gauge.n_partial_matches) == (6, 2, 0)


def test_the_watermark_moves_by_hand_and_by_time_alone():
    one = matcher("PATTERN SEQ(A a, NOT B b) WHERE SAME[k] WITHIN 10 RETURN a.k AS k", slack=None)
    assert one.push(EVENTS[0]) == one.push(EVENTS[1]) == []
    assert one.advance(9) == []
    assert one.push({"ts": 10, "kind": "B", "k": "x", "v": 0.0}) == []
    assert one.advance(100) == [{"k": "y"}]
    assert one.gauge().n_events == 0
    assert one.close() == []
    with pytest.raises(DataError, match="closed"):
        one.push(EVENTS[0])


def test_memory_is_given_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(one_by_one, "FIRST_ROOM", 4)
    one = matcher()
    at_start = one.gauge().n_bytes
    for second in range(300):
        one.push({"ts": second, "kind": "A", "k": f"key {second}", "v": 1.0})
        if second % 50 == 49:
            assert one.gauge().n_events <= 12
            assert one.gauge().n_partial_matches <= 12
    one.advance(1_000)
    assert one.gauge().n_bytes == at_start


@pytest.mark.parametrize(
    ("query", "options", "reason"),
    [
        (QUERY, {}, None),
        (f"{QUERY} POLICY any", {}, None),
        ("PATTERN SEQ(A a, B+ b, NOT C c, B d) WHERE SAME[k] AND sum(b.v) > a.v WITHIN 10", {}, None),
        ("PATTERN SEQ(A a, B b) WHERE a.k < b.k WITHIN 10", {}, "texts of several events are compared by their order"),
        ("PATTERN SEQ(A a, B b) WHERE a.k LIKE 'x%' AND b.k > 'a' WITHIN 10", {}, None),
        ("PATTERN SEQ(A a, B b) WITHIN 10 EVENTS", {}, "its windows or gaps count events"),
        ("PATTERN SEQ(A a, B b) WITHIN 10 POLICY strict", {}, "under POLICY strict"),
        ("PATTERN SEQ(A a, B b) WHERE concat(a.k, b.k) = 'xx' WITHIN 10", {}, "is computed by Python"),
        ("PATTERN SEQ(A a, B b) WHERE twice(a.v) > 1.0 WITHIN 10", {}, "the registered function twice"),
        ("PATTERN SEQ(p a, p b) FROM p WITHIN 10 s", {"queries": {"p": QUERY}}, "FROM"),
        (QUERY, {"settings": cep.Settings(max_partial_matches_per_key=9)}, "for each value of SAME"),
        (QUERY, {"schema": SCHEMA.append(pa.field("z", pa.timestamp("ns")))}, "its column z has values"),
    ],
)
@pytest.mark.filterwarnings("ignore::cepheid.errors.NoMatchWarning")
def test_the_matcher_tells_which_road_events_take(query: str, options: dict[str, Any], reason: str | None):
    functions = {"twice": cep.Function("twice", (FLOAT,), FLOAT, lambda v: v and 2 * v)}
    one = matcher(query, catalog=cep.Catalog(functions=functions), **options)
    told = one.batched_because
    assert told is None if reason is None else told is not None and reason in told
    # The matches are the same on both roads.
    found = pushed(one, EVENTS)
    other = matcher(query, catalog=cep.Catalog(functions=functions), **options)
    columns = options.get("schema", SCHEMA)
    tables = [other.push(pa.Table.from_pylist([event], columns)) for event in EVENTS]
    assert found == pa.concat_tables([*tables, other.close()]).to_pylist()


def test_of_a_set_each_query_gives_a_list():
    rules = cep.QuerySet({"up": QUERY, "two": "PATTERN SEQ(A a, A b) WITHIN 5 RETURN b.k AS k"})
    one = cep.Matcher(rules, **COLUMNS, slack=0, schema=SCHEMA)
    assert one.batched_because == "the matcher has a set of queries"
    found = [one.push(event) for event in EVENTS]
    assert [step["two"] for step in found if step["two"]] == [[{"k": "y"}]]
    assert sum(len(step["up"]) for step in found) == 2


def test_pool_and_output_of_one_row_grow(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "FIRST_ROWS", 1)
    monkeypatch.setattr(pool, "FEWEST_ROWS", 1)
    monkeypatch.setattr(pool, "FIRST_MATCHES", 1)
    events = [{"ts": second, "kind": "AB"[second % 2], "k": "x", "v": float(second)} for second in range(60)]
    for query in (f"{QUERY} POLICY any", "PATTERN SEQ(A a, B+ b) WHERE SAME[k] WITHIN 6 POLICY any"):
        assert pushed(matcher(query), events) == whole(query, events)


def test_caps_hold():
    query = f"{QUERY} POLICY any"
    few = [{"ts": 0, "kind": "A", "k": "x", "v": float(n)} for n in range(600)]
    one = matcher(query, settings=cep.Settings(max_partial_matches=500))
    with pytest.raises(CapacityError, match="max_partial_matches=500"):
        pushed(one, [*few, EVENTS[-1]])
    with pytest.raises(DataError, match="failed before"):
        one.push(EVENTS[0])
    rising = [{"ts": n // 100, "kind": "A", "k": "x", "v": float(n)} for n in range(900)]
    other = matcher(query, settings=cep.Settings(max_partial_matches=500, on_cap="drop oldest"))
    with pytest.warns(UserWarning, match="partial matches were dropped"):
        pushed(other, [*rising, EVENTS[-1]])
    assert other.gauge().n_dropped > 0


def test_threads_take_turns():
    one = matcher(f"{QUERY} POLICY any", slack=400)
    events = [{"ts": n, "kind": "AB"[n % 2], "k": f"k{n % 7}", "v": float(n)} for n in range(400)]
    with ThreadPoolExecutor(4) as threads:
        found = [row for rows in threads.map(one.push, events) for row in rows]
    found += one.close()

    def known(rows: list[Any]) -> list[Any]:
        return sorted((row["a"]["v"], row["b"]["v"]) for row in rows)

    assert known(found) == known(whole(f"{QUERY} POLICY any", events))


def test_a_dict_of_tables_is_still_one_table_for_each_type():
    one = cep.Matcher("PATTERN SEQ(A a, B b) WITHIN 10 RETURN a.x AS x, b.y AS y", time="ts", time_unit="s", slack=0)
    one.push({"A": pa.table({"ts": [0], "x": [1]}), "B": pa.table({"ts": [1], "y": ["u"]})})
    assert one.push({"type": "A", "ts": 5, "x": 7}) == [{"x": 1, "y": "u"}]
    one.push({"type": "B", "ts": 6, "y": "v"})
    assert one.close() == [{"x": 7, "y": "v"}]
