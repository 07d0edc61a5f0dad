"""Where policies reach into the kernels: which pairs are dropped, what is counted, and when control goes back.

The flags say which of these a kernel has in it. They are 0 in the kernels as they stand, so the compiler leaves out all
that they guard; `variants.variant` makes the same kernels with some of them set.
"""

from __future__ import annotations

from cepheid.kernels.hook_layout import (
    A_ANSWERS,
    A_APART,
    A_COMPLETED,
    A_COUNTER,
    A_CREATED,
    A_DROPPED,
    A_EDGE,
    A_EVALUATED,
    A_EXPIRED,
    A_EXTENDED,
    A_FIELD,
    A_GROUP,
    A_GROUPS,
    A_GROUPS_DROPPED,
    A_LEAST,
    A_LIMIT,
    A_MATCHED,
    A_PAIR,
    A_PAIRS,
    A_PLACE,
    A_PROCESSED,
    A_TAKEN,
    A_THRESHOLD,
    A_UTILITIES,
    A_WIDTH,
    A_WORK,
    ALL,
    BELOW_PLACE,
    CELL_SHIFT,
    H_FIRST,
    H_LIST_STATES,
    H_N_BINS,
    H_N_PREFIX,
    H_N_STATES,
    H_PAIR,
    H_PLACE,
    H_PLACE_SHIFT,
    H_TYPE,
    IN_MATCH,
    NONE,
    SOME,
    WENT_ON,
)
from cepheid.kernels.index import at, unsigned
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    FIRST_COLUMN,
    M_BASE,
    M_HOOKS,
    M_N_ENTRIES,
    M_N_EVENTS,
    M_N_MATCHES,
    M_OUT_ELEMENTS,
    NOT_LEFT,
    P_FIXED_LENGTH,
    P_HOOKS,
    STATE,
    STATE_MASK,
    TIMED_OUT,
    Ints,
)
from cepheid.kernels.rows import INT_MAX

GUARDED = 0
"""Pairs may be dropped."""
OBSERVED = 0
"""What becomes of pairs and partial matches is counted."""
COUNTED = 0
"""Work is counted, and control goes back after so much of it."""


@kernel(macro=True)
def count(table: int, number: int, pool: Ints) -> None:
    """Add one to an entry of a table of the area."""
    pool[at(pool[M_HOOKS] + pool[at(pool[M_HOOKS] + table)] + number)] += 1


@kernel(macro=True)
def may_drop(pool: Ints) -> bool:
    """Whether there is a pair that is dropped."""
    return pool[pool[M_HOOKS] + A_LEAST] <= pool[pool[M_HOOKS] + A_THRESHOLD]


@kernel(inline=True)
def type_of(i: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The number of the type of the event at index ``i``."""
    return ints[at((FIRST_COLUMN + plan[at(plan[P_HOOKS] + H_TYPE)]) * pool[M_N_EVENTS] + i)]


@kernel(inline=True)
def place_of(i: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The place of the event at index ``i``, in its window or its partition."""
    return ints[at((FIRST_COLUMN + plan[at(plan[P_HOOKS] + H_PLACE)]) * pool[M_N_EVENTS] + i)]


@kernel(inline=True)
def group_of(k: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The number of the type and state of the event at index ``i`` and rows of list ``k``."""
    hooks = plan[P_HOOKS]
    return type_of(i, plan, pool, ints) * plan[at(hooks + H_N_STATES)] + plan[at(hooks + H_LIST_STATES + k)]


@kernel(macro=True)
def first_cell_of(group: int, plan: Ints) -> int:
    """The first cell of a type and state: that of bin 0."""
    return group * plan[at(plan[P_HOOKS] + H_N_BINS)]


@kernel(inline=True)
def first_cell_in(state: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The first cell for the event at index ``i`` and a state: that of bin 0."""
    return first_cell_of(type_of(i, plan, pool, ints) * plan[at(plan[P_HOOKS] + H_N_STATES)] + state, plan)


@kernel(inline=True)
def state_of(row_id: int, row: int, plan: Ints, pool: Ints) -> int:
    """The state of a row; that of none where ``row_id`` is negative."""
    return pool[at(row + STATE)] & STATE_MASK if row_id >= 0 else plan[at(plan[P_HOOKS] + H_N_STATES)] - 1


@kernel(inline=True)
def place_in(i: int, starting: bool, plan: Ints, pool: Ints, ints: Ints) -> tuple[int, int]:
    """The place of the event at index ``i``, and the field of a row that is to be taken off it, or -1."""
    field = plan[at(plan[P_HOOKS] + H_FIRST)]
    if field < 0:
        return place_of(i, plan, pool, ints), -1
    return (0, -1) if starting else (place_of(i, plan, pool, ints) + BELOW_PLACE, field)


@kernel(inline=True)
def cell_of(first: int, i: int, row: int, starting: bool, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The cell of the event at index ``i`` and the row at ``row``, where the first cell of its group is ``first``."""
    hooks = plan[P_HOOKS]
    place, field = place_in(i, starting, plan, pool, ints)
    if field >= 0:
        place -= pool[at(row + field)]
    return first + min(place >> plan[at(hooks + H_PLACE_SHIFT)], plan[at(hooks + H_N_BINS)] - 1)


@kernel(inline=True)
def meet_list(k: int, i: int, starting: bool, plan: Ints, pool: Ints, ints: Ints) -> int:
    """Begin with the rows of list ``k``, of which there is one at least, or with a start. It is counted.

    Returns:
        Whether they are all kept apart from the event at index ``i``, none of them are, or some. Where some are, or
        pairs are observed, `meets_in_run` is to be asked for each.
    """
    hooks, area = plan[P_HOOKS], pool[M_HOOKS]
    group = group_of(k, i, plan, pool, ints)
    answer = NONE
    if GUARDED:
        answer = pool[at(area + pool[at(area + A_ANSWERS)] + group)]
    if OBSERVED or answer == SOME:
        pool[at(area + A_GROUP)] = group
        slides = plan[at(hooks + H_FIRST)] < 0
        if starting or slides:  # all are in one bin, wherever they lie
            place = place_of(i, plan, pool, ints) if slides else 0
            begin_run(min(place >> plan[at(hooks + H_PLACE_SHIFT)], plan[at(hooks + H_N_BINS)] - 1), plan, pool)
            pool[at(area + A_WIDTH)] = -1
            if GUARDED and answer == SOME:
                answer = ALL if pool[at(area + A_APART)] else NONE
        else:
            pool[at(area + A_PLACE)] = place_of(i, plan, pool, ints) + BELOW_PLACE
            pool[at(area + A_EDGE)], pool[at(area + A_WIDTH)] = -1, 0  # no row lies there
    if OBSERVED and answer != ALL:
        count(A_GROUPS, group, pool)
    return answer


@kernel(inline=True)
def begin_run(number: int, plan: Ints, pool: Ints) -> None:
    """Begin a run of the list that is walked: of rows with which the event is in the bin of that number."""
    area = pool[M_HOOKS]
    cell = pool[at(area + A_GROUP)] * plan[at(plan[P_HOOKS] + H_N_BINS)] + number
    pool[at(area + A_PAIR)] = cell
    apart = False
    if GUARDED:
        apart = pool[at(area + pool[at(area + A_UTILITIES)] + cell)] <= pool[at(area + A_THRESHOLD)]
        pool[at(area + A_APART)] = apart
    pool[at(area + A_COUNTER)] = cell + pool[at(area + (A_DROPPED if apart else A_PROCESSED))]


@kernel(inline=True)
def go_to_run(place: int, plan: Ints, pool: Ints) -> None:
    """Begin a run of the list that is walked: of rows from which the event is as far as from one, by its place."""
    hooks, area = plan[P_HOOKS], pool[M_HOOKS]
    shift, last = plan[at(hooks + H_PLACE_SHIFT)], plan[at(hooks + H_N_BINS)] - 1
    number = min(place >> shift, last)
    pool[at(area + A_EDGE)] = pool[at(area + A_PLACE)] - (number << shift)
    pool[at(area + A_WIDTH)] = (1 << shift) - 1 if number < last else INT_MAX
    begin_run(number, plan, pool)


@kernel(inline=True)
def meets_in_run(row: int, plan: Ints, pool: Ints) -> bool:
    """Let an event meet the next row of the list; False where the two are kept apart. It is counted.

    Rows stand by age, so many of them one after the other are of one bin: they are a run, for which all is known.
    """
    area = pool[M_HOOKS]
    place = pool[at(row + pool[at(area + A_FIELD)])]
    if unsigned(pool[at(area + A_EDGE)] - place) > unsigned(pool[at(area + A_WIDTH)]):
        go_to_run(pool[at(area + A_PLACE)] - place, plan, pool)
    if GUARDED and pool[at(area + A_APART)]:
        pool[at(area + pool[at(area + A_COUNTER)])] += 1
        return False
    if OBSERVED:
        pool[at(area + pool[at(area + A_COUNTER)])] += 1
    return True


@kernel(macro=True)
def leave_list(pool: Ints) -> None:
    """The list that is walked is met again, so do not count it twice."""
    pool[at(pool[M_HOOKS] + pool[at(pool[M_HOOKS] + A_GROUPS)] + pool[at(pool[M_HOOKS] + A_GROUP)])] -= 1


@kernel(macro=True)
def leave_pair(pool: Ints) -> None:
    """The same of the pair that met last."""
    pool[at(pool[M_HOOKS] + pool[at(pool[M_HOOKS] + A_COUNTER)])] -= 1


@kernel(inline=True)
def drop_group(k: int, i: int, starting: bool, plan: Ints, pool: Ints, ints: Ints) -> None:
    """Count list ``k``, whose rows are all kept apart from an event, and are not looked at; or a start that is."""
    group = group_of(k, i, plan, pool, ints)
    if starting:
        count(A_DROPPED, cell_of(first_cell_of(group, plan), i, 0, True, plan, pool, ints), pool)
    else:
        count(A_GROUPS_DROPPED, group, pool)


@kernel(inline=True)
def drops(cell: int, pool: Ints) -> bool:
    """Whether a pair is dropped; then it is counted."""
    area = pool[M_HOOKS]
    if pool[at(area + pool[at(area + A_UTILITIES)] + cell)] > pool[at(area + A_THRESHOLD)]:
        return False
    count(A_DROPPED, cell, pool)
    return True


@kernel(inline=True)
def observe_pair(cell: int, pool: Ints) -> None:
    """Count a pair that meets."""
    count(A_PROCESSED, cell, pool)
    pool[at(pool[M_HOOKS] + A_PAIR)] = cell


@kernel(inline=True)
def observe_taken(row_id: int, state: int, pool: Ints) -> None:
    """Count that the pair at hand leads to a state."""
    count(A_TAKEN, pool[at(pool[M_HOOKS] + A_PAIR)], pool)
    if row_id < 0:
        count(A_CREATED, state, pool)
    else:
        count(A_EXTENDED, state, pool)


@kernel(inline=True)
def observe_row(made: int, row_id: int, row: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> None:
    """Note in the new row at ``made`` which pair made it, and where its window begins.

    Args:
        row_id, row: what it extends (-1: nothing).
        i: the index of the event that it took.
    """
    hooks = plan[P_HOOKS]
    place = 0
    if row_id >= 0:
        place = pool[at(row + plan[at(hooks + H_PAIR)])] & ~BELOW_PLACE
    elif plan[at(hooks + H_FIRST)] >= 0:
        place = place_of(i, plan, pool, ints)
    pool[at(made + plan[at(hooks + H_PAIR)])] = place | pool[at(pool[M_HOOKS] + A_PAIR)] << CELL_SHIFT


@kernel(inline=True)
def went_on(row: int, plan: Ints, pool: Ints) -> None:
    """Note that a row takes no further event."""
    pool[at(row + plan[at(plan[P_HOOKS] + H_PAIR)])] |= WENT_ON


@kernel(inline=True)
def observe_expired(row: int, pool: Ints) -> None:
    """Count a row whose window closed while it waited, where that is known at once (POLICY strict)."""
    count(A_EXPIRED, pool[at(row + STATE)] & STATE_MASK, pool)


@kernel(inline=True)
def meets(item_id: int, item: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> bool:
    """Let the event at index ``i`` meet a row that waits for it (-1: none); False where the two are kept apart."""
    if GUARDED or OBSERVED:
        state = state_of(item_id, item, plan, pool)
        cell = cell_of(first_cell_in(state, i, plan, pool, ints), i, item, item_id < 0, plan, pool, ints)
        if GUARDED and drops(cell, pool):
            return False
        if OBSERVED:
            observe_pair(cell, pool)
    if COUNTED:
        count(A_PAIRS, state_of(item_id, item, plan, pool), pool)
    return True


@kernel(inline=True)
def meets_in_prefix(element: int, row_id: int, row: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> bool:
    """As `meets` where variables wait for the last event: only what begins a match is known to be next to it yet."""
    if GUARDED and element < plan[at(plan[P_HOOKS] + H_N_PREFIX)]:
        state = state_of(row_id, row, plan, pool)
        cell = cell_of(first_cell_in(state, i, plan, pool, ints), i, row, row_id < 0, plan, pool, ints)
        return not drops(cell, pool)
    return True


@kernel()
def drops_match(n: int, plan: Ints, pool: Ints, ints: Ints, out: Ints) -> bool:
    """Take back the match of ``n`` events that was written last, if one of its pairs is kept apart.

    Its events stand in order, so each is beside what the match has bound before it. States are those of elements.
    """
    if not GUARDED or not may_drop(pool):
        return False
    hooks, n_events, base = plan[P_HOOKS], pool[M_N_EVENTS], pool[M_BASE]
    varies = plan[P_FIXED_LENGTH] == 0
    shift, last_bin = plan[hooks + H_PLACE_SHIFT], plan[hooks + H_N_BINS] - 1
    places = (FIRST_COLUMN + plan[hooks + H_PLACE]) * n_events - base
    state, begin = plan[hooks + H_N_STATES] - 1, pool[M_N_ENTRIES] - n
    for entry in range(begin, begin + n):
        number = out[entry]
        place = (ints[places + number] - ints[places + out[begin]]) >> shift
        cell = first_cell_in(state, number - base, plan, pool, ints) + min(place, last_bin)
        if drops(cell, pool):
            pool[M_N_MATCHES] -= 1
            pool[M_N_ENTRIES] -= n
            return True
        state = out[pool[M_OUT_ELEMENTS] + entry] if varies else entry - begin
    return False


@kernel(inline=True)
def observe_end(row: int, plan: Ints, pool: Ints) -> None:
    """Count a row whose window closed while it waited."""
    if not pool[at(row + plan[at(plan[P_HOOKS] + H_PAIR)])] & WENT_ON:
        count(A_EXPIRED, pool[at(row + STATE)] & STATE_MASK, pool)


@kernel(macro=True)
def is_match(current: int, element: int, decider: int) -> bool:
    """Whether what `output.emit` writes is a match."""
    return decider != TIMED_OUT and decider != NOT_LEFT and (current < 0 or element >= 0)


@kernel(inline=True)
def observe_last(pool: Ints) -> None:
    """Count the pair at hand, which makes a match without a row."""
    count(A_COMPLETED, pool[at(pool[M_HOOKS] + A_PAIR)], pool)
    count(A_MATCHED, pool[at(pool[M_HOOKS] + A_PAIR)], pool)


@kernel(inline=True)
def observe_in_match(row: int, plan: Ints, pool: Ints) -> None:
    """Count the pair that made a row of a match."""
    field = row + plan[at(plan[P_HOOKS] + H_PAIR)]
    pair = pool[at(field)]
    cell = (pair & BELOW_PLACE) >> CELL_SHIFT
    count(A_MATCHED, cell, pool)
    if not pair & IN_MATCH:
        pool[at(field)] = pair | IN_MATCH
        count(A_COMPLETED, cell, pool)


@kernel(macro=True)
def is_spent(pool: Ints) -> bool:
    """Whether as much work is done as was asked for."""
    return pool[pool[M_HOOKS] + A_WORK] >= pool[pool[M_HOOKS] + A_LIMIT]


@kernel(inline=True)
def work_left(pool: Ints) -> int:
    """The work until as much is done as was asked for, where work is counted."""
    if COUNTED:
        area = pool[M_HOOKS]
        return pool[area + A_LIMIT] - pool[area + A_WORK]
    return 0


@kernel(inline=True)
def tell_work(left: int, pool: Ints) -> None:
    """Write down how much work is left, where it is counted."""
    if COUNTED:
        area = pool[M_HOOKS]
        pool[area + A_WORK] = pool[area + A_LIMIT] - left


@kernel(macro=True)
def count_work(pool: Ints) -> None:
    """Count one more event that is read, or row that is walked over."""
    pool[pool[M_HOOKS] + A_WORK] += 1


@kernel(inline=True)
def tell_pairs(k: int, n: int, n_evaluated: int, plan: Ints, pool: Ints) -> None:
    """Count ``n`` pairs of list ``k`` that met, for each of which the walk itself evaluated so many conditions."""
    if COUNTED and n:
        area, state = pool[M_HOOKS], plan[at(plan[P_HOOKS] + H_LIST_STATES + k)]
        pool[at(area + pool[at(area + A_PAIRS)] + state)] += n
        pool[at(area + pool[at(area + A_EVALUATED)] + state)] += n * n_evaluated


@kernel(inline=True)
def count_evaluated(row_id: int, row: int, plan: Ints, pool: Ints) -> None:
    """Count a condition that is evaluated, by the state of the partial match."""
    count(A_EVALUATED, state_of(row_id, row, plan, pool), pool)
