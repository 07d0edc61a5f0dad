"""Ends of matches: what the end itself closes, and matches that are decided by a deadline."""

from __future__ import annotations

from cepheid.kernels.deadlines import by_time, closing, deadline, time_of
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    ABSENCE_WIDTH,
    ACCEPTS,
    ACCEPTS_LATE,
    ALONE,
    CELLS_FULL,
    CLOSERS_FROM,
    CLOSERS_TO,
    DONE,
    DROPPED,
    END_WIDTH,
    ENDS_FROM,
    ENDS_TO,
    EVENT,
    GAP_REOPENED,
    GAPS,
    LAST_CLOSER,
    LENGTH_SHIFT,
    LOGS_ROWS,
    M_BASE,
    M_CURRENT,
    M_N_ENTRIES,
    M_N_EVENTS,
    M_N_MATCHES,
    M_OUT_ENTRIES,
    M_OUT_MATCHES,
    M_RUN_CAPACITY,
    M_RUN_HEAD,
    M_RUN_TAIL,
    M_RUNS,
    M_TOP,
    M_TRIED,
    MOVED_ON,
    NEIGHBOUR,
    NEIGHBOURS,
    NO_ELEMENT,
    NO_ROW,
    NOT_LEFT,
    OUTPUT_FULL,
    P_ABSENCES,
    P_ENDS,
    P_HORIZON,
    P_LOGS,
    P_MIXED,
    P_ONE_START,
    P_RUN_FIELD,
    P_STATES,
    P_TELLS,
    PARENT,
    REJECTS,
    RIGHT_ARG,
    RIGHT_SOURCE,
    RUN_FIRST,
    RUN_LAST,
    RUN_LAST_US,
    RUN_ROW,
    RUN_START,
    RUN_WIDTH,
    STATE,
    STATE_MASK,
    STATE_WIDTH,
    TELLS_ALL,
    TIME_COLUMN,
    TIMED_OUT,
    TRAILING_FROM,
    TRAILING_TO,
    UNLINKED,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.open_predicates import (
    POSTPONES,
    begin_step,
    end_way,
    has_cells,
    is_refuted,
    leave_step,
    turn_round,
)
from cepheid.kernels.output import emit
from cepheid.kernels.predicates import holds
from cepheid.kernels.rows import row_of
from cepheid.kernels.signatures import Free, Helper


@kernel(entry=True)
def accepts(
    at: int,
    row_id: int,
    deciding: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    large: Helper,
    free: Free,
) -> int:
    """Whether what the end of a match, or of a loop, closes holds for a row: 1 or 0.

    Args:
        at: where four fields lie in ``plan``: first condition, after the last, first absence, after the last.
        deciding: 1: these are a row of `ends`: the current event decides a match. Write it, or give 2 where NOTs at
            its end have to be waited for.
    """
    row = row_of(row_id, plan, pool)
    for k in range(plan[at], plan[at + 1]):
        if not holds(k, row_id, row, plan, pool, reals, ints, floats, nulls, large):
            return 0
    first, last = plan[at + 2], plan[at + 3]
    if first != last and free(first, last, row_id, plan, pool, reals, ints, floats, nulls, large) != 1:
        return 0
    if deciding:
        if plan[at + TRAILING_FROM] != plan[at + TRAILING_TO]:
            return 2
        current = pool[M_CURRENT]
        time = ints[TIME_COLUMN * pool[M_N_EVENTS] + current - pool[M_BASE]]
        emit(row_id, -1, -1, time, current, plan, pool, out)
    return 1


@kernel()
def complete(at: int, row_id: int, plan: Ints, pool: Ints) -> int:
    """The row without the events of an iteration that did not end, for the row of `ends` at ``plan[at:]``; or -1."""
    field = plan[at + DROPPED]
    if field >= 0:
        iteration = pool[row_of(row_id, plan, pool) + field]
        while row_id >= 0 and pool[row_of(row_id, plan, pool) + field] == iteration:
            row_id = pool[row_of(row_id, plan, pool) + PARENT]
    return row_id


@kernel()
def log_run(slot: int, plan: Ints, pool: Ints, out: Ints) -> None:
    """Write when the run at ``pool[slot:]`` ended, as far as no row that hangs on it has to say.

    Under ``next`` it was with an event, if no row is left; under ``any`` when the window of the last row closed that
    could go on. Where rows end at moments of their own, each that could go on hangs on the run.
    """
    last = pool[slot + RUN_LAST]
    if POSTPONES or last < 0:  # each event that is taken has told of itself, as it may rest on something
        return
    ended = pool[slot + RUN_LAST_US]
    if not plan[P_ONE_START] and plan[P_LOGS] != LOGS_ROWS:
        ended = closing(pool[slot + RUN_START], ended, 1, plan)
        last = by_time(last, 1, plan)
    elif plan[P_ONE_START] and pool[slot + RUN_ROW] != NO_ROW:
        return
    emit(NO_ROW, pool[slot + RUN_FIRST], NO_ELEMENT, ended, last, plan, pool, out)


@kernel()
def closed_by(
    state: int,
    row_id: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Helper,
    free: Free,
) -> int:
    """The event that left a row nothing to take, as it closed the last of the loops that it needs (UNTIL); or -1."""
    earliest = closer = -1
    closed = True
    for k in range(plan[state + CLOSERS_FROM], plan[state + CLOSERS_TO]):
        if closed:
            closed = free(k, k + 1, row_id, plan, pool, reals, ints, floats, nulls, large) != 1
            closer = max(closer, pool[M_TRIED])
        if plan[plan[P_ABSENCES] + k * ABSENCE_WIDTH + LAST_CLOSER]:
            if closed and (earliest < 0 or closer < earliest):
                earliest = closer
            closer = -1
            closed = True
    return earliest


@kernel()
def end_of(
    state: int,
    row_id: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Helper,
    free: Free,
) -> tuple[int, int]:
    """When a row ended that could go on, and by what: the next event, what closed its loops, or its window."""
    row = row_of(row_id, plan, pool)
    if plan[state + NEIGHBOURS]:
        return pool[row + EVENT], NEIGHBOUR
    closer = closed_by(state, row_id, plan, pool, reals, ints, floats, nulls, large, free)
    if closer >= 0:
        return time_of(closer, pool, ints), closer
    return deadline(row, 1, plan, pool, ints), by_time(pool[row + EVENT], 1, plan)


@kernel()
def _waits_for_absences(at: int, row: int, top: int, plan: Ints, pool: Ints) -> bool:
    """Whether a NOT stands at the end of a match that has one of the row of `ends` at ``plan[at:]``.

    Args:
        row: where its last row lies in ``pool``.
        top: that of the row that gives events back; those before which a NOT stood may be among them.
    """
    for k in range(plan[at + TRAILING_FROM], plan[at + TRAILING_TO]):
        absence = plan[P_ABSENCES] + k * ABSENCE_WIDTH
        field = plan[absence + RIGHT_ARG]
        if plan[absence + RIGHT_SOURCE] != GAP_REOPENED or (pool[row + field] < 0 and pool[top + field] >= 0):
            return True
    return False


@kernel()
def decision_of(
    at: int,
    state: int,
    row_id: int,
    whole: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Helper,
    free: Free,
) -> tuple[int, int]:
    """When a row that waited is known to be a match, and by what: by what ended it, or by its window.

    Args:
        at: where the row of `ends` lies in ``plan`` by which it is one.
        state: where its state lies.
        row_id: the row.
        whole: what is left of it without the events that it gives back.
    """
    row = row_of(row_id, plan, pool)
    if plan[state + ACCEPTS] == ACCEPTS_LATE:
        if not _waits_for_absences(at, row_of(whole, plan, pool), row, plan, pool):
            return end_of(state, row_id, plan, pool, reals, ints, floats, nulls, large, free)
    gaps = plan[at + GAPS]
    return deadline(row, gaps, plan, pool, ints), by_time(pool[row + EVENT], gaps, plan)


@kernel()
def _log_row(
    state: int,
    row_id: int,
    first: int,
    broken_from: int,
    broken_to: int,
    whole: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    large: Helper,
    free: Free,
) -> None:
    """Write when a row that is no match ended: by itself (`_end_of`), or with the NOTs that were broken.

    Args:
        state: where its state lies in ``plan``.
        first: the first event of its run.
        broken_from, broken_to: absences at its end, of which one is broken; none where it ended by itself.
        whole: the row for which they are tested.
    """
    decided, decider = end_of(state, row_id, plan, pool, reals, ints, floats, nulls, large, free)
    by = -1
    for k in range(broken_from, broken_to):
        if free(k, k + 1, whole, plan, pool, reals, ints, floats, nulls, large) == 1:
            by = -1
            break
        by = max(by, pool[M_TRIED])
    if by >= 0:
        decided, decider = time_of(by, pool, ints), by
    emit(NO_ROW, first, NO_ELEMENT, decided, decider, plan, pool, out)


@kernel()
def tell_rest(
    slot: int,
    row_id: int,
    told: bool,
    broken_from: int,
    broken_to: int,
    broken: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    large: Helper,
    free: Free,
) -> None:
    """Write what is told beside matches of a row that waited: that it has timed out, or when it ended.

    Args:
        slot: where its run lies in ``pool``.
        told: it was a match.
        broken_from, broken_to: absences at its end, of which one is broken; none where it ended by itself.
        broken: the row for which they were tested.
    """
    row = row_of(row_id, plan, pool)
    state = plan[P_STATES] + (pool[row + STATE] & STATE_MASK) * STATE_WIDTH
    tells, logs = plan[P_TELLS], plan[P_LOGS]
    if tells and not told:
        left = plan[state + ACCEPTS] == REJECTS and pool[row + plan[P_RUN_FIELD] + 2] == UNLINKED
        alone = left and plan[state + NEIGHBOURS] != 0
        over = False
        if left:  # what its own rules have ended does not time out
            over = closed_by(state, row_id, plan, pool, reals, ints, floats, nulls, large, free) >= 0
        if alone and not over:
            emit(row_id, -1, -1, pool[row + EVENT], ALONE, plan, pool, out)
        elif not over and (left or tells == TELLS_ALL):
            decider = TIMED_OUT if left else NOT_LEFT
            emit(row_id, -1, -1, deadline(row, 1, plan, pool, ints), decider, plan, pool, out)
    if logs == LOGS_ROWS and pool[row + plan[P_RUN_FIELD] + 2] != MOVED_ON:
        ended, decider = end_of(state, row_id, plan, pool, reals, ints, floats, nulls, large, free)
        emit(NO_ROW, pool[slot + RUN_FIRST], NO_ELEMENT, ended, decider, plan, pool, out)
    if logs and not told and (plan[P_ONE_START] or broken_from != broken_to):
        _log_row(
            state,
            row_id,
            pool[slot + RUN_FIRST],
            broken_from,
            broken_to,
            broken,
            plan,
            pool,
            reals,
            ints,
            floats,
            nulls,
            out,
            large,
            free,
        )


@kernel(entry=True)
def fire(
    until: int,
    everything: int,
    unused: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    large: Helper,
    free: Free,
) -> int:
    """Decide the runs whose window ended before the time ``until`` (us), in the order of their starts.

    A row that waits in a state which accepts late, or for the NOTs at its end, is a match at the end of its window
    (SEMANTICS 2.2, 3.2, 7.2). Where the plan tells it, one that is left in a state that accepts nothing has timed out.
    Where the plan says so, the ends of runs are written beside the matches: see `P_LOGS`.

    Args:
        everything: 1: the input has ended, so decide all runs.

    Returns:
        DONE, or OUTPUT_FULL, CELLS_FULL: make room and call again.
    """
    horizon, tells, logs = plan[P_HORIZON], plan[P_TELLS], plan[P_LOGS]
    each_logs = logs == LOGS_ROWS
    n_logs = 2 if each_logs else logs
    while pool[M_RUN_TAIL] < pool[M_RUN_HEAD]:
        run = pool[M_RUN_TAIL]
        slot = pool[M_RUNS] + (run & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH
        row_id = pool[slot + RUN_ROW]
        waiting = row_id >= 0 or not plan[P_ONE_START]  # else it is over
        # A difference of times: start + horizon may leave int64.
        if waiting and everything == 0 and (horizon < 0 or until - pool[slot + RUN_START] <= horizon):
            return DONE
        if logs:
            if pool[M_N_ENTRIES] >= pool[M_OUT_ENTRIES] or pool[M_N_MATCHES] >= pool[M_OUT_MATCHES]:
                return OUTPUT_FULL
            log_run(slot, plan, pool, out)
        while row_id >= 0:
            row = row_of(row_id, plan, pool)
            if POSTPONES and is_refuted(row, plan, pool):
                row_id = pool[row + plan[P_RUN_FIELD] + 1]
                pool[slot + RUN_ROW] = row_id
                continue
            length = pool[row + STATE] >> LENGTH_SHIFT
            if pool[M_N_ENTRIES] + length + n_logs > pool[M_OUT_ENTRIES]:
                return OUTPUT_FULL
            if pool[M_N_MATCHES] + n_logs >= pool[M_OUT_MATCHES]:
                return OUTPUT_FULL
            if POSTPONES:
                if not has_cells(pool):
                    return CELLS_FULL
                begin_step(row_id, row, 0, plan, pool)
            state = plan[P_STATES] + (pool[row + STATE] & STATE_MASK) * STATE_WIDTH
            told = False
            broken_from = broken_to = broken = 0
            late = plan[state + ACCEPTS] == ACCEPTS_LATE
            moved_on = late and plan[P_MIXED] and pool[row + plan[P_RUN_FIELD] + 2] == MOVED_ON
            for e in range(plan[state + ENDS_FROM], plan[state + ENDS_TO]):
                at = plan[P_ENDS] + e * END_WIDTH
                first, last = plan[at + TRAILING_FROM], plan[at + TRAILING_TO]
                if plan[state + ACCEPTS] != ACCEPTS_LATE and first == last:
                    continue
                if moved_on:
                    continue
                whole = complete(at, row_id, plan, pool)
                pool[M_TOP] = row
                if whole >= 0 and accepts(at, whole, 0, plan, pool, reals, ints, floats, nulls, out, large, free):
                    if first == last or free(first, last, whole, plan, pool, reals, ints, floats, nulls, large) == 1:
                        decided, decider = decision_of(
                            at, state, row_id, whole, plan, pool, reals, ints, floats, nulls, large, free
                        )
                        emit(whole, -1, -1, decided, decider, plan, pool, out)
                        told = True
                        break
                    if plan[state + ACCEPTS] != ACCEPTS_LATE:
                        broken_from, broken_to, broken = first, last, whole
            if tells or logs:
                tell_rest(
                    slot,
                    row_id,
                    told,
                    broken_from,
                    broken_to,
                    broken,
                    plan,
                    pool,
                    reals,
                    ints,
                    floats,
                    nulls,
                    out,
                    large,
                    free,
                )
            if POSTPONES:
                end_way(plan, pool, out)
                if turn_round(pool):
                    leave_step(0, pool)
                    continue
            row_id = pool[row + plan[P_RUN_FIELD] + 1]
            pool[slot + RUN_ROW] = row_id
        pool[M_RUN_TAIL] = run + 1
    return DONE
