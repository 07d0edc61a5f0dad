"""Under `strict`: which item of a run is the match, and when that is known (SEMANTICS 3.3)."""

from __future__ import annotations

from cepheid.kernels.aggregates import add_overflows
from cepheid.kernels.deadlines import by_time, deadline
from cepheid.kernels.hooks import OBSERVED, observe_expired
from cepheid.kernels.items import is_later
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    END_WIDTH,
    EVENT,
    GAPS,
    GAPS_SHIFT,
    ITEM_FROM,
    ITEM_NEXT,
    ITEM_TO,
    LATE_AFTER,
    LATEST_EVENT,
    LATEST_TIME,
    M_BASE,
    M_N_EVENTS,
    M_RUN_CAPACITY,
    M_RUNS,
    M_TRIED,
    MANY_GAPS,
    NO_ELEMENT,
    NO_ROW,
    P_EACH,
    P_EACH_COLUMN,
    P_EACH_IS_TIME,
    P_ENDS,
    P_LOGS,
    P_TELLS,
    PARENT,
    RUN_FIRST,
    RUN_WIDTH,
    STATE,
    TIME_COLUMN,
    TIMED_OUT,
    TRAILING_FROM,
    TRAILING_TO,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.output import emit
from cepheid.kernels.rows import INT_MAX, row_of
from cepheid.kernels.signatures import Free, Helper


@kernel()
def log_end(run: int, time: int, event: int, plan: Ints, pool: Ints, out: Ints) -> None:
    """Write when a run ended, where the plan says so: see `P_LOGS`."""
    if plan[P_LOGS]:
        slot = pool[M_RUNS] + (pool[run + ITEM_TO] & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH
        emit(NO_ROW, pool[slot + RUN_FIRST], NO_ELEMENT, time, event, plan, pool, out)


@kernel()
def _other_clock_at(decider: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """How far the other clock must come, for what `by_time` gives."""
    told = LATE_AFTER - decider
    gaps = (told >> GAPS_SHIFT) + 1
    last = told & ((1 << GAPS_SHIFT) - 1)
    before = ints[plan[P_EACH_COLUMN] * pool[M_N_EVENTS] + last - pool[M_BASE]]
    if gaps == MANY_GAPS or plan[P_EACH] > INT_MAX // gaps or add_overflows(before, plan[P_EACH] * gaps):
        return INT_MAX
    return before + plan[P_EACH] * gaps


@kernel()
def _goes_beyond(event: int, decider: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """Whether the other clock is further at an event than `by_time` wants: 1 yes, 0 it is just there, -1 no."""
    there = ints[plan[P_EACH_COLUMN] * pool[M_N_EVENTS] + event - pool[M_BASE]]
    wanted = _other_clock_at(decider, plan, pool, ints)
    if there == wanted:
        return -plan[P_EACH_IS_TIME]  # a time has come once all events of that time have
    return 1 if there > wanted else -1


@kernel()
def _comes_later(time: int, event: int, than_time: int, than_event: int, plan: Ints, pool: Ints, ints: Ints) -> bool:
    """As `is_later`, where BETWEEN EACH may have another clock: what `by_time` gives is when either clock is there."""
    if event <= LATE_AFTER and than_event <= LATE_AFTER:
        if time == than_time:
            return _other_clock_at(event, plan, pool, ints) > _other_clock_at(than_event, plan, pool, ints)
    elif event <= LATE_AFTER and than_event >= 0:
        return is_later(time, -1, than_time, than_event) and _goes_beyond(than_event, event, plan, pool, ints) < 0
    elif event >= 0 and than_event <= LATE_AFTER:
        return is_later(time, event, than_time, -1) or _goes_beyond(event, than_event, plan, pool, ints) > 0
    return is_later(time, event, than_time, than_event)


@kernel()
def _observe_waiting(item_id: int, plan: Ints, pool: Ints) -> None:
    """Count the partial matches among items, each once, that could still go on when their window closed."""
    before = NO_ROW
    while item_id >= 0:
        item = row_of(item_id, plan, pool)
        if pool[item + ITEM_FROM] >= 0:
            # Items that were made of one partial match stand side by side.
            same = before >= 0
            if same:
                last = row_of(before, plan, pool)
                same = pool[last + PARENT] == pool[item + PARENT] and pool[last + STATE] == pool[item + STATE]
            if not same:
                observe_expired(item, plan, pool)
            before = item_id
        item_id = pool[item + ITEM_NEXT]


@kernel()
def decide(
    run: int,
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
    """End a run whose windows let it take no more: the first of its items that is a match is the one that counts.

    Where there is none, the first that could still have become one has timed out.
    """
    failed, failed_time, failed_event, left = False, 0, 0, NO_ROW
    item_id = pool[run + ITEM_NEXT]
    if OBSERVED:
        _observe_waiting(item_id, plan, pool)
    pool[run + ITEM_NEXT] = NO_ROW
    while item_id >= 0:
        item = row_of(item_id, plan, pool)
        time, event = pool[item + LATEST_TIME], pool[item + LATEST_EVENT]
        if pool[item + ITEM_FROM] >= 0:
            time, event = deadline(run, 1, plan, pool, ints), by_time(pool[run + EVENT], 1, plan)
            if left < 0:
                left = item_id
        if failed and _comes_later(failed_time, failed_event, time, event, plan, pool, ints):
            time, event = failed_time, failed_event
        holds = pool[item + ITEM_FROM] < 0
        if holds:
            end = plan[P_ENDS] + (-1 - pool[item + ITEM_FROM]) * END_WIDTH
            for k in range(plan[end + TRAILING_FROM], plan[end + TRAILING_TO]):
                gaps = plan[end + GAPS]
                broken_at, broken_by = deadline(item, gaps, plan, pool, ints), by_time(pool[item + EVENT], gaps, plan)
                if free(k, k + 1, item_id, plan, pool, reals, ints, floats, nulls, large) != 1:
                    holds = False
                    broken_by = pool[M_TRIED]
                    broken_at = ints[TIME_COLUMN * pool[M_N_EVENTS] + broken_by - pool[M_BASE]]
                if _comes_later(broken_at, broken_by, time, event, plan, pool, ints):
                    time, event = broken_at, broken_by
        if holds:
            emit(item_id, -1, -1, time, event, plan, pool, out)
            return
        failed, failed_time, failed_event = True, time, event
        item_id = pool[item + ITEM_NEXT]
    log_end(run, failed_time, failed_event, plan, pool, out)
    if left >= 0 and plan[P_TELLS]:
        emit(left, -1, -1, deadline(run, 1, plan, pool, ints), TIMED_OUT, plan, pool, out)


@kernel()
def is_over(run: int, plan: Ints, pool: Ints, out: Ints) -> bool:
    """Whether a run has nothing left, or its first item is a match: that is written."""
    first = pool[run + ITEM_NEXT]
    if first < 0:
        return True
    item = row_of(first, plan, pool)
    if pool[item + ITEM_FROM] >= 0:
        return False
    end = plan[P_ENDS] + (-1 - pool[item + ITEM_FROM]) * END_WIDTH
    if plan[end + TRAILING_FROM] != plan[end + TRAILING_TO]:
        return False
    emit(first, -1, -1, pool[item + LATEST_TIME], pool[item + LATEST_EVENT], plan, pool, out)
    pool[run + ITEM_NEXT] = NO_ROW
    return True
