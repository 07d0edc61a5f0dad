"""cep.detect on batch DataFrames gives what one run over all events gives."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import logging
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cepheid.engine.output import assemble
from cepheid.engine.session import run
from cepheid.errors import NotSupportedError, ParameterError, QueryError, SchemaError, SetupError
from cepheid.events import types
from cepheid.events.ingest import read_events, schema_of
from cepheid.events.merge import read_tables
from cepheid.events.types import FLOAT, INT
from cepheid.language.bound import Catalog, Function, Store
from cepheid.language.parameters import with_parameters
from cepheid.query import Query
from cepheid.spark.detect import detect
from cepheid.spark.shipment import Shipment

pytestmark = pytest.mark.oldest

N_EVENTS = 600
COLUMNS = {"time": "ts", "type": "kind", "time_unit": "ms", "order": "id"}


def events_table() -> pa.Table:
    """Events of four types and six keys, many of one time, some without a key."""
    random = np.random.default_rng(7)
    keys = [None if k == 6 else int(k) for k in random.integers(0, 7, N_EVENTS)]
    return pa.table(
        {
            "id": pa.array(range(N_EVENTS), pa.int64()),
            "ts": pa.array(np.cumsum(random.integers(0, 3, N_EVENTS)), pa.int64()),
            "kind": pa.array(np.array(list("ABCD"))[random.integers(0, 4, N_EVENTS)]),
            "key": pa.array(keys, pa.int32()),
            "other": pa.array(keys, pa.int32()),
            "v": pa.array(random.integers(0, 100, N_EVENTS), pa.int32()),
            "w": pa.array(np.round(random.uniform(0, 10, N_EVENTS), 2)),
            "unused": pa.array([f"text {i}" for i in range(N_EVENTS)]),
        }
    )


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return events_table()


@pytest.fixture(scope="module")
def frame(spark, table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = str(tmp_path_factory.mktemp("events") / "events.parquet")
    spark.createDataFrame(table.to_pandas(integer_object_nulls=True), spark_schema()).orderBy(F.rand(3)).write.parquet(
        path
    )
    return spark.read.parquet(path)


def spark_schema() -> T.StructType:
    integers = {"id": T.LongType(), "ts": T.LongType(), "key": T.IntegerType(), "other": T.IntegerType()}
    rest = {"v": T.IntegerType(), "w": T.DoubleType()}
    return T.StructType(
        [T.StructField(n, {**integers, **rest}.get(n, T.StringType())) for n in events_table().column_names]
    )


def at_once(table: pa.Table, query: str, catalog: Catalog | None = None, **columns: Any) -> pa.Table:
    """The matches of one run over all events."""
    schema = schema_of(
        table,
        time=columns["time"],
        type=columns.get("type"),
        time_unit=columns.get("time_unit"),
        order=[columns["order"]] if "order" in columns else [],
    )
    bound = with_parameters(Query.parse(query).bind(schema, catalog), columns.get("parameters", {}))
    batch = read_events(table, schema)
    return assemble(bound, batch, run(bound, batch))


def rows(matches: pa.Table) -> Counter[str]:
    return Counter(repr(row) for row in matches.to_pylist())


def assert_same(found: DataFrame, expected: pa.Table) -> None:
    got = found.toArrow()
    assert got.column_names == expected.column_names
    assert rows(got.cast(expected.schema)) == rows(expected)


RETURN = "RETURN a.id AS a, last(b).id AS b, c.id AS c, sum(b.w) AS w, a.v + c.v AS v"
KEYED = [
    "PATTERN SEQ(A a, B b, C c) WHERE SAME[key] AND a.v < b.v WITHIN 40 ms POLICY any",
    "PATTERN SEQ(A a, B+ b, C c) WHERE SAME[key, kind = 'Z'] AND b.v > a.v WITHIN 60 ms",
    "PATTERN SEQ(A a, B b, NOT D d, C c) WHERE SAME[key] AND d.v > 50 AND a.w > 2.5 WITHIN 60 ms POLICY any",
    "PATTERN SEQ(A a, B+ b, C c) WHERE a.key = b.key AND b.key = c.key WITHIN 20 ms POLICY any",
    "PATTERN SEQ(A a, B b, C c) WHERE a.key = b.other AND a.key = c.key WITHIN 40 ms",
    "PATTERN SEQ(A a, B b, C c) WHERE SAME[key] AND a.v < b.v WITHIN 40 ms POLICY any AFTER MATCH SKIP PAST LAST",
]


@pytest.mark.parametrize("query", KEYED)
def test_keyed_patterns(frame: DataFrame, table: pa.Table, query: str):
    text = f"{query} {RETURN}"
    expected = at_once(table, text, **COLUMNS)
    assert len(expected) > 5
    found = detect(frame, text, **COLUMNS)
    assert_same(found, expected)
    assert "hashpartitioning" in plan_of(found)


UNKEYED = [
    "PATTERN SEQ(A a, B b, C c) WHERE a.v < b.v AND b.v > 60 WITHIN 6 ms POLICY any",
    "PATTERN SEQ(A a, B b, C c) WHERE a.v > 40 WITHIN 5 ms EXCLUSIVE",
    "PATTERN SEQ(A a, C c, B+ b) WHERE a.v > c.v WITHIN 6 ms",
    "PATTERN SEQ(A a, B+ b, C c) WHERE c.w > 4.0 WITHIN 6 ms BETWEEN EACH 3 ms POLICY any",
]


@pytest.mark.parametrize("query", UNKEYED)
def test_unkeyed_patterns_are_cut_by_time(frame: DataFrame, table: pa.Table, query: str):
    text = f"{query} {RETURN}"
    expected = at_once(table, text, **COLUMNS)
    assert len(expected) > 20
    found = detect(frame, text, partitions=5, **COLUMNS)
    assert_same(found, expected)
    assert "cepheid piece" in plan_of(found)


def test_pieces_are_no_shorter_than_their_margins_allow(frame: DataFrame, table: pa.Table):
    text = f"PATTERN SEQ(A a, B b, C c) WHERE a.v < 10 WITHIN 290 ms {RETURN}"
    assert_same(detect(frame, text, partitions=7, **COLUMNS), at_once(table, text, **COLUMNS))


OTHERS = [
    "PATTERN SEQ(A a, B b, C c) WHERE a.v = b.v AND b.w < c.w",
    # A match that is kept in one piece discards matches in the next.
    "PATTERN SEQ(A a, B b, C c) WHERE a.v < b.v WITHIN 6 ms AFTER MATCH SKIP PAST LAST",
]


@pytest.mark.parametrize("query", OTHERS)
def test_other_unkeyed_patterns_take_one_partition(
    frame: DataFrame, table: pa.Table, caplog: pytest.LogCaptureFixture, query: str
):
    text = f"{query} {RETURN}"
    with caplog.at_level(logging.WARNING, logger="cepheid.spark"):
        found = detect(frame, text, **COLUMNS)
    assert "one partition" in caplog.text
    assert_same(found, at_once(table, text, **COLUMNS))


def test_default_output_has_the_ids_of_a_run_in_one_process(frame: DataFrame, table: pa.Table):
    text = "PATTERN SEQ(A a, B+ b, C c) WHERE SAME[key] AND a.v < :limit WITHIN 30 ms"
    columns = {**COLUMNS, "parameters": {"limit": 40}}
    found, expected = detect(frame, text, **columns), at_once(table, text, **columns)
    assert_same(found, expected)
    assert isinstance(found.schema["b"].dataType, T.ArrayType)


def test_without_order_the_matches_do_not_depend_on_the_order_of_rows(spark, frame: DataFrame):
    text = "PATTERN SEQ(A a, B b, C c) WHERE SAME[key] WITHIN 40 ms"
    columns = {k: v for k, v in COLUMNS.items() if k != "order"}
    one = detect(frame, text, **columns).toArrow()
    other = detect(frame.orderBy(F.desc("id")), text, partitions=3, **columns).toArrow()
    assert rows(one) == rows(other)
    assert len(set(one.column("match_id").to_pylist())) == len(one)


def test_a_dataframe_per_type(frame: DataFrame, table: pa.Table):
    kinds = {name: frame.where(F.col("kind") == name).drop("kind") for name in "ABC"}
    kinds["B"] = kinds["B"].withColumn("v", F.col("v").cast("long")).drop("unused", "other")
    text = f"PATTERN SEQ(A a, B b, C c) WHERE SAME[key] AND a.other > 1 AND c.v < 30 WITHIN 60 ms {RETURN}"
    columns = {k: v for k, v in COLUMNS.items() if k != "type"}
    found = detect(kinds, text, **columns)
    scans = [line for line in plan_of(found).splitlines() if "PushedFilters" in line]
    tables = {name: table.filter(pa.compute.equal(table["kind"], name)).drop_columns(["kind"]) for name in "ABC"}
    tables["B"] = tables["B"].drop_columns(["unused", "other"])
    merged, schema = read_tables(tables, time="ts", time_unit="ms", order=["id"])
    bound = Query.parse(text).bind(schema)
    batch = read_events(merged, schema)
    expected = assemble(bound, batch, run(bound, batch))
    assert len(expected) > 3
    assert rows(found.toArrow().cast(expected.schema)) == rows(expected)
    assert len(scans) == 3
    assert "GreaterThan(other,1)" in scans[0]
    assert "LessThan(v,30)" in scans[2]
    assert all("unused" not in scan for scan in scans)


def test_keys_that_spark_does_not_compute(spark, frame: DataFrame, table: pa.Table):
    remainder = 3
    catalog = Catalog(
        functions={
            "bucket": Function("bucket", (types.INT,), types.INT, lambda k: None if k is None else k % remainder)
        }
    )
    text = f"PATTERN SEQ(A a, B b, C c) WHERE SAME[bucket(key)] AND a.v < b.v AND bucket(c.v) = 1 WITHIN 20 ms {RETURN}"
    expected = at_once(table, text, catalog, **COLUMNS)
    assert len(expected) > 5
    assert_same(detect(frame, text, catalog=catalog, **COLUMNS), expected)


def test_conditions_that_only_python_computes(spark, frame: DataFrame, table: pa.Table):
    most = 20

    def near(v: int, w: int) -> bool:
        return abs(v - w) < most

    catalog = Catalog(functions={"near": Function("near", (types.INT, types.INT), types.BOOL, near)})
    text = (
        "PATTERN SEQ(A a, B b, C c) WHERE SAME[key] AND near(a.v, b.v) AND NOT near(b.v, c.v) "
        f"AND concat(a.unused, b.unused) < c.unused WITHIN 40 ms POLICY any {RETURN}"
    )
    expected = at_once(table, text, catalog, **COLUMNS)
    assert len(expected) > 5
    assert_same(detect(frame, text, catalog=catalog, **COLUMNS), expected)


def test_a_function_between_events_that_raises_fails_the_job(spark, frame: DataFrame):
    def fails(v: int, w: int) -> bool:
        raise ValueError("no")

    catalog = Catalog(functions={"f": Function("f", (types.INT, types.INT), types.BOOL, fails)})
    text = "PATTERN SEQ(A a, B b) WHERE SAME[key] AND f(a.v, b.v) WITHIN 20 ms RETURN a.id AS a"
    with pytest.raises(PythonException, match=r"1:43: the function f raised ValueError: no, for .*, on a at 1970"):
        detect(frame, text, catalog=catalog, **COLUMNS).collect()


def test_a_function_that_gives_another_type_fails_the_job(spark, frame: DataFrame):
    catalog = Catalog(functions={"f": Function("f", (types.INT,), types.INT, lambda v: str(v))})
    text = "PATTERN SEQ(A a, B b) WHERE SAME[key] AND f(a.v) = 1 WITHIN 20 ms RETURN a.id AS a"
    with pytest.raises(PythonException, match=r"1:43: the function f gave '.*' \(str\), which is no int"):
        detect(frame, text, catalog=catalog, **COLUMNS).collect()


def test_types_travel(spark):
    schema = T.StructType(
        [
            T.StructField("at", T.TimestampNTZType()),
            T.StructField("seen", T.TimestampType()),
            T.StructField("day", T.DateType()),
            T.StructField("price", T.DecimalType(12, 2)),
            T.StructField("small", T.ShortType()),
            T.StructField("ratio", T.FloatType()),
            T.StructField("tags", T.ArrayType(T.StringType(), containsNull=False)),
            T.StructField("place", T.StructType([T.StructField("x", T.IntegerType(), nullable=False)])),
            T.StructField("labels", T.MapType(T.StringType(), T.IntegerType())),
            T.StructField("raw", T.BinaryType()),
            T.StructField("took", T.DayTimeIntervalType()),
        ]
    )
    frame = spark.createDataFrame(
        [
            (
                dt.datetime(2024, 3, 10, 2, 30, i),
                dt.datetime(2024, 1, 1, 0, 0, i),
                dt.date(2024, 1, 1 + i),
                Decimal("1.50") + i,
                i,
                0.5 * i,
                ["x", f"t{i}"],
                (i,),
                {"a": i},
                bytes([i]),
                dt.timedelta(seconds=i),
            )
            for i in range(4)
        ],
        schema,
    ).withColumn("doc", F.parse_json(F.format_string('{"n": %d}', F.col("small"))))
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        found = detect(frame, "PATTERN SEQ(* a, * b) WHERE b.small = a.small + 1 WITHIN 5 s", time="at")
        got = [row.asDict() for row in found.orderBy("first_time").collect()]
        given = {row.small: row.asDict() for row in frame.collect()}
        for name in frame.columns:
            assert (
                found.schema["a"].dataType[name].dataType.simpleString() == frame.schema[name].dataType.simpleString()
            )
        assert [row["a"].small for row in got] == [0, 1, 2]
        for row in got:
            for name in frame.columns:
                value, original = row["a"][name], given[row["a"].small][name]
                assert str(value) == str(original), name
        returned = detect(
            frame,
            "PATTERN SEQ(* a, *+ b) WHERE a.small = 0 AND b.price > 2.0 AND a.day < b.day WITHIN 5 s "
            "RETURN a.place.x AS x, b.tags AS tags, b.doc AS docs, sum(b.price) AS total, last(b).seen AS seen, "
            "last(b).at - a.at AS took",
            time="at",
        ).collect()
        assert len(returned) == 1
        assert returned[0].tags == [["x", "t1"], ["x", "t2"], ["x", "t3"]]
        assert [str(d) for d in returned[0].docs] == ['{"n":1}', '{"n":2}', '{"n":3}']
        assert returned[0].total == Decimal("10.50")
        assert returned[0].took == dt.timedelta(seconds=3)
        assert returned[0].seen == given[3]["seen"]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_names_with_dots_and_backticks(spark):
    frame = spark.createDataFrame([(1, "A", 5, 1), (2, "B", 6, 1)], ["the.time", "a`kind", "v`.x", "k y"])
    found = detect(
        frame,
        'PATTERN SEQ(A a, B b) WHERE SAME["k y"] AND a."v`.x" < b."v`.x" AND b."v`.x" > 5 WITHIN 5 s '
        'RETURN a."v`.x" AS "v.1", b."k y" AS "k`y"',
        time="the.time",
        type="a`kind",
        time_unit="s",
    )
    assert [tuple(row) for row in found.collect()] == [(5, 1)]
    assert found.columns == ["v.1", "k`y"]


def test_only_what_the_query_names_is_read(frame: DataFrame):
    found = detect(
        frame, "PATTERN SEQ(A a, B b) WHERE SAME[key] AND a.v > 97 AND b.v = 3 WITHIN 5 ms RETURN a.id AS a", **COLUMNS
    )
    plan = plan_of(found)
    scan = next(line for line in plan.splitlines() if "ReadSchema" in line)
    assert "unused" not in scan
    assert "w:double" not in scan
    assert "GreaterThan(v,97)" in scan


def test_events_without_a_place_are_counted(spark, frame: DataFrame):
    lost = frame.withColumn("ts", F.when(F.col("id") % 100 == 1, None).otherwise(F.col("ts")))
    lost = lost.withColumn("kind", F.when(F.col("id") % 100 == 2, None).otherwise(F.col("kind")))
    observation = Observation("events")
    text = "PATTERN SEQ(A a, B b) WHERE SAME[key] WITHIN 5 ms RETURN a.id AS a"
    detect(lost, text, observation=observation, **COLUMNS).count()
    n_without_key = sum(k is None for k in events_table().column("key").to_pylist())
    assert observation.get == {
        "n_events": N_EVENTS,
        "n_without_time": 6,
        "n_without_type": 6,
        "n_without_key": n_without_key,
    }


def test_no_events(spark, frame: DataFrame):
    text = "PATTERN SEQ(A a, B b) WITHIN 5 ms"
    assert detect(frame.limit(0), text, **COLUMNS).collect() == []
    assert detect(frame.where("kind = 'C'"), text, partitions=3, **COLUMNS).count() == 0


QUERY = "PATTERN SEQ(A a, B b) WITHIN 5 s"


def test_faults_are_told_before_anything_runs(spark, frame: DataFrame):
    for partitions in (0, -1, "2", 2**31):
        with pytest.raises(SchemaError, match="partitions="):
            detect(frame, QUERY, partitions=partitions, **COLUMNS)
    with pytest.raises(SchemaError, match="no column 'when'"):
        detect(frame, QUERY, time="when", type="kind")
    with pytest.raises(SchemaError, match="time_unit"):
        detect(frame, QUERY, time="ts", type="kind")
    with pytest.raises(SchemaError, match="key"):
        detect(frame, QUERY, time="id", type="key", time_unit="ms")
    with pytest.raises(QueryError, match="nothing"):
        detect(frame, "PATTERN SEQ(A a, B b) WHERE a.nothing > 1 WITHIN 5 s", **COLUMNS)
    with pytest.raises(ParameterError, match=":limit"):
        detect(frame, "PATTERN SEQ(A a, B b) WHERE a.v > :limit WITHIN 5 s", **COLUMNS)
    limits = Catalog(stores={"limits": Store("limits", key=(INT,), fields={"": FLOAT})})
    with pytest.raises(NotSupportedError, match="engine cannot run"):
        detect(frame, "PATTERN SEQ(A a, B b) WHERE b.v > REMOTE limits[a.v] WITHIN 5 s", catalog=limits, **COLUMNS)
    with pytest.raises(SchemaError, match="use cep"):
        detect(events_table(), QUERY, **COLUMNS)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="more than one column"):
        detect(frame.select("*", F.lit(1).alias("V")), QUERY, **COLUMNS)
    with pytest.raises(SchemaError, match="'v'"):
        detect(
            {"A": frame.drop("kind"), "B": frame.select("ts", "id", F.col("w").alias("v"))},
            QUERY,
            time="ts",
            time_unit="ms",
            order="id",
        )
    months = frame.withColumn("months", F.make_ym_interval(F.lit(1)))
    with pytest.raises(SchemaError, match="interval"):
        detect(months, QUERY, **COLUMNS)
    assert detect(months, f"{QUERY} RETURN a.id AS a", **COLUMNS).columns == ["a"]


def test_an_executor_with_another_version_says_so(frame: DataFrame):
    shipment = Shipment("0.0.0", b"", tuple(frame.columns))
    with pytest.raises(SetupError, match="driver runs"):
        shipment.open()
    with pytest.raises(PythonException, match=r"driver runs cepheid 0\.0\.0(.|\n)*install cepheid==0\.0\.0"):
        frame.mapInArrow(shipment, frame.schema).count()


def plan_of(frame: DataFrame) -> str:
    """Spark's physical plan as it prints it."""
    printed = io.StringIO()
    frame.sparkSession.conf.set("spark.sql.maxMetadataStringLength", "2000")
    with contextlib.redirect_stdout(printed):
        frame.explain()
    return printed.getvalue()
