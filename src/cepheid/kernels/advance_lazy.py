"""The kernel that steps plans in which some variables wait for the last event.

One event at a time, in order: what is too old is forgotten; an event that may be the last of a match joins what was
kept to the partial matches of the eager variables; an event of an eager variable extends those; and an event of any
other variable is kept, as one is that a NOT may ask for.
"""

from __future__ import annotations

from cepheid.kernels.comparators import compare_ints
from cepheid.kernels.hook_layout import S_PAIRS
from cepheid.kernels.hooks import COUNTED, count_state, count_work, is_spent, meets_in_prefix, state_of
from cepheid.kernels.jit import kernel
from cepheid.kernels.joining import holds_on, join_to
from cepheid.kernels.layout import (
    BUFFER_FULL,
    DONE,
    EDGE_WIDTH,
    ELEMENT,
    EVENT,
    EVENT_KEYS_FROM,
    EVENT_KEYS_TO,
    FILTER_COMPARATOR,
    FILTER_EVENT_COLUMN,
    FILTER_FIELD,
    FILTER_ROW_COLUMN,
    FIRST_COLUMN,
    FIT_COLUMN,
    HOST_FAILED,
    LIST_EDGES_FROM,
    LIST_EDGES_TO,
    LIST_ELEMENTS,
    LIST_FIELD,
    LIST_WIDTH,
    M_BASE,
    M_BUCKETS,
    M_CAPACITY,
    M_CURRENT,
    M_EVENT,
    M_FAILED,
    M_HEAD,
    M_HEADS,
    M_INT_NULLS,
    M_KEPT_HEAD,
    M_LIST,
    M_N_EVENTS,
    M_N_TRIED,
    M_QUIET,
    M_ROW,
    M_STAGE,
    M_STOP,
    M_TAIL,
    MADE_FROM,
    NO_ROW,
    P_EDGES,
    P_FANOUT,
    P_KEEP,
    P_LIST_EDGES,
    P_LISTS,
    P_N_BUFFERS,
    P_N_LISTS,
    P_N_SORTED,
    P_TRIGGER,
    P_WITHIN,
    POOL_FULL,
    START,
    TARGET,
    TIME_COLUMN,
    UNLINKED,
    WORK_DONE,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.lists import forget, link, unlink_at
from cepheid.kernels.making import make_row
from cepheid.kernels.predicates import key_of
from cepheid.kernels.rows import bucket_of, row_of
from cepheid.kernels.signatures import Ending, Free, Helper
from cepheid.kernels.sorting import sort_in, sort_kept


@kernel()
def _meet(
    listed: int,
    filtered: int,
    row_id: int,
    fit: int,
    number: int,
    time: int,
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
    """Take all edges of a list that a row (NO_ROW: none) and an event can take: DONE, or what is full."""
    if pool[M_HEAD] - pool[M_TAIL] + plan[P_FANOUT] > pool[M_CAPACITY]:
        return POOL_FULL
    pool[M_N_TRIED] += 1
    row = row_of(row_id, plan, pool)
    if COUNTED:
        count_state(S_PAIRS, state_of(row_id, row, plan, pool), pool)
    first = plan[P_LIST_EDGES] + plan[listed + LIST_EDGES_FROM]
    last = plan[P_LIST_EDGES] + plan[listed + LIST_EDGES_TO]
    # The join goes first: it may have to be done again, and what the other edges make would then be made twice.
    for e in range(first, last):
        edge = plan[P_EDGES] + plan[e] * EDGE_WIDTH
        if plan[e] != plan[P_TRIGGER] or not (fit >> plan[edge + ELEMENT]) & 1:
            continue
        if number - pool[M_BASE] < pool[M_QUIET]:
            continue
        code = join_to(row_id, edge, number, plan, pool, reals, ints, floats, nulls, out, large, free, accept, tally)
        if code != DONE:
            return code
    for e in range(first, last):
        edge = plan[P_EDGES] + plan[e] * EDGE_WIDTH
        if plan[e] == plan[P_TRIGGER] or not (fit >> plan[edge + ELEMENT]) & 1:
            continue
        if not meets_in_prefix(plan[edge + ELEMENT], row_id, row, number - pool[M_BASE], plan, pool, ints):
            continue
        if holds_on(edge, filtered, row_id, plan, pool, reals, ints, floats, nulls, large, free) != 1:
            continue
        made_id = pool[M_HEAD]
        made = make_row(edge, row_id, row, number, time, plan, pool, reals, ints, floats, nulls, tally)
        late = edge + MADE_FROM
        if plan[late] != plan[late + 1] or plan[late + 2] != plan[late + 3]:
            if not accept(late, made_id, 0, plan, pool, reals, ints, floats, nulls, out, large, free):
                continue
        pool[M_HEAD] = made_id + 1
        link(made_id, made, plan[edge + TARGET], plan, pool, ints, nulls)
    return DONE


@kernel(entry=True)
def advance_lazy(
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
    """Step over the batch up to `M_STOP`.

    Returns:
        DONE, or POOL_FULL, OUTPUT_FULL, BUFFER_FULL: make room and call again; or HOST_FAILED.
    """
    n = pool[M_N_EVENTS]
    base = pool[M_BASE]
    within = plan[P_WITHIN]
    n_lists = plan[P_N_LISTS]
    keeps_time = plan[P_KEEP] >= 0 or within < 0
    sorts = plan[P_N_SORTED] != 0
    if sorts:
        sort_kept(plan, pool, ints, nulls)
    while pool[M_EVENT] < pool[M_STOP]:
        i = pool[M_EVENT]
        fit = ints[FIT_COLUMN * n + i]
        if fit == 0:
            pool[M_EVENT] = i + 1
            continue
        if COUNTED and pool[M_STAGE] == 0 and is_spent(pool):
            return WORK_DONE
        time = ints[TIME_COLUMN * n + i]
        number = base + i
        pool[M_CURRENT] = number
        if pool[M_STAGE] == 0:
            if pool[M_FAILED]:
                return HOST_FAILED
            if plan[P_KEEP] >= 0:
                forget(time, plan, pool)
            pool[M_STAGE] = 1
            pool[M_LIST] = 0
        if pool[M_STAGE] == 1:
            tail = pool[M_TAIL]
            for k in range(pool[M_LIST], n_lists + 1):
                listed = plan[P_LISTS] + k * LIST_WIDTH
                if not plan[listed + LIST_ELEMENTS] & fit:
                    continue
                if k == n_lists:  # the edge from no event
                    code = _meet(
                        listed,
                        0,
                        NO_ROW,
                        fit,
                        number,
                        time,
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
                    if code != DONE:
                        pool[M_LIST] = k
                        return code
                    break
                key, known = key_of(
                    plan[listed + EVENT_KEYS_FROM], plan[listed + EVENT_KEYS_TO], 0, plan, pool, ints, nulls
                )
                if not known:
                    continue
                head = pool[M_HEADS] + k * pool[M_BUCKETS] + bucket_of(key, pool[M_BUCKETS])
                row_id = pool[head]
                if pool[M_ROW] != NO_ROW:  # go on where the kernel left
                    row_id = pool[M_ROW]
                    pool[M_ROW] = NO_ROW
                field = plan[listed + LIST_FIELD]
                filter_field = plan[listed + FILTER_FIELD]
                filtered = 0
                value = 0
                if filter_field >= 0:
                    places = pool[M_INT_NULLS]
                    column = plan[listed + FILTER_EVENT_COLUMN]
                    if ints[places + column] < 0 and ints[places + plan[listed + FILTER_ROW_COLUMN]] < 0:
                        filtered = 1
                        value = ints[(FIRST_COLUMN + column) * n + i]
                comparator = plan[listed + FILTER_COMPARATOR]
                exact = plan[listed + EVENT_KEYS_TO] - plan[listed + EVENT_KEYS_FROM] == 1
                previous = -1  # where the row before lies, once one was walked over
                while row_id >= tail:
                    if COUNTED:
                        if is_spent(pool):
                            pool[M_LIST] = k
                            pool[M_ROW] = row_id
                            return WORK_DONE
                        count_work(pool)
                    row = row_of(row_id, plan, pool)
                    following = pool[row + field]
                    gone = False
                    met = pool[row + field + 1] == key and pool[row + EVENT] != number
                    if within >= 0 and time - pool[row + START] > within:
                        # Events are counted in each partition: a key of one part tells that it is the same.
                        gone = keeps_time or (met and exact)
                        met = False
                    if met and filtered:
                        met = compare_ints(comparator, pool[row + filter_field], value)
                    if met:
                        code = _meet(
                            listed,
                            filtered,
                            row_id,
                            fit,
                            number,
                            time,
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
                        if code != DONE:
                            pool[M_LIST] = k
                            pool[M_ROW] = row_id
                            return code
                    if gone:
                        pool[row + field] = UNLINKED
                        if previous >= 0:
                            pool[previous + field] = following
                        else:
                            unlink_at(row_id, field, head, following, plan, pool)
                    else:
                        previous = row
                    row_id = following
            pool[M_STAGE] = 2
        if plan[P_N_BUFFERS]:
            first_kept = pool[M_KEPT_HEAD]
            if keep(fit, number, time, 0, 0, plan, pool, reals, ints, floats, nulls) != DONE:
                return BUFFER_FULL
            if sorts:
                for kept in range(first_kept, pool[M_KEPT_HEAD]):
                    sort_in(kept, plan, pool, ints, nulls)
        if COUNTED:
            count_work(pool)
        pool[M_STAGE] = 0
        pool[M_EVENT] = i + 1
    return DONE
