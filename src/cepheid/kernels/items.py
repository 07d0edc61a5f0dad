"""Under `strict`: the partial and complete matches of one start, in the order of preference (SEMANTICS 3.3).

All partial matches of a run have taken the same events, so each event either extends one or ends it. That is
backtracking as in SQL, with all that it would try kept side by side: an event is read once, and never again.
"""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    COPY_REALS,
    END_WIDTH,
    ITEM_FROM,
    ITEM_NEXT,
    ITEM_TO,
    LATEST_EVENT,
    LATEST_TIME,
    LENGTH_SHIFT,
    M_HEAD,
    NO_ROW,
    P_ENDS,
    P_HISTORY,
    P_LIST_EDGES,
    P_N_REALS,
    P_REGISTERS,
    P_ROW_WIDTH,
    P_STATES,
    STATE,
    STATE_MASK,
    STATE_WIDTH,
    TRAILING_FROM,
    TRAILING_TO,
    WAYS_FROM,
    WAYS_TO,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.rows import reals_of, row_of
from cepheid.kernels.signatures import Ending, Free, Helper


@kernel()
def is_later(time: int, event: int, than_time: int, than_event: int) -> bool:
    """Whether a moment is later than another: a time without an event comes after the events of that time."""
    if time != than_time:
        return time > than_time
    return than_event >= 0 and (event < 0 or event > than_event)


@kernel()
def append(run: int, item_id: int, ways_from: int, ways_to: int, time: int, event: int, plan: Ints, pool: Ints) -> None:
    """Put an item at the end of a run."""
    item = row_of(item_id, plan, pool)
    pool[item + ITEM_NEXT] = NO_ROW
    pool[item + ITEM_FROM] = ways_from
    pool[item + ITEM_TO] = ways_to
    pool[item + LATEST_TIME] = time
    pool[item + LATEST_EVENT] = event
    last = pool[run + ITEM_FROM]
    if last < 0:
        pool[run + ITEM_NEXT] = item_id
    else:
        pool[row_of(last, plan, pool) + ITEM_NEXT] = item_id
    pool[run + ITEM_FROM] = item_id


@kernel()
def is_known(run: int, made: int, plan: Ints, pool: Ints, reals: Floats) -> bool:
    """Whether an item before it has the same future: then the row at ``made`` is never the preferred one."""
    registers, width, n_reals = plan[P_REGISTERS], plan[P_ROW_WIDTH], plan[P_N_REALS]
    item_id = pool[run + ITEM_NEXT]
    while item_id >= 0:
        item = row_of(item_id, plan, pool)
        same = pool[item + STATE] == pool[made + STATE]
        field = registers
        while same and field < width:
            same = pool[item + field] == pool[made + field]
            field += 1
        if same and n_reals:
            one, other = reals_of(item, plan, pool), reals_of(made, plan, pool)
            for r in range(n_reals):
                a, b = reals[one + r], reals[other + r]
                if a != b and not (a != a and b != b):
                    same = False
        if same:
            return True
        item_id = pool[item + ITEM_NEXT]
    return False


@kernel()
def add_items(
    run: int,
    made_id: int,
    time: int,
    number: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    large: Helper,
    free: Free,
    accept: Ending,
    tally: Helper,
) -> bool:
    """Put a new row at the end of a run: its ways on and its ends, in the order of preference.

    Returns:
        True where it is a match that nothing can refute, so that nothing behind it counts.
    """
    made = row_of(made_id, plan, pool)
    if not plan[P_HISTORY] and is_known(run, made, plan, pool, reals):
        return False
    pool[M_HEAD] = made_id + 1
    item_id = made_id
    state = plan[P_STATES] + (pool[made + STATE] & STATE_MASK) * STATE_WIDTH
    begin, stop = plan[state + WAYS_FROM], plan[state + WAYS_TO]
    for w in range(begin, stop + 1):
        way = plan[plan[P_LIST_EDGES] + w] if w < stop else -1
        if way >= 0:
            continue
        if w > begin:
            waiting = _free_row(item_id, made_id, plan, pool, reals, ints, floats, nulls, tally)
            append(run, waiting, begin, w, 0, 0, plan, pool)
            item_id = NO_ROW
        begin = w + 1
        if w == stop:
            break
        end = plan[P_ENDS] + (-1 - way) * END_WIDTH
        if accept(end, made_id, 0, plan, pool, reals, ints, floats, nulls, out, large, free):
            complete = _free_row(item_id, made_id, plan, pool, reals, ints, floats, nulls, tally)
            append(run, complete, way, 0, time, number, plan, pool)
            item_id = NO_ROW
            if plan[end + TRAILING_FROM] == plan[end + TRAILING_TO]:
                return True
    return False


@kernel()
def _free_row(
    item_id: int,
    made_id: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    tally: Helper,
) -> int:
    """The row for an item: that which was made, once; then copies of it."""
    if item_id >= 0:
        return item_id
    copy_id = pool[M_HEAD]
    pool[M_HEAD] = copy_id + 1
    copy, made = row_of(copy_id, plan, pool), row_of(made_id, plan, pool)
    for field in range(plan[P_ROW_WIDTH]):
        pool[copy + field] = pool[made + field]
    if plan[P_N_REALS]:
        tally(COPY_REALS, copy, made, 0, 0, plan, pool, reals, ints, floats, nulls)
    return copy_id


@kernel()
def n_needed(run: int, plan: Ints, pool: Ints) -> int:
    """At most so many ways on have the items of a run."""
    n = 0
    item_id = pool[run + ITEM_NEXT]
    while item_id >= 0:
        item = row_of(item_id, plan, pool)
        if pool[item + ITEM_FROM] >= 0:
            n += pool[item + ITEM_TO] - pool[item + ITEM_FROM]
        item_id = pool[item + ITEM_NEXT]
    return n


@kernel()
def n_events_of(run: int, plan: Ints, pool: Ints) -> int:
    """The events of the longest item of a run."""
    longest = 0
    item_id = pool[run + ITEM_NEXT]
    while item_id >= 0:
        item = row_of(item_id, plan, pool)
        longest = max(longest, pool[item + STATE] >> LENGTH_SHIFT)
        item_id = pool[item + ITEM_NEXT]
    return longest
