"""Events that come from several engines, perhaps more than once each and in any order: each is held once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.order_key import identities
from cepheid.errors import DataError, SchemaError
from cepheid.events.batch import EventBatch, take_rows
from cepheid.events.column import Int64Array
from cepheid.events.dictionaries import unified
from cepheid.events.schema import Schema


class EventStore:
    """Distinct events, by their identity (SEMANTICS 1.1). The number of an event in it is its *slot*."""

    def __init__(self, schema: Schema) -> None:
        """Start empty.

        Args:
            schema: of the events; it names the columns of the order key.
        """
        self._schema = schema
        self._keys: list[bytes] = []
        self._slots: dict[bytes, int] = {}
        self._batches: list[EventBatch] = []
        self._ranks: Int64Array | None = None
        self._arrow: Any = pa.schema([])

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, batch: EventBatch, positions: Int64Array) -> Int64Array:
        """Hold some events of a batch.

        Args:
            batch: any batch with the columns of the schema.
            positions: of the events, each once.

        Returns:
            The slot of each.

        Raises:
            SchemaError: the batch lacks a column that the schema names, or has it in another type.
            DataError: an event has another time than one with its order key that came before.
        """
        part = self._part(batch, positions)
        self._arrow = part.table.schema
        keys = identities(part)
        n_before = len(self._keys)
        slots = np.empty(len(keys), np.int64)
        for number, key in enumerate(keys):
            slot = self._slots.setdefault(key, len(self._keys))
            if slot == len(self._keys):
                self._keys.append(key)
            slots[number] = slot
        self._check_times(part, slots, n_before)
        first = np.flatnonzero(slots >= n_before)
        if len(first):
            _, once = np.unique(slots[first], return_index=True)
            self._batches.append(_rows_of(part, first[once]))
            self._ranks = None
        return slots

    def _part(self, batch: EventBatch, positions: Int64Array) -> EventBatch:
        """The events as a batch of their own, in the columns of those that came before."""
        names = [name for name in self._schema.fields if name in batch.table.column_names]
        needed = (self._schema.time, self._schema.type, *self._schema.order)
        lacking = [name for name in needed if name is not None and name not in names]
        if lacking:
            raise SchemaError(
                f"the events of partial matches lack the column {lacking[0]!r}",
                remedy="time, type and order key travel with every event",
            )
        table = take_rows(batch.table.select(names), batch.rows_of(positions))
        known = self._arrow
        if len(known):
            if known.names != names:
                raise SchemaError(
                    f"the events of partial matches have the columns {', '.join(names)}; those before them had "
                    f"{', '.join(known.names)}",
                    remedy="send the same columns from everywhere",
                )
            try:
                table = table.cast(known)
            except pa.ArrowException as error:
                raise SchemaError(
                    f"the events of partial matches have other types of columns than those before them: {error}",
                    remedy="send the same columns from everywhere",
                ) from error
        return EventBatch(table, self._schema, batch.time_us[positions])

    def _check_times(self, part: EventBatch, slots: Int64Array, n_before: int) -> None:
        again = slots < n_before
        if not again.any():
            return
        wrong = np.flatnonzero(again)[self.batch.time_us[slots[again]] != part.time_us[again]]
        if len(wrong):
            which = part.table.select(list(self._schema.order)).slice(int(wrong[0]), 1).to_pylist()[0]
            raise DataError(
                f"two events have the order key {which} and different times",
                remedy="an order key tells each event of a source from all others",
            )

    @property
    def batch(self) -> EventBatch:
        """All events, by slot; they are in no order. Without columns before the first events came."""
        if not self._batches:
            return EventBatch(self._arrow.empty_table(), self._schema, np.zeros(0, np.int64))
        if len(self._batches) > 1:
            table = unified(pa.concat_tables([part.table for part in self._batches])).combine_chunks()
            times = np.concatenate([part.time_us for part in self._batches])
            self._batches = [EventBatch(table, self._schema, times)]
        return self._batches[0]

    @property
    def ranks(self) -> Int64Array:
        """The place of each event in the order of all that are held (SEMANTICS 1.1), by slot."""
        if self._ranks is None:
            times = self.batch.time_us
            order = np.argsort(times, kind="stable")
            ordered = times[order]
            ties = np.flatnonzero(ordered[1:] == ordered[:-1])
            if len(ties):
                # Runs of equal times, each from its first to its last.
                starts = ties[np.diff(ties, prepend=-2) != 1]
                stops = ties[np.diff(ties, append=len(times) + 1) != 1] + 2
                for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                    order[start:stop] = sorted(order[start:stop].tolist(), key=self._keys.__getitem__)
            self._ranks = np.empty(len(times), np.int64)
            self._ranks[order] = np.arange(len(times))
        return self._ranks

    def keep(self, slots: Int64Array) -> Int64Array:
        """Forget all other events.

        Args:
            slots: of those to keep, ascending.

        Returns:
            By old slot, the new one; -1 for those that are forgotten.
        """
        new = np.full(len(self), -1, np.int64)
        new[slots] = np.arange(len(slots))
        self._batches = [_rows_of(self.batch, slots)] if len(slots) else []
        self._keys = [self._keys[slot] for slot in slots.tolist()]
        self._slots = {key: slot for slot, key in enumerate(self._keys)}
        self._ranks = None
        return new

    def in_order(self, slots: Int64Array) -> tuple[EventBatch, Int64Array]:
        """Some events as a batch in their order.

        Args:
            slots: of the events; they may repeat.

        Returns:
            The batch, and the position in it of each.
        """
        used = np.unique(slots)
        used = used[np.argsort(self.ranks[used])]
        positions = np.empty(len(self), np.int64)
        positions[used] = np.arange(len(used))
        return _rows_of(self.batch, used), positions[slots]


def _rows_of(batch: EventBatch, rows: Int64Array) -> EventBatch:
    table: Any = take_rows(batch.table, rows)
    return EventBatch(table.combine_chunks(), batch.schema, batch.time_us[rows])
