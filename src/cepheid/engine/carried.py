"""A session whose partial matches live on from one step to the next, in the kernel's own arrays."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.compiler.columns import KernelEvents, events_of
from cepheid.compiler.elements import RemoteData
from cepheid.compiler.load import rekey_kernel, relinkers
from cepheid.compiler.registers import Tally, Value
from cepheid.compiler.requests import Register
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.asked import Asked
from cepheid.engine.caps import Caps
from cepheid.engine.compaction import compact, n_waiting_runs, open_events, waiting_since_us
from cepheid.engine.host import Host
from cepheid.engine.matches import Matches
from cepheid.engine.narrowing import narrowed
from cepheid.engine.open_predicates import OpenPredicates
from cepheid.engine.places import PlaceCounter, with_places
from cepheid.engine.pool import Pool, rows_in
from cepheid.engine.saved_rows import fingerprint, restored_rows, saved_rows
from cepheid.engine.session import fire_until, matches_in, step_over
from cepheid.engine.settings import Settings
from cepheid.engine.snapshot import events_of_table, other_plan, table_of_events
from cepheid.engine.watermark import AFTER_ALL_US, BEFORE_ALL_US
from cepheid.errors import DataError
from cepheid.events.arrow_memory import array_of, numpy_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.events.reorder import batch_bytes, joined, taken
from cepheid.kernels import layout as k
from cepheid.kernels.layout import FIRST_COLUMN
from cepheid.plan.evaluation import only_eager_because
from cepheid.ports.pairs import PairPolicy, Remembers

MIN_NEW_EVENTS = 256
"""Events after which what is not needed any more is forgotten, at the earliest: it costs a look at all that is held."""


class CarriedSession:
    """One query over one stream; see `engine.incremental.Session`.

    A step gives the kernel the new events. Those before it that partial matches rest on stand in front of them, so
    that the numbers of events in rows are indices into one batch; from time to time what is not needed any more is
    forgotten, and rows and events are numbered anew.
    """

    def __init__(self, compiled: CompiledPlan, settings: Settings, policy: PairPolicy | None = None) -> None:
        """Start at the beginning of a stream.

        Args:
            compiled: a plan with no `engine.carrying.reason_not_carried`, prepared for what the policy wants.
            settings: how much may be held.
            policy: looks at pairs of events and partial matches.
        """
        self.watermark_us = BEFORE_ALL_US
        self._compiled = compiled
        self._settings = settings
        self._caps = Caps(compiled, settings)
        self._remote = RemoteData(compiled.automaton.bound)
        self._opened: OpenPredicates | None = None
        self._pool = Pool(compiled, self._caps.first_rows)
        self._policy = policy
        self._asked = None if policy is None else Asked(compiled, policy, self._pool)
        self._places: PlaceCounter | None = None
        if policy is not None and compiled.hooks is not None and compiled.hooks.tells_cells:
            self._places = PlaceCounter(compiled)
        self._held: EventBatch | None = None
        self._events: KernelEvents | None = None
        self._n_new = 0

    @property
    def timed_out(self) -> None:
        """Nothing: what times out is told by a plan that runs over the last window again."""
        return

    @property
    def settled_us(self) -> int:
        """See `engine.incremental.Session.settled_us`."""
        if self.watermark_us == AFTER_ALL_US or not self._compiled.needs.fire:
            return self.watermark_us
        started = waiting_since_us(self._compiled, self._pool.pool)
        return self.watermark_us if started is None else min(self.watermark_us, started - 1)

    @property
    def compiled(self) -> CompiledPlan:
        """The plan."""
        return self._compiled

    @property
    def pool(self) -> Pool:
        """The partial matches."""
        return self._pool

    @property
    def caps(self) -> Caps:
        """How much may be held."""
        return self._caps

    @property
    def batch(self) -> EventBatch | None:
        """The events that are kept."""
        return self._held

    @property
    def events(self) -> KernelEvents | None:
        """The columns of these."""
        return self._events

    def take_back(self, batch: EventBatch | None, events: KernelEvents | None) -> None:
        """Go on with other events, which the pool names by their numbers here (`engine.one_by_one`)."""
        self._held, self._events, self._n_new = batch, events, 0

    @property
    def n_bytes(self) -> int:
        """Bytes of partial matches and of the events that are kept."""
        return self._pool.n_bytes + (0 if self._held is None else batch_bytes(self._held))

    @property
    def n_dropped(self) -> int:
        """Partial matches that a cap made it forget."""
        return self._caps.n_dropped

    @property
    def n_timers(self) -> int:
        """Starts with something that the time will decide."""
        return n_waiting_runs(self._compiled, self._pool.pool)

    @property
    def held(self) -> tuple[EventBatch, Int64Array] | None:
        """See `engine.gauge.Holder`."""
        if self._held is None or self._events is None:
            return None
        last = open_events(self._compiled, self._pool.pool, self._events, self.watermark_us)
        return self._held, np.bincount(last, minlength=len(self._held)).astype(np.int64, copy=False)

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
        self.watermark_us = watermark_us
        if ready is None and self._waits_for_events():
            if watermark_us == AFTER_ALL_US:
                self._end()
            return None
        if ready is not None and self._places is not None:
            ready = with_places(ready, self._places.of(ready))
        batch = joined([part for part in (self._held, ready) if part is not None])
        events, n_before = self._events, 0 if self._held is None else len(self._held)
        if ready is not None or events is None:
            events = self._with_new(batch, n_before)
            batch = batch if events.selected is None else taken(batch, events.selected)
        compiled, pool = self._compiled, self._pool
        in_place = replace(events, selected=None)
        host = self._host(batch, in_place)
        pool.set_events(in_place, first=n_before)
        with np.errstate(all="ignore"):
            step_over(compiled, in_place, pool, host, self._caps, self._asked)
            if watermark_us == AFTER_ALL_US:
                fire_until(compiled, in_place, pool, host, None, self._asked)
                self._end()
            elif watermark_us != BEFORE_ALL_US:
                fire_until(compiled, in_place, pool, host, watermark_us + 1, self._asked)
        self._events, self._held = in_place, batch
        self._n_new += len(batch) - n_before
        found = None
        if pool.pool[k.M_N_MATCHES]:
            found = self._told(batch, matches_in(compiled, batch, in_place, pool.pool, pool.out))
            pool.forget_matches()
        n_old = len(batch) - self._n_new
        if ready is None or watermark_us == AFTER_ALL_US or self._n_new >= max(MIN_NEW_EVENTS, n_old // 2):
            self.compact()
        return found

    def _host(self, batch: EventBatch, events: KernelEvents) -> Host | None:
        """What the kernel asks, where it asks anything."""
        if not self._compiled.hosted:
            return None
        return Host(self._compiled, batch, events, self._pool, self._remote, self._opened)

    def _told(self, batch: EventBatch, matches: Matches) -> tuple[EventBatch, Matches] | None:
        """What is told of the matches of a step, and of those before it."""
        return narrowed(batch, matches)

    def _end(self) -> None:
        """The input is at its end: the policy is shown all that has happened."""
        if self._asked is not None:
            self._asked.end()
            self._asked = None

    def _waits_for_events(self) -> bool:
        """Whether nothing but further events can change anything, and what is held may still be of use to them."""
        if self._held is None or not len(self._held):
            return True
        if self._compiled.needs.fire or self.watermark_us == AFTER_ALL_US:
            return False
        within = self._compiled.automaton.within
        return within is None or int(self._held.time_us[-1]) >= self.watermark_us - within

    def saved(self) -> tuple[EventBatch | None, list[Any], dict[str, Any]]:
        """See `engine.incremental.Session.saved`."""
        self.compact()
        if self._asked is not None:
            self._asked.before_rows_are_saved()
        tables = list(saved_rows(self._compiled, self._pool, self._events))
        said: dict[str, Any] = {"plan": fingerprint(self._compiled), "n_dropped": self.n_dropped}
        if self._policy is not None:
            said["policy"] = self._policy.remembered() if isinstance(self._policy, Remembers) else {}
            seen = np.zeros(0, np.int64) if self._asked is None else self._asked.seen()
            said["n_events"], lasts = (0, None) if self._places is None else self._places.saved
            tables += [pa.table({"seen": array_of(seen)}), table_of_events(lasts)]
        return self._held, tables, said

    def restore(self, held: EventBatch | None, tables: list[Any], said: dict[str, Any], watermark_us: int) -> None:
        """See `engine.incremental.Session.restore`."""
        if "open" in said:
            raise DataError(
                "the snapshot was made while partial matches waited for answers of remote stores",
                remedy="restore it with stores that are asked (cepheid.ports.stores.AsksStore)",
            )
        same_plan = said.get("plan") == fingerprint(self._compiled)
        if ("policy" in said) != (self._policy is not None):
            raise DataError(
                f"the snapshot was made {'with' if 'policy' in said else 'without'} a policy",
                remedy="restore it as it was made",
            )
        if not same_plan and (self._policy or only_eager_because(self._compiled.automaton.bound)) is not None:
            raise other_plan()
        self.watermark_us, self._held = watermark_us, held
        self._caps.n_dropped = said["n_dropped"]
        if self._policy is not None:
            *tables, seen, lasts = tables
            self._go_on_with_policy(self._policy, said, numpy_of(seen.column("seen").combine_chunks()))
            if self._places is not None:
                schema = self._compiled.automaton.bound.schema if held is None else held.schema
                self._places.restore(said["n_events"], events_of_table(lasts, schema))
        if held is None:
            return
        events = events_of(self._compiled, held)
        if events.selected is not None:
            raise DataError(
                f"{len(held) - events.n} of the events in the snapshot do not fit the query any more",
                remedy="restore it with the functions that it was made with",
            )
        self._events = events
        if same_plan:
            restored_rows(self._compiled, self._pool, events, *tables)
        else:
            self._step_over_held(events)

    def _go_on_with_policy(self, policy: PairPolicy, said: Mapping[str, Any], seen: Int64Array) -> None:
        """Let the policy begin anew with what is known of the run before."""
        if isinstance(policy, Remembers):
            policy.remember(said["policy"])
        self._pool = Pool(self._compiled, self._caps.first_rows)
        self._asked = Asked(self._compiled, policy, self._pool) if len(seen) else None
        if self._asked is not None:
            self._asked.goes_on_from(seen)

    def switch(self, compiled: CompiledPlan) -> None:
        """See `engine.incremental.Session.switch`.

        What one plan keeps is enough for any other: of a match, the events that have come so far are all in one partial
        match, or kept for the last event. So the new plan steps over these, once, and tells nothing. Which pairs
        among them are kept apart is decided anew.
        """
        if self._asked is not None and fingerprint(compiled) == fingerprint(self._compiled):
            return  # partial matches that are made anew would not say what was counted of them
        self.compact()
        self._compiled = compiled
        n_dropped, self._caps = self._caps.n_dropped, Caps(compiled, self._settings)
        self._caps.n_dropped = n_dropped
        self._pool = Pool(compiled, self._caps.first_rows)
        if self._asked is not None and self._policy is not None:
            self._asked = Asked(compiled, self._policy, self._pool, self._asked)
        if self._held is None:
            return
        events = events_of(compiled, self._held)
        assert events.selected is None, "what fits one plan of a query fits another"
        self._events = events
        self._step_over_held(events)

    def _step_over_held(self, events: KernelEvents) -> None:
        """Make the partial matches anew from the events that are held."""
        compiled, pool = self._compiled, self._pool
        host = None if self._held is None else self._host(self._held, events)
        pool.set_events(events)
        pool.pool[k.M_QUIET] = events.n
        uncounted = nullcontext() if self._asked is None else self._asked.uncounted()
        with uncounted, np.errstate(all="ignore"):
            step_over(compiled, events, pool, host, self._caps, self._asked)
        pool.pool[k.M_QUIET] = 0
        pool.forget_matches()  # they were told when their last event came

    def compact(self) -> None:
        """Forget what nothing can come of any more."""
        if self._places is not None:
            self._places.forget(self.watermark_us)
        if self._events is None or self._held is None:
            return
        if self.watermark_us == AFTER_ALL_US:
            self._pool = Pool(self._compiled, self._caps.first_rows)
            self._held = self._events = None
        else:
            needed = compact(self._compiled, self._pool, self._events, self.watermark_us)
            self._held = taken(self._held, needed) if len(needed) else None
            self._events = _chosen(self._events, needed) if len(needed) else None
        self._n_new = 0

    def _with_new(self, batch: EventBatch, n_before: int) -> KernelEvents:
        """The columns of all events, with partial matches brought to what the values of held ones are in them now."""
        compiled, before = self._compiled, self._events
        events = events_of(compiled, batch)
        if events.selected is not None:
            assert (events.selected[:n_before] == np.arange(n_before)).all(), "what fitted once fits again"
        if before is None:
            return events
        self.recode(events, events.changes_from(before, n_before))
        return events

    def recode(self, events: KernelEvents, changed: dict[int, tuple[k.Ints, k.Ints]]) -> None:
        """Bring registers and keys that come from columns of codes to the codes that stand for the same values now.

        Args:
            events: as they are now.
            changed: see `KernelEvents.changes_from`.
        """
        if not changed:
            return
        compiled, pool = self._compiled, self._pool
        plan, words = compiled.plan, pool.pool
        rows, slots = rows_in(plan, words)
        at = int(plan[k.P_REGISTERS])
        for register, number in compiled.registers.items():
            if not isinstance(register, Value | Tally) or register.column not in changed:
                continue
            if isinstance(register, Tally):
                if register.function not in ("min", "max") or register.shape.register is Register.FLOAT:
                    continue
                number += 1
            old, new = changed[register.column]
            codes, first = np.unique(old, return_index=True)
            values = rows[slots, at + number]
            place = np.minimum(np.searchsorted(codes, values), len(codes) - 1)
            rows[slots, at + number] = np.where(codes[place] == values, new[first[place]], values)
        relink, relink_kept = relinkers()
        pool.set_events(events)
        rekey_kernel()(plan, words, events.ints, events.nulls)
        heads = words[words[k.M_HEADS] :][: len(rows) * int(plan[k.P_N_LISTS])]
        heads[:] = k.NO_ROW
        relink(plan, words)
        buckets = words[words[k.M_KEPT_HEADS] :][: int(words[k.M_KEPT_CAPACITY]) * int(plan[k.P_N_BUFFERS])]
        buckets[:] = k.NO_ROW
        relink_kept(words)
        pool.unsort(words)


def _chosen(events: KernelEvents, needed: k.Ints) -> KernelEvents:
    """The columns of some events."""
    n, n_columns = events.n, events.int_nulls // events.n
    grid = events.ints[: events.int_nulls].reshape(n_columns, n)[:, needed]
    places = events.ints[events.int_nulls :]
    n_floats = len(places) - (n_columns - FIRST_COLUMN)
    n_masks = int(np.count_nonzero(places >= 0))
    return replace(
        events,
        n=len(needed),
        ints=np.concatenate((grid.reshape(-1), places)),
        floats=events.floats[: n_floats * n].reshape(n_floats, n)[:, needed].reshape(-1) if n_floats else events.floats,
        nulls=events.nulls[: n_masks * n].reshape(n_masks, n)[:, needed].reshape(-1) if n_masks else events.nulls,
        int_nulls=n_columns * len(needed),
        float_nulls=n_columns * len(needed) + events.float_nulls - events.int_nulls,
    )
