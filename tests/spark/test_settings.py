"""`settings=` of `cep.detect`: what a task may hold."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

from cepheid.engine.settings import Settings
from cepheid.query import QuerySet
from cepheid.spark.detect import detect

QUERY = "PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 100 POLICY any RETURN a.ts AS ts"
COLUMNS = {"time": "ts", "type": "kind", "time_unit": "s"}


@pytest.fixture(scope="module")
def frame(spark) -> DataFrame:
    rows = [*((i, "A", 1) for i in range(50)), (50, "B", 1)]
    return spark.createDataFrame(rows, "ts long, kind string, k long")


def test_a_cap_fails_the_task(frame: DataFrame):
    with pytest.raises(Exception, match="partial matches are held at once"):
        detect(frame, QUERY, **COLUMNS, settings=Settings(10)).collect()


def test_the_oldest_are_dropped(frame: DataFrame):
    settings = Settings(10, on_cap="drop oldest")
    found = sorted(row.ts for row in detect(frame, QUERY, **COLUMNS, settings=settings).collect())
    assert found == list(range(50 - len(found), 50))
    assert 7 <= len(found) <= 16
    queries = QuerySet({"one": QUERY, "other": QUERY.replace("a.ts", "b.ts")})
    both = detect(frame, queries, **COLUMNS, settings=settings)
    assert sorted(row.ts for row in both["one"].collect()) == found
    both.unpersist()
