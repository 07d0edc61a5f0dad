"""The output without RETURN on Spark: plain Python makes it of the oracle's matches, and this process names the ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import cepheid as cep
from cepheid.events.ingest import schema_of
from cepheid.query import Query
from cepheid.spark import batch
from cepheid.testing.oracle import OracleEvent, match
from tests.conformance.plain_output import plain_rows, written

COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "s", "order": "id"}

QUERIES = {
    "keyed": "SEQ(A a, B b, C c) WHERE SAME[key] AND a.v < b.v WITHIN 20 POLICY any",
    "loop": "SEQ(A a, B+ b, NOT D, C c) WHERE SAME[key] AND b.v > 30 WITHIN 30",
    "empty": "SEQ(A a, B* b, C? c, D d) WHERE SAME[key, v % 2] AND a.v > 20 WITHIN 20",
    "branches": "SEQ(A a, OR(B+ b, SEQ(C c, C)), D d) WHERE SAME[key] WITHIN 25",
    "group": "SEQ(A a, (B b; C? c)+) WHERE SAME[key] AND b.v < 80 WITHIN 12",
    "sliding": "SEQ(A a, NOT B b, C c) WHERE SAME[key] WINDOW 12 SLIDE 4 POLICY any",
    "counted": "SEQ(A a, * x, C c) WHERE SAME[key] WINDOW 6 EVENTS SLIDE 3 EVENTS",
    "cut by time": "SEQ(A a, B b, NOT C c) WHERE a.v < b.v AND c.v > 50 WITHIN 4",
    "inferred": "SEQ(A a, B b, C c) WHERE a.key = b.key AND b.key = c.key WITHIN 15 POLICY any",
}

Ids = Mapping[str, Counter[str]]


def table() -> pa.Table:
    """Some events of four types and three keys, several at most times."""
    n, random = 150, np.random.default_rng(5)
    return pa.table(
        {
            "id": pa.array(random.permutation(n), pa.int64()),
            "ts": pa.array(np.sort(random.integers(0, 90, n)), pa.int64()),
            "kind": pa.array(np.array(list("ABCD"))[random.integers(0, 4, n)]),
            "key": pa.array([None if k == 3 else int(k) for k in random.integers(0, 4, n)], pa.int64()),
            "v": pa.array(random.integers(0, 100, n), pa.int64()),
        }
    )


EVENTS = table()
SCHEMA = schema_of(EVENTS, time="ts", type="kind", time_unit="s", order=["id"])


@pytest.fixture(scope="module")
def frame(spark) -> DataFrame:
    return spark.createDataFrame(EVENTS).orderBy(F.rand(3))


@pytest.fixture(scope="module")
def expected() -> dict[str, list[str]]:
    """Name -> rows of its query, without the ids."""
    rows = EVENTS.to_pylist()
    events = [OracleEvent(r["ts"] * 1_000_000, (r["id"],), "", r["kind"], {**r, "ts": r["ts"]}) for r in rows]
    row_of = dict(zip(events, rows, strict=True))
    plain = {}
    for name, text in QUERIES.items():
        bound = Query.parse(text).bind(SCHEMA)
        found = match(bound, events, timed_out=False).matches
        assert len(found) > 3, name
        plain[name] = written(plain_rows(bound, found, row_of))
    return plain


@pytest.fixture(scope="module")
def ids() -> Ids:
    """Name -> the ids of its matches in this process."""
    return {name: Counter(cep.match(EVENTS, q, **COLUMNS)["match_id"].to_pylist()) for name, q in QUERIES.items()}


def rows_of(found: DataFrame, name: str) -> tuple[Counter[str], Counter[str]]:
    """The rows without their ids, and the ids."""
    schema = cep.match(EVENTS, QUERIES[name], **COLUMNS).schema
    arrow = found.toArrow()
    assert arrow.column_names == schema.names
    rows = arrow.cast(schema).to_pylist()
    ids = Counter(row.pop("match_id") for row in rows)
    return Counter(written(rows)), ids


@pytest.mark.parametrize("name", ["loop", "sliding", "cut by time", "inferred"])
def test_rows_and_ids(frame: DataFrame, name: str, expected: dict[str, list[str]], ids: Ids):
    rows, found = rows_of(cep.detect(frame, QUERIES[name], **COLUMNS), name)
    assert rows == Counter(expected[name])
    assert found == ids[name]


def test_a_set_gives_the_same_rows_and_ids(frame: DataFrame, expected: dict[str, list[str]], ids: Ids):
    found = cep.detect(frame, cep.QuerySet(QUERIES), **COLUMNS)
    for name in QUERIES:
        rows, own = rows_of(found[name], name)
        assert rows == Counter(expected[name])
        assert own == ids[name]
    found.unpersist()


@pytest.mark.parametrize("name", ["keyed", "cut by time"])
def test_what_is_pushed_changes_neither(
    frame: DataFrame,
    name: str,
    expected: dict[str, list[str]],
    ids: Ids,
    monkeypatch: pytest.MonkeyPatch,
):
    pushed = cep.detect(frame, QUERIES[name], **COLUMNS)
    monkeypatch.setattr(batch, "may_drop_events", lambda bound: False)
    whole = cep.detect(frame.repartition(3), QUERIES[name], partitions=3, **COLUMNS)
    assert _mentions_of_the_type(whole) < _mentions_of_the_type(pushed)
    rows, found = rows_of(whole, name)
    assert rows == Counter(expected[name])
    assert found == ids[name]


def _mentions_of_the_type(frame: DataFrame) -> int:
    """How often the plan names the type's column: more often where conditions on types were pushed."""
    return frame._jdf.queryExecution().analyzed().toString().count("kind#")
