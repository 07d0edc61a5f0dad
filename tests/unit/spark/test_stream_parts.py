"""The parts of a stream on Spark that need no Spark: clock, lengths of time, state, packs and buckets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import types as spark

import cepheid as cep
from cepheid.engine.stream import Stream
from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.errors import DataError, SchemaError
from cepheid.events.ingest import schema_of
from cepheid.events.lengths import length_us
from cepheid.spark.streams import packs, state
from cepheid.spark.streams.buckets import _murmur3, labels
from cepheid.spark.streams.clock import Clock, Heard, reported_us
from cepheid.spark.streams.told_types import told_types
from cepheid.spark.streams.unread import UNREAD, UNREAD_COLUMN, PassingOn


def test_the_clock_follows_the_source_that_is_behind():
    clock = Clock.of(2).after(Heard((10_000, None)), 0, (1_000, 0))
    assert clock.watermark_us(0, None) == BEFORE_ALL_US
    assert clock.unheard == [1]
    clock = clock.after(Heard((None, 5_000)), 0, (1_000, 0))
    assert clock.watermark_us(0, None) == 4_999
    clock = clock.after(Heard((None, 50_000)), 0, (1_000, 0))
    assert clock.watermark_us(0, None) == 8_999
    # Spark has seen events that were filtered out.
    clock = clock.after(Heard((None, None)), 30, (1_000, 0))
    assert clock.watermark_us(30, None) == 29_999
    assert Clock.from_said(clock.said()) == clock


def test_the_clock_goes_on_with_the_wall_clock():
    clock = Clock.of(1).after(Heard((None,), 500), 0, (0,))
    assert clock.watermark_us(0, 100) == BEFORE_ALL_US
    clock = clock.after(Heard((10_000,), 1_000), 0, (0,))
    clock = clock.after(Heard((None,), 1_099), 0, (0,))
    assert clock.watermark_us(0, 100) == 9_999
    clock = clock.after(Heard((None,), 1_100), 0, (0,))
    assert clock.watermark_us(0, 100) == 10_099
    assert clock.watermark_us(0, None) == 9_999
    clock = clock.after(Heard((10_050,), 1_150), 0, (0,))
    assert clock.watermark_us(0, 100) == 10_049  # of the events alone: what has passed once stays passed elsewhere


def test_a_silent_source_holds_nothing_back_for_longer_than_asked_for():
    clock = Clock.of(2).after(Heard((10_000, None), 1_000), 0, (0, 0))
    assert clock.watermark_us(0, 100) == BEFORE_ALL_US
    clock = clock.after(Heard((None, None), 1_200), 0, (0, 0))
    assert clock.watermark_us(0, 100) == 10_199


def test_an_event_at_the_watermark_of_spark_is_on_time():
    assert reported_us(5) == 4_999
    assert reported_us(0) == BEFORE_ALL_US


def test_parts_of_a_batch_are_heard_together():
    assert Heard((1, None), 4).and_also(Heard((0, 2))) == Heard((1, 2), 4)


@pytest.mark.parametrize(
    ("length", "us"),
    [("10 seconds", 10_000_000), ("1.5 min", 90_000_000), (timedelta(milliseconds=3), 3_000), (2, 2_000), (0.5, 500)],
)
def test_lengths_of_time(length: Any, us: int):
    assert length_us(length, "watermark", "ms") == us


def test_numbers_need_a_unit():
    with pytest.raises(SchemaError, match="in which unit"):
        length_us(3, "watermark", None)


def test_buckets_are_spread_evenly():
    # SELECT hash(0), hash(1) in Spark.
    assert _murmur3(np.array([0, 1], np.uint32)).tolist() == [933211791, -559580957]
    chosen = _murmur3(np.array(labels(64), np.uint32)).astype(np.int64)
    for n_partitions in (2, 4, 8, 16, 32):
        assert np.bincount(chosen % n_partitions).tolist() == [64 // n_partitions] * n_partitions
    assert labels(64)[:16] == labels(16)


QUERY = "PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10 s RETURN a.ts AS a, b.ts AS b"
EVENTS = pa.table({"ts": [1, 2, 3, 30], "kind": ["A", "B", "A", "B"], "k": [1, 1, None, 1]})


def test_packs_hold_what_was_given():
    table = EVENTS.append_column("cepheid bucket", pa.array([1, 0, 1, 1], pa.int32()))
    packing = packs.Packing(EVENTS.schema, (("text of k", "k"),), "ts", "s", (7, 9, 11))
    (batch,) = packing(iter(table.to_batches()))
    assert batch.column(0).to_pylist() == [7, 9, 11]
    parts = [packs.unpack(payload, packing.packed) for payload in batch.column(1).to_pylist()]
    assert [part.heard for part in parts] == [Heard((30_000_000,))] * 3
    assert parts[1].first_us == 1_000_000
    assert parts[2].events is None
    rows = packs.table_of(parts, packing.packed)
    assert rows.column("ts").to_pylist() == [1, 3, 30, 2]
    assert rows.column("text of k").to_pylist() == ["1", "None", "1", "1"]


def test_the_number_of_a_bucket_tells_the_type_too():
    types = ("A", "B", "of several bytes")
    told = pa.array([1 * 3 + 2, 0 * 3 + 1, 1 * 3 + 0, 1 * 3 + 1], pa.int32())
    table = EVENTS.drop_columns("kind").append_column("cepheid bucket", told)
    packing = packs.Packing(EVENTS.schema, (), "ts", "s", (7, 9, 11), types=types, type="kind")
    (batch,) = packing(iter(table.to_batches()))
    parts = [packs.unpack(payload, packing.packed) for payload in batch.column(1).to_pylist()]
    rows = packs.table_of(parts, packing.packed)
    assert rows.schema == EVENTS.schema
    assert rows.column("ts").to_pylist() == [1, 3, 30, 2]
    assert rows.column("kind").to_pylist() == ["of several bytes", "A", "B", "B"]
    assert parts[2].events is None
    wrong = table.set_column(2, "cepheid bucket", pa.array([5, None, 3, 4], pa.int32()))
    with pytest.raises(RuntimeError, match="1 events are of none of the types"):
        list(packing(iter(wrong.to_batches())))


@pytest.mark.parametrize(
    ("pattern", "types"),
    [
        ("SEQ(B a, A b)", ("A", "B")),
        ("SEQ(A a, NOT C n, (A|B) b)", ("A", "B", "C")),
        ("SEQ(A a, * b)", ()),  # of any type
        ("strict SEQ(A a, B b)", ()),  # an event that fits nothing comes between
        (f"SEQ({', '.join(f'T{number} e{number}' for number in range(17))})", ()),  # too many
    ],
)
def test_types_are_told_where_all_others_are_left_out(pattern: str, types: tuple[str, ...]):
    policy = " POLICY strict" if pattern.startswith("strict") else ""
    query = f"PATTERN {pattern.removeprefix('strict ')} WHERE SAME[k] WITHIN 10 s{policy}"
    bound = cep.Query.parse(query).bind(schema_of(EVENTS, time="ts", type="kind", time_unit="s"))
    columns = spark.StructType([spark.StructField("kind", spark.StringType())])
    assert told_types(bound, columns) == types
    padded = {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}
    assert told_types(bound, spark.StructType([spark.StructField("kind", spark.StringType(), True, padded)])) == ()


def test_beats_are_no_events():
    rows = EVENTS.append_column("cepheid bucket", pa.array([0, 0, 0, 0], pa.int32()))
    rows = rows.append_column("cepheid beat", pa.nulls(4, pa.int64()))
    beat = pa.table({name: pa.nulls(1, rows.schema.field(name).type) for name in rows.column_names[:-1]})
    beat = beat.append_column("cepheid beat", pa.array([77], pa.int64()))
    packing = packs.Packing(EVENTS.schema, (), "ts", "s", (0,), beats=True)
    for table, n in ((pa.concat_tables([rows, beat]), 4), (beat, 0)):
        (batch,) = packing(iter([table.combine_chunks().to_batches()[0]]))
        part = packs.unpack(batch.column(1)[0].as_py(), packing.packed)
        assert part.heard.beat_us == 77
        assert (0 if part.events is None else part.events.num_rows) == n


def stream() -> Stream:
    schema = schema_of(EVENTS, time="ts", type="kind", time_unit="s")
    return Stream(cep.Query.parse(QUERY).bind(schema), EVENTS.schema)


def test_state_is_refused_where_it_does_not_fit():
    kept = state.Kept({"the query": "A a"}, "t", Clock.of(1), b"snapshot")
    data = state.written(kept)
    assert state.read(data) == kept
    with pytest.raises(DataError, match="not one that cepheid wrote"):
        state.read(b"else")
    with pytest.raises(DataError, match="has the format 2"):
        state.read(data.replace(state.MAGIC + b"\x01", state.MAGIC + b"\x02"))
    with pytest.raises(DataError, match="cut off"):
        state.read(data[:-1])
    with pytest.raises(DataError, match="made with the query A a, and the stream runs with B b now"):
        state.require_same(kept.asked, {"the query": "B b"})
    told = {**kept.asked, "what timed out": "told"}
    with pytest.raises(
        DataError, match="made without what timed out, and the stream runs with what timed out told now"
    ):
        state.require_same(kept.asked, told)
    with pytest.raises(DataError, match="made with what timed out told, and the stream runs without what timed out"):
        state.require_same(told, kept.asked)


def test_a_worker_keeps_the_matchers_that_it_used_last():
    warm = state.WarmStreams(most_bytes=2 * stream().n_bytes)
    first, second, third = stream(), stream(), stream()
    warm.put(b"q", 1, "a", first)
    warm.put(b"q", 2, "b", second)
    assert warm.take(b"q", 1, "a") is first
    assert warm.take(b"q", 1, "a") is None
    warm.put(b"q", 1, "a", first)
    assert warm.take(b"q", 2, "other") is None  # what Spark hands over is not what it was written to
    warm.put(b"q", 2, "b", second)
    warm.put(b"q", 3, "c", third)
    assert len(warm) == 2
    assert warm.take(b"q", 1, "a") is None


def test_a_worker_forgets_a_matcher_whose_bucket_went_on_elsewhere():
    warm, first, second, other = state.WarmStreams(), stream(), stream(), stream()
    warm.begin(b"other", 1)
    warm.put(b"other", 1, "o", other)
    warm.begin(b"q", 7)
    warm.put(b"q", 1, "a", first)
    warm.put(b"q", 2, "b", second)
    warm.begin(b"q", 9)  # bucket 2 may still be called here in this one
    assert len(warm) == 3
    assert warm.take(b"q", 1, "a") is first
    warm.put(b"q", 1, "c", first)
    warm.begin(b"q", 9)
    assert len(warm) == 3
    warm.begin(b"q", 10)  # it was not
    assert warm.take(b"q", 2, "b") is None
    assert warm.take(b"q", 1, "c") is first
    assert warm.take(b"other", 1, "o") is other


def test_rows_that_are_no_events_travel_with_those_that_are():
    why = pa.struct([pa.field(name, pa.string()) for name in ("source", "place", "column", "reason", "raw")])
    columns = pa.schema([pa.field("ts", pa.int64()), pa.field("id", pa.int64())])
    found = pa.struct([pa.field("id", pa.int64())])
    output = pa.schema([pa.field("output", pa.string()), pa.field("matches", found), pa.field(UNREAD, why)])
    fault = dict(zip((f.name for f in why), ("t", "t/0/1", None, "not a JSON object", "{nope"), strict=True))
    table = pa.table(
        {
            "ts": pa.array([5, None, 7], pa.int64()),
            "id": pa.array([1, None, 2], pa.int64()),
            "cepheid bucket": pa.array([1, 2, 0], pa.int32()),
            UNREAD_COLUMN: pa.array([None, fault, None], why),
        }
    )
    packing = packs.Packing(columns, (), "ts", "ms", labels(2), unread=output)
    assert packing.unread_label not in packing.labels
    (packed,) = packing(iter(table.to_batches()))
    rows = dict(zip(*packed.to_pydict().values(), strict=True))
    assert list(rows) == [*packing.labels, packing.unread_label]
    parts = [packs.unpack(rows[label], packing.packed) for label in packing.labels]
    assert [part.events.column(1).to_pylist() for part in parts] == [[2], [1]]
    assert {part.heard.greatest_us for part in parts} == {(7_000,)}

    def no_step(*_: object) -> Iterator[bytes]:
        raise AssertionError("it is for events")

    passing = PassingOn(no_step, packing.unread_label)
    (told,) = passing(b"run", packing.unread_label, [rows[packing.unread_label]], None)
    (row,) = pa.ipc.read_record_batch(pa.py_buffer(told), output).to_pylist()
    assert row == {"output": UNREAD, "matches": None, UNREAD: fault}
    with pytest.raises(AssertionError, match="for events"):
        passing(b"run", packing.labels[0], [], None)
    # A part of a micro-batch without an event, and one with nothing else.
    (alone,) = packing(iter(table.slice(1, 1).to_batches()))
    assert alone.num_rows == 3
    (events,) = packing(iter(table.slice(2, 1).to_batches()))
    assert events.num_rows == 2
