"""The kernel that steps runs of neighbouring events over a batch: POLICY strict (SEMANTICS 3.3).

It differs from `advance` in what an event meets: not the partial matches that wait for such an event, but all runs of
its partition, each of which it extends or ends. As there, nothing is allocated, and the kernel resumes at (event, run).
"""

from __future__ import annotations

from cepheid.kernels.hooks import (
    COUNTED,
    GUARDED,
    OBSERVED,
    count_work,
    is_spent,
    meets_item,
    observe_taken,
    went_on,
)
from cepheid.kernels.items import add_items, append, n_events_of, n_needed
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    BUFFER_FULL,
    DONE,
    EDGE_WIDTH,
    ELEMENT,
    EVENT,
    EVENT_KEYS_FROM,
    EVENT_KEYS_TO,
    FIT_COLUMN,
    HOST_FAILED,
    ITEM_FROM,
    ITEM_NEXT,
    ITEM_TO,
    LATEST_EVENT,
    LATEST_TIME,
    LINKS,
    LIST_EDGES_FROM,
    LIST_EDGES_TO,
    LIST_WIDTH,
    M_BASE,
    M_BUCKETS,
    M_CAPACITY,
    M_CURRENT,
    M_EVENT,
    M_FAILED,
    M_HEAD,
    M_HEADS,
    M_N_ENTRIES,
    M_N_EVENTS,
    M_N_MATCHES,
    M_N_TRIED,
    M_OUT_ENTRIES,
    M_OUT_MATCHES,
    M_ROW,
    M_RUN_CAPACITY,
    M_RUN_HEAD,
    M_RUN_TAIL,
    M_RUNS,
    M_STAGE,
    M_STOP,
    M_TAIL,
    MADE_FROM,
    NO_ROW,
    OUTPUT_FULL,
    P_EACH,
    P_EACH_COLUMN,
    P_EDGES,
    P_FANOUT,
    P_HORIZON,
    P_KEEP,
    P_LIST_EDGES,
    P_LISTS,
    P_LOGS,
    P_N_BUFFERS,
    P_WITHIN,
    PARENT,
    POOL_FULL,
    RUN_FIRST,
    RUN_ROW,
    RUN_START,
    RUN_STATE,
    RUN_WIDTH,
    RUNS_FULL,
    START,
    STATE,
    TARGET,
    TIME_COLUMN,
    UNLINKED,
    WORK_DONE,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.lists import forget, unlink_at
from cepheid.kernels.making import make_row, qualifies
from cepheid.kernels.outcomes import decide, is_over, log_end
from cepheid.kernels.output import end_run
from cepheid.kernels.predicates import key_of
from cepheid.kernels.rows import bucket_of, row_of
from cepheid.kernels.signatures import Ending, Free, Helper


@kernel()
def _try_ways(
    run: int,
    item_id: int,
    ways_from: int,
    ways_to: int,
    number: int,
    time: int,
    fit: int,
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
) -> int:
    """Take the event in each of some ways on, the preferred first.

    Returns:
        0: in all of them, 1: not in all of them, 2: one is a match that nothing can refute: no other counts.
    """
    failed = 0
    item = row_of(item_id, plan, pool) if item_id >= 0 else 0
    met, apart = False, False
    if COUNTED:
        count_work(pool)
    for w in range(ways_from, ways_to):
        edge = plan[P_EDGES] + plan[plan[P_LIST_EDGES] + w] * EDGE_WIDTH
        taken = False
        if (fit >> plan[edge + ELEMENT]) & 1:
            if (GUARDED or OBSERVED or COUNTED) and not met:
                met = True
                apart = not meets_item(item_id, item, number - pool[M_BASE], plan, pool, ints)
            if not apart:
                taken = qualifies(edge, 0, item_id, item, plan, pool, reals, ints, floats, nulls, large, free) == 1
        if taken:
            made_id = pool[M_HEAD]
            made = make_row(edge, item_id, item, number, time, plan, pool, reals, ints, floats, nulls, tally)
            at = edge + MADE_FROM
            if plan[at] != plan[at + 1] or plan[at + 2] != plan[at + 3]:
                taken = accept(at, made_id, 0, plan, pool, reals, ints, floats, nulls, out, large, free) == 1
            if OBSERVED and taken:
                observe_taken(item_id, plan[edge + TARGET], pool)
                went_on(made, plan, pool)  # it goes on, fails, or is counted as expired, when its run reads on or ends
            if taken and add_items(
                run, made_id, time, number, plan, pool, reals, ints, floats, nulls, out, large, free, accept, tally
            ):
                return 2
        if not taken:  # or it is so in another case of UNTIL: then what it makes fails later, or is preferred
            failed = 1
    return failed


@kernel()
def _step(
    run: int,
    number: int,
    time: int,
    fit: int,
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
    """Let a run read an event. False where the run is over. The caller has made sure of room."""
    within, each = plan[P_WITHIN], plan[P_EACH]
    clock = plan[P_EACH_COLUMN] * pool[M_N_EVENTS] - pool[M_BASE]  # that of BETWEEN EACH
    apart = ints[clock + number] - ints[clock + pool[run + EVENT]]
    if (within >= 0 and time - pool[run + START] > within) or (each >= 0 and apart > each):
        decide(run, plan, pool, reals, ints, floats, nulls, out, large, free)
        return False
    pool[run + EVENT] = number
    failed = False
    item_id = pool[run + ITEM_NEXT]
    pool[run + ITEM_NEXT] = pool[run + ITEM_FROM] = NO_ROW
    while item_id >= 0:
        item = row_of(item_id, plan, pool)
        following = pool[item + ITEM_NEXT]
        ways_from = pool[item + ITEM_FROM]
        if ways_from < 0:
            since, by = pool[item + LATEST_TIME], pool[item + LATEST_EVENT]
            if failed:
                since, by = time, number
            append(run, item_id, ways_from, 0, since, by, plan, pool)
        else:
            pool[M_N_TRIED] += 1
            outcome = _try_ways(
                run,
                item_id,
                ways_from,
                pool[item + ITEM_TO],
                number,
                time,
                fit,
                plan,
                pool,
                reals,
                ints,
                floats,
                nulls,
                out,
                large,
                free,
                accept,
                tally,
            )
            if outcome == 2:
                break
            failed = failed or outcome == 1
        item_id = following
    over = is_over(run, plan, pool, out)
    if over:
        log_end(run, time, number, plan, pool, out)
    return not over


@kernel()
def _room(n_ways: int, n_events: int, plan: Ints, pool: Ints) -> int:
    """DONE, or what could overflow when a run with so many ways on reads one event."""
    if pool[M_HEAD] - pool[M_TAIL] + n_ways * plan[P_FANOUT] + 1 > pool[M_CAPACITY]:
        return POOL_FULL
    logs = plan[P_LOGS]
    if pool[M_N_ENTRIES] + n_events + logs > pool[M_OUT_ENTRIES] or pool[M_N_MATCHES] + logs >= pool[M_OUT_MATCHES]:
        return OUTPUT_FULL
    return DONE


@kernel()
def _begin(
    number: int,
    time: int,
    key: int,
    fit: int,
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
) -> None:
    """Start a run with the event, where it can start one."""
    starts = plan[P_LISTS] + LIST_WIDTH
    first, last = plan[starts + LIST_EDGES_FROM], plan[starts + LIST_EDGES_TO]
    run_id = pool[M_HEAD]
    run = row_of(run_id, plan, pool)
    pool[M_HEAD] = run_id + 1
    pool[run + EVENT] = number
    pool[run + PARENT] = NO_ROW
    pool[run + START] = time
    pool[run + STATE] = plan[starts + RUN_STATE]
    pool[run + LINKS] = UNLINKED
    pool[run + LINKS + 1] = key
    pool[run + ITEM_NEXT] = pool[run + ITEM_FROM] = NO_ROW
    if OBSERVED:
        went_on(run, plan, pool)  # it is no partial match
    _try_ways(
        run,
        NO_ROW,
        first,
        last,
        number,
        time,
        fit,
        plan,
        pool,
        reals,
        ints,
        floats,
        nulls,
        out,
        large,
        free,
        accept,
        tally,
    )
    if is_over(run, plan, pool, out):
        pool[M_HEAD] = run_id  # nothing refers to these rows
        return
    slot_number = pool[M_RUN_HEAD]
    pool[M_RUN_HEAD] = slot_number + 1
    slot = pool[M_RUNS] + (slot_number & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH
    pool[slot + RUN_ROW] = run_id
    pool[slot + RUN_START] = time
    pool[slot + RUN_FIRST] = number
    pool[run + ITEM_TO] = slot_number
    head = pool[M_HEADS] + bucket_of(key, pool[M_BUCKETS])
    pool[run + LINKS] = pool[head]
    pool[head] = run_id


@kernel(entry=True)
def advance_strict(
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
    keep: Helper,
    fire: Ending,
) -> int:
    """Step over the rest of the batch: all events of each partition, in order.

    Returns:
        DONE, or POOL_FULL, OUTPUT_FULL, BUFFER_FULL, RUNS_FULL: make room and call again; or HOST_FAILED.
    """
    n = pool[M_N_EVENTS]
    runs = plan[P_LISTS]
    starts = runs + LIST_WIDTH
    n_starts = plan[starts + LIST_EDGES_TO] - plan[starts + LIST_EDGES_FROM]
    stop = pool[M_STOP]
    while pool[M_EVENT] < stop:
        if COUNTED and pool[M_STAGE] == 0 and is_spent(pool):
            return WORK_DONE
        i = pool[M_EVENT]
        fit = ints[FIT_COLUMN * n + i]
        time = ints[TIME_COLUMN * n + i]
        number = pool[M_BASE] + i
        pool[M_CURRENT] = number
        if pool[M_STAGE] == 0:
            if pool[M_FAILED]:
                return HOST_FAILED
            if plan[P_HORIZON] >= 0:
                if fire(time, 0, 0, plan, pool, reals, ints, floats, nulls, out, large, free) != DONE:
                    return OUTPUT_FULL
                if plan[P_KEEP] >= 0:
                    forget(time, plan, pool)
            pool[M_STAGE] = 1
        key, known = key_of(plan[runs + EVENT_KEYS_FROM], plan[runs + EVENT_KEYS_TO], 0, plan, pool, ints, nulls)
        if pool[M_STAGE] == 1:
            tail = pool[M_TAIL]
            head = pool[M_HEADS] + bucket_of(key, pool[M_BUCKETS])
            run_id = pool[head] if known else NO_ROW
            if pool[M_ROW] != NO_ROW:  # go on where the kernel left
                run_id = pool[M_ROW]
                pool[M_ROW] = NO_ROW
            while run_id >= tail:
                run = row_of(run_id, plan, pool)
                following = pool[run + LINKS]
                if pool[run + LINKS + 1] == key:
                    over = pool[run + ITEM_NEXT] < 0
                    if not over:
                        if COUNTED and is_spent(pool):
                            pool[M_ROW] = run_id
                            return WORK_DONE
                        room = _room(n_needed(run, plan, pool), n_events_of(run, plan, pool) + 1, plan, pool)
                        if room != DONE:
                            pool[M_ROW] = run_id
                            return room
                        over = not _step(
                            run,
                            number,
                            time,
                            fit,
                            plan,
                            pool,
                            reals,
                            ints,
                            floats,
                            nulls,
                            out,
                            large,
                            free,
                            accept,
                            tally,
                        )
                        if over:
                            end_run(run, number, time, plan, pool)
                    if over:
                        pool[run + LINKS] = UNLINKED
                        unlink_at(run_id, LINKS, head, following, plan, pool)
                run_id = following
            pool[M_STAGE] = 2
        if pool[M_STAGE] == 2:
            if known and fit != 0:
                room = _room(n_starts, 1, plan, pool)
                if room != DONE:
                    return room
                if pool[M_RUN_HEAD] - pool[M_RUN_TAIL] >= pool[M_RUN_CAPACITY]:
                    return RUNS_FULL
                _begin(number, time, key, fit, plan, pool, reals, ints, floats, nulls, out, large, free, accept, tally)
            pool[M_STAGE] = 3
        if plan[P_N_BUFFERS] and keep(fit, number, time, 0, 0, plan, pool, reals, ints, floats, nulls) != DONE:
            return BUFFER_FULL
        if COUNTED:
            count_work(pool)
        pool[M_STAGE] = 0
        pool[M_EVENT] = i + 1
    return DONE


@kernel(entry=True)
def fire_strict(
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

    Args:
        everything: 1: the input has ended, so decide all runs.

    Returns:
        DONE, or OUTPUT_FULL: make room and call again.
    """
    horizon = plan[P_HORIZON]
    while pool[M_RUN_TAIL] < pool[M_RUN_HEAD]:
        slot = pool[M_RUNS] + (pool[M_RUN_TAIL] & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH
        run_id = pool[slot + RUN_ROW]
        if run_id >= 0:
            # A difference of times: start + horizon may leave int64.
            if everything == 0 and (horizon < 0 or until - pool[slot + RUN_START] <= horizon):
                return DONE
            run = row_of(run_id, plan, pool)
            if _room(0, n_events_of(run, plan, pool), plan, pool) == OUTPUT_FULL:
                return OUTPUT_FULL
            decide(run, plan, pool, reals, ints, floats, nulls, out, large, free)
            pool[slot + RUN_ROW] = NO_ROW
        pool[M_RUN_TAIL] += 1
    return DONE
