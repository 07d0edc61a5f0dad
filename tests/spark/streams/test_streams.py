"""cep.detect on streaming DataFrames gives what cep.match gives for all that the watermark has passed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

import cepheid as cep
from cepheid.errors import QueryError, SchemaError
from cepheid.spark.streams.delay import DELAY_METADATA
from cepheid.spark.streams.outputs import StreamOutputs, parquet_writer
from tests.spark.streams.files import found, run, stream_of, write_part

COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "ms", "order": "id"}
QUERY = (
    "PATTERN SEQ(A a, B+ b, NOT C c) WHERE SAME[key] AND b.v > 20 WITHIN 20 ms "
    "RETURN a.id AS a, count(b.id) AS n, a.key AS key"
)


def events(n: int, seed: int = 1, *, late: int = 4) -> pa.Table:
    """Events that come a little out of order."""
    random = np.random.default_rng(seed)
    ts = np.cumsum(random.integers(0, 3, n)) + 1
    table = pa.table(
        {
            "id": np.arange(n),
            "ts": ts,
            "kind": np.array(list("ABCD"))[random.integers(0, 4, n)],
            "key": random.integers(0, 5, n),
            "v": random.integers(0, 100, n),
        }
    )
    return table.take(np.argsort(ts + random.integers(0, late + 1, n), kind="stable"))


def cut(table: pa.Table, n_parts: int) -> list[pa.Table]:
    size = -(-table.num_rows // n_parts)
    return [table.slice(at, size) for at in range(0, table.num_rows, size)]


def expected(table: pa.Table, query: str, watermark: int, only: int | None = None) -> Counter[tuple[Any, ...]]:
    """What a Matcher gives up to a watermark, ms; of the first columns."""
    matcher = cep.Matcher(query, schema=table.schema, **COLUMNS)
    matcher.push(table)
    return Counter(tuple(row.values())[:only] for row in matcher.advance(watermark).to_pylist())


def test_a_stream_gives_what_is_decided(spark, tmp_path: Path):
    table = events(400)
    frame = stream_of(spark, tmp_path / "in", cut(table, 3))
    matches = cep.detect(frame, QUERY, watermark="4 ms", partitions=3, **COLUMNS)
    progress = run(matches, tmp_path)
    watermark = pa.compute.max(table["ts"]).as_py() - 4
    right = expected(table, QUERY, watermark - 1)
    assert len(right) > 20
    assert found(spark, tmp_path) == right
    assert sum(p["stateOperators"][0]["numRowsDroppedByWatermark"] for p in progress) == 0
    # All of it goes on from the checkpoint; what is filtered out by conditions moves the watermark, too.
    write_part(tmp_path / "in", pa.table({**events(1).to_pydict(), "ts": [10_000], "kind": ["D"]}))
    run(matches, tmp_path)
    right = expected(table, QUERY, 10_000)
    assert found(spark, tmp_path) == right


@pytest.mark.slow
def test_a_checkpoint_with_checksums_goes_on_without_them(spark, tmp_path: Path):
    table = events(400)
    frame = stream_of(spark, tmp_path / "in", cut(table.slice(0, 200), 2))
    matches = cep.detect(frame, QUERY, watermark="4 ms", partitions=3, **COLUMNS)
    run(matches, tmp_path)
    # As Hadoop's own file system writes it, with a .crc beside each file.
    hadoop = spark._jvm.org.apache.hadoop.fs
    conf = spark._jsc.hadoopConfiguration()
    with_checksums = hadoop.LocalFileSystem()
    with_checksums.initialize(hadoop.Path("file:///").toUri(), conf)
    (tmp_path / "out-checkpoint").rename(tmp_path / "plain")
    plain, old = (hadoop.Path(str(tmp_path / name)) for name in ("plain", "old"))
    assert hadoop.FileUtil.copy(plain.getFileSystem(conf), plain, with_checksums, old, False, conf)
    (tmp_path / "old").rename(tmp_path / "out-checkpoint")
    assert len(list((tmp_path / "out-checkpoint").rglob(".*.crc"))) > 10
    write_part(tmp_path / "in", table.slice(200))
    run(matches, tmp_path)
    assert found(spark, tmp_path) == expected(table, QUERY, pa.compute.max(table["ts"]).as_py() - 5)


def test_faults_of_streams_are_told_before_anything_runs(spark, tmp_path: Path):
    frame = stream_of(spark, tmp_path / "in", [events(3)])
    with pytest.raises(SchemaError, match="how late"):
        cep.detect(frame, QUERY, **COLUMNS)
    for wrong in ("soon", -1, True, "5 events"):
        with pytest.raises(SchemaError, match="no length of time"):
            cep.detect(frame, QUERY, watermark=wrong, **COLUMNS)
    timed = frame.withColumn("at", F.timestamp_millis("ts")).withWatermark("at", "3 seconds")
    with pytest.raises(SchemaError, match="withWatermark was called on the column 'at'"):
        cep.detect(timed, QUERY, watermark="1 s", **COLUMNS)
    with pytest.raises(SchemaError, match="leave one of them out"):
        cep.detect(timed, QUERY, watermark="1 s", **{**COLUMNS, "time": "at", "time_unit": None})
    with pytest.raises(SchemaError, match="cast it to timestamp"):
        cep.detect(
            frame.withColumn("ts", F.col("ts").cast("double")), "PATTERN SEQ(A a, B b)", watermark="1 s", **COLUMNS
        )
    with pytest.raises(SchemaError, match="two outputs of the stream are called 'late'"):
        cep.detect(frame, cep.QuerySet({"late": QUERY}), watermark="1 s", outputs=("matches", "late"), **COLUMNS)
    with pytest.raises(QueryError, match="nothing"):
        cep.detect(frame, cep.QuerySet({"q": QUERY, "nothing": "A a WHERE a.none > 1"}), watermark="1 s", **COLUMNS)
    with pytest.raises(SchemaError, match="some are not"):
        cep.detect({"A": frame, "B": spark.createDataFrame([(1,)], "ts long")}, "A a", time="ts", time_unit="ms")
    with pytest.raises(SchemaError, match="for streams"):
        cep.detect(spark.createDataFrame([(1,)], "ts long"), "* a", time="ts", time_unit="ms", watermark="1 s")
    matches = cep.detect(timed, QUERY, **{**COLUMNS, "time": "at", "time_unit": None})
    assert matches.isStreaming
    assert matches.columns == ["a", "n", "key"]


@pytest.mark.slow
def test_outputs_of_one_pass(spark, tmp_path: Path):
    table = pa.table(
        {
            "ts": [10, 20, None, 30, 5, 31, 90],
            "kind": ["A", "D", "A", "B", "A", "A", "B"],
            "key": [1, 1, 1, 1, 1, None, 1],
            "id": list(range(7)),
        }
    )
    parts = [table.slice(0, 4), table.slice(4, 3)]
    query = "PATTERN SEQ(A a, B b) WHERE SAME[key] WITHIN 50 ms RETURN a.id AS a, b.id AS b"
    frame = stream_of(spark, tmp_path / "in", parts)
    outputs = cep.detect(frame, query, watermark="10 ms", outputs=("matches", "late", "rejected"), **COLUMNS)
    assert isinstance(outputs, StreamOutputs)
    assert outputs.late.columns == table.column_names
    writers = {name: parquet_writer(str(tmp_path / name)) for name in ("matches", "late", "rejected")}
    with pytest.raises(SchemaError, match="was not asked for"):
        outputs.written_by({"timed_out": writers["late"]})
    writer = outputs.tagged.writeStream.foreachBatch(outputs.written_by(writers))
    query_run = writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start()
    query_run.awaitTermination()
    rows = {name: spark.read.parquet(str(tmp_path / name)).drop("batch").collect() for name in writers}
    assert [tuple(r) for r in rows["matches"]] == [(0, 3)]
    assert [r.id for r in rows["late"]] == [4]
    assert sorted((r.event.id, r.column) for r in rows["rejected"]) == [(2, "ts"), (5, "key")]
    # Each by itself is a stream, too.
    run(outputs.late, tmp_path, "late again")
    assert found(spark, tmp_path, "late again") == Counter([(5, "A", 1, 4)])
    alone = cep.detect(frame, query, watermark="10 ms", outputs="matches", **COLUMNS)
    assert isinstance(alone, StreamOutputs)
    run(alone.matches, tmp_path, "alone")
    assert found(spark, tmp_path, "alone") == Counter([(0, 3)])


@pytest.mark.slow
def test_a_stream_for_each_type(spark, tmp_path: Path):
    table = events(300, late=0)
    query = "PATTERN SEQ(A a, B b) WHERE SAME[key] AND a.v < b.v WITHIN 30 ms RETURN a.id AS a, b.id AS b"
    kinds = {}
    for name in "AB":
        of_kind = table.filter(pa.compute.equal(table["kind"], name)).drop_columns(["kind"])
        kinds[name] = stream_of(spark, tmp_path / name, cut(of_kind, 2))
    columns = {k: v for k, v in COLUMNS.items() if k != "type"}
    run(cep.detect(kinds, query, watermark="1 ms", partitions=2, **columns), tmp_path)
    # The stream that is behind says how far the watermark is.
    greatest = min(pa.compute.max(table.filter(pa.compute.equal(table["kind"], name))["ts"]).as_py() for name in "AB")
    assert found(spark, tmp_path) == expected(table, query, greatest - 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(A a, B b) WHERE a.v < b.v WITHIN 10 ms RETURN a.id AS a, b.id AS b",  # one bucket
        "PATTERN SEQ(A a, B b) WHERE SAME[key] WITHIN 10 ms",  # ids of matches, structs of events
        "PATTERN SEQ(A a, B b) WHERE a.key = b.key WITHIN 10 ms POLICY any RETURN a.id AS a, b.id AS b",
        "PATTERN SEQ(A a, B b) WHERE SAME[key] WINDOW 10 ms SLIDE 5 ms RETURN a.id AS a, b.id AS b",
        "PATTERN SEQ(A a, B b) WHERE SAME[key] WITHIN 10 ms AFTER MATCH SKIP PAST LAST RETURN a.id AS a, b.id AS b",
        "PATTERN SEQ(A a, B b) WHERE SAME[lower(concat(kind, '')) = 'a', key] WITHIN 10 ms RETURN a.id AS a, b.id AS b",
    ],
)
def test_kinds_of_queries(spark, tmp_path: Path, query: str):
    table = events(300)
    matches = cep.detect(stream_of(spark, tmp_path / "in", cut(table, 3)), query, watermark="4 ms", **COLUMNS)
    run(matches, tmp_path)
    compared = matches.columns[:1] if "match_id" in matches.columns else matches.columns
    rows = spark.read.parquet(str(tmp_path / "out")).select(*compared).collect()
    right = expected(table, query, pa.compute.max(table["ts"]).as_py() - 5, only=len(compared))
    assert Counter(map(tuple, rows)) == right


@pytest.mark.slow
def test_without_order_all_values_say_it(spark, tmp_path: Path):
    table = pa.table(
        {
            "ts": [1, 1, 1, 40],
            "kind": ["A", "A", "A", "B"],
            "key": [1] * 4,
            "v": [3, 1, 2, 0],
            "tags": [["x"], ["y"], None, []],
        }
    )
    columns = {k: v for k, v in COLUMNS.items() if k != "order"}
    query = "PATTERN SEQ(A+ a, B b) WHERE SAME[key] WITHIN 50 ms"
    ids = []
    for number, parts in enumerate(([table], [table.take([2, 0, 1, 3])])):
        frame = stream_of(spark, tmp_path / f"in{number}", parts)
        run(cep.detect(frame, query, watermark="0 s", **columns), tmp_path, f"out{number}")
        write_part(tmp_path / f"in{number}", pa.table({**table.slice(3, 1).to_pydict(), "ts": [1000]}, table.schema))
        run(cep.detect(frame, query, watermark="0 s", **columns), tmp_path, f"out{number}")
        rows = spark.read.parquet(str(tmp_path / f"out{number}")).collect()
        assert [event.v for event in rows[0].a] == [1, 2, 3]
        ids.append({row.match_id for row in rows})
    assert ids[0] == ids[1]
    batch = cep.detect(spark.createDataFrame(table.to_pandas()), query, **columns).collect()
    assert [e.v for e in batch[0].a] == [1, 2, 3]


@pytest.mark.slow
def test_the_time_of_matches_is_an_event_time(spark, tmp_path: Path):
    table = events(300, late=0)
    frame = stream_of(spark, tmp_path / "in", cut(table, 3)).withColumn("at", F.timestamp_millis("ts"))
    frame = frame.withWatermark("at", "5 milliseconds")
    assert frame.schema["at"].metadata == {DELAY_METADATA: 5}
    columns = {**COLUMNS, "time": "at", "time_unit": None}
    query = "PATTERN SEQ(A a, B b) WHERE SAME[key] WITHIN 10 ms RETURN a.id AS a, b.at AS at"
    matches = cep.detect(frame, query, idle_flush="1 hour", **columns)
    counts = matches.withWatermark("at", "10 milliseconds").groupBy(F.window("at", "100 milliseconds")).count()
    ends = counts.select(F.unix_millis("window.end").alias("end"), "count")
    # With beats on the wall clock, a run until nothing is left is one micro-batch.
    for _ in range(3):
        write_part(tmp_path / "in", events(1).set_column(1, "ts", pa.array([1_000])))
        run(ends, tmp_path)
    last = pa.compute.max(table["ts"]).as_py()
    right: Counter[int] = Counter()
    by_id = dict(zip(table["id"].to_pylist(), table["ts"].to_pylist(), strict=True))
    pairs = "PATTERN SEQ(A a, B b) WHERE SAME[key] WITHIN 10 ms RETURN a.id AS a, b.id AS b"
    for (_, b), n in expected(table, pairs, last).items():
        right[by_id[b] // 100 * 100 + 100] += n
    got = dict(found(spark, tmp_path).keys())
    # The watermark of the count follows the matches, of which the last are about as old as the last events.
    done = {end: n for end, n in right.items() if end <= last - 20}
    assert len(done) >= 2
    assert {end: n for end, n in got.items() if end <= last - 20} == done


@pytest.mark.slow
def test_a_changed_query_is_refused(spark, tmp_path: Path):
    frame = stream_of(spark, tmp_path / "in", [events(50)])
    run(cep.detect(frame, QUERY, watermark="4 ms", **COLUMNS), tmp_path)
    write_part(tmp_path / "in", events(10))
    for query, options, what in [
        (QUERY.replace("20 ms", "30 ms"), {}, "the query"),
        (QUERY, {"partitions": 5}, "the number of buckets 16"),
    ]:
        with pytest.raises(
            StreamingQueryException, match=rf"the checkpoint was made with {what}(.|\n)*new checkpointLocation"
        ):
            run(cep.detect(frame, query, watermark="4 ms", **options, **COLUMNS), tmp_path)
    # How late events may be is no part of it.
    run(cep.detect(frame, QUERY, watermark="9 ms", **COLUMNS), tmp_path)
