"""The places of a stream's events in their partitions, before any filter, for policies that tell pairs apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.compiler.columns import evaluated, partition_codes
from cepheid.compiler.counted import count_events
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.events.reorder import joined, taken
from cepheid.language.tree import Attribute, walk


class PlaceCounter:
    """Counts on where the steps before have left off.

    Only differences of places within a window are ever looked at: a partition of which no event lies in the last window
    is forgotten, and counts from 0 when it comes again.
    """

    def __init__(self, compiled: CompiledPlan) -> None:
        """Start at the beginning of a stream.

        Args:
            compiled: the plan.
        """
        automaton = compiled.automaton
        self._compiled = compiled
        self._within_us = None if automaton.counts_events else automaton.within
        nodes = [node for expression in automaton.partition for node in walk(expression)]
        self._read = {node.path[0] for node in nodes if isinstance(node, Attribute)}
        self._n = 0
        self._lasts: EventBatch | None = None

    def of(self, ready: EventBatch) -> Int64Array:
        """The places of events that come after all those before, in order; of those in no partition, any."""
        n = len(ready)
        if not self._compiled.automaton.partition:
            places = np.arange(self._n, self._n + n)
            self._n += n
            return places
        schema = ready.schema
        placed = {schema.time, schema.type, *schema.order}
        names = [name for name in ready.table.column_names if name in self._read or name in placed]
        new = EventBatch(ready.table.select(names), schema, ready.time_us, numbers=ready.numbers)
        batch = new if self._lasts is None else joined([self._lasts, new])
        by = self._compiled.automaton.partition
        codes, valid = partition_codes([evaluated(self._compiled, batch, expression) for expression in by])
        left_out = np.zeros(0, np.int64) if valid is None else np.flatnonzero(~valid)
        known = np.full(len(batch), -1, np.int64)
        if self._lasts is not None:
            assert self._lasts.places is not None
            known[: len(self._lasts)] = self._lasts.places
        counted = count_events(codes, left_out, len(batch), known)
        ends = counted.starts[1:][np.diff(counted.starts) > 0] - 1
        lasts = np.sort(counted.in_order[ends])
        lasts = lasts[np.isin(lasts, left_out, invert=True)]
        with_places = EventBatch(batch.table, schema, batch.time_us, numbers=batch.numbers, places=counted.places)
        self._lasts = taken(with_places, lasts)
        return counted.places[len(batch) - n :]

    def forget(self, watermark_us: int) -> None:
        """Forget partitions of which no event lies in the last window."""
        if self._lasts is None or self._within_us is None or watermark_us == BEFORE_ALL_US:
            return
        recent = np.flatnonzero(max(watermark_us, -(2**62)) - self._lasts.time_us <= self._within_us)
        self._lasts = taken(self._lasts, recent) if len(recent) else None

    @property
    def saved(self) -> tuple[int, EventBatch | None]:
        """What it goes on from."""
        return self._n, self._lasts

    def restore(self, n: int, lasts: EventBatch | None) -> None:
        """Go on from what `saved` gave."""
        self._n, self._lasts = n, lasts


def with_places(batch: EventBatch, places: Int64Array) -> EventBatch:
    """The same events, whose rows they are, with their places."""
    table: Any = batch.table
    return EventBatch(table, batch.schema, batch.time_us, numbers=batch.numbers, places=places)
