"""A session that runs over the events of the last window again at each step, for plans of any kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.compiler.columns import KernelEvents, evaluated, partition_codes
from cepheid.compiler.elements import RemoteData
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.absent_checks import partitions_of
from cepheid.engine.caps import Caps, GiveUp
from cepheid.engine.compaction import open_events, open_starts
from cepheid.engine.matches import Matches, no_matches
from cepheid.engine.narrowing import chosen, narrowed
from cepheid.engine.session import Stepped, Work, matches_in, stepped_to_the_end
from cepheid.engine.settings import Settings
from cepheid.engine.skipping import Kept
from cepheid.engine.snapshot import other_plan
from cepheid.engine.watermark import AFTER_ALL_US, BEFORE_ALL_US
from cepheid.engine.written import written
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import BoolArray, Int64Array
from cepheid.events.reorder import batch_bytes, in_order, joined, taken
from cepheid.kernels import layout as k
from cepheid.plan.dropping import reason_to_keep_all
from cepheid.plan.retention import history


def run_dropping(compiled: CompiledPlan, batch: EventBatch, settings: Settings, work: Work | None = None) -> Matches:
    """All matches in a bounded input but those that begin with an event that a cap made it forget.

    Args:
        compiled: a plan that runs over its window again in a stream.
        batch: the events, in order.
        settings: with a cap and ``on_cap="drop oldest"``.
        work: filled with what was done, where given.

    Raises:
        CapacityError, NotSupportedError, DataError: see `engine.session.run`.
    """
    session = RerunSession(compiled, settings)
    found = session.step(in_order(batch), AFTER_ALL_US) if len(batch) else None
    if work is not None:
        work.n_events, work.n_dropped = len(batch), session.n_dropped
        work.null_key_positions = np.flatnonzero(partitions_of(compiled, batch) < 0)
    if found is None:
        return no_matches(sliding=compiled.automaton.sliding)
    events, matches = found
    assert events.numbers is not None
    return Matches(
        offsets=matches.offsets,
        positions=events.numbers[matches.positions],
        variables=matches.variables,
        decided_us=matches.decided_us,
        window_start_us=matches.window_start_us,
        window_end_us=matches.window_end_us,
    )


def _together(found: list[tuple[EventBatch, Matches]]) -> tuple[EventBatch, Matches]:
    """What was found in several steps, one after the other."""
    if len(found) == 1:
        return found[0]
    matches = [one for _, one in found]
    before = np.cumsum([0, *(len(events) for events, _ in found)])
    lengths = np.concatenate([np.diff(one.offsets) for one in matches])
    starts = [one.window_start_us for one in matches if one.window_start_us is not None]
    ends = [one.window_end_us for one in matches if one.window_end_us is not None]
    return joined([events for events, _ in found]), Matches(
        offsets=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        positions=np.concatenate([one.positions + first for one, first in zip(matches, before[:-1], strict=True)]),
        variables=np.concatenate([one.variables for one in matches]),
        decided_us=np.concatenate([one.decided_us for one in matches]),
        window_start_us=np.concatenate(starts) if starts else None,
        window_end_us=np.concatenate(ends) if ends else None,
    )


class RerunSession:
    """One query over one stream; see `engine.incremental.Session`.

    A step keeps the events that can still be in a match which is not decided, and in its gaps: those of the last
    window, or, without a window, those since the first start of their partition that is open. It matches them together
    with the new ones, and gives the matches whose decision point (SEMANTICS 7.2) lies after the watermark before and
    not after the one now. What a match is depends on no event further back than that, but for AFTER MATCH: which
    events lie before a frontier that is known is kept beside them. So these are the matches of the whole stream.

    Attributes:
        watermark_us: all events up to this time have come.
        timed_out: what the last step found to have timed out, and the batch that it points into; None for nothing.
        n_timers: matches that the time will decide, unless something comes.
        n_dropped: partial matches that a cap made it give up: the events before the first of those that stay are
            forgotten, so no later match begins with one of them.
    """

    def __init__(self, compiled: CompiledPlan, settings: Settings) -> None:
        """Start at the beginning of a stream.

        Args:
            compiled: the plan.
            settings: how much may be held.

        Raises:
            NotSupportedError: partial matches are to be dropped.
        """
        automaton = compiled.automaton
        self._compiled = compiled
        self._history = history(automaton)
        self._remote = RemoteData(automaton.bound)
        self._settings = settings
        Caps(compiled, settings)  # they must fit the query
        # What may still become a match of a group under NOT fits nothing yet.
        self._keeps_all = bool(compiled.groups) or reason_to_keep_all(automaton.bound) is not None
        self._counts = automaton.counts_events or automaton.two_clocks
        # In a window that slides lie all events that say which of its matches are kept.
        self._has_frontier = automaton.skips and not automaton.sliding
        self._kept: EventBatch | None = None
        self._n_open = np.zeros(0, np.int64)
        # Events at which no match may start: they lie before a frontier, or only say what a NOT before the start asks.
        self._barred = np.zeros(0, np.bool_)
        self._pending_us: int | None = None
        self.n_timers = 0
        self.n_dropped = 0
        self.watermark_us = BEFORE_ALL_US
        self.timed_out: tuple[EventBatch, Matches] | None = None

    @property
    def compiled(self) -> CompiledPlan:
        """The plan."""
        return self._compiled

    @property
    def settled_us(self) -> int:
        """See `engine.incremental.Session.settled_us`."""
        if self._pending_us is None:
            return self.watermark_us
        return min(self.watermark_us, self._pending_us - 1)

    @property
    def n_bytes(self) -> int:
        """Bytes of the events that are kept."""
        return 0 if self._kept is None else batch_bytes(self._kept)

    @property
    def n_open_predicates(self) -> int:
        """None: each answer is waited for."""
        return 0

    @property
    def n_held_back(self) -> int:
        """None."""
        return 0

    def step(self, ready: EventBatch | None, watermark_us: int) -> tuple[EventBatch, Matches] | None:
        """Move the watermark; see `engine.incremental.Session.step`."""
        if self._settings.on_cap == "error":
            return self._stepped(ready, watermark_us)
        found = [one for one in self._in_parts(ready, watermark_us) if one is not None]
        return _together(found) if found else None

    def _in_parts(self, ready: EventBatch | None, watermark_us: int) -> Iterator[tuple[EventBatch, Matches] | None]:
        """The same where partial matches may be given up: what is decided before that is told before.

        So events are given up when the watermark has come to the time at which there are too many.
        """
        before = (self.watermark_us, self._kept, self._n_open, self._barred, self._pending_us, self.n_timers)
        try:
            yield self._stepped(ready, watermark_us)
            return
        except GiveUp as full:
            given_up = full
        self.watermark_us, self._kept, self._n_open, self._barred, self._pending_us, self.n_timers = before
        if ready is None or ready.time_us[0] == ready.time_us[-1]:
            yield from self._in_parts(self._without(ready, given_up), watermark_us)
            return
        times = ready.time_us
        half = int(np.searchsorted(times, times[len(times) // 2]))
        half = half or int(np.searchsorted(times, times[0], "right"))
        yield from self._in_parts(taken(ready, np.arange(half)), int(times[half - 1]))
        yield from self._in_parts(taken(ready, np.arange(half, len(times))), watermark_us)

    def _without(self, ready: EventBatch | None, given_up: GiveUp) -> EventBatch | None:
        """Forget events, and what is left of new ones."""
        n_kept = 0 if self._kept is None else len(self._kept)
        batch = joined([part for part in (self._kept, ready) if part is not None])
        partitions = self._partitions(batch)
        stay = np.ones(len(batch), np.bool_)
        for event, floor in given_up.floors:
            gone = np.arange(len(batch)) < floor
            stay &= ~(gone if event < 0 else gone & (partitions == partitions[event]))
        self.n_dropped += given_up.n_dropped
        rows = np.flatnonzero(stay[:n_kept])
        self._n_open, self._barred = self._n_open[rows], self._barred[rows]
        self._kept = None if self._kept is None or not len(rows) else taken(self._kept, rows)
        new = np.flatnonzero(stay[n_kept:])
        return None if ready is None or not len(new) else taken(ready, new)

    def _stepped(self, ready: EventBatch | None, watermark_us: int) -> tuple[EventBatch, Matches] | None:
        before, self.watermark_us, self.timed_out = self.watermark_us, watermark_us, None
        parts = [part for part in (self._kept, ready) if part is not None]
        if not parts:
            return None
        automaton = self._compiled.automaton
        if ready is None and not self._compiled.needs.fire and not automaton.skips:
            self._keep(parts[0], None, None)
            return None
        batch = joined(parts)
        if self._counts and batch.places is None:
            batch = replace(batch, places=np.full(len(batch), -1, np.int64))
        self._barred = np.append(self._barred, np.zeros(len(batch) - len(self._barred), np.bool_))
        look = self._open_starts if self._history.reach is None else None
        stepped = stepped_to_the_end(self._compiled, batch, self._settings, look, self._remote)
        self._n_open = self._open(batch, stepped)
        matches, waiting = self._matches(batch, stepped)
        decided = matches.decided_us
        self.n_timers = int(np.count_nonzero(decided > watermark_us))
        self._pending_us = int(batch.time_us[waiting].min()) if len(waiting) else None
        cut = None
        if stepped.looked is not None:
            opened = waiting if automaton.skips else np.concatenate((waiting, stepped.looked))
            cut = _first_of_each(self._partitions(batch), opened)
            self._barred |= np.arange(len(batch)) < cut
        self._keep(batch, stepped.events, cut)
        if automaton.tells_timed_out:
            left = written(self._compiled, batch, stepped.events, stepped.pool, stepped.out).timed_out()
            self.timed_out = self._since(before, batch, left)
        return self._since(before, batch, matches)

    def _since(self, before_us: int, batch: EventBatch, found: Matches) -> tuple[EventBatch, Matches] | None:
        """What is decided by now and was not at the watermark before."""
        new = (found.decided_us > before_us) & (found.decided_us <= self.watermark_us)
        return narrowed(batch, chosen(found, new)) if new.any() else None

    def _matches(self, batch: EventBatch, stepped: Stepped) -> tuple[Matches, Int64Array]:
        """What is found in a batch, and the first events of what may still become matches without further events."""
        events, now = stepped.events, self.watermark_us
        if not self._compiled.automaton.skips:
            matches = matches_in(self._compiled, batch, events, stepped.pool, stepped.out)
            firsts = matches.positions[matches.offsets[:-1]]
            if self._barred.any():
                matches, firsts = chosen(matches, ~self._barred[firsts]), firsts[~self._barred[firsts]]
            return matches, firsts[matches.decided_us > now]
        found = written(self._compiled, batch, events, stepped.pool, stepped.out)
        matches, kept = found.kept(self._barred if self._has_frontier else None)
        assert kept is not None
        if self._has_frontier:
            self._barred |= _before_frontiers(self._partitions(batch), kept, now)
        waiting = kept.end_firsts[kept.end_times > now]
        return matches, waiting[~self._barred[waiting]]

    @property
    def held(self) -> tuple[EventBatch, Int64Array] | None:
        """See `engine.gauge.Holder`."""
        return None if self._kept is None else (self._kept, self._n_open)

    def _open(self, batch: EventBatch, stepped: Stepped) -> Int64Array:
        """For each event of a batch, how many partial matches took it last."""
        last = open_events(self._compiled, stepped.pool, stepped.events, self.watermark_us)
        if stepped.events.selected is not None:
            last = stepped.events.selected[last]
        return np.bincount(last, minlength=len(batch)).astype(np.int64, copy=False)

    def _open_starts(self, events: KernelEvents, pool: Int64Array) -> Int64Array:
        """The positions of events that have started what can still become a match with further events."""
        firsts = open_starts(self._compiled, pool, events)
        if events.selected is not None:
            firsts = events.selected[firsts]
        return firsts[~self._barred[firsts]]

    def _partitions(self, batch: EventBatch) -> Int64Array:
        """For each event, the number of its partition."""
        by = self._compiled.automaton.partition
        if not by:
            return np.zeros(len(batch), np.int64)
        codes, _ = partition_codes([evaluated(self._compiled, batch, expression) for expression in by])
        return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64, copy=False)

    def saved(self) -> tuple[EventBatch | None, list[Any], dict[str, Any]]:
        """See `engine.incremental.Session.saved`."""
        beside = pa.table({"n_open": array_of(self._n_open), "barred": array_of(self._barred.astype(np.int64))})
        return (
            self._kept,
            [beside],
            {
                "n_timers": self.n_timers,
                "pending_us": self._pending_us,
                "n_dropped": self.n_dropped,
            },
        )

    def restore(self, held: EventBatch | None, tables: list[Any], said: dict[str, Any], watermark_us: int) -> None:
        """See `engine.incremental.Session.restore`."""
        if "n_timers" not in said:
            raise other_plan()
        self.watermark_us, self._kept, self.n_timers = watermark_us, held, said["n_timers"]
        self._pending_us = said["pending_us"]
        self.n_dropped = said.get("n_dropped", 0)  # which earlier snapshots do not have
        n_open, barred = (numpy_of(tables[0].column(name).combine_chunks()) for name in ("n_open", "barred"))
        self._n_open, self._barred = n_open.copy(), barred != 0

    def switch(self, compiled: CompiledPlan) -> None:
        """See `engine.incremental.Session.switch`."""
        self._compiled = compiled

    def compact(self) -> None:
        """A step keeps no more than it must."""

    # --- what is kept ---------------------------------------------------------------------------------

    def _keep(self, batch: EventBatch, events: KernelEvents | None, cut: Int64Array | None) -> None:
        """Keep the events that later steps need.

        Args:
            batch: all that there are.
            events: tells which of them fit the pattern, and their places; None where nothing has come since the last
                step.
            cut: for each the position of the first start of its partition that is open; None where that says nothing.
        """
        if self.watermark_us == AFTER_ALL_US:
            rows = np.zeros(0, np.int64)
            self._pending_us = None
        else:
            rows = np.flatnonzero(self._needed(batch, events, cut))
        if self._counts and events is not None:
            assert events.counted is not None
            batch = replace(batch, places=events.counted.places)
        self._n_open, self._barred = self._n_open[rows], self._barred[rows]
        self._kept = taken(batch, rows) if len(rows) else None

    def _needed(self, batch: EventBatch, events: KernelEvents | None, cut: Int64Array | None) -> BoolArray:
        automaton, kept = self._compiled.automaton, self._history
        if events is None and (self._counts or kept.reach is None):
            return np.ones(len(batch), np.bool_)
        needed = np.zeros(len(batch), np.bool_)
        for reach, counts in ((kept.reach, automaton.counts_events), (kept.windows, not automaton.counts_events)):
            if reach is None:
                continue
            if not counts:
                # Both are within 2**62 of the epoch, so that the difference fits.
                needed |= batch.time_us >= max(self.watermark_us, -(2**62)) - reach
                continue
            assert events is not None
            needed |= _places_back(events) <= reach
        if events is None:
            return needed
        if cut is not None:
            needed |= np.arange(len(batch)) >= cut
            if automaton.leading:
                needed |= self._for_leading(batch, events)
        elif self._counts:
            needed |= _places_back(events) == 0  # so that those to come can be counted on
        needed[events.null_keys] = False
        if not self._keeps_all and events.selected is not None:
            fits = np.zeros(len(batch), np.bool_)
            fits[events.selected] = True
            needed &= fits
        return needed

    def _for_leading(self, batch: EventBatch, events: KernelEvents) -> BoolArray:
        """What a NOT before the first event of a later match may ask for."""
        found = np.full(len(batch), bool(self._compiled.groups))
        negated = sum(1 << element.index for element in self._compiled.automaton.elements if element.negated)
        fit = events.ints[k.FIT_COLUMN * events.n :][: events.n]
        selected = np.arange(len(batch)) if events.selected is None else events.selected
        found[selected[fit & negated != 0]] = True
        return found


def _places_back(events: KernelEvents) -> Int64Array:
    """How many events of its partition come after each event."""
    counted = events.counted
    assert counted is not None
    lengths = np.diff(counted.starts)
    last = lengths - 1 if counted.before is None else counted.before + lengths - 1
    back: Int64Array = last[counted.partitions] - counted.places
    return back


def _before_frontiers(partitions: Int64Array, kept: Kept, now_us: int) -> BoolArray:
    """Where events lie before the frontier of their partition, as far as it is known.

    Args:
        partitions: int64, by position.
        kept: what AFTER MATCH keeps.
        now_us: all events up to this time have come.
    """
    known = kept.known <= now_us
    frontier = np.zeros(int(partitions.max(initial=0)) + 1, np.int64)
    np.maximum.at(frontier, partitions[kept.firsts[known]], kept.onward[known])
    before: BoolArray = np.arange(len(partitions)) < frontier[partitions]
    return before


def _first_of_each(partitions: Int64Array, positions: Int64Array) -> Int64Array:
    """For each event the first of some positions that is of its partition, or the number of events."""
    first = np.full(int(partitions.max(initial=0)) + 1, len(partitions))
    np.minimum.at(first, partitions[positions], positions)
    return first[partitions]
