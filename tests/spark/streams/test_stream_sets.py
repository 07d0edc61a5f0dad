"""A set of queries on streaming DataFrames gives each query what it gives alone, in one pass."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

import cepheid as cep
from tests.spark.streams.files import found, run, stream_of, write_part
from tests.spark.streams.test_streams import COLUMNS, QUERY, cut, events

KEYED = {
    "loops": QUERY,
    "pairs": "PATTERN SEQ(A a, B b) WHERE SAME[key] AND b.v > :least WITHIN 20 ms RETURN a.id AS a, b.id AS b",
}
SET = {
    **KEYED,
    # A second key, which the first one holds, keys that equalities imply, and none.
    "same_kind": "PATTERN SEQ(* x, * y) WHERE SAME[key, kind] WITHIN 9 ms RETURN x.id AS x, y.id AS y",
    "implied": "PATTERN SEQ(A a, D d) WHERE a.v = d.v WITHIN 90 ms RETURN a.id AS a, d.id AS d",
    "anywhere": "PATTERN SEQ(C c, D d) WHERE c.v > 90 AND d.v > 50 WITHIN 9 ms RETURN c.id AS c, d.id AS d",
    "left": "PATTERN SEQ(A a, NOT B b) WHERE SAME[key] WITHIN 9 ms RETURN a.id AS a",
    "of_pairs": "PATTERN SEQ(pairs p, pairs q) WITHIN 30 ms FROM pairs RETURN p.a AS p, q.a AS q",
}
PARAMETERS = {"least": 20}


def right(table: pa.Table, queries: dict[str, str], watermark_ms: int, **options: Any) -> dict[str, Any]:
    """What a Matcher tells of the same queries."""
    matcher = cep.Matcher(
        cep.QuerySet(queries), schema=table.schema, parameters=PARAMETERS, **{**COLUMNS, "order": "id"}, **options
    )
    matcher.push(table)
    return matcher.advance(watermark_ms)


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


class Kept:
    """Keeps what writers are given, each micro-batch once; fails where it is told to."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[int, list[dict[str, Any]]]] = {}
        self.fails_at: int | None = None

    def __call__(self, name: str) -> Any:
        def write(rows: Any, number: int) -> None:
            self.rows.setdefault(name, {})[number] = rows.toArrow().to_pylist()
            if number == self.fails_at and name == list(self.rows)[-1]:
                self.fails_at = None
                raise OSError("the sink is gone")

        return write

    def of(self, name: str) -> Counter[str]:
        return counted([row for rows in self.rows[name].values() for row in rows])


@pytest.mark.slow
def test_each_query_of_a_set_has_what_it_has_alone(spark, tmp_path: Path):
    table = events(300)
    frame = stream_of(spark, tmp_path / "in", cut(table, 4))
    found = cep.detect(frame, cep.QuerySet(SET), watermark="4 ms", partitions=3, parameters=PARAMETERS, **COLUMNS)
    assert list(found) == list(SET)
    assert all(matches.isStreaming for matches in found.values())
    kept = Kept()
    kept.fails_at = 2  # what was written then comes again
    writer = found.tagged.writeStream.foreachBatch(found.written_by({name: kept(name) for name in SET}))
    writer = writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True)
    with pytest.raises(StreamingQueryException, match="the sink is gone"):
        writer.start().awaitTermination()
    writer.start().awaitTermination()
    wanted = right(table, SET, pa.compute.max(table["ts"]).as_py() - 5)
    for name in SET:
        assert len(wanted[name]) > 3
        assert kept.of(name) == counted(wanted[name].to_pylist()), name


@pytest.mark.slow
def test_what_a_stream_tells_beside_the_matches_of_a_set(spark, tmp_path: Path):
    queries = {
        "pairs": "PATTERN SEQ(A a, B b) WHERE SAME[key] WITHIN 30 ms RETURN a.id AS a, b.id AS b",
        "kinds": "PATTERN SEQ(A a, A b) WHERE SAME[v] WITHIN 30 ms RETURN a.id AS a, b.id AS b",
    }
    rows = [
        (0, 10, "A", 1, 1),
        (1, 30, "B", 1, 2),
        (2, None, "A", 1, 1),
        (3, 35, "A", None, 3),
        (4, 40, "A", 2, None),
        (5, 200, "D", None, None),
        (6, 5, "A", 1, None),  # late, and without the key of one
        (7, 300, "D", 1, 1),
    ]
    names = ["id", "ts", "kind", "key", "v"]
    types = [pa.int64(), pa.int64(), pa.string(), pa.int64(), pa.int64()]
    table = pa.table([pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types, strict=True)], names)
    frame = stream_of(spark, tmp_path / "in", [table.slice(0, 5), table.slice(5, 1), table.slice(6)])
    asked = ("matches", "timed_out", "late", "rejected", "held")
    outputs = cep.detect(frame, cep.QuerySet(queries), watermark="4 ms", outputs=asked, **COLUMNS)
    assert list(outputs.columns) == ["pairs", "pairs.timed_out", "kinds", "kinds.timed_out", "late", "rejected", "held"]
    assert outputs["kinds"].timed_out.isStreaming
    assert outputs.late.columns == names
    kept = Kept()
    write = outputs.written_by({name: kept(name) for name in outputs.columns})
    writer = outputs.tagged.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "ck"))
    writer.trigger(availableNow=True).start().awaitTermination()

    def told(name: str) -> list[dict[str, Any]]:
        return [row for rows in kept.rows[name].values() for row in rows]

    assert [(r["a"], r["b"]) for r in told("pairs")] == [(0, 1)]
    assert sorted(r["a"]["id"] for r in told("pairs.timed_out")) == [4]
    assert sorted(r["a"]["id"] for r in told("kinds.timed_out")) == [0, 3]
    assert [r["id"] for r in told("late")] == [6]
    assert sum(r["n_late"] for r in told("held")) == 1
    rejected = sorted((r["event"]["id"], r["column"]) for r in told("rejected"))
    assert rejected == [(2, "ts"), (3, "key"), (4, "v"), (5, "key"), (5, "v"), (6, "v")]


@pytest.mark.slow
def test_a_changed_set_is_refused(spark, tmp_path: Path):
    frame = stream_of(spark, tmp_path / "in", [events(50)])
    options: dict[str, Any] = {"watermark": "4 ms", "parameters": PARAMETERS, "partitions": 2, **COLUMNS}
    run(cep.detect(frame, cep.QuerySet(KEYED), **options)["pairs"], tmp_path)
    write_part(tmp_path / "in", events(10))
    changed = {**KEYED, "loops": QUERY.replace("20 ms", "30 ms")}
    added = {**KEYED, "left": SET["left"]}
    for queries, what in ((changed, "with the query loops PATTERN"), (added, "without the query left")):
        with pytest.raises(StreamingQueryException, match=rf"the checkpoint was made {what}(.|\n)*checkpointLocation"):
            run(cep.detect(frame, cep.QuerySet(queries), **options)["pairs"], tmp_path)
    run(cep.detect(frame, cep.QuerySet(KEYED), **options)["pairs"], tmp_path)
    assert sum(found(spark, tmp_path).values()) > 3
