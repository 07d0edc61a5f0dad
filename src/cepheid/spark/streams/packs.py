"""Events on their way to their buckets, and what comes back: Arrow inside, a few binary rows for Spark.

Spark's stateful operator gets pandas DataFrames, in which integers with NULL are floats and every row is converted
twice. So a Python operator in front of it packs the events of a bucket into one binary value (an Arrow record batch),
and one behind it unpacks the matches: rows cross between Java and Python as Arrow once in each direction, and Spark
shuffles one row for each bucket and part instead of one for each event.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.events.arrow_memory import array_of
from cepheid.events.event_time import event_times
from cepheid.spark.streams.buckets import BUCKET, labels
from cepheid.spark.streams.clock import Heard
from cepheid.spark.streams.unread import UNREAD_COLUMN, packed_unread

SOURCE = "cepheid source"
"""The column of the number of the stream that an event came from, where there are several."""

BEAT = "cepheid beat"
"""The column of the time on the wall clock, in rows that are no events; NULL in those that are."""

PACK_ROWS = 262_144
"""Events that are packed at once."""

_PACKED = pa.schema([pa.field("bucket", pa.int32()), pa.field("payload", pa.binary())])
_ALIGNED_BYTES = 64


@dataclass(frozen=True)
class Packing:
    """Packs the events of one partition by bucket; runs on the executors.

    Each part gives one pack to every bucket, so that all of them hear of the time of its events.

    Attributes:
        columns: the Arrow schema of the events.
        texts: names of added columns -> the columns whose values they hold as text.
        time, time_unit: the column of event time.
        labels: for each bucket its key.
        n_sources: streams that the events come from.
        beats: rows may be beats of the wall clock.
        received: the column that says when an event was received, in the same unit; None where nobody asks.
        unread: the Arrow schema of the rows of all outputs, where rows may be no events; else None.
        types, type: where the number of the bucket tells the type, too (`told_types`): the types, and their column.
    """

    columns: Any
    texts: tuple[tuple[str, str], ...]
    time: str
    time_unit: str | None
    labels: tuple[int, ...]
    n_sources: int = 1
    beats: bool = False
    received: str | None = None
    unread: Any = None
    types: tuple[str, ...] = ()
    type: str | None = None

    @property
    def unread_label(self) -> int:
        """The key of the bucket of rows that are no events."""
        return labels(len(self.labels) + 1)[-1]

    @property
    def packed(self) -> Any:
        """The Arrow schema of what is in a pack."""
        return packed_schema(self.columns, self.texts)

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The RecordBatches of one partition as packs."""
        held: list[Any] = []
        n_rows = 0
        for batch in batches:
            if batch.num_rows:
                held.append(batch)
                n_rows += batch.num_rows
            if n_rows >= PACK_ROWS:
                yield self._packs(pa.Table.from_batches(held))
                held, n_rows = [], 0
        if held:
            yield self._packs(pa.Table.from_batches(held))

    def _packs(self, table: Any) -> Any:
        beat_us = None
        if self.beats:
            beats = table.column(BEAT)
            beat_us = pa.compute.max(beats).as_py()
            if beat_us is not None:
                table = table.filter(beats.is_null())
        others = None
        if self.unread is not None:
            is_event = table.column(UNREAD_COLUMN).is_null()
            others = table.filter(pa.compute.invert(is_event))
            table = table.filter(is_event)
        times = event_times(table.column(self.time), self.time_unit, self.time)
        good = np.ones(len(times.values), np.bool_) if times.bad is None else ~times.bad
        of_source = [good]
        if self.n_sources > 1:
            sources = table.column(SOURCE).to_numpy()
            of_source = [good & (sources == number) for number in range(self.n_sources)]
        greatest = tuple(_greatest(times.values[which]) for which in of_source)
        heard = Heard(greatest, beat_us, self._received(table))
        n_buckets = len(self.labels)
        buckets, events = self._told(table)
        if n_buckets > 1:
            order = np.argsort(buckets.astype(np.uint16), kind="stable")  # of 16 bits: a radix sort
            events, buckets = events.take(array_of(order)), buckets[order]
            first_us = times.values[order]
        else:
            first_us = times.values
        events = events.combine_chunks()
        ends = np.searchsorted(buckets, np.arange(n_buckets), "right").tolist()
        payloads, start = [], 0
        for end in ends:
            part = events.slice(start, end - start).to_batches() if end > start else []
            payloads.append(pack(heard, int(first_us[start]) if part else 0, part[0] if part else None))
            start = end
        keys = list(self.labels)
        if others is not None and others.num_rows:
            keys.append(self.unread_label)
            payloads.append(packed_unread(others, self.unread))
        return pa.RecordBatch.from_arrays([pa.array(keys, pa.int32()), pa.array(payloads, pa.binary())], schema=_PACKED)

    def _received(self, table: Any) -> int | None:
        if self.received is None:
            return None
        read = event_times(table.column(self.received), self.time_unit, self.received)
        return _greatest(read.values if read.bad is None else read.values[~read.bad])

    def _told(self, table: Any) -> tuple[Any, Any]:
        """The number of the bucket of each event, and the events as a table."""
        numbers = table.column(BUCKET)
        if numbers.null_count:
            raise RuntimeError(f"{numbers.null_count} events are of none of the types {self.types}")
        told = numbers.to_numpy()
        if not self.types:
            return told, self._events(table)
        buckets, places = np.divmod(told, len(self.types))
        field = self.columns.field(self.type)
        return buckets, self._events(
            table.append_column(field, pa.array(self.types, field.type).take(array_of(places)))
        )

    def _events(self, table: Any) -> Any:
        columns = [
            table.column(f.name) if table.column(f.name).type == f.type else table.column(f.name).cast(f.type)
            for f in self.columns
        ]
        for _, name in self.texts:
            columns.append(pa.array([repr(value) for value in table.column(name).to_pylist()], pa.string()))
        return pa.table(columns, schema=self.packed)


def packed_schema(columns: Any, texts: Sequence[tuple[str, str]]) -> Any:
    """The Arrow schema of events with the texts that stand for values which have no order."""
    return pa.schema([*columns, *(pa.field(name, pa.string()) for name, _ in texts)])


@dataclass(frozen=True)
class Part:
    """What is in a pack.

    Attributes:
        heard: what the part of the micro-batch says of the time.
        first_us: the time of the first of the events, by which packs are put one after the other.
        events: an Arrow record batch; None for none.
    """

    heard: Heard
    first_us: int
    events: Any


def pack(heard: Heard, first_us: int, events: Any) -> bytes:
    """One pack as bytes; the record batch begins where Arrow wants it to."""
    said = {"greatest_us": heard.greatest_us, "beat_us": heard.beat_us, "first_us": first_us}
    if heard.received_us is not None:
        said["received_us"] = heard.received_us
    head = json.dumps(said).encode()
    start = -(-(len(head) + 4) // _ALIGNED_BYTES) * _ALIGNED_BYTES
    begin = len(head).to_bytes(4, "little") + head
    if events is None:
        return begin
    return begin.ljust(start, b"\0") + bytes(events.serialize())


def unpack(payload: bytes, schema: Any) -> Part:
    """What `pack` was given; the events lie in ``payload`` and are not copied."""
    n_bytes = int.from_bytes(payload[:4], "little")
    head = json.loads(payload[4 : 4 + n_bytes])
    heard = Heard(tuple(head["greatest_us"]), head["beat_us"], head.get("received_us"))
    start = -(-(n_bytes + 4) // _ALIGNED_BYTES) * _ALIGNED_BYTES
    events = None
    if len(payload) > start:
        events = pa.ipc.read_record_batch(pa.py_buffer(payload).slice(start), schema)
    return Part(heard, head["first_us"], events)


def table_of(parts: Sequence[Part], schema: Any) -> Any:
    """The events of all packs as one table, put one after the other by their first times; and all that they say."""
    ordered = sorted((part for part in parts if part.events is not None), key=lambda part: part.first_us)
    return pa.Table.from_batches([part.events for part in ordered], schema=schema).combine_chunks()


@dataclass(frozen=True)
class Unpacking:
    """Unpacks the results of one partition; runs on the executors.

    Attributes:
        output: the Arrow schema of the results, as Spark expects it.
    """

    output: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """RecordBatches whose last column holds record batches, as those."""
        for batch in batches:
            for payload in batch.columns[-1]:
                yield pa.ipc.read_record_batch(pa.py_buffer(payload.as_buffer()), self.output)


def _greatest(values: Any) -> int | None:
    return int(values.max()) if len(values) else None
