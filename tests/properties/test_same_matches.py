"""What changes no match: keys apart, the order of arrival, names of sources, another epoch, batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

import cepheid as cep
from cepheid.errors import QueryError
from cepheid.query import Query
from cepheid.testing.fuzz import Search
from cepheid.testing.harness import END_OF_INPUT_US, ORDER, SOURCE, Answer, EngineRoad, table_of
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, SCHEMA, SECOND_US
from cepheid.testing.strategies_features import Features

# Queries that are drawn may be hopeless.
pytestmark = pytest.mark.filterwarnings("ignore::cepheid.errors.NoMatchWarning")

N_QUERIES = 60
N_STREAMS = 5

COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "order": [ORDER, SOURCE], "catalog": CATALOG}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def pairs(seed: int, always: Features = Features.NONE) -> Iterator[tuple[EngineRoad, tuple[OracleEvent, ...]]]:
    """Queries that the engine runs, each with some streams."""
    search, n_queries = Search(seed, always=always), 0
    while n_queries < N_QUERIES:
        road = search.query()
        if road is None:
            continue
        n_queries += 1
        for _ in range(N_STREAMS):
            yield road, search.stream(road)


def named(answers: Iterable[Answer], events: Sequence[OracleEvent]) -> list[object]:
    """Answers that name events by their identity, not by their place in the table."""
    return [
        (
            tuple((name, events[number].identity) for name, number in one.bindings),
            one.window,
            one.decided_us,
            repr(one.returned),
        )
        for one in answers
    ]


def test_events_may_arrive_in_any_order():
    random, n_matches = Random(2), 0
    for road, events in pairs(2, Features.SOURCES):
        arrived = random.sample(events, len(events))
        found = named(road.answers(events), events)
        assert named(road.answers(arrived), arrived) == found, (road.bound.text, events, arrived)
        n_matches += len(found)
    assert n_matches


def test_names_of_sources_do_not_matter():
    n_matches = 0
    names = {"left": "a", "right": "ö"}  # in the same order: it decides ties
    for road, events in pairs(3, Features.SOURCES):
        renamed = [replace(event, source=names.get(event.source, event.source)) for event in events]
        found = road.answers(events)
        assert list(map(repr, road.answers(renamed))) == list(map(repr, found)), (road.bound.text, events)
        n_matches += len(found)
    assert n_matches


@pytest.mark.parametrize("shift_us", [840_000 * SECOND_US, -840_000 * SECOND_US])
def test_the_epoch_does_not_matter(shift_us: int):
    """A multiple of every slide that is drawn; before 1970 times are negative."""
    n_matches = 0
    for road, events in pairs(4, Features.WITHIN):
        if "year(" in road.bound.text:
            continue
        window = road.bound.window
        moved = [replace(e, time=e.time + shift_us, values={**e.values, "ts": e.time + shift_us}) for e in events]
        found = road.answers(events)
        expected = [
            one._replace(
                window=None
                if one.window is None
                else one.window
                if window.size_us is None
                else (one.window[0] + shift_us, one.window[1] + shift_us),
                decided_us=END_OF_INPUT_US if one.decided_us == END_OF_INPUT_US else one.decided_us + shift_us,
            )
            for one in found
        ]
        assert list(map(repr, road.answers(moved))) == list(map(repr, expected)), (road.bound.text, events)
        n_matches += len(found)
    assert n_matches


def test_batches_do_not_matter():
    """Rows, ids and order are those of the whole table, however it is cut, and with whatever steps of the watermark.

    Nor does it matter that a matcher goes on from a snapshot of another.
    """
    random, n_matches, n_pushes, n_restored = Random(5), 0, 0, 0
    for road, events in pairs(5, Features.WITHIN | Features.SOURCES):
        query = Query.of(replace(road.bound.query, returns=()))
        table = table_of(events, SCHEMA)[0]
        try:
            matcher = cep.Matcher(query, schema=table.schema, **COLUMNS)
            whole = cep.match(table, query, **COLUMNS).to_pylist()
        except QueryError:
            continue  # a stream cannot run it, or its output has two columns of one name
        found = []
        left = random.sample(events, len(events))
        while left:
            n = random.randint(1, len(left))
            # What comes now, and what the watermark has not passed yet.
            arrives, left = left[:n], left[n:]
            found += matcher.push(table_of(arrives, SCHEMA)[0]).to_pylist()
            reached = min((event.time for event in left), default=events[-1].time) - 1
            if random.random() < 0.7:
                found += matcher.advance(EPOCH + timedelta(microseconds=reached)).to_pylist()
            n_pushes += 1
            if random.random() < 0.3:
                snapshot = matcher.snapshot()
                matcher = cep.Matcher(query, schema=table.schema, **COLUMNS)
                matcher.restore(snapshot)
                n_restored += 1
        found += matcher.close().to_pylist()
        assert list(map(repr, found)) == list(map(repr, whole)), (road.bound.text, events)
        n_matches += len(whole)
    assert n_matches > 100
    assert n_pushes > 300
    assert n_restored > 90
