"""The first matches; where they share their structure, at the cost of those alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cepheid.compiler.load import shared_first_kernel
from cepheid.compiler.shared import shared_tables
from cepheid.compiler.shared_events import shared_events_of
from cepheid.compiler.tables import CompiledPlan
from cepheid.engine.adapting import run_chosen
from cepheid.engine.matches import Matches
from cepheid.engine.session import Work, prepare
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.errors import SetupError
from cepheid.events.batch import EventBatch
from cepheid.kernels import layout as k
from cepheid.kernels import shared as s
from cepheid.language.bound import BoundQuery
from cepheid.plan.shared import Shared, shared_plan

FIRST_EVENTS, MORE = 1 << 14, 4
"""So many events are looked at first, then as many times more. Chosen, not measured."""

FIRST_ROOM = 1 << 12
"""Words for lists, and events of matches, at first."""


def first_matches(
    bound: BoundQuery, batch: EventBatch, limit: int, *, work: Work | None = None, settings: Settings = DEFAULTS
) -> Matches:
    """The first matches in a bounded input: as many of those that `engine.session.run` finds, in their order.

    Args:
        bound: the query, its parameters replaced by values.
        batch: the events, in order.
        limit: how many, at most.
        work: filled with what was done, where given.
        settings: how much may be held, where all matches have to be made.

    Raises:
        CapacityError, NotSupportedError, DataError: as `run`.
    """
    shared = shared_plan(bound)
    if shared is not None and bound.query.window.sliding is None:
        compiled = prepare(bound)
        n = min(FIRST_EVENTS, len(batch)) if type(batch) is EventBatch and batch.rows is None else len(batch)
        while True:
            found = _first_in(compiled, shared, _beginning(batch, n), limit, work)
            if found is None:
                break
            if len(found) == limit or n == len(batch):
                return found
            n = min(MORE * n, len(batch))
    return cut(run_chosen(bound, batch, work=work, settings=settings), limit)


def require_limit(limit: object) -> None:
    """Test what stands as ``limit=``.

    Raises:
        SetupError: it is no number of matches.
    """
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise SetupError(f"limit={limit!r} is not a number of matches", remedy="give 1 or more, or leave it out")


def cut(matches: Matches, limit: int) -> Matches:
    """The first of some matches."""
    if len(matches) <= limit:
        return matches
    end = int(matches.offsets[limit])
    starts, ends = matches.window_start_us, matches.window_end_us
    return Matches(
        offsets=matches.offsets[: limit + 1],
        positions=matches.positions[:end],
        variables=matches.variables[:end],
        decided_us=matches.decided_us[:limit],
        window_start_us=None if starts is None else starts[:limit],
        window_end_us=None if ends is None else ends[:limit],
    )


def _beginning(batch: EventBatch, n: int) -> EventBatch:
    if n == len(batch):
        return batch
    return replace(batch, table=batch.table.slice(0, n), time_us=batch.time_us[:n], _columns={})


def _first_in(
    compiled: CompiledPlan, shared: Shared, batch: EventBatch, limit: int, told: Work | None
) -> Matches | None:
    """The first matches; None where an event can be taken in two ways by one partial match."""
    events = shared_events_of(compiled, batch)
    plan = shared_tables(shared, events.masks)
    if _has_choices(plan, len(events.masks)):
        return None
    m, n = len(events.classes), int(plan[s.P_N_STATES])
    order = np.argsort(events.positions, kind="stable").astype(np.int64, copy=False)
    partitions = np.repeat(np.arange(len(events.starts) - 1), np.diff(events.starts))
    latest = np.full((len(events.starts) - 1) * n, -1, np.int64)
    work = np.zeros(s.FIRST_HEADER + 2 * n + m + 1, np.int64)
    work[s.F_DEPTH] = -1
    links, taken, variables = (np.zeros(FIRST_ROOM, np.int64) for _ in range(3))
    ends = np.zeros(limit, np.int64)
    window = -1 if compiled.automaton.within is None else compiled.automaton.within
    step = shared_first_kernel(m)
    fixed = (plan, events.classes, events.clock, order, partitions, events.starts, window, limit, latest, work)
    with np.errstate(all="ignore"):
        while (code := step(*fixed, links, taken, variables, ends)) != k.DONE:
            if code == k.POOL_FULL:
                links = np.zeros(2 * len(links), np.int64)
            else:
                taken, variables = (np.concatenate((array, np.zeros_like(array))) for array in (taken, variables))
    if told is not None:
        told.n_events, told.n_stepped, told.null_key_positions = len(batch), m, events.null_keys
    found, entries = int(work[s.F_MATCHES]), int(work[s.F_ENTRIES])
    positions = events.positions[taken[:entries]]
    ends = ends[:found]
    return Matches(
        offsets=np.concatenate((np.zeros(1, np.int64), ends)),
        positions=positions,
        variables=variables[:entries].astype(np.int16),
        decided_us=batch.time_us[positions[ends - 1]],
    )


def _has_choices(plan: np.ndarray[tuple[int], np.dtype[np.int64]], n_classes: int) -> bool:
    for number in range(n_classes):
        place = s.PLAN_HEADER + number * s.CLASS_WIDTH
        moves = plan[plan[place + s.C_MOVES_FROM] : plan[place + s.C_MOVES_TO]].reshape(-1, s.MOVE_WIDTH)
        if (moves[:, s.M_STEPS_TO] - moves[:, s.M_STEPS_FROM] > s.STEP_WIDTH).any():
            return True
    return False
