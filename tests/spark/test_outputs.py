"""cep.detect with outputs= gives what cep.match gives: what timed out, and what was rejected."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import cepheid as cep
from cepheid.errors import NotSupportedError, SchemaError
from cepheid.spark.outputs import DetectedOutputs

N_EVENTS = 500
OPTIONS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "s", "order": "id"}

QUERIES = {
    "by key": "SEQ(A a, B b, C c) WHERE SAME[k] WITHIN 30",
    "by a computed key": "SEQ(A a, B+ b, C c) WHERE SAME[k % 2] AND b.v > a.v WITHIN 20 RETURN a.v AS v",
    "cut by time, any": "SEQ(A a, NOT D d, B b, C c) WHERE a.v < b.v WITHIN 10 POLICY any",
    "cut by time, next": "SEQ(A a, (SEQ(B b, C c))+) WHERE b.v > a.v WITHIN 12 RETURN a.v AS v",
    "an implied partition": "SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k WITHIN 20 POLICY any",
    "an implied partition of runs": "SEQ(A a, B b, C c) WHERE a.k = b.k AND a.k = c.k WITHIN 20",
    "neighbours": "SEQ(A a, (B | C)+ b, D d) WITHIN 3 POLICY strict",
    "windows that slide": "SEQ(A a, B b, D d) WHERE a.v > b.v WINDOW 10 s SLIDE 5 s",
    "events counted": "SEQ(A a, B b, D d) WHERE SAME[k] WITHIN 9 EVENTS",
    "without a window": "SEQ(A a, B b) WHERE SAME[k] AND a.v > 95",
}


def events() -> pa.Table:
    random = np.random.default_rng(11)
    keys = [None if k == 5 else int(k) for k in random.integers(0, 6, N_EVENTS)]
    return pa.table(
        {
            "id": pa.array(range(N_EVENTS), pa.int64()),
            "ts": pa.array(np.cumsum(random.integers(0, 3, N_EVENTS)), pa.int64()),
            "kind": pa.array(np.array(list("ABCD"))[random.integers(0, 4, N_EVENTS)]),
            "k": pa.array(keys, pa.int64()),
            "v": pa.array(random.integers(0, 100, N_EVENTS), pa.int64()),
        }
    )


def counted(table: pa.Table) -> Counter[str]:
    return Counter(map(repr, table.to_pylist()))


def in_utc(frame: Any) -> pa.Table:
    table = frame.toArrow()
    fields = [f.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())
def test_what_timed_out_is_what_times_out_here(spark: SparkSession, query: str):
    table = events()
    here = cep.match(table, query, **OPTIONS, outputs=("matches", "timed_out"))
    assert "without" in str([n for n, q in QUERIES.items() if q == query]) or len(here.timed_out) > 10
    found = cep.detect(spark.createDataFrame(table), query, **OPTIONS, outputs=("matches", "timed_out"), partitions=3)
    assert found.rejected is None
    assert found.timed_out.columns == here.timed_out.column_names
    assert counted(in_utc(found.timed_out)) == counted(here.timed_out)
    assert counted(in_utc(found.matches)) == counted(here.matches)


def test_an_event_whose_implied_key_is_null_times_out(spark: SparkSession):
    frame = spark.createDataFrame([(1, 0, "A", None), (2, 1, "B", None)], "id long, ts long, kind string, k long")
    found = cep.detect(frame, "SEQ(A a, B b) WHERE a.k = b.k WITHIN 10", **OPTIONS, outputs="timed_out")
    assert [row.a.id for row in found.timed_out.collect()] == [1]


def test_rejected_events_come_whole_with_the_reason(spark: SparkSession):
    rows = [
        (1, "2024-05-01 10:00:00", "A", 1),
        (2, "noon", "A", 1),
        (3, None, None, 1),
        (4, "2024-05-01 10:00:01", None, 2),
        (5, "2024-05-01 10:00:02", "B", None),
    ]
    frame = spark.createDataFrame(rows, "id long, ts string, kind string, k long")
    options = {"time": "ts", "type": "kind", "order": "id"}
    found = cep.detect(frame, "SEQ(A a, B b) WHERE SAME[k] WITHIN 10 s", **options, outputs=("rejected",))
    assert found.matches is None
    got = {row.event.id: (row.column, row.reason) for row in found.rejected.collect()}
    here = cep.match(
        frame.toPandas(), "SEQ(A a, B b) WHERE SAME[k] WITHIN 10 s", **options, outputs="rejected"
    ).rejected
    assert got == {
        row + 1: (column, reason)
        for row, column, reason in zip(here["row"], here["column"], here["reason"], strict=True)
    }
    assert sorted(got) == [2, 3, 4, 5]
    assert found.rejected.where(F.col("event.id") == 2).first().event.ts == "noon"


def test_a_set_of_queries(spark: SparkSession):
    table = events()
    queries = cep.QuerySet({name: QUERIES[name] for name in ("by key", "by a computed key", "windows that slide")})
    found = cep.detect(spark.createDataFrame(table), queries, **OPTIONS, outputs=("matches", "timed_out"))
    assert isinstance(found, DetectedOutputs)
    here = cep.match(table, queries, **OPTIONS, outputs=("matches", "timed_out"))
    for name in queries:
        assert counted(in_utc(found[name].timed_out)) == counted(here[name].timed_out)
        assert counted(in_utc(found[name].matches)) == counted(here[name].matches)
    found.unpersist()


def test_composite_events_time_out(spark: SparkSession):
    table = events()
    pairs = {"pair": "SEQ(A a, B b) WHERE SAME[k] WITHIN 30 RETURN a.k AS k, b.v AS v"}
    query = "SEQ(pair p, pair q, pair r) FROM pair WHERE q.v > p.v AND r.v > q.v WITHIN 40 RETURN r.v AS v"
    here = cep.match(table, query, **OPTIONS, queries=pairs, outputs="timed_out")
    found = cep.detect(spark.createDataFrame(table), query, **OPTIONS, queries=pairs, outputs="timed_out")
    assert len(here.timed_out) > 5
    assert counted(in_utc(found.timed_out)) == counted(here.timed_out)


def test_what_cannot_run_is_refused_at_once(spark: SparkSession):
    frame = spark.createDataFrame(events())
    many = ", ".join(f"A a{number}" for number in range(63))
    with pytest.raises(NotSupportedError, match="at most 62 elements"):
        cep.detect(frame, f"SEQ({many}) WITHIN 5", **OPTIONS, outputs="timed_out")
    with pytest.raises(SchemaError, match="there is no output"):
        cep.detect(frame, "SEQ(A a, B b) WITHIN 5", **OPTIONS, outputs="late")
