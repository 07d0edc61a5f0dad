"""The output without RETURN is what plain Python makes of the oracle's matches; a match_id names its match for good."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.events.ingest import schema_of
from cepheid.language.tree import Attribute
from cepheid.query import Query
from cepheid.testing.fuzz import Search
from cepheid.testing.harness import ORDER, SOURCE, EngineRoad, table_of
from cepheid.testing.oracle import OracleEvent, match
from cepheid.testing.oracle_composites import composite_events
from cepheid.testing.strategies import CATALOG, SCHEMA, STORES
from cepheid.testing.strategies_features import Features
from tests.conformance.plain_output import plain_rows, time_of, written

# Queries that are drawn may be hopeless.
pytestmark = pytest.mark.filterwarnings("ignore::cepheid.errors.NoMatchWarning")

N_QUERIES = 120
N_STREAMS = 3

COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "order": [ORDER, SOURCE], "catalog": CATALOG}


def queries(seed: int, always: Features = Features.NONE) -> Iterator[tuple[Query, EngineRoad, Search]]:
    """Queries that the engine runs, without RETURN."""
    search, n = Search(seed, always=always), 0
    while n < N_QUERIES:
        road = search.query()
        if road is None or _two_columns_of_one_name(road):
            continue
        n += 1
        yield Query.of(replace(road.bound.query, returns=())), road, search


def _two_columns_of_one_name(road: EngineRoad) -> bool:
    """A variable is called as an attribute in SAME: refused, unless RETURN names the columns."""
    keys = {part.path[-1] for part in road.bound.partition if isinstance(part, Attribute)}
    return not keys.isdisjoint(road.bound.variables)


def found_in(query: Query, events: Sequence[OracleEvent]) -> Any:
    """The matches as an Arrow table."""
    return cep.match(table_of(events, SCHEMA)[0], query, **COLUMNS)


def test_default_columns_are_what_plain_python_makes_of_them():
    n_matches, n_empty, n_windows = 0, 0, 0
    for query, road, search in queries(12, Features.SOURCES | Features.NULLS | Features.NANS):
        bound = query.bind(SCHEMA, CATALOG)
        for _ in range(N_STREAMS):
            events = search.stream(road)
            rows = table_of(events, SCHEMA)[0].to_pylist()
            found = match(bound, events, stores=STORES, timed_out=False).matches
            expected = plain_rows(bound, found, dict(zip(events, rows, strict=True)))
            got = found_in(query, events).to_pylist()
            ids = [row.pop("match_id") for row in got]
            assert written(got) == written(expected), (road.bound.text, events)
            assert all(re.fullmatch(r"[0-9a-f]{32}", one) for one in ids)
            assert len(set(ids)) == len(ids)
            n_matches += len(got)
            n_empty += sum([] in row.values() for row in got)
            n_windows += sum("window_start" in row for row in got)
    assert min(n_matches, n_empty, n_windows) > 10


def test_a_match_id_does_not_depend_on_the_order_of_arrival():
    random, n_matches = Random(12), 0
    for query, road, search in queries(12, Features.SOURCES):
        events = search.stream(road)
        arrived = random.sample(events, len(events))
        rows = found_in(query, events).to_pylist()
        assert written(rows) == written(found_in(query, arrived).to_pylist()), (road.bound.text, events, arrived)
        n_matches += len(rows)
    assert n_matches > 100


def test_a_match_id_does_not_depend_on_other_queries_and_other_events():
    n_matches, before = 0, None
    for query, road, search in queries(13):
        events = search.stream(road)
        table = table_of(events, SCHEMA)[0]
        alone = cep.match(table, query, **COLUMNS)
        together = cep.match(table, cep.QuerySet({"one": query, "other": before or "A a, B b"}), **COLUMNS)
        assert written(together["one"].to_pylist()) == written(alone.to_pylist()), road.bound.text
        # Columns that come later, and types that none takes, change no identity.
        extended = table.append_column("new", pa.array(range(len(table)), pa.int32()))
        assert cep.match(extended, query, **COLUMNS)["match_id"].equals(alone["match_id"])
        n_matches += len(alone)
        before = query
    assert n_matches > 100


def test_different_queries_name_the_same_events_differently():
    table = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "B"], "x": [1, 2, 3]})
    texts = [
        "SEQ(A a, B b) WITHIN 10",
        "SEQ(A a, B c) WITHIN 10",
        "SEQ(A a, B b) WITHIN 11",
        "SEQ(A a, B b) WHERE b.x = :x WITHIN 10",
        "SEQ(A a, B b) WINDOW 10 SLIDE 5",
        "AND(A a, B b) WITHIN 10",
    ]
    options: dict[str, Any] = {"time": "ts", "time_unit": "s", "type": "kind"}
    ids = [
        cep.match(table, text, **options, parameters={"x": 2} if ":x" in text else None)["match_id"].to_pylist()
        for text in texts
    ]
    flat = [one for several in ids for one in several]
    assert len(set(flat)) == len(flat) > len(texts)
    # The same query, however it is spelled.
    (again,) = cep.match(table, "pattern A a; B b within 10", **options)["match_id"].to_pylist()
    assert again == ids[0][0]


INNER = [
    "SEQ(A a, B b) WITHIN 4",
    "SEQ(A a, B* b, C? c, (A | D) d) WHERE SAME[k] WITHIN 6 POLICY any",
    "SEQ(A a, NOT B b) WITHIN 3 RETURN a.x AS x, a.k AS k",
    "OR(SEQ(A a, B b), A+ c) WINDOW 6 SLIDE 3",
]
OUTER = [
    "SEQ(pair p, pair q) WITHIN 6 FROM pair",
    "SEQ(pair p, pair+ q) WITHIN 9 FROM pair",
    "SEQ(pair? p, * q) WINDOW 4 EVENTS SLIDE 2 EVENTS FROM pair",
]


@pytest.mark.parametrize("inner_text", INNER)
def test_default_columns_of_composite_events(inner_text: str):
    """The struct of a composite event is the row of its match."""
    random, n_matches = Random(14), 0
    options: dict[str, Any] = {"time": "ts", "time_unit": "s", "type": "kind", "order": "n"}
    inner = Query.parse(inner_text)
    for _ in range(12):
        times = sorted(random.choices(range(14), k=9))
        rows = [
            {"n": n, "ts": ts, "kind": random.choice("ABCD"), "k": random.choice([1, 2]), "x": random.choice([None, 3])}
            for n, ts in enumerate(times)
        ]
        events = [OracleEvent(row["ts"] * 1_000_000, (row["n"],), "", row["kind"], row) for row in rows]
        columns = {"n": pa.int64(), "ts": pa.int64(), "kind": pa.string(), "k": pa.int64(), "x": pa.int64()}
        table = pa.Table.from_pylist(rows, pa.schema(columns.items()))
        schema = schema_of(table, time="ts", type="kind", time_unit="s", order=["n"])
        below = cep.match(table, inner, **options).to_pylist()
        for outer_text in OUTER:
            bound = Query.parse(outer_text).bind(schema, cep.Catalog(queries={"pair": inner}))
            assert bound.inner is not None
            found_below = match(bound.inner, events, timed_out=False).matches
            composites = composite_events(bound, found_below, None, {})
            row_of = {
                event: row if not inner.tree.returns else {**row, "last_time": time_of(event.time)}
                for event, row in zip(composites, below, strict=True)
            }
            expected = plain_rows(bound, match(bound, events, timed_out=False).matches, row_of)
            whole = cep.match(table, outer_text, queries={"pair": inner}, **options)
            got = whole.to_pylist()
            ids = [row.pop("match_id") for row in got]
            assert written(got) == written(expected), (inner_text, outer_text, rows)
            assert len(set(ids)) == len(ids)
            n_matches += len(ids)
            shuffled = table.take(random.sample(range(len(table)), len(table)))
            assert cep.match(shuffled, outer_text, queries={"pair": inner}, **options).equals(whole)
            of_set = cep.match(shuffled, cep.QuerySet({"pair": inner, "outer": outer_text}), **options)
            assert of_set["outer"].equals(whole)
            assert of_set["pair"].to_pylist() == below
    assert n_matches > 10
