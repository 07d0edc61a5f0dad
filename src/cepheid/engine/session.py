"""Runs a plan over a bounded batch of events."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.columns import NO_EVENTS, KernelEvents, events_of
from cepheid.compiler.elements import RemoteData
from cepheid.compiler.groups import GroupMatches, together
from cepheid.compiler.keyed_events import KeyedEvents, keyed_events_of
from cepheid.compiler.load import await_kernels, chain_kernel, is_compiled, kernels
from cepheid.compiler.routes import Routed, routed_events
from cepheid.compiler.tables import CompiledPlan, compile_plan
from cepheid.engine.absent import absent_matches
from cepheid.engine.asked import Asked
from cepheid.engine.caps import Caps
from cepheid.engine.carrying import reason_not_carried
from cepheid.engine.host import Host
from cepheid.engine.keyed import step_keyed
from cepheid.engine.matches import Matches, RowMatches, no_matches
from cepheid.engine.open_predicates import OpenPredicates, settled_matches
from cepheid.engine.order import in_order
from cepheid.engine.pool import FEWEST_ROWS, Pool, rows_for
from cepheid.engine.settings import DEFAULTS, MAX_PARTIAL_MATCHES, Settings
from cepheid.engine.written import keep_matches, variables_of, written
from cepheid.errors import DataError, NotSupportedError
from cepheid.events.batch import EventBatch
from cepheid.kernels import layout as k
from cepheid.language.bound import BoundQuery
from cepheid.plan.build import build
from cepheid.plan.evaluation import ADAPTIVE, Evaluation, asked_for
from cepheid.plan.lazy import build_lazy
from cepheid.plan.postponing import waits_for_answers
from cepheid.ports.evaluation import Decision
from cepheid.ports.pairs import PairPolicy, Wanted
from cepheid.ports.postponing import PostponingPolicy

MOST_EVENTS = 2**31  # the order of matches packs two positions into one word


@dataclass
class Work:
    """What a run did.

    Attributes:
        n_events: events in the batch.
        n_stepped: events that the kernel saw.
        n_tried: (event, partial match) pairs looked at.
        n_created: partial matches made.
        n_dropped: partial matches that a cap made it forget.
        pool_bytes: room held for partial matches at the end.
        null_key_positions: events with NULL in SAME, which are in no partition; int64.
        n_postponed: conditions that waited for an answer of a remote store while partial matches went on.
        n_waited: how often all waited for one, though the plan postpones.
        decision: what was decided on the evaluation plan; None where there was nothing to choose.
    """

    n_events: int = 0
    n_stepped: int = 0
    n_tried: int = 0
    n_created: int = 0
    n_dropped: int = 0
    pool_bytes: int = 0
    null_key_positions: NDArray[np.int64] | None = None
    n_postponed: int = 0
    n_waited: int = 0
    decision: Decision | None = None

    @property
    def n_null_key(self) -> int:
        """The number of events with NULL in SAME."""
        return 0 if self.null_key_positions is None else len(self.null_key_positions)


def prepare(
    bound: BoundQuery,
    *,
    timed_out: bool = False,
    evaluation: Evaluation | None = None,
    wanted: Wanted | None = None,
    postpones: bool = False,
) -> CompiledPlan:
    """The tables of a query. They stay with the object: on the next piece of the events they are there.

    Args:
        bound: the query.
        timed_out: for `run_outputs`, which tells what timed out, too.
        evaluation: what is done as events arrive, and what is left for the last one; None for all as they arrive.
        wanted: of a policy that looks at pairs of events and partial matches, with which the query is to be run.
        postpones: partial matches go on where a condition waits for an answer, if they can (`plan.postponing`).

    Raises:
        NotSupportedError: the query has a meaning that the engine cannot run yet.
    """
    postpones = postpones and waits_for_answers(bound)
    key = (CompiledPlan, timed_out, evaluation, wanted, postpones)
    found: CompiledPlan | None = bound.made.get(key)
    if found is None:
        if evaluation is None:
            automaton = build(bound, timed_out=timed_out, postpones=postpones)
        else:
            automaton = build_lazy(bound, evaluation)
        found = bound.made[key] = compile_plan(automaton, wanted)
    return found


def run(bound: BoundQuery, batch: EventBatch, *, work: Work | None = None, settings: Settings = DEFAULTS) -> Matches:
    """All matches in a bounded input.

    Args:
        bound: the query, its parameters replaced by values.
        batch: the events, in order.
        work: filled with what was done, where given.
        settings: how much may be held, and a plan that is not to be chosen: see `engine.adapting.run_chosen`.

    Raises:
        CapacityError: more partial matches would be held than may be.
        NotSupportedError: the query has a meaning that the engine cannot run yet.
        DataError: a value does not fit a machine word; a registered function raises, or gives what it did not declare.
        ValueError: a plan is to be chosen.
    """
    if settings.evaluation == ADAPTIVE:
        raise ValueError("nothing is chosen here: see engine.adapting.run_chosen")
    evaluation = asked_for(bound, settings.evaluation)
    compiled = prepare(bound, evaluation=evaluation, postpones=settings.max_open_predicates > 0)
    return run_plan(compiled, batch, work=work, settings=settings)


def run_plan(
    compiled: CompiledPlan,
    batch: EventBatch,
    *,
    work: Work | None = None,
    routed: Routed | None = None,
    settings: Settings = DEFAULTS,
    policy: PairPolicy | None = None,
    postponing: PostponingPolicy | None = None,
) -> Matches:
    """All matches of a prepared query in a bounded input; see `run`.

    Args:
        compiled: the plan, prepared for what the policy wants where there is one.
        batch: the events, in order.
        work: filled with what was done, where given.
        routed: the events that the query can take.
        settings: how much may be held.
        policy: looks at pairs of events and partial matches.
        postponing: decides which open predicates of a plan that postpones are waited for; None: none.

    Raises:
        ValueError: the plan was not prepared for the policy, or its orders do not fit.
        NotSupportedError: partial matches are to be dropped with a policy, and the plan runs over its window again.
    """
    if settings.on_cap == "drop oldest" and (reason := reason_not_carried(compiled)) is not None:
        if policy is not None:
            bound = compiled.automaton.bound
            raise NotSupportedError(
                f'no policy can look at pairs of events and partial matches of this query with on_cap="drop oldest" '
                f"yet, as the events of its last window would be run over again: {reason}",
                remedy='use on_cap="error", or run the query without the policy',
                text=bound.text,
                origin=bound.origin,
                span=bound.query.pattern.span,
            )
        from cepheid.engine.rerun import run_dropping  # which itself runs plans

        return run_dropping(compiled, batch, settings, work)
    if policy is not None and (compiled.hooks is None or compiled.hooks.wanted != policy.wanted):
        raise ValueError(f"the plan was not prepared for a policy that wants {policy.wanted}")
    if policy is not None or postponing is not None:
        begun = None if policy is None else Asked(compiled, policy, Pool(compiled, FEWEST_ROWS))
        if begun is not None and postponing is None and _stays_idle(compiled, begun):
            joins = compiled.automaton.joins
            plain = prepare(compiled.automaton.bound, evaluation=None if joins is None else joins.evaluation)
            found = run_plan(plain, batch, work=work, routed=routed, settings=settings)
            begun.end()
            return found
        stepped = _stepped_in_order(
            compiled, batch, work, None, settings, policy=policy, begun=begun, postponing=postponing
        )
        return matches_in(compiled, batch, *stepped)
    return matches_in(compiled, batch, *_stepped(compiled, batch, work, routed, settings))


def _stays_idle(compiled: CompiledPlan, begun: Asked) -> bool:
    """Whether a policy has begun with nothing to do, and will not be asked again before the end."""
    assert compiled.hooks is not None
    asks = compiled.hooks.wanted.work or compiled.automaton.tells_timed_out or compiled.automaton.postpones
    return not asks and not begun.may_drop and not begun.observes


@dataclass(frozen=True, eq=False)
class Stepped:
    """What a kernel has made of a batch, at the end of an input.

    Attributes:
        events: as the kernel saw them.
        pool: with all partial matches.
        out: matches, as they were found.
        looked: what was seen before the end.
    """

    events: KernelEvents
    pool: k.Ints
    out: k.Ints
    looked: k.Ints | None


def stepped_to_the_end(
    compiled: CompiledPlan,
    batch: EventBatch,
    settings: Settings,
    look: Callable[[KernelEvents, k.Ints], k.Ints] | None = None,
    remote: RemoteData | None = None,
) -> Stepped:
    """Step over a batch, by the kernels that keep all partial matches in one pool.

    Args:
        compiled, batch, settings: see `run_plan`.
        look: is shown the events and the pool after the last event, before the end of the input.
        remote: what is known of remote stores; None: nothing yet.

    Raises:
        CapacityError, DataError: see `run`.
    """
    seen: list[k.Ints] = []

    def shown(events: KernelEvents, pool: k.Ints) -> None:
        if look is not None:
            seen.append(look(events, pool))

    stepped = _stepped_in_order(compiled, batch, None, None, settings, shown, remote=remote)
    return Stepped(*stepped, seen[0] if seen else None)


def run_outputs(
    compiled: CompiledPlan,
    batch: EventBatch,
    *,
    work: Work | None = None,
    routed: Routed | None = None,
    settings: Settings = DEFAULTS,
) -> tuple[Matches, Matches]:
    """The same, and what timed out (SEMANTICS 7.3): partial matches, decided when their window closed.

    Args:
        compiled: prepared with ``timed_out``.
        batch, work, routed, settings: see `run_plan`.
    """
    if not compiled.automaton.tells_timed_out:  # no window closes
        matches = run_plan(compiled, batch, work=work, routed=routed, settings=settings)
        return matches, no_matches(sliding=compiled.automaton.sliding)
    stepped = _stepped(compiled, batch, work, routed, settings)
    found = written(compiled, batch, *stepped)
    return found.matches(), found.timed_out()


def _stepped(
    compiled: CompiledPlan, batch: EventBatch, work: Work | None, routed: Routed | None, settings: Settings
) -> tuple[KernelEvents, k.Ints, k.Ints]:
    """The events as the kernel saw them, its pool and its output, when it has stepped over all of them."""
    if len(batch) >= MOST_EVENTS:
        raise DataError(f"{len(batch)} events are more than a batch can hold", remedy="match a part of them at a time")
    # Caps of the user's own are for the pool, which knows how many partial matches it holds.
    by_key = keyed_events_of(compiled, batch) if routed is None and settings == DEFAULTS else None
    stepped = None if by_key is None else _stepped_keyed(compiled, batch, by_key, work)
    return stepped or _stepped_in_order(compiled, batch, work, routed, settings)


def _absent(around: CompiledPlan, batch: EventBatch, settings: Settings, remote: RemoteData) -> dict[int, GroupMatches]:
    """The matches of what stands under each NOT of a group, as far as they count for the query ``around`` it."""
    found: dict[int, list[GroupMatches]] = {}
    # One that is lost here would let a match be told that is none.
    settings = settings if settings.on_cap == "error" else replace(settings, on_cap="error")
    for group in around.groups:
        stepped = _stepped_in_order(group.compiled, batch, None, None, settings, remote=remote)
        matches = matches_in(group.compiled, batch, *stepped)
        found.setdefault(group.element, []).append(absent_matches(around.automaton.bound, group, batch, matches))
    return {element: together(matches) for element, matches in found.items()}


def _stepped_in_order(
    compiled: CompiledPlan,
    batch: EventBatch,
    work: Work | None,
    routed: Routed | None,
    settings: Settings,
    look: Callable[[KernelEvents, k.Ints], None] | None = None,
    policy: PairPolicy | None = None,
    begun: Asked | None = None,
    postponing: PostponingPolicy | None = None,
    remote: RemoteData | None = None,
) -> tuple[KernelEvents, k.Ints, k.Ints]:
    """The same for plans of any form."""
    if remote is None:
        remote = RemoteData(compiled.automaton.bound)
    if policy is None and compiled.chain is None:
        kernels(compiled.needs, compiled.automaton.kernel_flags)  # made first, as they take longest, before columns'
    if routed is not None:
        events = routed_events(compiled, batch, routed)
    else:
        events = events_of(compiled, batch, _absent(compiled, batch, settings, remote))
    caps = Caps(compiled, settings)
    pool = Pool(compiled, min(caps.first_rows, rows_for(events.n)))
    asked = None if policy is None else Asked(compiled, policy, pool, begun)
    pool.set_events(events)
    opened = None
    if compiled.automaton.postpones:
        opened = OpenPredicates(compiled, pool, remote, max(1, settings.max_open_predicates), postponing)
    host = Host(compiled, batch, events, pool, remote, opened) if compiled.hosted else None
    # Kernels that run as plain Python compute with NumPy's scalars, which warn where machine code does not.
    with np.errstate(all="ignore"):
        step_over(compiled, events, pool, host, caps, asked)
        if look is not None:
            look(events, pool.pool)
        fire_until(compiled, events, pool, host, None, asked)
    if asked is not None:
        asked.end()
    _tell(work, batch, events, pool.pool, pool.n_bytes)
    if work is not None:
        work.n_created += pool.n_forgotten
        work.n_dropped = caps.n_dropped
    if opened is not None:
        if work is not None:
            work.n_postponed, work.n_waited = opened.n_postponed, opened.n_waited
        keep_matches(pool, settled_matches(opened, pool))
    return events, pool.pool, pool.out


def _stepped_keyed(
    compiled: CompiledPlan, batch: EventBatch, by_key: KeyedEvents, work: Work | None
) -> tuple[KernelEvents, k.Ints, k.Ints] | None:
    """The same for a chain whose events all have one key; its output has positions in the batch.

    None where so much would be held that it has to be looked at closely, as `_stepped_in_order` does.
    """
    pool = Pool(compiled)
    if by_key.has_gaps:
        kernels(compiled.needs)  # which step such a plan meanwhile, and so are to be made first
    with np.errstate(all="ignore"):
        n_bytes = step_keyed(by_key, pool, MAX_PARTIAL_MATCHES)
    if n_bytes is None:
        return None
    events = replace(NO_EVENTS, n=by_key.n, null_keys=by_key.null_keys)
    _tell(work, batch, events, pool.pool, n_bytes)
    return events, pool.pool, pool.out


def _tell(work: Work | None, batch: EventBatch, events: KernelEvents, pool: k.Ints, n_bytes: int) -> None:
    """What was done, where that is asked for."""
    if work is None:
        return
    work.n_events = len(batch)
    work.n_stepped = events.n
    work.n_tried = int(pool[k.M_N_TRIED])
    work.n_created = int(pool[k.M_HEAD])
    work.pool_bytes = n_bytes
    work.null_key_positions = events.null_keys


def step_over(
    compiled: CompiledPlan,
    events: KernelEvents,
    pool: Pool,
    host: Host | None,
    caps: Caps,
    asked: Asked | None = None,
) -> None:
    """Step the plan over the events that the pool has not seen.

    A plan that was prepared for a policy runs without one, too, and then its kernels have no hooks.

    Raises:
        CapacityError: more partial matches would be held than may be.
        DataError: a registered function raises, or gives what it did not declare.
    """
    n_slice = FIRST_SLICE_EVENTS
    while True:
        begin, first = time.perf_counter(), int(pool.pool[k.M_EVENT])
        if _stepped_in_part(compiled, events, pool, host, caps, asked, n_slice):
            break
        took_s, reached = time.perf_counter() - begin, int(pool.pool[k.M_EVENT])
        n_slice = n_slice * 2 if took_s < SLICE_S else max(1, n_slice // 2)
        if took_s >= SLICE_S and took_s * (events.n - reached) > MOST_PLAIN_S * (reached - first):
            flags = compiled.automaton.kernel_flags if asked is None else asked.flags(compiled.flags)
            await_kernels(compiled.needs, flags, chain=compiled.chain is not None and not events.has_nulls)
    caps.check(pool, events)


MOST_PLAIN_S = 3.0
"""Machine code is waited for where the rest of a table would take longer as plain Python, which would only take the
processors from those who make it. No match is seen before the whole table is done."""

FIRST_SLICE_EVENTS = 1 << 6
"""So many events are stepped over by plain Python at first before machine code is looked for again."""

SLICE_S = 0.05
"""Afterwards as many as take about as long. How many an event makes of partial matches is not known before."""


def _stepped_in_part(
    compiled: CompiledPlan,
    events: KernelEvents,
    pool: Pool,
    host: Host | None,
    caps: Caps,
    asked: Asked | None,
    n_slice: int,
) -> bool:
    """Step over further events: all by machine code, else ``n_slice`` of them; whether none are left."""
    arrays = (events.ints, events.floats, events.nulls)
    chain = None if events.has_nulls else compiled.chain
    loaded = None
    flags = compiled.automaton.kernel_flags if asked is None else asked.flags(compiled.flags)
    if chain is None:
        loaded = kernels(compiled.needs, flags)
    step = chain_kernel(flags) if loaded is None else loaded.advance
    first = int(pool.pool[k.M_EVENT])
    stop = events.n if is_compiled(step) else min(events.n, first + n_slice)
    pool.pool[k.M_STOP] = stop
    while True:
        if loaded is None:
            code = step(compiled.plan, chain, pool.pool, events.ints, pool.out)
        else:
            code = step(compiled.plan, pool.pool, pool.reals, *arrays, pool.out, *loaded.helpers)
        if host is not None:
            host.require_success()
        if code == k.DONE:
            return stop == events.n
        if code == k.WORK_DONE:
            assert asked is not None
            asked.look()
            if asked.flags(compiled.flags) != flags:
                return False
        elif code in (k.POLL, k.CELLS_FULL):
            assert host is not None
            host.serve(code)
        elif code != k.POOL_FULL or not caps.made_room(pool, events):
            pool.make_room(code)


def fire_until(
    compiled: CompiledPlan,
    events: KernelEvents,
    pool: Pool,
    host: Host | None,
    until_us: int | None,
    asked: Asked | None = None,
) -> None:
    """Decide what waits for a deadline that lies before ``until_us``; None for all: no event can come any more."""
    plan = compiled.plan
    if plan[k.P_RUN_FIELD] < 0:
        return
    loaded = kernels(compiled.needs, compiled.automaton.kernel_flags if asked is None else asked.flags(compiled.flags))
    arrays = (events.ints, events.floats, events.nulls)
    until, everything = (0, 1) if until_us is None else (until_us, 0)
    helpers = loaded.helpers[:2]
    if compiled.needs.scattered:
        helpers = (*helpers, loaded.helpers[3])
    while (
        code := loaded.fire(until, everything, 0, plan, pool.pool, pool.reals, *arrays, pool.out, *helpers)
    ) != k.DONE:
        if host is not None:
            host.require_success()
        if code == k.CELLS_FULL:
            assert host is not None
            host.serve(code)
        else:
            pool.make_room(code)
    if host is not None:
        host.require_success()


def matches_in(compiled: CompiledPlan, batch: EventBatch, events: KernelEvents, pool: k.Ints, out: k.Ints) -> Matches:
    """The output of a kernel in order, by positions in the batch and by variables."""
    length = int(compiled.plan[k.P_FIXED_LENGTH])
    if length:
        positions = in_order(out[: int(pool[k.M_N_ENTRIES])], length)
        if events.selected is not None:
            positions = events.selected[positions]
        return RowMatches(positions, variables_of(compiled)[:length], batch.time_us)
    return written(compiled, batch, events, pool, out).matches()
