"""The rest of a match whose last event has come: the events of its other variables are looked up and joined."""

from __future__ import annotations

from cepheid.kernels.comparators import compare_ints
from cepheid.kernels.hook_layout import S_PAIRS
from cepheid.kernels.hooks import COUNTED, GUARDED, count_state, count_work, drops_match, state_of
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    BARE_FINAL,
    BUFFER_KEYS_FROM,
    BUFFER_KEYS_TO,
    BUFFER_WIDTH,
    DONE,
    EDGE_WIDTH,
    ELEMENT,
    END_WIDTH,
    ENDS_FROM,
    ENDS_TO,
    FIRST_COLUMN,
    IS_FINAL,
    J_AGAIN,
    J_CURSOR,
    J_KEY,
    J_STEP,
    JOIN_AFTER,
    JOIN_AGAIN,
    JOIN_BEFORE,
    JOIN_BUFFER,
    JOIN_COMPARATOR,
    JOIN_EDGE,
    JOIN_EVENT_COLUMN,
    JOIN_FILTER,
    JOIN_KEYS_FROM,
    JOIN_KEYS_TO,
    JOIN_ROW_COLUMN,
    JOIN_SORTED,
    JOIN_WIDTH,
    KEPT_EVENT,
    KEPT_GROUP,
    KEPT_KEY,
    KEPT_NEXT,
    KEPT_TIME,
    KEPT_WIDTH,
    LATE_FROM,
    LENGTH_SHIFT,
    M_BASE,
    M_CAPACITY,
    M_CURRENT,
    M_HEAD,
    M_INT_NULLS,
    M_KEPT,
    M_KEPT_CAPACITY,
    M_KEPT_HEADS,
    M_KEPT_TAIL,
    M_N_ENTRIES,
    M_N_EVENTS,
    M_N_MATCHES,
    M_N_TRIED,
    M_OUT_ENTRIES,
    M_OUT_MATCHES,
    M_ROOT,
    M_TAIL,
    M_TRIGGER,
    MADE_FROM,
    N_LATE,
    NO_MORE,
    OUTPUT_FULL,
    P_BUFFERS,
    P_CLOSES_LOOP,
    P_EDGES,
    P_ENDS,
    P_JOIN_FIELD,
    P_JOINS,
    P_N_JOINS,
    P_STATES,
    P_WITHIN,
    PARENT,
    POOL_FULL,
    SORTED_FROM,
    STATE,
    STATE_MASK,
    STATE_WIDTH,
    TARGET,
    THE_TRIGGER,
    TIME_COLUMN,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.making import make_row, qualifies
from cepheid.kernels.output import emit, sort_last
from cepheid.kernels.predicates import key_of
from cepheid.kernels.rows import INT_MAX, bucket_of, row_of
from cepheid.kernels.signatures import Ending, Free, Helper
from cepheid.kernels.sorting import entries_of, range_for


@kernel(macro=True)
def _time_of(number: int, pool: Ints, ints: Ints) -> int:
    """The time of an event."""
    return ints[TIME_COLUMN * pool[M_N_EVENTS] + number - pool[M_BASE]]


@kernel(macro=True)
def _fields(row_id: int, plan: Ints, pool: Ints) -> int:
    """Where J_STEP and the fields after it lie, of a row or of no event."""
    return M_ROOT if row_id < 0 else row_of(row_id, plan, pool) + plan[P_JOIN_FIELD]


@kernel()
def _fitting(cursor: int, join: int, key: int, row: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The first of the events kept, from ``cursor`` on back in time, that may be joined to a row; or NO_MORE."""
    after, before = plan[join + JOIN_AFTER], plan[join + JOIN_BEFORE]
    lower = pool[row + after] if after >= 0 else -1
    upper = pool[row + before] if before >= 0 else INT_MAX
    within, time = plan[P_WITHIN], _time_of(pool[M_TRIGGER], pool, ints)
    kept, mask, tail = pool[M_KEPT], pool[M_KEPT_CAPACITY] - 1, pool[M_KEPT_TAIL]
    # Most events fail the first condition; where that compares two ints, it is tested here, and once more in `_take`.
    value, comparator, values = 0, 0, -1
    if plan[join + JOIN_FILTER] >= 0:
        places, column = pool[M_INT_NULLS], plan[join + JOIN_EVENT_COLUMN]
        if ints[places + column] < 0 and ints[places + plan[join + JOIN_ROW_COLUMN]] < 0:
            value, comparator = pool[row + plan[join + JOIN_FILTER]], plan[join + JOIN_COMPARATOR]
            values = (FIRST_COLUMN + column) * pool[M_N_EVENTS] - pool[M_BASE]
    while cursor >= tail:
        place = kept + (cursor & mask) * KEPT_WIDTH
        tried = pool[place + KEPT_EVENT]
        if tried <= lower:
            return NO_MORE
        if tried < upper and pool[place + KEPT_KEY] == key and (within < 0 or time - pool[place + KEPT_TIME] <= within):
            if values < 0 or compare_ints(comparator, value, ints[values + tried]):
                return cursor
        cursor = pool[place + KEPT_NEXT]
    return NO_MORE


@kernel()
def _begin(row_id: int, step: int, plan: Ints, pool: Ints, ints: Ints, nulls: Bytes) -> None:
    """Let a row try the events of a step, the first of them."""
    at = _fields(row_id, plan, pool)
    pool[at + J_STEP] = step
    pool[at + J_AGAIN] = 0
    pool[at + J_CURSOR] = NO_MORE
    if step == plan[P_N_JOINS]:
        return
    row = row_of(row_id, plan, pool)
    join = plan[P_JOINS] + step * JOIN_WIDTH
    if plan[join + JOIN_SORTED] >= 0:
        first, last = range_for(join, row, plan, pool, ints)
        pool[at + J_KEY] = last
        pool[at + J_CURSOR] = first if first < last else pool[M_KEPT_CAPACITY]
        return
    key, known = key_of(plan[join + JOIN_KEYS_FROM], plan[join + JOIN_KEYS_TO], row, plan, pool, ints, nulls)
    if not known:
        return  # an equality with NULL: no event satisfies it
    pool[at + J_KEY] = key
    capacity = pool[M_KEPT_CAPACITY]
    cursor = pool[pool[M_KEPT_HEADS] + plan[join + JOIN_BUFFER] * capacity + bucket_of(key, capacity)]
    if plan[join + JOIN_AGAIN] < 0:
        pool[at + J_CURSOR] = cursor
        return
    # A loop takes them in their order. What may lie in it is the same for all that begins with this row.
    following = NO_MORE
    if plan[P_CLOSES_LOOP] and step == plan[P_N_JOINS] - 1:
        buffer = plan[P_BUFFERS] + plan[join + JOIN_BUFFER] * BUFFER_WIDTH
        own, known = key_of(plan[buffer + BUFFER_KEYS_FROM], plan[buffer + BUFFER_KEYS_TO], 0, plan, pool, ints, nulls)
        if not known or own != key:
            return
        following = THE_TRIGGER
    while True:
        cursor = _fitting(cursor, join, key, row, plan, pool, ints)
        if cursor == NO_MORE:
            break
        place = pool[M_KEPT] + (cursor & (capacity - 1)) * KEPT_WIDTH
        pool[place + KEPT_GROUP] = following
        following = cursor
        cursor = pool[place + KEPT_NEXT]
    pool[at + J_CURSOR] = following


@kernel()
def _next_entry(at: int, join: int, row: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The same where the events of a step are found in the order of a value: those in a range, then the late ones."""
    after, before = plan[join + JOIN_AFTER], plan[join + JOIN_BEFORE]
    lower = pool[row + after] if after >= 0 else -1
    upper = pool[row + before] if before >= 0 else INT_MAX
    within, time = plan[P_WITHIN], _time_of(pool[M_TRIGGER], pool, ints)
    capacity, tail = pool[M_KEPT_CAPACITY], pool[M_KEPT_TAIL]
    kept, area = pool[M_KEPT], entries_of(join, plan, pool)
    entry, last = pool[at + J_CURSOR], pool[at + J_KEY]
    if entry < capacity:
        while entry < last:
            cursor = pool[area + SORTED_FROM + 2 * entry + 1]
            entry += 1
            if cursor < tail:
                continue
            place = kept + (cursor & (capacity - 1)) * KEPT_WIDTH
            tried = pool[place + KEPT_EVENT]
            if lower < tried < upper and (within < 0 or time - pool[place + KEPT_TIME] <= within):
                pool[at + J_CURSOR] = entry
                return cursor
        entry = capacity
    places = pool[M_INT_NULLS]
    tests = ints[places + plan[join + JOIN_ROW_COLUMN]] < 0
    value, comparator = pool[row + plan[join + JOIN_FILTER]], plan[join + JOIN_COMPARATOR]
    late, n_late = area + LATE_FROM, pool[area + N_LATE]
    while entry - capacity < n_late:
        found = late + 2 * (entry - capacity)
        entry += 1
        if tests and not compare_ints(comparator, value, pool[found]):
            continue
        cursor = pool[found + 1]
        if cursor < tail:
            continue
        place = kept + (cursor & (capacity - 1)) * KEPT_WIDTH
        tried = pool[place + KEPT_EVENT]
        if lower < tried < upper and (within < 0 or time - pool[place + KEPT_TIME] <= within):
            pool[at + J_CURSOR] = entry
            return cursor
    pool[at + J_CURSOR] = NO_MORE
    return NO_MORE


@kernel()
def _next(row_id: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """What a row tries next: an event by its place among those kept, THE_TRIGGER, or NO_MORE."""
    at = _fields(row_id, plan, pool)
    cursor = pool[at + J_CURSOR]
    if cursor < 0:
        pool[at + J_CURSOR] = NO_MORE
        return cursor
    join = plan[P_JOINS] + pool[at + J_STEP] * JOIN_WIDTH
    if plan[join + JOIN_SORTED] >= 0:
        return _next_entry(at, join, row_of(row_id, plan, pool), plan, pool, ints)
    link = KEPT_GROUP
    if plan[join + JOIN_AGAIN] < 0:
        link = KEPT_NEXT
        cursor = _fitting(cursor, join, pool[at + J_KEY], row_of(row_id, plan, pool), plan, pool, ints)
        if cursor == NO_MORE:
            pool[at + J_CURSOR] = NO_MORE
            return NO_MORE
    place = pool[M_KEPT] + (cursor & (pool[M_KEPT_CAPACITY] - 1)) * KEPT_WIDTH
    pool[at + J_CURSOR] = pool[place + link]
    return cursor


@kernel()
def _complete(
    row_id: int,
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
) -> int:
    """Write the match that a row is, if it is one: DONE, or OUTPUT_FULL."""
    row = row_of(row_id, plan, pool)
    state = plan[P_STATES] + (pool[row + STATE] & STATE_MASK) * STATE_WIDTH
    for e in range(plan[state + ENDS_FROM], plan[state + ENDS_TO]):
        end = plan[P_ENDS] + e * END_WIDTH
        if plan[end] != plan[end + 1] or plan[end + 2] != plan[end + 3]:
            if not accept(end, row_id, 0, plan, pool, reals, ints, floats, nulls, out, large, free):
                return DONE
    n = pool[row + STATE] >> LENGTH_SHIFT
    if pool[M_N_ENTRIES] + n > pool[M_OUT_ENTRIES] or pool[M_N_MATCHES] + 1 > pool[M_OUT_MATCHES]:
        return OUTPUT_FULL
    trigger = pool[M_TRIGGER]
    emit(row_id, -1, -1, _time_of(trigger, pool, ints), trigger, plan, pool, out)
    sort_last(n, plan, pool, out)
    if GUARDED:
        drops_match(n, plan, pool, ints, out)
    return DONE


@kernel()
def holds_on(
    edge: int,
    n_known: int,
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
    """As `making.qualifies`, in one place: pasted into each caller it would take seconds to compile."""
    row = row_of(row_id, plan, pool)
    return qualifies(edge, n_known, row_id, row, plan, pool, reals, ints, floats, nulls, large, free)


@kernel(inline=True)
def _is_bare(edge: int, plan: Ints) -> bool:
    """Whether an edge ends a match, and leaves nothing to be tested on the row that it makes."""
    return plan[plan[P_STATES] + plan[edge + TARGET] * STATE_WIDTH + IS_FINAL] == BARE_FINAL


@kernel()
def _write(row_id: int, number: int, element: int, plan: Ints, pool: Ints, ints: Ints, out: Ints) -> int:
    """Write the match that a row (NO_ROW: of no event) makes with one more event: DONE, or OUTPUT_FULL."""
    n = 1
    if row_id >= 0:
        n += pool[row_of(row_id, plan, pool) + STATE] >> LENGTH_SHIFT
    if pool[M_N_ENTRIES] + n > pool[M_OUT_ENTRIES] or pool[M_N_MATCHES] + 1 > pool[M_OUT_MATCHES]:
        return OUTPUT_FULL
    trigger = pool[M_TRIGGER]
    emit(row_id, number, element, _time_of(trigger, pool, ints), trigger, plan, pool, out)
    if number != trigger:  # else it is the last
        sort_last(n, plan, pool, out)
    if GUARDED:
        drops_match(n, plan, pool, ints, out)
    return DONE


@kernel()
def _take(
    edge: int,
    row_id: int,
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
) -> int:
    """Make the row that an edge makes of a row (NO_ROW: of none) and an event: DONE, NO_MORE if none, or POOL_FULL."""
    row = row_of(row_id, plan, pool)
    pool[M_CURRENT] = number
    pool[M_N_TRIED] += 1
    if holds_on(edge, 0, row_id, plan, pool, reals, ints, floats, nulls, large, free) != 1:
        return NO_MORE
    made_id = pool[M_HEAD]
    if made_id - pool[M_TAIL] + 1 > pool[M_CAPACITY]:
        return POOL_FULL
    make_row(edge, row_id, row, number, _time_of(number, pool, ints), plan, pool, reals, ints, floats, nulls, tally)
    made = edge + MADE_FROM
    if plan[made] != plan[made + 1] or plan[made + 2] != plan[made + 3]:
        if not accept(made, made_id, 0, plan, pool, reals, ints, floats, nulls, out, large, free):
            return NO_MORE
    pool[M_HEAD] = made_id + 1
    return DONE


@kernel()
def _join_rest(
    first: int,
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
    """Write all matches that the steps make of a row (NO_ROW: of no event): DONE, or what is full.

    Depth first: the rows on the way are the newest of the pool, and are given back on the way back.
    """
    n_steps, closes, trigger = plan[P_N_JOINS], plan[P_CLOSES_LOOP], pool[M_TRIGGER]
    row_id = first
    _begin(row_id, 0, plan, pool, ints, nulls)
    while True:
        at = _fields(row_id, plan, pool)
        step = pool[at + J_STEP]
        cursor = _next(row_id, plan, pool, ints)
        if COUNTED and cursor != NO_MORE:
            count_work(pool)
            count_state(S_PAIRS, state_of(row_id, row_of(row_id, plan, pool), plan, pool), pool)
        if cursor == NO_MORE:
            if step < n_steps and pool[at + J_AGAIN]:
                pool[M_CURRENT] = trigger
                _begin(row_id, step + 1, plan, pool, ints, nulls)
                continue
            if row_id == first:
                return DONE
            pool[M_HEAD] = row_id
            row_id = pool[row_of(row_id, plan, pool) + PARENT]
            continue
        join = plan[P_JOINS] + step * JOIN_WIDTH
        edge = plan[P_EDGES] + plan[join + (JOIN_AGAIN if pool[at + J_AGAIN] else JOIN_EDGE)] * EDGE_WIDTH
        number, link = trigger, NO_MORE
        if cursor != THE_TRIGGER:
            place = pool[M_KEPT] + (cursor & (pool[M_KEPT_CAPACITY] - 1)) * KEPT_WIDTH
            number, link = pool[place + KEPT_EVENT], pool[place + KEPT_GROUP]
        if step == n_steps - 1 and not closes and plan[join + JOIN_AGAIN] < 0 and _is_bare(edge, plan):
            pool[M_CURRENT] = number
            pool[M_N_TRIED] += 1
            if holds_on(edge, 0, row_id, plan, pool, reals, ints, floats, nulls, large, free) == 1:
                if _write(row_id, number, plan[edge + ELEMENT], plan, pool, ints, out) != DONE:
                    return OUTPUT_FULL
            continue
        made_id = pool[M_HEAD]
        code = _take(edge, row_id, number, plan, pool, reals, ints, floats, nulls, out, large, free, accept, tally)
        if code == NO_MORE:
            continue
        if code != DONE:
            return code
        if step == n_steps - 1 and (not closes or cursor == THE_TRIGGER):
            code = _complete(made_id, plan, pool, reals, ints, floats, nulls, out, large, free, accept)
            if code != DONE:
                return code
        if plan[join + JOIN_AGAIN] >= 0 and cursor != THE_TRIGGER:
            made = _fields(made_id, plan, pool)
            pool[made + J_STEP] = step
            pool[made + J_AGAIN] = 1
            pool[made + J_KEY] = pool[at + J_KEY]
            pool[made + J_CURSOR] = link
            row_id = made_id
        elif step + 1 < n_steps:
            pool[M_CURRENT] = trigger
            _begin(made_id, step + 1, plan, pool, ints, nulls)
            row_id = made_id
        else:
            pool[M_HEAD] = made_id


@kernel()
def join_to(
    row_id: int,
    edge: int,
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
) -> int:
    """Write all matches that end with an event and hold a partial match of the eager variables.

    Args:
        row_id: the partial match, or NO_ROW where no variable is eager.
        edge: where the edge of `P_TRIGGER` lies.
        number: the event.

    Returns:
        DONE, or what is full: then nothing was written, and it is to be called again.
    """
    head, n_matches, n_entries = pool[M_HEAD], pool[M_N_MATCHES], pool[M_N_ENTRIES]
    pool[M_TRIGGER] = number
    code = DONE
    if plan[P_CLOSES_LOOP]:
        if holds_on(edge, 0, row_id, plan, pool, reals, ints, floats, nulls, large, free) == 1:
            code = _join_rest(row_id, plan, pool, reals, ints, floats, nulls, out, large, free, accept, tally)
    elif plan[P_N_JOINS] == 0 and _is_bare(edge, plan):
        pool[M_N_TRIED] += 1
        if holds_on(edge, 0, row_id, plan, pool, reals, ints, floats, nulls, large, free) == 1:
            code = _write(row_id, number, plan[edge + ELEMENT], plan, pool, ints, out)
    else:
        code = _take(edge, row_id, number, plan, pool, reals, ints, floats, nulls, out, large, free, accept, tally)
        if code == DONE:
            if plan[P_N_JOINS]:
                code = _join_rest(head, plan, pool, reals, ints, floats, nulls, out, large, free, accept, tally)
            else:
                code = _complete(head, plan, pool, reals, ints, floats, nulls, out, large, free, accept)
        elif code == NO_MORE:
            code = DONE
    pool[M_HEAD] = head
    pool[M_CURRENT] = number
    if code != DONE:
        pool[M_N_MATCHES], pool[M_N_ENTRIES] = n_matches, n_entries
    return code
