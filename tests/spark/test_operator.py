"""What an executor does with a partition, without Spark around it."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import types as spark_types

from cepheid.engine.output_schema import output_schema
from cepheid.events.ingest import schema_of
from cepheid.language.bound import BoundQuery
from cepheid.query import Query
from cepheid.spark.operator import HOME, PIECE, Detection
from cepheid.spark.shipment import Operator, Shipment, through

TEXT = "PATTERN SEQ(A a, B b) WITHIN 2 ms POLICY any"


def table_of(n: int = 40) -> pa.Table:
    return pa.table(
        {
            "id": np.arange(n),
            "ts": np.arange(n) // 2,
            "kind": ["A" if i % 3 else "B" for i in range(n)],
            "tags": [[i % 2] for i in range(n)],
        }
    )


def bound_to(table: pa.Table, text: str, order: tuple[str, ...] = ("id",)) -> BoundQuery:
    return Query.parse(text).bind(schema_of(table, time="ts", type="kind", time_unit="ms", order=order))


def found(operator: Detection, *tables: pa.Table) -> list[dict[str, Any]]:
    batches = [batch for table in tables for batch in table.to_batches(max_chunksize=7)]
    return sorted((row for out in operator(iter(batches)) for row in out.to_pylist()), key=repr)


def test_pieces_in_one_partition_are_streams_of_their_own():
    table = table_of()
    bound = bound_to(table, f"{TEXT} RETURN a.id AS a, b.id AS b")
    output = output_schema(bound, table.schema)
    whole = found(Detection(bound, output), table)
    assert len(whole) > 20
    ts = table["ts"].to_numpy()
    pieces = []
    for piece, (begin, end) in enumerate([(-1, 6), (6, 13), (13, 99)]):
        inside = (ts > begin - 2) & (ts <= end)
        home = (ts > begin) & (ts <= end)
        columns = table.append_column(PIECE, pa.array(np.full(len(ts), piece, np.int32))).append_column(HOME, [home])
        pieces.append(columns.filter(pa.array(inside)))
    cut = Detection(bound, output, pieces=True)
    assert found(cut, *pieces) == whole
    assert found(cut, pieces[2], pieces[0], pieces[1]) == whole


def test_a_partition_without_rows_gives_nothing():
    table = table_of()
    bound = bound_to(table, TEXT)
    operator = Detection(bound, output_schema(bound, table.schema))
    assert found(operator) == []
    assert found(operator, table.slice(0, 0)) == []


def test_events_are_known_by_all_their_values_where_no_order_is_named():
    table = table_of()
    bound = bound_to(table, TEXT, order=())
    operator = Detection(bound, output_schema(bound, table.schema))
    one, other = found(operator, table), found(operator, table.take(pa.array(np.arange(40)[::-1])))
    assert one == other
    assert len({row["match_id"] for row in one}) == len(one)
    # Also by values that have no order.
    tags = table.set_column(3, "tags", pa.array([[5]] * len(table)))
    ids = {row["match_id"] for row in found(Detection(bound, output_schema(bound, tags.schema)), tags)}
    assert ids.isdisjoint(row["match_id"] for row in one)


def test_ties_and_events_without_a_place_are_logged(caplog: pytest.LogCaptureFixture):
    table = table_of().set_column(1, "ts", pa.array(["1970-01-01 00:00:01"] * 39 + ["never"]))
    bound = bound_to(table, f"{TEXT} RETURN a.id AS a", order=())
    with caplog.at_level(logging.WARNING, logger="cepheid.spark"):
        found(Detection(bound, output_schema(bound, table.schema)), table)
    assert "1 events of this partition cannot be placed" in caplog.text
    assert "39 of 39 events" in caplog.text


def test_columns_travel_by_position():
    table = table_of()
    bound = bound_to(table, f"{TEXT} RETURN a.id AS a, b.id AS b")
    operator = Detection(bound, output_schema(bound, table.schema))
    shipment = Shipment.of(operator, table.column_names)
    renamed = table.rename_columns(["c0", "c1", "c2", "c3"]).to_batches()
    assert (
        pa.Table.from_batches(list(shipment(iter(renamed)))).to_pylist()
        == pa.Table.from_batches(list(operator(iter(table.to_batches())))).to_pylist()
    )


def telling() -> Operator:
    """An operator that tells how many objects the worker's collector passes over."""

    class Telling:  # travels by value: a worker need not find the tests
        def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
            yield pa.RecordBatch.from_pydict({"n": pa.array([gc.get_freeze_count() for _ in batches][:1], pa.int64())})

    return Telling()


def test_an_operator_is_opened_once():
    shipment = Shipment.of(telling(), ["n"])
    assert shipment.open() is shipment.open()
    assert gc.get_freeze_count() == 0  # the process of the user is left alone


def test_the_collector_of_a_worker_passes_over_what_was_imported(spark):
    frame = through(spark.range(1), telling(), spark_types.StructType().add("n", spark_types.LongType()))
    assert frame.collect()[0].n > 10_000
