"""Files that executors read as wholes: events, rejected rows and rejected files in one table."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as spark

from cepheid.connectors.column_types import column_type
from cepheid.connectors.whole_files import CsvBytes
from cepheid.spark.batch import declared_schema_of
from cepheid.spark.whole_files import FileReading, row_columns


def test_events_and_what_is_none_of_them():
    fields = spark.StructType().add("ts", "timestamp").add("kind", "string").add("amount", "double")
    _, output = declared_schema_of(row_columns(fields))
    types = {"ts": column_type("timestamp"), "kind": column_type("text"), "amount": column_type("float")}
    reading = FileReading(CsvBytes(types), ("ts", "kind"), output)
    contents = [b"kind,ts,amount\nA,2024-05-01,1\n,2024-05-02,2\nB,x,3\n", b"a,b\n"]
    files = pa.RecordBatch.from_arrays([pa.array(["in/a.csv", "in/b.csv"]), pa.array(contents)], ["path", "content"])
    parts = list(reading(iter([files])))
    assert all(part.schema.equals(output) for part in parts)
    rows = [tuple(row.values()) for part in parts for row in part.to_pylist()]
    events = [(row[0], row[2], row[3]) for row in rows if row[-1] is None]
    assert events == [("in/a.csv", "A", 1.0)]
    rejected = [(row[0], *row[-1].values()) for row in rows if row[-1] is not None]
    assert rejected == [
        ("in/a.csv:4", "ts", "not an ISO 8601 time", "B,x,3"),
        ("in/a.csv", "kind", "no kind", None),
        ("in/b.csv", None, "the file has no column 'ts', which is declared; its columns are: a, b", None),
    ]
