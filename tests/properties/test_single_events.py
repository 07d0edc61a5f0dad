"""Events pushed one by one give what tables give, in any mixture, and their columns are those of tables."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler.columns import events_of
from cepheid.compiler.requests import PARTITION
from cepheid.compiler.single import event_functions, reason_not_single
from cepheid.engine import one_by_one
from cepheid.engine.session import prepare
from cepheid.engine.single_columns import SingleColumns
from cepheid.errors import QueryError
from cepheid.events.ingest import read_events
from cepheid.events.single import EventReader
from cepheid.query import Query
from cepheid.testing.fuzz import Search
from cepheid.testing.harness import ORDER, SOURCE, table_of
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, SCHEMA
from cepheid.testing.strategies_features import Features

# Queries that are drawn may be hopeless.
pytestmark = pytest.mark.filterwarnings("ignore::cepheid.errors.NoMatchWarning")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True, scope="module")
def little_room() -> Iterator[None]:
    """What is not needed any more is forgotten every few events, and texts get new codes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_by_one, "FIRST_ROOM", 2)
        yield


def rows(found: Any) -> list[Any]:
    return found if isinstance(found, list) else list(found.to_pylist())


class Mixed:
    """A stream that comes in tables and single events, with looks at the matcher between."""

    def __init__(self, query: Query, events: list[OracleEvent], random: Random, *, ordered: bool) -> None:
        self.options: dict[str, Any] = {"time": "ts", "type": "kind", "catalog": CATALOG}
        if ordered:
            self.options["order"] = [ORDER, SOURCE]
        self.query, self.events, self.random, self.ordered = query, events, random, ordered
        self.table = table_of(events, SCHEMA)[0]
        self.matcher = self.made()

    def made(self) -> cep.Matcher:
        return cep.Matcher(self.query, schema=self.table.schema, **self.options)

    def whole(self) -> list[Any]:
        return rows(cep.match(self.table, self.query, **self.options))

    def look(self) -> None:
        """A gauge, or another matcher that goes on from a snapshot."""
        before = self.matcher.gauge()
        if self.random.random() < 0.5:
            snapshot = self.matcher.snapshot()
            self.matcher = self.made()
            self.matcher.restore(snapshot)
        assert replace(self.matcher.gauge(), n_bytes=0) == replace(before, n_bytes=0)

    def found(self) -> list[Any]:
        random, found = self.random, []
        left = random.sample(self.events, len(self.events)) if self.ordered else list(self.events)
        while left:
            n = random.randint(1, max(1, len(left) // 2))
            part, left = table_of(left[:n], SCHEMA)[0], left[n:]
            if random.random() < 0.3:
                found += rows(self.matcher.push(part))
            else:
                for event in part.to_pylist():
                    found += self.matcher.push(event)
                    if random.random() < 0.1:
                        self.look()
            if random.random() < 0.7:
                reached = min((event.time for event in left), default=self.events[-1].time) - 1
                found += rows(self.matcher.advance(EPOCH + timedelta(microseconds=reached)))
            if random.random() < 0.2:
                self.look()
        return found + rows(self.matcher.close())


def mixtures(seed: int, n_queries: int, n_streams: int, always: Features = Features.WITHIN) -> Counter[str | None]:
    """Hold mixtures to the whole table; the numbers of those that went each road, by what it was for."""
    search, random, roads, n_matches = Search(seed, always=always), Random(seed), Counter[str | None](), 0
    while n_queries:
        road = search.query()
        if road is None:
            continue
        n_queries -= 1
        for _ in range(n_streams):
            query = Query.of(replace(road.bound.query, returns=()) if random.random() < 0.5 else road.bound.query)
            try:
                mixed = Mixed(query, list(search.stream(road)), random, ordered=random.random() < 0.7)
                whole = mixed.whole()
            except QueryError:
                continue  # a stream cannot run it, or its output has two columns of one name
            roads[mixed.matcher.batched_because] += 1
            found = mixed.found()
            assert list(map(repr, found)) == list(map(repr, whole)), (road.bound.text, mixed.events)
            n_matches += len(whole)
    assert n_matches
    return roads


def test_mixtures_of_tables_and_single_events_give_what_the_table_gives():
    roads = mixtures(19, n_queries=20, n_streams=3)
    assert roads[None] > 12
    assert len(roads) > 3


CONNECTED = (
    "a.x > 2 OR a.y > 2",
    "NOT (a.x > 2 AND a.y > 2)",
    "NOT (a.x > 2 OR a.y > 2)",
    "(a.x > 2 AND a.y > 2) OR a.x = 0",
    "(a.x > 2 AND a.y > 2) IS NULL OR a.x = a.y",
)


@pytest.mark.parametrize("condition", CONNECTED)
def test_every_mixture_of_true_false_and_unknown(condition: str):
    events = [
        {"ts": i, "kind": "A", "x": x, "y": y} for i, (x, y) in enumerate(itertools.product((None, 0, 3), repeat=2))
    ]
    table = pa.Table.from_pylist(events).cast(pa.schema({"ts": "int64", "kind": "string", "x": "int64", "y": "int64"}))
    options: dict[str, Any] = {"time": "ts", "time_unit": "us", "type": "kind"}
    # Without slack, each event is looked at when it is pushed, not with others when the watermark passes them.
    query = f"A a WHERE {condition} RETURN a.x AS x, a.y AS y"
    matcher = cep.Matcher(query, schema=table.schema, slack="0 s", **options)
    found = [row for event in events for row in rows(matcher.push(event))] + rows(matcher.close())
    assert matcher.batched_because is None
    whole = cep.match(table, query, **options).to_pylist()
    assert 0 < len(whole) < len(events)
    assert found == whole


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_very_many_mixtures():
    for seed, always in enumerate(
        (Features.WITHIN, Features.ANY, Features.NOT_MIDDLE, Features.KLEENE | Features.NULLS)
    ):
        assert mixtures(191 + seed, n_queries=30, n_streams=4, always=always)[None] > 15


def test_columns_are_those_of_tables():
    """Which elements take an event, all columns that are no codes, and codes as far as they tell values apart."""
    search, n_columns = Search(20_240_605), 0
    while n_columns < 250:
        road = search.query()
        if road is None:
            continue
        compiled = prepare(road.bound)
        if reason_not_single(compiled) or compiled.automaton.sliding or compiled.groups or compiled.automaton.mixed:
            continue
        if compiled.automaton.strict or compiled.automaton.counts_events or compiled.automaton.two_clocks:
            continue
        table, schema = table_of(search.stream(road), road.bound.schema)
        batch = read_events(table, schema)
        events, reader = events_of(compiled, batch), EventReader(table.schema, schema)
        functions = event_functions(compiled, reader, table.schema)
        columns = SingleColumns(compiled, functions, max(1, len(batch)))
        in_order = table if batch.rows is None else table.take(batch.rows)
        for number, (values, time_us) in enumerate(zip(reader.rows(in_order), batch.time_us.tolist(), strict=True)):
            fit = functions.fit(values)
            if fit and not (functions.partitioned and functions.partition(values) is None):
                columns.add(values, time_us, number, fit)
        own = columns.exactly()
        chosen = np.arange(len(batch)) if events.selected is None else events.selected
        assert columns.numbers == chosen.tolist()
        n = events.n
        assert np.array_equal(own.ints[: 2 * n], events.ints[: 2 * n])
        for column, request in enumerate(compiled.requests.ints):
            values, there = events.int_column(column, n)
            own_values, own_there = own.int_column(column, n)
            assert np.array_equal(own_there, there), request
            if request.shape.text or request == PARTITION:
                codes = np.unique(values[there], return_inverse=True)[1]
                own_codes = np.unique(own_values[there], return_inverse=True)[1]
                assert len(set(zip(codes.tolist(), own_codes.tolist(), strict=True))) == len(set(codes.tolist()))
                assert len(set(codes.tolist())) == len(set(own_codes.tolist()))
            else:
                assert np.array_equal(own_values[there], values[there]), request
            n_columns += 1
        for column, request in enumerate(compiled.requests.floats):
            place, own_place = (int(one.ints[one.float_nulls + column]) for one in (events, own))
            missing, own_missing = (
                one.nulls[at * n :][:n].astype(bool) if at >= 0 else np.zeros(n, bool)
                for one, at in ((events, place), (own, own_place))
            )
            assert np.array_equal(own_missing, missing), request
            values, own_values = (one.floats[column * n :][:n][~missing] for one in (events, own))
            assert np.array_equal(own_values, values, equal_nan=True), request
            n_columns += 1
