"""The kernel that steps partial matches over events.

One event at a time, in order: matches whose deadline has passed leave; rows whose window has passed are forgotten;
the lists of partial matches that wait for such an event are walked, newest row first; it starts partial matches of
its own; and it is kept where a NOT may ask for it. Nothing is allocated: where the pool or the output is full the
kernel returns with a code, and goes on at the same (event, list, row) when called again.

What few plans need (conditions at large, NOT, ends, aggregates, deadlines) is called by address: so it is compiled
apart, once, and only where a plan needs it.
"""

from __future__ import annotations

from cepheid.kernels.comparators import compare_ints
from cepheid.kernels.hook_layout import A_FIELD, ALL, H_N_BINS, H_PLACE_SHIFT, SOME
from cepheid.kernels.hooks import (
    COUNTED,
    GUARDED,
    OBSERVED,
    cell_at,
    group_of,
    leave_group,
    leave_pair,
    meet_group,
    meets,
    note_pair,
    place_from,
    tell_pairs,
    tell_work,
    went_on,
    work_left,
)
from cepheid.kernels.jit import kernel
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
    FORKS,
    GROWN,
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
    M_HEADS,
    M_HOOKS,
    M_INT_NULLS,
    M_LIST,
    M_N_EVENTS,
    M_N_TRIED,
    M_ROW,
    M_ROWS,
    M_STAGE,
    M_STOP,
    M_TAIL,
    MOVED_ON,
    NO_ROW,
    P_EACH,
    P_EACH_COLUMN,
    P_EACH_IS_TIME,
    P_EDGES,
    P_HOOKS,
    P_HORIZON,
    P_KEEP,
    P_LIST_EDGES,
    P_LISTS,
    P_MIXED,
    P_N_BUFFERS,
    P_N_LISTS,
    P_N_STARTS,
    P_ROW_WIDTH,
    P_RUN_FIELD,
    P_TELLS,
    P_WITHIN,
    POLL,
    START,
    TIME_COLUMN,
    UNLINKED,
    WORK_DONE,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.lists import forget, unlink_at
from cepheid.kernels.making import qualifies
from cepheid.kernels.open_predicates import (
    POSTPONES,
    assumes,
    begin_step,
    is_refuted,
    is_time_to_poll,
    leave_step,
    next_edge,
    steps_begin,
)
from cepheid.kernels.predicates import key_of
from cepheid.kernels.room import has_room, pause
from cepheid.kernels.rows import bucket_of
from cepheid.kernels.signatures import Ending, Free, Helper
from cepheid.kernels.taking import take
from cepheid.kernels.twins import grow_twin


@kernel(entry=True)
def advance(
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
    """Step over the rest of the batch, up to `M_STOP`.

    Returns:
        DONE, or POOL_FULL, OUTPUT_FULL, BUFFER_FULL, RUNS_FULL, CELLS_FULL: make room and call again; WORK_DONE, POLL:
        do what they ask for, and call again; or HOST_FAILED.
    """
    n = pool[M_N_EVENTS]
    base = pool[M_BASE]
    within, each = plan[P_WITHIN], plan[P_EACH]
    clock = plan[P_EACH_COLUMN] * n - base  # that of BETWEEN EACH
    n_lists = plan[P_N_LISTS]
    keeps_time = plan[P_KEEP] >= 0 or within < 0
    run_field, tells = plan[P_RUN_FIELD], plan[P_TELLS]
    has_runs = run_field >= 0 and plan[P_HORIZON] >= 0
    moves_on = plan[P_MIXED] != 0 and run_field >= 0
    work = work_left(pool)  # told when the kernel returns
    stop = pool[M_STOP]
    hooks, shift, last_bin, place_field = plan[P_HOOKS], 0, 0, 0
    if GUARDED or OBSERVED:
        shift, last_bin = plan[hooks + H_PLACE_SHIFT], plan[hooks + H_N_BINS] - 1
        place_field = pool[pool[M_HOOKS] + A_FIELD]
    while pool[M_EVENT] < stop:
        i = pool[M_EVENT]
        fit = ints[FIT_COLUMN * n + i]
        if fit == 0:
            pool[M_EVENT] = i + 1
            continue
        if COUNTED and work <= 0:
            tell_work(work, pool)
            return WORK_DONE
        if POSTPONES and pool[M_STAGE] == 0 and is_time_to_poll(pool):
            tell_work(work, pool)
            return POLL
        time = ints[TIME_COLUMN * n + i]
        number = base + i
        pool[M_CURRENT] = number
        if pool[M_STAGE] == 0:
            if pool[M_FAILED]:
                tell_work(work, pool)
                return HOST_FAILED
            if has_runs:
                code = fire(time, 0, 0, plan, pool, reals, ints, floats, nulls, out, large, free)
                if code != DONE:
                    tell_work(work, pool)
                    return code
            if plan[P_KEEP] >= 0:
                forget(time, plan, pool)
            pool[M_STAGE] = 1
            pool[M_LIST] = 0
        if pool[M_STAGE] == 1:
            tail = pool[M_TAIL]
            rows, mask, width = pool[M_ROWS], pool[M_CAPACITY] - 1, plan[P_ROW_WIDTH]
            # The last lists have no rows: their edges start partial matches.
            for k in range(pool[M_LIST], n_lists + plan[P_N_STARTS]):
                listed = plan[P_LISTS] + k * LIST_WIDTH
                if not plan[listed + LIST_ELEMENTS] & fit:
                    continue
                starting = k >= n_lists
                row_id = NO_ROW
                head = 0
                key = 0
                if not starting:
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
                edges_from = plan[P_LIST_EDGES] + plan[listed + LIST_EDGES_FROM]
                edges_to = plan[P_LIST_EDGES] + plan[listed + LIST_EDGES_TO]
                # The first condition, where it compares two ints of which the row holds one: most rows end here.
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
                guarded = False
                group, first_cell, place, far, cell = 0, 0, 0, 0, 0
                if (GUARDED or OBSERVED) and (starting or row_id >= tail):
                    group = group_of(k, i, plan, pool, ints)
                    answer = meet_group(group, i, starting, plan, pool, ints)
                    if GUARDED and answer == ALL:
                        continue
                    guarded = answer == SOME
                    if OBSERVED or guarded:
                        first_cell = group * (last_bin + 1)
                        place, far = place_from(i, starting, plan, pool, ints)
                n_pairs = 0  # that met and are not counted yet
                previous = -1  # where the row before lies, once one was walked over
                while row_id >= tail or starting:
                    if COUNTED:
                        if work <= 0:
                            if OBSERVED:
                                leave_group(group, pool)
                            tell_pairs(k, n_pairs, filtered, plan, pool)
                            pause(k, row_id, pool)
                            tell_work(work, pool)
                            return WORK_DONE
                        work -= 1
                    row = rows + (row_id & mask) * width
                    following = NO_ROW
                    gone = False
                    met = starting
                    if not starting:
                        following = pool[row + field]
                        over = within >= 0 and time - pool[row + START] > within
                        if over and keeps_time:
                            gone = True
                        elif POSTPONES and is_refuted(row, plan, pool):
                            gone = True
                        else:
                            met = pool[row + field + 1] == key and pool[row + EVENT] != number
                            # Events are counted in each partition: a key of one part tells that it is the same.
                            if met and over:
                                gone = exact
                                met = False
                            elif met and each >= 0:
                                met = ints[clock + number] - ints[clock + pool[row + EVENT]] <= each
                                gone = not met and (exact or plan[P_EACH_IS_TIME] != 0)
                    if met and (guarded or OBSERVED):
                        cell = cell_at(first_cell, place - (pool[row + place_field] & far), shift, last_bin)
                        met = meets(cell, guarded, pool)
                    is_pair = met
                    if met and filtered:
                        met = compare_ints(comparator, pool[row + filter_field], value)
                    if met:
                        room = has_room(row_id, row, plan, pool)
                        if room != DONE:
                            if OBSERVED:
                                leave_pair(cell, pool)
                                leave_group(group, pool)
                            tell_pairs(k, n_pairs, filtered, plan, pool)
                            pause(k, row_id, pool)
                            tell_work(work, pool)
                            return room
                    if COUNTED and is_pair:
                        n_pairs += 1
                    if met:
                        pool[M_N_TRIED] += 1
                        if OBSERVED:
                            note_pair(cell, pool)
                        e, mark = edges_from, 0
                        if POSTPONES:
                            e = begin_step(row_id, row, e, plan, pool)
                            mark = pool[row + run_field + 2] if moves_on and not starting else 0
                        while e < edges_to:
                            edge = plan[P_EDGES] + plan[e] * EDGE_WIDTH
                            following_edge = e + 1
                            answer = 0
                            if (fit >> plan[edge + ELEMENT]) & 1:
                                answer = qualifies(
                                    edge, filtered, row_id, row, plan, pool, reals, ints, floats, nulls, large, free
                                )
                            if answer == 1:
                                taken = take(
                                    edge,
                                    row_id,
                                    row,
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
                                if taken and not starting and (tells or moves_on):
                                    if moves_on and not plan[edge + FORKS]:
                                        pool[row + run_field + 2] = MOVED_ON
                                    elif tells and pool[row + run_field + 2] != MOVED_ON:
                                        pool[row + run_field + 2] = GROWN
                                        if moves_on:
                                            grow_twin(row_id, row, plan, pool)
                                if taken and not plan[edge + FORKS]:
                                    if OBSERVED and not starting:
                                        went_on(row, plan, pool)
                                    gone = True
                                    following_edge = edges_to
                            elif answer < 0 and edges_to - edges_from == 1:
                                gone = not POSTPONES or not assumes(pool)
                            if POSTPONES:
                                following_edge = next_edge(
                                    e,
                                    following_edge,
                                    edges_from,
                                    edges_to,
                                    row_id,
                                    row,
                                    gone,
                                    mark,
                                    plan,
                                    pool,
                                    reals,
                                    ints,
                                    floats,
                                    nulls,
                                    out,
                                    tally,
                                )
                                if following_edge <= e:
                                    gone = False
                                if following_edge < edges_to and steps_begin(e, following_edge, plan):
                                    room = has_room(row_id, row, plan, pool)
                                    if room != DONE:
                                        leave_step(following_edge, pool)
                                        if OBSERVED:
                                            leave_pair(cell, pool)
                                            leave_group(group, pool)
                                        tell_pairs(k, n_pairs - 1, filtered, plan, pool)
                                        pause(k, row_id, pool)
                                        tell_work(work, pool)
                                        return room
                            e = following_edge
                    if starting:
                        break
                    if gone:
                        pool[row + field] = UNLINKED
                        if previous >= 0:
                            pool[previous + field] = following
                        else:
                            unlink_at(row_id, field, head, following, plan, pool)
                    else:
                        previous = row
                    row_id = following
                tell_pairs(k, n_pairs, filtered, plan, pool)
            pool[M_STAGE] = 2
        if plan[P_N_BUFFERS] and keep(fit, number, time, 0, 0, plan, pool, reals, ints, floats, nulls) != DONE:
            tell_work(work, pool)
            return BUFFER_FULL
        work -= 1
        pool[M_STAGE] = 0
        pool[M_EVENT] = i + 1
    tell_work(work, pool)
    return DONE
