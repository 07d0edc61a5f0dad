"""Runs a plan over a stream that comes in parts: each match once, in the step in which it is decided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheid.compiler.columns import KernelEvents
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.caps import Caps
from cepheid.engine.carried import CarriedSession
from cepheid.engine.carrying import reason_not_carried
from cepheid.engine.compaction import open_events
from cepheid.engine.matches import Matches
from cepheid.engine.narrowing import chosen, narrowed
from cepheid.engine.session import matched
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.engine.snapshot import other_plan
from cepheid.engine.watermark import AFTER_ALL_US, BEFORE_ALL_US
from cepheid.errors import NotSupportedError
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.events.reorder import batch_bytes, joined, taken
from cepheid.plan.dropping import reason_to_keep_all
from cepheid.plan.retention import history


class Session(Protocol):
    """One query over one stream.

    Attributes:
        watermark_us: all events up to this time have come.
    """

    watermark_us: int

    @property
    def n_bytes(self) -> int:
        """Bytes of what is kept."""

    @property
    def n_dropped(self) -> int:
        """Partial matches that a cap made it forget."""

    @property
    def n_timers(self) -> int:
        """Starts with something that the time will decide."""

    @property
    def held(self) -> tuple[EventBatch, Int64Array] | None:
        """See `engine.gauge.Holder`."""

    def step(self, ready: EventBatch | None, watermark_us: int) -> tuple[EventBatch, Matches] | None:
        """Move the watermark.

        Args:
            ready: the events between the watermark before and this one, in order; its rows are its events. None for
                none.
            watermark_us: the watermark now, us; not before the one before.

        Returns:
            The matches that are decided by now and were not before, and the batch that they point into; None where
            there are none.

        Raises:
            DataError: a value does not fit a machine word, or a registered function fails.
        """

    def compact(self) -> None:
        """Forget what nothing can come of any more."""

    def saved(self) -> tuple[EventBatch | None, list[Any], dict[str, Any]]:
        """For a snapshot: the events that are kept, tables of what is known beside them, and what JSON can say."""

    def restore(self, held: EventBatch | None, tables: list[Any], said: dict[str, Any], watermark_us: int) -> None:
        """Go on, at the beginning of a stream, from what `saved` gave, and the watermark then.

        Raises:
            DataError: it was saved by another kind of session, or for another plan.
        """


def session(compiled: CompiledPlan, settings: Settings = DEFAULTS) -> Session:
    """A session at the beginning of a stream.

    Raises:
        NotSupportedError: nothing bounds how long events have to be kept; the query has AFTER MATCH, or measures its
            windows and gaps in both ways.
    """
    if compiled.automaton.skips:
        bound = compiled.automaton.bound
        raise NotSupportedError(
            f"a stream in parts cannot run AFTER MATCH {bound.skip.mode.value} yet: a match that was kept long ago "
            "may have a say in which are kept now",
            remedy="match a bounded table with cep.match",
            text=bound.text,
            origin=bound.origin,
            span=bound.skip.span,
        )
    if compiled.automaton.two_clocks:
        bound = compiled.automaton.bound
        window = bound.query.window
        raise NotSupportedError(
            "a stream in parts cannot run windows and gaps of which one counts EVENTS and another measures time yet",
            remedy="match a bounded table with cep.match",
            text=bound.text,
            origin=bound.origin,
            span=(window.within or window.each or bound.query.pattern).span,
        )
    kind = CarriedSession if reason_not_carried(compiled) is None else RerunSession
    return kind(compiled, settings)


class RerunSession:
    """One query over one stream, for plans of any kind.

    A step keeps the events that can still be in a match which is not decided, and in its gaps: those of the last
    window. It matches them together with the new ones, and gives the matches whose decision point (SEMANTICS 7.2) lies
    after the watermark before and not after the one now. What a match is depends on no event further back than that,
    so these are the matches of the whole stream.

    Attributes:
        watermark_us: all events up to this time have come.
        n_timers: matches that the time will decide, unless something comes.
        n_dropped: 0, as such plans are refused where partial matches are to be dropped.
    """

    def __init__(self, compiled: CompiledPlan, settings: Settings) -> None:
        """Start at the beginning of a stream.

        Args:
            compiled: the plan.
            settings: how much may be held.

        Raises:
            NotSupportedError: nothing bounds how long events have to be kept.
        """
        automaton = compiled.automaton
        reach = history(automaton)
        if reach is None:
            bound = automaton.bound
            raise NotSupportedError(
                "a stream keeps the events of partial matches, and nothing in this query says for how long",
                remedy="give it a window (WITHIN, or WINDOW ... SLIDE), or match a bounded table with cep.match",
                text=bound.text,
                origin=bound.origin,
                span=bound.query.pattern.span,
            )
        self._compiled = compiled
        self._history = reach
        self._settings = settings
        Caps(compiled, settings)  # they must fit the query
        # What may still become a match of a group under NOT fits nothing yet.
        self._keeps_all = bool(compiled.groups) or reason_to_keep_all(automaton.bound) is not None
        self._kept: EventBatch | None = None
        self._n_open = np.zeros(0, np.int64)
        self.n_timers = 0
        self.n_dropped = 0
        self.watermark_us = BEFORE_ALL_US

    @property
    def n_bytes(self) -> int:
        """Bytes of the events that are kept."""
        return 0 if self._kept is None else batch_bytes(self._kept)

    def step(self, ready: EventBatch | None, watermark_us: int) -> tuple[EventBatch, Matches] | None:
        """Move the watermark; see `Session.step`."""
        before, self.watermark_us = self.watermark_us, watermark_us
        parts = [part for part in (self._kept, ready) if part is not None]
        if not parts:
            return None
        if ready is None and not self._compiled.needs.fire:
            self._kept = self._still_needed(parts[0], None)
            return None
        batch = joined(parts)
        if self._compiled.automaton.counts_events and batch.places is None:
            batch = replace(batch, places=np.full(len(batch), -1, np.int64))
        matches, events, words = matched(self._compiled, batch, settings=self._settings)
        self._n_open = self._open(batch, events, words)
        self._kept = self._still_needed(batch, events)
        decided = matches.decided_us
        self.n_timers = int(np.count_nonzero(decided > watermark_us))
        new = (decided > before) & (decided <= watermark_us)
        if not new.any():
            return None
        return narrowed(batch, chosen(matches, new))

    @property
    def held(self) -> tuple[EventBatch, Int64Array] | None:
        """See `engine.gauge.Holder`."""
        return None if self._kept is None else (self._kept, self._n_open)

    def _open(self, batch: EventBatch, events: KernelEvents, words: Int64Array) -> Int64Array:
        """For each event of a batch, how many partial matches took it last."""
        last = open_events(self._compiled, words, events, self.watermark_us)
        if events.selected is not None:
            last = events.selected[last]
        return np.bincount(last, minlength=len(batch)).astype(np.int64, copy=False)

    def saved(self) -> tuple[EventBatch | None, list[Any], dict[str, Any]]:
        """See `Session.saved`."""
        return self._kept, [pa.table({"n_open": array_of(self._n_open)})], {"n_timers": self.n_timers}

    def restore(self, held: EventBatch | None, tables: list[Any], said: dict[str, Any], watermark_us: int) -> None:
        """See `Session.restore`."""
        if "n_timers" not in said:
            raise other_plan()
        self.watermark_us, self._kept, self.n_timers = watermark_us, held, said["n_timers"]
        self._n_open = numpy_of(tables[0].column("n_open").combine_chunks()).copy()

    def compact(self) -> None:
        """A step keeps no more than it must."""

    def _still_needed(self, batch: EventBatch, events: KernelEvents | None) -> EventBatch | None:
        """The events that later steps need, where ``events`` tells which of them fit the pattern."""
        if self.watermark_us == AFTER_ALL_US:
            return None
        if events is not None and events.counted is not None:
            counted = events.counted
            batch = replace(batch, places=counted.places)
            lengths = np.diff(counted.starts)
            last = lengths - 1 if counted.before is None else counted.before + lengths - 1
            needed = last[counted.partitions] - counted.places <= self._history
            needed[events.null_keys] = False
        elif self._compiled.automaton.counts_events:
            return batch
        else:
            # Both are within 2**62 of the epoch, so that the difference fits.
            needed = batch.time_us >= max(self.watermark_us, -(2**62)) - self._history
            if events is not None and events.selected is not None and not self._keeps_all:
                fits = np.zeros(len(batch), np.bool_)
                fits[events.selected] = True
                needed &= fits
        rows: Int64Array = np.flatnonzero(needed)
        self._n_open = self._n_open[rows]
        return taken(batch, rows) if len(rows) else None
