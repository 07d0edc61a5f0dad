"""What a pool must keep between two batches: partial matches that can still become matches, and what they rest on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.columns import KernelEvents
from cepheid.compiler.load import relinkers
from cepheid.compiler.registers import Iteration, Slot
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.open_predicates import refuted
from cepheid.engine.pool import Pool, rows_in
from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.kernels import hook_layout as h
from cepheid.kernels import layout as k

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a pool, oldest first.

    Attributes:
        ids: int64, (n,).
        fields: int64, (n, width): a copy.
        linked: bool, (n, lists of a state): it waits in that list for an event that can still come.
        waiting: bool, (n,): it waits for the deadline of its run.
    """

    ids: k.Ints
    fields: k.Ints
    linked: Bools
    waiting: Bools

    @property
    def open(self) -> Bools:
        """Where something can still come of a row itself."""
        found: Bools = self.linked.any(axis=1) | self.waiting
        return found


def open_events(compiled: CompiledPlan, words: k.Ints, events: KernelEvents, watermark_us: int) -> k.Ints:
    """The last event of each partial match from which something can still come, as an index into ``events``.

    Args:
        compiled: the plan. Of one whose windows count events, those count that nothing has tried in vain yet.
        words: of a pool, after a batch.
        events: that batch.
        watermark_us: all events up to this time have been stepped over.
    """
    rows = _rows(compiled, words, events, watermark_us)
    last: k.Ints = rows.fields[rows.open, k.EVENT]
    return last


def open_starts(compiled: CompiledPlan, words: k.Ints, events: KernelEvents) -> k.Ints:
    """The first event of each partial match from which something can still come, as an index into ``events``.

    Args:
        compiled, words, events: as for `open_events`, of a plan without windows, and before the end of the input.
    """
    if compiled.automaton.strict:
        runs = runs_of(words)
        return np.unique(runs[runs[:, k.RUN_ROW] != k.NO_ROW, k.RUN_FIRST])
    rows = _rows(compiled, words, events, BEFORE_ALL_US)
    fields = rows.fields
    found = np.flatnonzero(rows.open & ~_left_behind(compiled, events, fields))
    while len(parents := fields[found, k.PARENT]) and (parents >= 0).any():
        found = np.unique(np.where(parents >= 0, parents - rows.ids[0], found))
    return np.unique(fields[found, k.EVENT])


def _left_behind(compiled: CompiledPlan, events: KernelEvents, fields: k.Ints) -> Bools:
    """Where a row can be extended by the next event alone, and that has come and has not done it."""
    near = events.neighbours
    if near is None:
        return np.zeros(len(fields), np.bool_)
    states = compiled.plan[compiled.plan[k.P_STATES] :]
    waits_for_next = states[(fields[:, k.STATE] & k.STATE_MASK) * k.STATE_WIDTH + k.NEIGHBOURS] != 0
    last = fields[:, k.EVENT] if events.selected is None else events.selected[fields[:, k.EVENT]]
    has_come: Bools = near.event_at(near.partitions[last], near.places[last] + 1) >= 0
    left: Bools = waits_for_next & has_come
    return left


@dataclass(frozen=True, eq=False)
class HeldRows:
    """The partial matches that a pool must hold, in the middle of an event: open ones, and those that they extend.

    Attributes:
        starts: int64, (n,): the time of the first event of each.
        last: int64, (n,): the last event of each.
        is_open: bool, (n,): something can still come of the row itself.
        needed_start: the time of the first event of the one at which the kernel stands; None for none.
        rows: all rows of the pool.
    """

    starts: k.Ints
    last: k.Ints
    is_open: Bools
    needed_start: int | None
    rows: _Rows


def held_rows(compiled: CompiledPlan, words: k.Ints, events: KernelEvents, watermark_us: int) -> HeldRows:
    """The partial matches as they are in the middle of an event; see `open_events`."""
    rows = _rows(compiled, words, events, watermark_us)
    here = int(words[k.M_ROW])
    needed = None
    if here != k.NO_ROW:
        # It is in its list, and stays there whatever comes of it.
        own = rows.fields[here - rows.ids[0]]
        in_list = own[k.LINKS : k.LINKS + 2 * rows.linked.shape[1] : 2] != k.UNLINKED
        rows.linked[here - rows.ids[0]] = in_list
        needed = int(own[k.START])
    alive = _with_parents(rows)
    fields = rows.fields[alive]
    return HeldRows(fields[:, k.START], fields[:, k.EVENT], rows.open[alive], needed, rows)


def held_items(compiled: CompiledPlan, words: k.Ints) -> k.Ints:
    """Under POLICY strict, the last event of each partial match and of each match that is not decided yet.

    Args:
        compiled: a plan of that policy.
        words: of a pool, between two steps of the kernel.
    """
    ring, _ = rows_in(compiled.plan, words)
    runs = runs_of(words)[:, k.RUN_ROW]
    items = ring[runs[runs >= 0] & (len(ring) - 1), k.ITEM_NEXT]
    found = []
    while (items := items[items >= 0]).size:
        found.append(ring[items & (len(ring) - 1), k.EVENT])
        items = ring[items & (len(ring) - 1), k.ITEM_NEXT]
    return np.concatenate([np.zeros(0, np.int64), *found])


def first_events(found: HeldRows) -> k.Ints:
    """The first event of each of some partial matches, as an index into their events."""
    rows = found.rows
    at = np.flatnonzero(_with_parents(rows))
    while len(parents := rows.fields[at, k.PARENT]) and (parents >= 0).any():
        at = np.where(parents >= 0, parents - rows.ids[0], at)
    firsts: k.Ints = rows.fields[at, k.EVENT]
    return firsts


def without(compiled: CompiledPlan, pool: Pool, found: HeldRows, dropped: Bools, watermark_us: int) -> None:
    """Forget some partial matches, and what nothing can come of any more; the numbers of events stay.

    Args:
        compiled, watermark_us: as for `open_events`.
        pool: is given new arrays.
        found: its partial matches.
        dropped: bool, (n,): those that are to go; not the one at which the kernel stands, nor others of its start.
    """
    rows = found.rows
    _count_expired(compiled, pool, rows.fields[~_with_parents(rows)])
    gone = np.flatnonzero(_with_parents(rows))[dropped]
    rows.linked[gone] = False
    rows.waiting[gone] = False
    alive = _with_parents(rows)
    kept = _kept_events(compiled, pool, rows.fields[alive], watermark_us)
    _lay_out_again(compiled, pool, rows, alive, kept, None)


def n_waiting_runs(compiled: CompiledPlan, words: k.Ints) -> int:
    """The runs in a pool that wait for their deadline."""
    return int(np.count_nonzero(runs_of(words)[:, k.RUN_ROW] >= 0)) if compiled.plan[k.P_RUN_FIELD] >= 0 else 0


def waiting_since_us(compiled: CompiledPlan, words: k.Ints) -> int | None:
    """The time of the first event of the oldest run that waits for its deadline, us; None where none does."""
    if compiled.plan[k.P_RUN_FIELD] < 0:
        return None
    runs = runs_of(words)
    waiting = runs[runs[:, k.RUN_ROW] >= 0, k.RUN_START]
    return int(waiting.min()) if len(waiting) else None


def compact(compiled: CompiledPlan, pool: Pool, events: KernelEvents, watermark_us: int) -> k.Ints:
    """Forget what no match can come of, and number what is left anew, rows and events from 0.

    Args:
        compiled, events, watermark_us: as for `open_events`.
        pool: is given new arrays.

    Returns:
        The index in ``events`` of each event that is still needed, ascending: its place here is its new number.
    """
    rows = _rows(compiled, pool.pool, events, watermark_us)
    alive = _with_parents(rows)
    _count_expired(compiled, pool, rows.fields[~alive])
    kept = _kept_events(compiled, pool, rows.fields[alive], watermark_us)
    mentioned = [rows.fields[alive, field] for field in (k.EVENT, *_event_fields(compiled))]
    needed = np.unique(np.concatenate([*mentioned, kept[:, k.KEPT_EVENT]]))
    needed = needed[needed >= 0]
    _lay_out_again(compiled, pool, rows, alive, kept, needed)
    return needed


def _count_expired(compiled: CompiledPlan, pool: Pool, gone: k.Ints) -> None:
    """Count for a policy that observes, as `kernels.hooks.observe_end` does, rows whose room is given back here."""
    area = pool.for_policy
    if not len(area) or not area[h.A_OBSERVES]:
        return
    marks = int(compiled.plan[compiled.plan[k.P_HOOKS] + h.H_PAIR])
    states = gone[gone[:, marks] & h.WENT_ON == 0, k.STATE] & k.STATE_MASK
    counts = np.bincount(states)
    area[area[h.A_STATES] + h.S_EXPIRED :: h.RECORD_WIDTH][: len(counts)] += counts


def _rows(compiled: CompiledPlan, words: k.Ints, events: KernelEvents, watermark_us: int) -> _Rows:
    plan, automaton = compiled.plan, compiled.automaton
    ids = np.arange(words[k.M_TAIL], words[k.M_HEAD])
    ring, places = rows_in(plan, words)
    fields = ring[places]
    run_field = int(plan[k.P_RUN_FIELD])
    linked = fields[:, link_fields(plan)] != k.UNLINKED
    can_go_on = np.ones(len(ids), np.bool_)
    now = max(watermark_us, -(2**62))  # so that differences of times fit
    if plan[k.P_WITHIN] >= 0 and not automaton.counts_events:
        can_go_on &= now - fields[:, k.START] < plan[k.P_WITHIN]
    if plan[k.P_EACH] >= 0 and not automaton.counts_events:
        times = events.ints[k.TIME_COLUMN * events.n : (k.TIME_COLUMN + 1) * events.n]
        can_go_on &= now - times[fields[:, k.EVENT]] < plan[k.P_EACH]
    waiting = np.zeros(len(ids), np.bool_)
    if run_field >= 0 and len(ids):
        states = plan[plan[k.P_STATES] :]
        at = (fields[:, k.STATE] & k.STATE_MASK) * k.STATE_WIDTH
        may_end = states[at + k.ENDS_FROM] < states[at + k.ENDS_TO]
        hanging = runs_of(words)[:, k.RUN_ROW]
        while (hanging := hanging[hanging >= ids[0]]).size:
            waiting[hanging - ids[0]] = True
            hanging = fields[hanging - ids[0], run_field + 1]
        waiting &= may_end
    if plan[k.P_CHAIN] >= 0:
        stands = ~refuted(plan, words, fields[:, plan[k.P_CHAIN]])
        can_go_on &= stands
        waiting &= stands
    return _Rows(ids, fields, linked & can_go_on[:, None], waiting)


def runs_of(words: k.Ints) -> k.Ints:
    """The runs, oldest first: (n, RUN_WIDTH), a copy."""
    ids = np.arange(words[k.M_RUN_TAIL], words[k.M_RUN_HEAD])
    capacity = int(words[k.M_RUN_CAPACITY])
    runs: k.Ints = words[words[k.M_RUNS] :][: capacity * k.RUN_WIDTH].reshape(-1, k.RUN_WIDTH)[ids & (capacity - 1)]
    return runs


def _with_parents(rows: _Rows) -> Bools:
    """Rows that are open, and those that they extend."""
    alive = rows.open.copy()
    if not len(rows.ids):
        return alive
    first = rows.ids[0]
    found = np.flatnonzero(alive)
    while len(found):
        parents = rows.fields[found, k.PARENT] - first
        parents = np.unique(parents[parents >= 0])
        found = parents[~alive[parents]]
        alive[found] = True
    return alive


def _event_fields(compiled: CompiledPlan) -> list[int]:
    """The fields of a row, beside EVENT, that hold numbers of events where they are not negative."""
    at = int(compiled.plan[k.P_REGISTERS])
    return [at + number for register, number in compiled.registers.items() if isinstance(register, Slot)]


def _kept_events(compiled: CompiledPlan, pool: Pool, alive: k.Ints, watermark_us: int) -> k.Ints:
    """The events that NOTs may still ask for, oldest first: (n, KEPT_WIDTH), a copy."""
    plan, words = compiled.plan, pool.pool
    ids = np.arange(words[k.M_KEPT_TAIL], words[k.M_KEPT_HEAD])
    capacity = int(words[k.M_KEPT_CAPACITY])
    kept: k.Ints = words[words[k.M_KEPT] :][: capacity * k.KEPT_WIDTH].reshape(-1, k.KEPT_WIDTH)[ids & (capacity - 1)]
    if plan[k.P_KEEP_NEGATED] >= 0:
        kept = kept[max(watermark_us, -(2**62)) - kept[:, k.KEPT_TIME] <= plan[k.P_KEEP_NEGATED]]
    if not (compiled.automaton.leading or compiled.automaton.joins):  # all gaps begin after the first event of a match
        oldest = alive[:, k.START].min(initial=2**63 - 1)
        kept = kept[kept[:, k.KEPT_TIME] >= oldest]
    return kept


def _lay_out_again(
    compiled: CompiledPlan, pool: Pool, rows: _Rows, alive: Bools, kept: k.Ints, needed: k.Ints | None
) -> None:
    """Fill a new pool with the rows that are alive and with kept events, in the numbers of ``needed`` if given."""
    plan, words = compiled.plan, pool.pool
    n_rows, n_kept = int(np.count_nonzero(alive)), len(kept)
    fields, linked = rows.fields[alive], rows.linked[alive]
    run_field, registers = int(plan[k.P_RUN_FIELD]), int(plan[k.P_REGISTERS])
    new_id = np.where(alive, np.cumsum(alive) - 1, k.NO_ROW)
    new_id = np.append(new_id, k.NO_ROW)  # what -1, and what lies before the tail, becomes

    def renamed(old: k.Ints) -> k.Ints:
        first = rows.ids[0] if len(rows.ids) else 0
        return new_id[np.where(old >= first, old - first, -1)]

    runs = runs_of(words)
    if run_field >= 0:
        hanging = rows.waiting[alive]
        used = np.zeros(len(runs), np.bool_)
        used[fields[:, run_field] - words[k.M_RUN_TAIL]] = True
        number = np.cumsum(used) - 1
        runs = runs[used]
        fields[:, run_field] = number[fields[:, run_field] - words[k.M_RUN_TAIL]]
        fields[:, run_field + 1] = k.NO_ROW
        runs[:, k.RUN_ROW] = k.NO_ROW
        one_start = bool(plan[k.P_ONE_START])
        waiting = np.flatnonzero(rows.open[alive] if one_start else hanging)
        hang(fields, runs, waiting, run_field)
    fields[:, k.PARENT] = renamed(fields[:, k.PARENT])
    if needed is not None:
        for field in (k.EVENT, *_event_fields(compiled)):
            events = fields[:, field]
            fields[:, field] = np.where(events >= 0, np.searchsorted(needed, events), events)
        kept[:, k.KEPT_EVENT] = np.searchsorted(needed, kept[:, k.KEPT_EVENT])
    for field in (registers + n for register, n in compiled.registers.items() if isinstance(register, Iteration)):
        fields[:, field] = np.where(fields[:, field] >= 0, renamed(fields[:, field]), fields[:, field])
    for of_list, field in enumerate(link_fields(plan)):
        fields[~linked[:, of_list], field] = k.UNLINKED

    header = words[: k.POOL_HEADER].copy()
    if header[k.M_ROW] != k.NO_ROW:
        header[k.M_ROW] = renamed(header[k.M_ROW : k.M_ROW + 1])[0]
    # In the middle of an event, what is left fits the room that there was.
    header[k.M_CAPACITY] = min(room_for(n_rows, pool), int(words[k.M_CAPACITY]))
    header[k.M_RUN_CAPACITY] = room_for(len(runs), pool) if run_field >= 0 else 1
    header[k.M_KEPT_CAPACITY] = room_for(n_kept, pool) if plan[k.P_N_BUFFERS] > 0 else 1
    for head, tail, n in (
        (k.M_HEAD, k.M_TAIL, n_rows),
        (k.M_RUN_HEAD, k.M_RUN_TAIL, len(runs)),
        (k.M_KEPT_HEAD, k.M_KEPT_TAIL, n_kept),
    ):
        header[head], header[tail] = n, 0
    pool.n_forgotten += int(words[k.M_HEAD]) - n_rows
    reals = pool.reals_of_rows()[rows.ids[alive] & (words[k.M_CAPACITY] - 1)]
    pool.pool = laid_out = pool.laid_out(header)
    pool.reals = pool.new_reals(int(header[k.M_CAPACITY]))
    pool.reals_of_rows()[:n_rows] = reals
    for place, content in ((k.M_ROWS, fields), (k.M_RUNS, runs if run_field >= 0 else runs[:0]), (k.M_KEPT, kept)):
        laid_out[laid_out[place] :][: content.size] = content.reshape(-1)
    relink, relink_kept = relinkers()
    relink(plan, laid_out)
    relink_kept(laid_out)


def link_fields(plan: k.Ints) -> range:
    """The fields of a row that say which row is next in a list, or that it is in none."""
    ends = [int(plan[at]) for at in (k.P_RUN_FIELD, k.P_JOIN_FIELD) if plan[at] > 0]
    return range(k.LINKS, min(ends, default=int(plan[k.P_REGISTERS])), 2)


def hang(fields: k.Ints, runs: k.Ints, waiting: k.Ints, run_field: int) -> None:
    """Hang rows on their runs; of several of one run, each is followed by the one before it."""
    of_run = fields[waiting, run_field]
    in_order = np.argsort(of_run, kind="stable")
    waiting, of_run = waiting[in_order], of_run[in_order]
    follows = np.flatnonzero(of_run[1:] == of_run[:-1]) + 1
    fields[waiting[follows], run_field + 1] = waiting[follows - 1]
    runs[of_run, k.RUN_ROW] = waiting  # the last of a run stays


def room_for(n: int, pool: Pool) -> int:
    """Room for twice as many, a power of two."""
    return max(pool.first_rows, 1 << (2 * n).bit_length())
