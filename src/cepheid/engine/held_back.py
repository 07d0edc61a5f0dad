"""Matches of a stream that rest on open predicates, and those that come after them in the order of matches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.matches import Matches
from cepheid.engine.narrowing import chosen, narrowed
from cepheid.engine.open_predicates import Literal, OpenPredicates
from cepheid.engine.snapshot import events_of_table, table_of_events
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.events.batch import EventBatch
from cepheid.events.reorder import batch_bytes, joined
from cepheid.events.schema import Schema

Literals = tuple[Literal, ...] | None
"""What a match rests on and is not settled; None where it is no match, as something it rests on is not so."""


@dataclass(eq=False)
class _Chunk:
    """The matches of one step that are not told yet.

    Attributes:
        batch: what they point into.
        matches: in their order.
        literals: what each rests on.
    """

    batch: EventBatch
    matches: Matches
    literals: list[Literals]


class HeldBack:
    """A queue of matches: each is told when all it rests on is so, and all before it were told or are none."""

    def __init__(self) -> None:
        """Hold none."""
        self._chunks: list[_Chunk] = []

    def __len__(self) -> int:
        """The matches that are held back, without those that are known to be none."""
        return sum(literals is not None for chunk in self._chunks for literals in chunk.literals)

    @property
    def n_bytes(self) -> int:
        """Bytes of their events."""
        return sum(batch_bytes(chunk.batch) for chunk in self._chunks)

    @property
    def earliest_us(self) -> int | None:
        """The least time of the last event of a match that is held back; None where there is none."""
        ends = [chunk.batch.time_us[chunk.matches.positions[chunk.matches.offsets[1:] - 1]] for chunk in self._chunks]
        return min((int(times.min()) for times in ends), default=None)

    def literals(self) -> Iterator[Literal]:
        """All that some match rests on."""
        for chunk in self._chunks:
            for literals in chunk.literals:
                yield from literals or ()

    def add(self, batch: EventBatch, matches: Matches, literals: list[Literals]) -> None:
        """Hold more matches back, which come after all others."""
        self._chunks.append(_Chunk(batch, matches, literals))

    def settle(self, opened: OpenPredicates) -> None:
        """Take note of what is settled by now. What settles later leaves what was noted as it is."""
        for chunk in self._chunks:
            chunk.literals = [None if one is None else opened.still_open(one) for one in chunk.literals]

    def released(self) -> tuple[EventBatch, Matches] | None:
        """The matches that can be told now; None where there are none."""
        parts = []
        while self._chunks:
            chunk = self._chunks[0]
            n = next((i for i, literals in enumerate(chunk.literals) if literals), len(chunk.literals))
            told = np.array([i < n and literals is not None for i, literals in enumerate(chunk.literals)], np.bool_)
            if told.any():
                parts.append(narrowed(chunk.batch, chosen(chunk.matches, told)))
            if n < len(chunk.literals):
                if n:
                    rest = chosen(chunk.matches, np.arange(len(chunk.literals)) >= n)
                    self._chunks[0] = _Chunk(*narrowed(chunk.batch, rest), chunk.literals[n:])
                break
            self._chunks.pop(0)
        return _together(parts) if parts else None

    def saved(self) -> list[Any]:
        """As pyarrow Tables: the events, and the matches."""
        found = _together([(chunk.batch, chunk.matches) for chunk in self._chunks]) if self._chunks else None
        if found is None:
            return [table_of_events(None), pa.table({})]
        batch, matches = found
        literals = [one for chunk in self._chunks for one in chunk.literals]
        columns = {
            "events": _lists(matches.positions, matches.offsets),
            "variables": _lists(matches.variables.astype(np.int64), matches.offsets),
            "decided": array_of(matches.decided_us),
            "rests on": pa.array([None if one is None else list(one) for one in literals], pa.list_(pa.int64())),
        }
        return [table_of_events(batch), pa.table(columns)]

    def restore(self, events: Any, matches: Any, schema: Schema, renamed: dict[int, int]) -> None:
        """Hold back what `saved` gave.

        Args:
            events, matches: the tables.
            schema: of the events.
            renamed: the predicates of before, by number, as they are now.
        """
        batch = events_of_table(events, schema)
        if batch is None:
            return
        lists = {name: matches.column(name).combine_chunks() for name in ("events", "variables")}
        found = Matches(
            offsets=numpy_of(lists["events"].offsets).astype(np.int64),
            positions=numpy_of(lists["events"].values).copy(),
            variables=numpy_of(lists["variables"].values).astype(np.int16),
            decided_us=numpy_of(matches.column("decided").combine_chunks()).copy(),
        )
        literals = [
            None if one is None else tuple(2 * renamed[literal >> 1] + (literal & 1) for literal in one)
            for one in matches.column("rests on").to_pylist()
        ]
        self.add(batch, found, literals)


def _lists(values: Any, offsets: Any) -> Any:
    return pa.ListArray.from_arrays(array_of(offsets.astype(np.int32)), array_of(np.ascontiguousarray(values)))


def _together(parts: list[tuple[EventBatch, Matches]]) -> tuple[EventBatch, Matches]:
    """Matches of several batches, in the order in which they stand."""
    if len(parts) == 1:
        return parts[0]
    n_events = np.cumsum([0, *(len(batch) for batch, _ in parts)])
    lengths = np.concatenate([np.diff(matches.offsets) for _, matches in parts])
    matches = Matches(
        offsets=np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))),
        positions=np.concatenate([own.positions + n for (_, own), n in zip(parts, n_events, strict=False)]),
        variables=np.concatenate([own.variables for _, own in parts]),
        decided_us=np.concatenate([own.decided_us for _, own in parts]),
    )
    return joined([batch for batch, _ in parts]), matches


def without_rests(matches: Matches) -> Matches:
    """Matches without what they rest on, which is known elsewhere."""
    return replace(matches, rests_on=None)
