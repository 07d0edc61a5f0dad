"""JSON texts as columns of Spark: each text is an event or is told with the reason."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from cepheid.errors import SchemaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "a bigint, b string, c boolean, d double, t timestamp"
READ = {
    '{"a": 1, "b": "x", "c": true, "d": 1.5}': {"a": 1, "b": "x", "c": True, "d": 1.5},
    '  {"a": 7, "d": 1, "other": [1, {}]}\n': {"a": 7, "d": 1.0},
    '{"a": 1, "b": null}': {"a": 1},
    '{"a": 1, "b": 5}': {"a": 1, "b": "5"},
    '{"a": 1, "t": "2024-05-01T10:00:00.123456+02:00"}': {"a": 1, "t": datetime(2024, 5, 1, 8, 0, 0, 123456, UTC)},
    '{"a": 1, "t": "2024-05-01 10:00"}': {"a": 1, "t": datetime(2024, 5, 1, 10, tzinfo=UTC)},
}
REJECTED = {
    None: (None, "no value"),
    "": (None, "not a JSON object"),
    "nope": (None, "not a JSON object"),
    "5": (None, "not a JSON object"),
    "null": (None, "not a JSON object"),
    "[]": (None, "not a JSON object"),
    '[{"a": 1}]': (None, "not a JSON object"),
    '{"a": ': (None, "not a JSON object"),
    '{"a": 1} {"a": 2}': (None, "not a JSON object"),
    '{"a": 1}, {"a": 2}': (None, "not a JSON object"),
    '{"a": 1} and more': (None, "not a JSON object"),
    '{"a": 1}]}': (None, "not a JSON object"),
    "{'a': 1}": (None, "not a JSON object"),
    '{"a": 1, "d": NaN}': (None, "not a JSON object"),
    '{"a": "1"}': ("a", "not an int"),
    '{"a": 1.5}': ("a", "not an int"),
    '{"a": 99999999999999999999}': ("a", "not an int"),
    '{"a": 1, "c": "true"}': ("c", "not a bool"),
    '{"a": 1, "d": "1.5"}': ("d", "not a float"),
    '{"a": 1, "t": 1714557600}': ("t", "not an ISO 8601 time"),
    '{"a": 1, "t": "soon"}': ("t", "not an ISO 8601 time"),
    '{"A": 1}': ("a", "no a"),
}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_each_text_is_an_event_or_told(spark: SparkSession, zone: str) -> None:
    from pyspark.sql import types

    from cepheid.spark.json_values import N_RAW_MAX, parse_json

    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        texts = [*READ, *REJECTED, "x" * 300]
        frame = spark.createDataFrame(list(enumerate(texts)), "n int, value string")
        read = parse_json(frame, "value", types.StructType.fromDDL(SCHEMA), required=("a",))
        events = {row["n"]: row for row in read.events.toArrow().to_pylist()}
        rejected = {row["n"]: row for row in read.rejected.toArrow().to_pylist()}
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    for n, wanted in enumerate(READ.values()):
        assert {name: value for name, value in events[n].items() if value is not None and name != "n"} == wanted
    for n, (text, (column, reason)) in enumerate(REJECTED.items(), start=len(READ)):
        assert rejected[n] == {"n": n, "column": column, "reason": reason, "raw": text}
    assert len(rejected[len(texts) - 1]["raw"]) == N_RAW_MAX
    assert len(events) + len(rejected) == len(texts)


def test_rows_as_json(spark: SparkSession) -> None:
    from cepheid.spark.json_texts import json_text

    frame = spark.sql(
        "SELECT 1.50BD AS m, INTERVAL '1' DAY + INTERVAL '0.25' SECOND AS long, CAST(NULL AS INT) AS none, "
        "double('NaN') AS d, TIMESTAMP'2024-05-01 10:00:00+02:00' AS t, TIMESTAMP_NTZ'2024-05-01 10:00:00' AS n, "
        "ARRAY(NAMED_STRUCT('m', 2.5BD), NULL) AS l, CAST(NULL AS STRUCT<m: DECIMAL(2,1)>) AS s"
    )
    (row,) = frame.select(json_text(frame.schema)).collect()
    assert json.loads(row[0]) == {
        "m": "1.50",
        "long": 86400.25,
        "none": None,
        "d": "NaN",
        "t": "2024-05-01T08:00:00.000000Z",
        "n": "2024-05-01T10:00:00.000000Z",
        "l": [{"m": "2.5"}, None],
        "s": None,
    }


def test_names_that_clash_are_refused(spark: SparkSession) -> None:
    from pyspark.sql import types

    from cepheid.spark.json_values import parse_json

    frame = spark.createDataFrame([(1, "{}")], "n int, value string")
    with pytest.raises(SchemaError, match="a field 'n'"):
        parse_json(frame, "value", types.StructType.fromDDL("n int"))
