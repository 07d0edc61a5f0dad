"""Leaving out the events that Spark's own plan drops changes no match, over random queries and events.

Spark evaluates the condition of every query on all events in one job; the engine then runs with and without the events
that fail it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import functions as F

from cepheid.spark.admission import admitted, may_drop_events, needed_columns
from cepheid.spark.pushdown import Source
from cepheid.testing.fuzz import Search
from cepheid.testing.harness import LEFT, EngineRoad, table_of
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import SCHEMA
from cepheid.testing.strategies_features import Features
from tests.properties.test_same_matches import named

N_QUERIES = 250
N_STREAMS = 3
NUMBER = "number of the event"

Stream = tuple[OracleEvent, ...]


def pushed_queries(seed: int) -> list[tuple[EngineRoad, list[Stream]]]:
    """Queries of which Spark may drop events, each with some streams."""
    search, found = Search(seed, always=Features.CROSS | Features.NULLS | Features.NANS | Features.SOURCES), []
    while len(found) < N_QUERIES:
        road = search.query()
        if road is not None and may_drop_events(road.bound):
            found.append((road, [search.stream(road) for _ in range(N_STREAMS)]))
    return found


def matches(road: EngineRoad, events: Sequence[OracleEvent]) -> list[object]:
    return named((one for one in road.answers(events) if one.returned != LEFT), events)


def test_what_spark_drops_changes_no_match(spark):
    pairs = pushed_queries(41)
    events = [event for _, streams in pairs for stream in streams for event in stream]
    table, _ = table_of(events, SCHEMA)
    frame = spark.createDataFrame(table.append_column(NUMBER, pa.array(range(len(events)), pa.int64()))).cache()
    source = Source(frame.schema)
    conditions = [admitted(road.bound, source) for road, _ in pairs]
    pushed = {number: condition for number, condition in enumerate(conditions) if condition is not None}
    assert len(pushed) > N_QUERIES / 4
    kept = frame.select(NUMBER, *(F.coalesce(c, F.lit(False)).alias(f"q{n}") for n, c in pushed.items())).toArrow()
    fits = dict(zip(kept[NUMBER].to_pylist(), range(len(events)), strict=True))
    first = n_matches = n_dropped = 0
    for number, (road, streams) in enumerate(pairs):
        column = kept[f"q{number}"].to_pylist() if number in pushed else None
        for stream in streams:
            if column is not None:
                rest = [event for at, event in enumerate(stream) if column[fits[first + at]]]
                found = matches(road, stream)
                assert matches(road, rest) == found, (road.bound.text, stream)
                n_matches += len(found)
                n_dropped += len(stream) - len(rest)
            first += len(stream)
    frame.unpersist()
    assert n_matches > N_QUERIES / 10
    assert n_dropped > N_QUERIES


def test_columns_that_no_query_names_are_not_needed():
    """With NULL in every column that is not handed to the engine, RETURN and matches stay as they are."""
    n_matches = n_columns = 0
    search = Search(42, always=Features.RETURN | Features.CROSS)
    n_queries = 0
    while n_queries < N_QUERIES:
        road = search.query()
        needed = None if road is None else needed_columns(road.bound)
        if road is None or needed is None:
            continue
        n_queries += 1
        for _ in range(N_STREAMS):
            stream = search.stream(road)
            bare = [
                OracleEvent(e.time, e.order, e.source, e.type, {n: v for n, v in e.values.items() if n in needed})
                for e in stream
            ]
            found = matches(road, stream)
            assert matches(road, bare) == found, (road.bound.text, stream)
            n_matches += len(found)
            n_columns += len(stream[0].values) - len(needed & set(stream[0].values)) if stream else 0
    assert n_matches > N_QUERIES / 10
    assert n_columns > N_QUERIES
