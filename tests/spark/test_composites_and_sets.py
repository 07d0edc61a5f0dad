"""FROM and sets of queries on Spark give what they give in this process."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from pyspark.sql import DataFrame, Observation

import cepheid as cep
from cepheid.errors import QueryError
from cepheid.job.load import load
from cepheid.job.run import run

N = 500
RANDOM = np.random.default_rng(11)
TABLE = pa.table(
    {
        "id": np.arange(N),
        "ts": np.cumsum(RANDOM.integers(0, 3, N)),
        "kind": RANDOM.choice(list("ABCD"), N),
        "key": pa.array(RANDOM.integers(0, 4, N), mask=RANDOM.random(N) < 0.05),
        "v": RANDOM.integers(0, 100, N),
    }
)
COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "ms", "order": "id"}
PAIR = "SEQ(A a, B b) WHERE SAME[key] AND b.v > a.v WITHIN 60 ms"
QUERIES = {
    "pair": PAIR,
    "low": "SEQ(A a, B b) WHERE SAME[key] AND a.v < 30 AND b.v < :most WITHIN 40 ms RETURN a.v AS v, b.id AS id",
    "by key": "SEQ(C c, D d) WHERE c.key = d.key AND c.v > 50 WITHIN 50 ms POLICY any RETURN c.id AS c, d.id AS d",
    "loop": "SEQ(C c, B+ b, D d) WHERE SAME[key] AND b.v > 50 WITHIN 50 ms",
    "at times": "SEQ(A a, D d) WHERE a.v > 80 AND d.v > 80 WITHIN 30 ms",
    "at times too": "SEQ(B a, D d) WHERE a.v > 90 WITHIN 10 ms RETURN a.id AS a, d.id AS d",
    "anywhere": "SEQ(A a, B b, D d) WHERE a.v > 97 AND b.v > 80 AND d.v > 90",
    "of pairs": "SEQ(pair p, pair q) WHERE SAME[key] AND q.a.v > p.b.v WITHIN 300 ms FROM pair",
}


@pytest.fixture(scope="module")
def frame(spark) -> DataFrame:
    return spark.createDataFrame(TABLE).repartition(3)


def rows(found: Any) -> list[str]:
    """The matches as texts, in an order of their own."""
    table = found.toArrow() if isinstance(found, DataFrame) else found
    return sorted(json.dumps(row, default=lambda value: str(value)[:26]) for row in table.to_pylist())


@pytest.mark.parametrize(
    ("query", "queries"),
    [
        ("SEQ(pair p, pair q) WHERE SAME[key] AND q.a.v > p.b.v WITHIN 300 ms FROM pair", {"pair": PAIR}),
        ("SEQ(pair p, pair q) WITHIN 20 ms FROM pair", {"pair": PAIR}),
        (
            "SEQ(pair p, pair q) WHERE q.v > p.v AND p.v > 60 WITHIN 20 ms FROM pair RETURN p.v AS v, q.v AS w",
            {"pair": f"{PAIR} RETURN b.v AS v"},
        ),
        (
            "SEQ(two x, two y) WHERE SAME[key] WITHIN 1 s FROM two RETURN x.n AS n, y.n AS m, y.last_time AS t",
            {
                "pair": f"{PAIR} RETURN a.key AS key, b.v AS v",
                "two": "SEQ(pair p, pair+ q) WHERE SAME[key] AND q.v > p.v WITHIN 100 ms FROM pair "
                "RETURN p.key AS key, count(q) AS n",
            },
        ),
    ],
)
def test_from_gives_what_it_gives_in_this_process(frame: DataFrame, query: str, queries: dict[str, str]):
    here = cep.match(TABLE, query, **COLUMNS, queries=queries)
    assert len(here) > 3
    assert rows(cep.detect(frame, query, **COLUMNS, queries=queries)) == rows(here)


def test_a_set_gives_what_its_queries_give(frame: DataFrame):
    queries, parameters = cep.QuerySet(QUERIES), {"most": 60}
    here = cep.match(TABLE, queries, **COLUMNS, parameters=parameters)
    found = cep.detect(frame, queries, **COLUMNS, parameters=parameters)
    assert list(found) == list(QUERIES)
    for name in QUERIES:
        assert len(here[name]) > 0, name
        assert rows(found[name]) == rows(here[name]), name
    assert found["pair"].columns == here["pair"].column_names
    found.unpersist()
    assert rows(found["low"]) == rows(here["low"])


def test_queries_of_a_set_share_a_scan(frame: DataFrame):
    seen = Observation("events")
    queries = cep.QuerySet({name: QUERIES[name] for name in ("pair", "by key", "loop")})
    found = cep.detect(frame, queries, **COLUMNS, observation=seen)
    counts = [found[name].count() for name in queries]
    assert all(counts)
    assert seen.get["n_events"] == N
    found.unpersist()


def test_composites_without_an_order_are_the_same_for_every_number_of_partitions(frame: DataFrame):
    query = "SEQ(pair p, pair q) WHERE q.v > p.v WITHIN 30 ms FROM pair"
    columns = {**COLUMNS, "order": None}
    found = [
        rows(cep.detect(frame, query, **columns, queries={"pair": f"{PAIR} RETURN b.v AS v"}, partitions=n))
        for n in (1, 4)
    ]
    assert found[0] == found[1]
    assert found[0]


def test_the_query_at_fault_is_named(frame: DataFrame):
    with pytest.raises(QueryError, match="bad:1:11"):
        cep.detect(frame, cep.QuerySet({"good": "A a", "bad": "A a WHERE a.z > 1"}), **COLUMNS)


def test_a_job_with_further_queries(spark, tmp_path):

    pa.csv.write_csv(TABLE, tmp_path / "events.csv")
    (tmp_path / "job.toml").write_text(
        f"""
        [source]
        path = "events.csv"
        time = "ts"
        time_unit = "ms"
        type = "kind"
        [query]
        text = "SEQ(pair p, pair q) WHERE SAME[key] AND q.a.v > p.b.v WITHIN 300 ms FROM pair"
        [queries.pair]
        text = "{PAIR}"
        path = "pairs.parquet"
        """
    )
    here, there = (run(load(tmp_path / "job.toml").with_engine(engine)) for engine in ("local", "spark"))

    def plain(report: Any) -> list[str]:
        return sorted(str(row["p"]["a"]) + str(row["q"]["b"]) for row in report.matches.to_pylist())

    assert "match_id" in here.matches.column_names
    assert plain(here) == plain(there)
    assert {name: n for name, (_, n) in here.others.items()} == {name: n for name, (_, n) in there.others.items()}
