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
from cepheid.kernels.hooks import (
    ALL,
    COUNTED,
    GUARDED,
    OBSERVED,
    SOME,
    bins_of,
    cell_at,
    count_group,
    count_pair,
    count_work,
    drop_group,
    drops,
    first_cell,
    group_answer,
    is_spent,
    may_drop,
    observe_pairs,
    observe_taken,
    pair_at_hand,
    place_in,
    went_on,
)
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    ACCEPTS,
    ACCEPTS_ALSO,
    ACCEPTS_LATE,
    BARE_FINAL,
    BUFFER_FULL,
    CLOSE_FROM,
    DONE,
    EDGE_WIDTH,
    ELEMENT,
    END_WIDTH,
    ENDS_ANYWAY,
    ENDS_FROM,
    ENDS_IF_ACCEPTED,
    ENDS_TO,
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
    FULL_COUNT,
    FULL_REGISTER,
    GROWN,
    HOST_FAILED,
    IS_FINAL,
    LIST_EDGES_FROM,
    LIST_EDGES_TO,
    LIST_ELEMENTS,
    LIST_FIELD,
    LIST_WIDTH,
    LOGS_ROWS,
    M_BASE,
    M_BUCKETS,
    M_CAPACITY,
    M_CURRENT,
    M_EVENT,
    M_FAILED,
    M_HEAD,
    M_HEADS,
    M_INT_NULLS,
    M_LIST,
    M_N_EVENTS,
    M_N_TRIED,
    M_ROW,
    M_ROWS,
    M_RUN_CAPACITY,
    M_RUN_HEAD,
    M_RUNS,
    M_STAGE,
    M_STOP,
    M_TAIL,
    MADE_FROM,
    MOVED_ON,
    NO_ROW,
    OVER_WHEN_FULL,
    P_EDGES,
    P_ENDS,
    P_HORIZON,
    P_KEEP,
    P_LIST_EDGES,
    P_LISTS,
    P_LOGS,
    P_MIXED,
    P_N_BUFFERS,
    P_N_LISTS,
    P_N_STARTS,
    P_ONE_START,
    P_REGISTERS,
    P_ROW_WIDTH,
    P_RUN_FIELD,
    P_STATES,
    P_TELLS,
    P_WITHIN,
    POLL,
    REJECTS,
    RUN_EDGE,
    RUN_FIRST,
    RUN_LAST,
    RUN_LAST_US,
    RUN_ROW,
    RUN_START,
    RUN_WIDTH,
    START,
    STATE_ELEMENT,
    STATE_WIDTH,
    TARGET,
    TELLS_ALL,
    TIME_COLUMN,
    TWIN,
    UNLINKED,
    WORK_DONE,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.lists import forget, link, unlink_at
from cepheid.kernels.making import make_row, qualifies
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
from cepheid.kernels.output import emit, end_run, hang
from cepheid.kernels.predicates import key_of
from cepheid.kernels.room import has_room, pause
from cepheid.kernels.rows import bucket_of
from cepheid.kernels.signatures import Ending, Free, Helper
from cepheid.kernels.twins import add_twin


@kernel(inline=True)
def take(
    edge: int,
    row_id: int,
    row: int,
    current: int,
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
) -> bool:
    """Take an edge: make the row that it leads to, or the match. The caller has made sure of room.

    Returns:
        False where the event fills a loop, and what the loop's end closes does not hold: nothing has changed.
    """
    target = plan[edge + TARGET]
    state = plan[P_STATES] + target * STATE_WIDTH
    one_start = plan[P_ONE_START]
    if plan[state + IS_FINAL] == BARE_FINAL:
        if OBSERVED:
            observe_taken(row_id, target, pool)
        emit(row_id, current, plan[state + STATE_ELEMENT], time, current, plan, pool, out)
        if row_id >= 0 and plan[P_RUN_FIELD] >= 0 and one_start:
            end_run(row, current, time, plan, pool)
        return True
    made_id = pool[M_HEAD]
    made = make_row(edge, row_id, row, current, time, plan, pool, reals, ints, floats, nulls, tally)
    if plan[edge + MADE_FROM] != plan[edge + MADE_FROM + 1] or plan[edge + MADE_FROM + 2] != plan[edge + MADE_FROM + 3]:
        if not accept(edge + MADE_FROM, made_id, 0, plan, pool, reals, ints, floats, nulls, out, large, free):
            return False
    full_register = plan[state + FULL_REGISTER]
    full = full_register >= 0 and pool[made + plan[P_REGISTERS] + full_register] >= plan[state + FULL_COUNT]
    if full and not accept(state + CLOSE_FROM, made_id, 0, plan, pool, reals, ints, floats, nulls, out, large, free):
        return False
    if OBSERVED:
        observe_taken(row_id, target, pool)
    pool[M_HEAD] = made_id + 1
    run_field = plan[P_RUN_FIELD]
    if run_field >= 0:
        run = pool[M_RUN_HEAD]
        if row_id < 0:
            pool[M_RUN_HEAD] = run + 1
        else:
            run = pool[row + run_field]
        slot = pool[M_RUNS] + (run & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH
        pool[made + run_field] = run
        pool[made + run_field + 1] = NO_ROW
        if row_id < 0:
            pool[slot + RUN_START] = time
            pool[slot + RUN_FIRST] = current
            pool[slot + RUN_EDGE] = edge
            pool[slot + RUN_LAST] = NO_ROW
            pool[slot + RUN_ROW] = NO_ROW
        if one_start:
            pool[slot + RUN_ROW] = made_id
        if plan[P_MIXED] or plan[P_LOGS] == LOGS_ROWS:
            pool[slot + RUN_LAST] = current
            pool[slot + RUN_LAST_US] = time
    mode, tells = plan[state + ACCEPTS], plan[P_TELLS]
    hung = False
    if not one_start and (tells == TELLS_ALL or (tells and mode == REJECTS)):
        hang(made_id, made, plan, pool)
        hung = True
    if mode != REJECTS:
        over = plan[state + IS_FINAL] != 0 or (full and plan[state + OVER_WHEN_FULL] == ENDS_ANYWAY)
        if mode != ACCEPTS_LATE or over or (full and plan[state + OVER_WHEN_FULL] == ENDS_IF_ACCEPTED):
            accepted = 0
            for e in range(plan[state + ENDS_FROM], plan[state + ENDS_TO]):
                end = plan[P_ENDS] + e * END_WIDTH
                accepted = accept(end, made_id, 1, plan, pool, reals, ints, floats, nulls, out, large, free)
                if accepted:
                    break
            if accepted == 2 and not (one_start or hung):
                hang(made_id, made, plan, pool)
                hung = True
            if over or (accepted and mode != ACCEPTS_ALSO):
                if OBSERVED:
                    went_on(made, plan, pool)
                if hung and (plan[P_MIXED] or plan[P_LOGS] == LOGS_ROWS):
                    pool[made + run_field + 2] = MOVED_ON
                if run_field >= 0 and one_start and accepted != 2:
                    end_run(made, current, time, plan, pool)
                return True
    if run_field >= 0:
        slot = pool[M_RUNS] + (pool[made + run_field] & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH
        pool[slot + RUN_LAST] = current
        pool[slot + RUN_LAST_US] = time
    if not (one_start or hung) and (mode == ACCEPTS_LATE or plan[P_LOGS] == LOGS_ROWS):
        hang(made_id, made, plan, pool)
    link(made_id, made, target, plan, pool, ints, nulls)
    if plan[state + TWIN] >= 0:
        add_twin(made_id, plan[state + TWIN], plan, pool, reals, ints, floats, nulls, tally)
    return True


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
    within = plan[P_WITHIN]
    n_lists = plan[P_N_LISTS]
    keeps_time = plan[P_KEEP] >= 0 or within < 0
    run_field, tells = plan[P_RUN_FIELD], plan[P_TELLS]
    has_runs = run_field >= 0 and plan[P_HORIZON] >= 0
    moves_on = plan[P_MIXED] != 0 and run_field >= 0
    guards = GUARDED and may_drop(pool)
    shift, last_bin = bins_of(plan)
    stop = pool[M_STOP]
    while pool[M_EVENT] < stop:
        i = pool[M_EVENT]
        fit = ints[FIT_COLUMN * n + i]
        if fit == 0:
            pool[M_EVENT] = i + 1
            continue
        if COUNTED and is_spent(pool):
            return WORK_DONE
        if POSTPONES and pool[M_STAGE] == 0 and is_time_to_poll(pool):
            return POLL
        time = ints[TIME_COLUMN * n + i]
        number = base + i
        pool[M_CURRENT] = number
        if pool[M_STAGE] == 0:
            if pool[M_FAILED]:
                return HOST_FAILED
            if has_runs:
                code = fire(time, 0, 0, plan, pool, reals, ints, floats, nulls, out, large, free)
                if code != DONE:
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
                first, cell, place, first_place, guarded, group = 0, 0, 0, 0, False, False
                if guards or OBSERVED:
                    first = first_cell(k, i, plan, pool, ints)
                    place, first_place = place_in(i, starting, plan, pool, ints)
                    group = starting or row_id >= tail
                if GUARDED and guards and group:
                    answer = group_answer(first, i, starting, plan, pool, ints)
                    if answer == ALL:
                        drop_group(first, i, starting, plan, pool, ints)
                        continue
                    guarded = answer == SOME
                met_cell, n_met = 0, 0  # a cell, and pairs of it that met and are not counted yet
                previous = -1  # where the row before lies, once one was walked over
                while row_id >= tail or starting:
                    if COUNTED:
                        if is_spent(pool):
                            if OBSERVED and n_met:
                                observe_pairs(met_cell, n_met, pool)
                            pause(k, row_id, pool)
                            return WORK_DONE
                        count_work(pool)
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
                            if met and over:
                                # Events are counted in each partition: a key of one part tells that it is the same.
                                gone = exact
                                met = False
                    if met and (guarded or OBSERVED):
                        cell = cell_at(first, place, first_place, row, shift, last_bin, pool)
                        if GUARDED and guarded and drops(cell, pool):
                            met = False
                    meets = met
                    if met and filtered:
                        met = compare_ints(comparator, pool[row + filter_field], value)
                    if met:
                        room = has_room(row_id, row, plan, pool)
                        if room != DONE:
                            if OBSERVED and n_met:
                                observe_pairs(met_cell, n_met, pool)
                            pause(k, row_id, pool)
                            return room
                    if OBSERVED and meets:
                        # Rows stand by age, so many of them one after the other are of one bin.
                        if cell != met_cell:
                            if n_met:
                                observe_pairs(met_cell, n_met, pool)
                            met_cell, n_met = cell, 0
                        n_met += 1
                        if met:
                            pair_at_hand(cell, pool)
                    if COUNTED and meets:
                        count_pair(k, filtered, plan, pool)
                    if met:
                        pool[M_N_TRIED] += 1
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
                                        pause(k, row_id, pool)
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
                if OBSERVED and group:
                    if n_met:
                        observe_pairs(met_cell, n_met, pool)
                    count_group(first, plan, pool)
            pool[M_STAGE] = 2
        if plan[P_N_BUFFERS] and keep(fit, number, time, 0, 0, plan, pool, reals, ints, floats, nulls) != DONE:
            return BUFFER_FULL
        if COUNTED:
            count_work(pool)
        pool[M_STAGE] = 0
        pool[M_EVENT] = i + 1
    return DONE
