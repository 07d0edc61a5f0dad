"""Ends of matches: what the end itself closes, and matches that are decided by a deadline."""

from __future__ import annotations

from cepheid.kernels.aggregates import add_overflows
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    ACCEPT_FROM,
    ACCEPTS,
    ACCEPTS_LATE,
    DONE,
    LENGTH_SHIFT,
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
    OUTPUT_FULL,
    P_STATES,
    P_WITHIN,
    START,
    STATE,
    STATE_MASK,
    STATE_WIDTH,
    TIME_COLUMN,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.output import emit
from cepheid.kernels.predicates import holds
from cepheid.kernels.rows import INT_MAX, row_of
from cepheid.kernels.signatures import Free, Helper


@kernel(address=True)
def accepts(
    at: int,
    row_id: int,
    reporting: int,
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
        reporting: 1: write the match, which the current event decides.
    """
    row = row_of(row_id, plan, pool)
    for k in range(plan[at], plan[at + 1]):
        if not holds(k, row_id, row, plan, pool, reals, ints, floats, nulls, large):
            return 0
    first, last = plan[at + 2], plan[at + 3]
    if first != last and free(first, last, row_id, plan, pool, reals, ints, floats, nulls, large) != 1:
        return 0
    if reporting:
        current = pool[M_CURRENT]
        time = ints[TIME_COLUMN * pool[M_N_EVENTS] + current - pool[M_BASE]]
        emit(row_id, -1, -1, time, current, plan, pool, out)
    return 1


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

    A run that waits in a state which accepts late is a match at the end of its window (SEMANTICS 3.2, 7.2).

    Args:
        everything: 1: the input has ended, so decide all runs.

    Returns:
        DONE, or OUTPUT_FULL: make room and call again.
    """
    within = plan[P_WITHIN]
    while pool[M_RUN_TAIL] < pool[M_RUN_HEAD]:
        run = pool[M_RUN_TAIL]
        row_id = pool[pool[M_RUNS] + (run & (pool[M_RUN_CAPACITY] - 1))]
        if row_id >= 0:
            row = row_of(row_id, plan, pool)
            # A difference of times: start + within may leave int64.
            if everything == 0 and (within < 0 or until - pool[row + START] <= within):
                return DONE
            state = plan[P_STATES] + (pool[row + STATE] & STATE_MASK) * STATE_WIDTH
            if plan[state + ACCEPTS] == ACCEPTS_LATE:
                length = pool[row + STATE] >> LENGTH_SHIFT
                if pool[M_N_ENTRIES] + length > pool[M_OUT_ENTRIES] or pool[M_N_MATCHES] >= pool[M_OUT_MATCHES]:
                    return OUTPUT_FULL
                if accepts(state + ACCEPT_FROM, row_id, 0, plan, pool, reals, ints, floats, nulls, out, large, free):
                    # Without a window, or past the end of time, the end of the input decides: the greatest time.
                    decided = INT_MAX
                    if within >= 0 and not add_overflows(pool[row + START], within):
                        decided = pool[row + START] + within
                    emit(row_id, -1, -1, decided, -1 - run, plan, pool, out)
        pool[M_RUN_TAIL] = run + 1
    return DONE
