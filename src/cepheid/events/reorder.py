"""Events that wait until the watermark has passed them: the stream in order, however it arrives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.events.batch import EventBatch, take_rows
from cepheid.events.column import BoolArray, Int64Array
from cepheid.events.dictionaries import unified
from cepheid.events.ingest import order_of


class ReorderBuffer:
    """Holds events, and gives them out in their order (SEMANTICS 1.1) once all that come before them are there."""

    def __init__(self) -> None:
        """Start empty."""
        self._held: list[EventBatch] = []

    def __len__(self) -> int:
        return sum(len(batch) for batch in self._held)

    @property
    def n_bytes(self) -> int:
        """Bytes of the events that are held."""
        return sum(batch_bytes(batch) for batch in self._held)

    @property
    def events(self) -> EventBatch | None:
        """All that is held, by time of arrival; None for nothing."""
        if len(self._held) > 1:
            self._held = [joined(self._held)]
        return self._held[0] if self._held else None

    def add(self, batch: EventBatch) -> None:
        """Hold the events of a batch, which has their numbers, and whose rows are its events."""
        if len(batch):
            self._held.append(batch)

    def clear(self) -> None:
        """Hold nothing any more."""
        self._held = []

    def release(self, until_us: int) -> EventBatch | None:
        """Take out the events up to a time, in order.

        Args:
            until_us: the watermark, us.

        Returns:
            The events whose time is not after it; None where there are none.
        """
        if not any(int(batch.time_us.min()) <= until_us for batch in self._held):
            return None
        held = self.events
        assert held is not None
        order = order_of(held.table, held.schema, held.time_us, None)
        if order is None:
            n_ready = int(np.searchsorted(held.time_us, until_us, "right"))
            order = np.arange(len(held))
        else:
            n_ready = int(np.count_nonzero(held.time_us <= until_us))
        rest = order[n_ready:]
        self._held = [taken(held, rest)] if len(rest) else []
        return taken(held, order[:n_ready])


def batch_bytes(batch: EventBatch) -> int:
    """Bytes of the columns of a batch and of what says where its events belong."""
    arrays = (batch.time_us, batch.numbers, batch.places)
    return int(batch.table.nbytes) + sum(array.nbytes for array in arrays if array is not None)


def parted(
    batch: EventBatch, watermark_us: int | Int64Array, n_arrived: int, columns: list[str]
) -> tuple[EventBatch, Any]:
    """Events of a stream, those that are on time apart from those that are late (SEMANTICS 7.1).

    Args:
        batch: as it was read.
        watermark_us: events up to this time are late, us; one for all, or for each event, by its position.
        n_arrived: rows that came before it.
        columns: those to hold of the events that are on time.

    Returns:
        Those on time, as a batch in the order of arrival; and a pyarrow Table of the late ones, in that order, too.
    """
    numbers = np.arange(n_arrived, n_arrived + batch.table.num_rows)
    late = batch.time_us <= watermark_us
    if not late.any():
        return part_of_stream(batch, None, numbers, columns), batch.table.slice(0, 0)
    on_time = part_of_stream(batch, ~late, numbers, columns)
    return on_time, part_of_stream(batch, late, numbers, batch.table.column_names).table


def part_of_stream(batch: EventBatch, kept: BoolArray | None, numbers: Int64Array, columns: list[str]) -> EventBatch:
    """Some events of a batch as a batch of their own, in the order of their arrival.

    Args:
        batch: as it was read.
        kept: position -> whether the event is one of them; None for all.
        numbers: row -> number of the event in the stream, int64.
        columns: those to hold.
    """
    positions = np.arange(len(batch)) if kept is None else np.flatnonzero(kept)
    rows = batch.rows_of(positions)
    if batch.rows is not None:
        in_arrival = np.argsort(rows, kind="stable")
        positions, rows = positions[in_arrival], rows[in_arrival]
    table = batch.table.select(columns)
    whole = len(rows) == table.num_rows
    return EventBatch(
        table=table if whole else _taken_rows(table, rows),
        schema=batch.schema,
        time_us=batch.time_us[positions],
        numbers=numbers[rows],
    )


def in_order(batch: EventBatch) -> EventBatch:
    """The events of a table as a batch whose rows are its events; their numbers are their positions in the table's."""
    table = batch.table if batch.rows is None else _taken_rows(batch.table, batch.rows)
    return EventBatch(table=table, schema=batch.schema, time_us=batch.time_us, numbers=np.arange(len(batch)))


def taken(batch: EventBatch, rows: Int64Array) -> EventBatch:
    """Some events of a batch whose rows are its events, copied."""
    n = len(batch)
    if len(rows) == n and (n == 0 or (rows[0] == 0 and bool((np.diff(rows) == 1).all()))):
        return batch
    assert batch.rows is None
    return EventBatch(
        table=_taken_rows(batch.table, rows),
        schema=batch.schema,
        time_us=batch.time_us[rows],
        numbers=None if batch.numbers is None else batch.numbers[rows],
        places=None if batch.places is None else batch.places[rows],
    )


def joined(batches: list[EventBatch]) -> EventBatch:
    """The events of several batches, whose rows are their events, one after the other."""
    first = batches[0]
    if len(batches) == 1:
        return first
    table = unified(pa.concat_tables([batch.table for batch in batches]))
    return EventBatch(
        table=table.combine_chunks(),
        schema=first.schema,
        time_us=np.concatenate([batch.time_us for batch in batches]),
        numbers=np.concatenate([batch.numbers for batch in batches if batch.numbers is not None]),
        places=_joined_places(batches),
    )


def _joined_places(batches: list[EventBatch]) -> Int64Array | None:
    if all(batch.places is None for batch in batches):
        return None
    unknown = [np.full(len(batch), -1, np.int64) if batch.places is None else batch.places for batch in batches]
    return np.concatenate(unknown)


def _taken_rows(table: Any, rows: Int64Array) -> Any:
    """Rows of a table; a dictionary keeps only the values that they have."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        values = take_rows(column, rows)
        if pa.types.is_dictionary(field.type):
            values = values.cast(field.type.value_type).dictionary_encode()
        columns.append(values if values.type == field.type else values.cast(field.type))
    return pa.table(columns, schema=table.schema)
