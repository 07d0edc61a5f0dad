"""Where policies reach into the kernels: which pairs are dropped, what is counted, and when control goes back.

The flags say which of these a kernel has in it. They are 0 in the kernels as they stand, so the compiler leaves out all
that they guard; `variants.variant` makes the same kernels with some of them set.
"""

from __future__ import annotations

from cepheid.kernels.hook_layout import (
    A_COMPLETED,
    A_CREATED,
    A_DROPPED,
    A_EVALUATED,
    A_EXPIRED,
    A_EXTENDED,
    A_GROUPS,
    A_GROUPS_DROPPED,
    A_LEAST,
    A_LIMIT,
    A_MATCHED,
    A_PAIR,
    A_PAIRS,
    A_PROCESSED,
    A_RANGES,
    A_TAKEN,
    A_THRESHOLD,
    A_UTILITIES,
    A_WORK,
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
    WENT_ON,
)
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

GUARDED = 0
"""Pairs may be dropped."""
OBSERVED = 0
"""What becomes of pairs and partial matches is counted."""
COUNTED = 0
"""Work is counted, and control goes back after so much of it."""

SOME, NONE, ALL = 0, 1, 2


@kernel(macro=True)
def count(table: int, number: int, pool: Ints) -> None:
    """Add one to an entry of a table of the area."""
    pool[pool[M_HOOKS] + pool[pool[M_HOOKS] + table] + number] += 1


@kernel(macro=True)
def may_drop(pool: Ints) -> bool:
    """Whether there is a pair that is dropped."""
    return pool[pool[M_HOOKS] + A_LEAST] <= pool[pool[M_HOOKS] + A_THRESHOLD]


@kernel(inline=True)
def group_of(k: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> tuple[int, int]:
    """The number of the type and state of the event at index ``i`` and rows of list ``k``, and their first cell."""
    hooks = plan[P_HOOKS]
    kind = ints[(FIRST_COLUMN + plan[hooks + H_TYPE]) * pool[M_N_EVENTS] + i]
    group = kind * plan[hooks + H_N_STATES] + plan[hooks + H_LIST_STATES + k]
    return group, group * plan[hooks + H_N_BINS]


@kernel(inline=True)
def first_cell_in(state: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The first cell for the event at index ``i`` and a state: that of bin 0."""
    hooks = plan[P_HOOKS]
    kind = ints[(FIRST_COLUMN + plan[hooks + H_TYPE]) * pool[M_N_EVENTS] + i]
    return (kind * plan[hooks + H_N_STATES] + state) * plan[hooks + H_N_BINS]


@kernel(inline=True)
def state_of(row_id: int, row: int, plan: Ints, pool: Ints) -> int:
    """The state of a row; that of none where ``row_id`` is negative."""
    return pool[row + STATE] & STATE_MASK if row_id >= 0 else plan[plan[P_HOOKS] + H_N_STATES] - 1


@kernel(inline=True)
def cell_of(first: int, i: int, row: int, starting: bool, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The cell of the event at index ``i`` and the row at ``row``, where the first cell of its group is ``first``."""
    hooks = plan[P_HOOKS]
    place = ints[(FIRST_COLUMN + plan[hooks + H_PLACE]) * pool[M_N_EVENTS] + i]
    field = plan[hooks + H_FIRST]
    if field >= 0:
        place = 0 if starting else place + BELOW_PLACE - pool[row + field]
    return first + min(place >> plan[hooks + H_PLACE_SHIFT], plan[hooks + H_N_BINS] - 1)


@kernel(inline=True)
def bins_of(plan: Ints) -> tuple[int, int]:
    """By how much a place is shifted to its bin, and the last bin; see `cell_at`."""
    if GUARDED or OBSERVED:
        hooks = plan[P_HOOKS]
        return plan[hooks + H_PLACE_SHIFT], plan[hooks + H_N_BINS] - 1
    return 0, 0


@kernel(inline=True)
def place_in(i: int, starting: bool, plan: Ints, pool: Ints, ints: Ints) -> tuple[int, int]:
    """The place of the event at index ``i``, and the field of a row that is to be taken off it, or -1."""
    hooks = plan[P_HOOKS]
    field = plan[hooks + H_FIRST]
    if starting and field >= 0:
        return 0, -1
    place = ints[(FIRST_COLUMN + plan[hooks + H_PLACE]) * pool[M_N_EVENTS] + i]
    return (place + BELOW_PLACE if field >= 0 else place), field


@kernel(macro=True)
def cell_at(first: int, place: int, field: int, row: int, shift: int, last: int, pool: Ints) -> int:
    """`cell_of` in a loop over rows: what is the same for all of them is found before."""
    return first + min((place - pool[row + field] if field >= 0 else place) >> shift, last)


@kernel(inline=True)
def group_answer(group: int, first: int, i: int, starting: bool, plan: Ints, pool: Ints, ints: Ints) -> int:
    """Whether the rows of a list are all kept apart from an event, none of them are, or some."""
    hooks, area = plan[P_HOOKS], pool[M_HOOKS]
    threshold = pool[area + A_THRESHOLD]
    if starting or plan[hooks + H_FIRST] < 0:
        cell = cell_of(first, i, 0, starting, plan, pool, ints)
        return ALL if pool[area + pool[area + A_UTILITIES] + cell] <= threshold else NONE
    at = area + pool[area + A_RANGES] + 2 * group
    if pool[at] > threshold:
        return NONE
    return ALL if pool[at + 1] <= threshold else SOME


@kernel(inline=True)
def drop_group(group: int, first: int, i: int, starting: bool, plan: Ints, pool: Ints, ints: Ints) -> None:
    """Count a list whose rows are all kept apart from an event, and are not looked at; or a start that is."""
    if starting:
        count(A_DROPPED, cell_of(first, i, 0, True, plan, pool, ints), pool)
    else:
        count(A_GROUPS_DROPPED, group, pool)


@kernel(inline=True)
def count_group(group: int, pool: Ints) -> None:
    """Count a list that has been walked, or a start that has been tried."""
    count(A_GROUPS, group, pool)


@kernel(inline=True)
def drops(cell: int, pool: Ints) -> bool:
    """Whether a pair is dropped; then it is counted."""
    area = pool[M_HOOKS]
    if pool[area + pool[area + A_UTILITIES] + cell] > pool[area + A_THRESHOLD]:
        return False
    count(A_DROPPED, cell, pool)
    return True


@kernel(inline=True)
def observe_pair(cell: int, pool: Ints) -> None:
    """Count a pair that meets."""
    count(A_PROCESSED, cell, pool)
    pool[pool[M_HOOKS] + A_PAIR] = cell


@kernel(macro=True)
def observe_pairs(cell: int, n: int, pool: Ints) -> None:
    """Count so many pairs of one cell that meet."""
    pool[pool[M_HOOKS] + pool[pool[M_HOOKS] + A_PROCESSED] + cell] += n


@kernel(macro=True)
def pair_at_hand(cell: int, pool: Ints) -> None:
    """Note the cell of a pair that may lead to something."""
    pool[pool[M_HOOKS] + A_PAIR] = cell


@kernel(inline=True)
def observe_taken(row_id: int, state: int, pool: Ints) -> None:
    """Count that the pair at hand leads to a state."""
    count(A_TAKEN, pool[pool[M_HOOKS] + A_PAIR], pool)
    if row_id < 0:
        count(A_CREATED, state, pool)
    else:
        count(A_EXTENDED, state, pool)


@kernel(inline=True)
def observe_row(row: int, plan: Ints, pool: Ints) -> None:
    """Note in a new row which pair made it."""
    at = row + plan[plan[P_HOOKS] + H_PAIR]
    pool[at] = (pool[at] & ~BELOW_PLACE) | pool[pool[M_HOOKS] + A_PAIR] << CELL_SHIFT


@kernel(inline=True)
def went_on(row: int, plan: Ints, pool: Ints) -> None:
    """Note that a row takes no further event."""
    pool[row + plan[plan[P_HOOKS] + H_PAIR]] |= WENT_ON


@kernel(inline=True)
def observe_expired(row: int, pool: Ints) -> None:
    """Count a row whose window closed while it waited, where that is known at once (POLICY strict)."""
    count(A_EXPIRED, pool[row + STATE] & STATE_MASK, pool)


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
    if GUARDED and element < plan[plan[P_HOOKS] + H_N_PREFIX]:
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
    shift, last_bin = bins_of(plan)
    places = (FIRST_COLUMN + plan[hooks + H_PLACE]) * n_events - base
    state, begin = plan[hooks + H_N_STATES] - 1, pool[M_N_ENTRIES] - n
    for at in range(begin, begin + n):
        number = out[at]
        place = (ints[places + number] - ints[places + out[begin]]) >> shift
        cell = first_cell_in(state, number - base, plan, pool, ints) + min(place, last_bin)
        if drops(cell, pool):
            pool[M_N_MATCHES] -= 1
            pool[M_N_ENTRIES] -= n
            return True
        state = out[pool[M_OUT_ELEMENTS] + at] if varies else at - begin
    return False


@kernel(inline=True)
def observe_end(row: int, plan: Ints, pool: Ints) -> None:
    """Count a row whose window closed while it waited."""
    if not pool[row + plan[plan[P_HOOKS] + H_PAIR]] & WENT_ON:
        count(A_EXPIRED, pool[row + STATE] & STATE_MASK, pool)


@kernel(macro=True)
def is_match(current: int, element: int, decider: int) -> bool:
    """Whether what `output.emit` writes is a match."""
    return decider != TIMED_OUT and decider != NOT_LEFT and (current < 0 or element >= 0)


@kernel(inline=True)
def observe_last(pool: Ints) -> None:
    """Count the pair at hand, which makes a match without a row."""
    count(A_COMPLETED, pool[pool[M_HOOKS] + A_PAIR], pool)
    count(A_MATCHED, pool[pool[M_HOOKS] + A_PAIR], pool)


@kernel(inline=True)
def observe_in_match(row: int, plan: Ints, pool: Ints) -> None:
    """Count the pair that made a row of a match."""
    at = row + plan[plan[P_HOOKS] + H_PAIR]
    pair = pool[at]
    cell = (pair & BELOW_PLACE) >> CELL_SHIFT
    count(A_MATCHED, cell, pool)
    if not pair & IN_MATCH:
        pool[at] = pair | IN_MATCH
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
def tell_pairs(k: int, cell: int, n_of_cell: int, n: int, n_evaluated: int, plan: Ints, pool: Ints) -> None:
    """Count pairs of list ``k`` that met.

    Args:
        cell, n_of_cell: so many of one cell are not counted yet.
        n: of all cells.
        n_evaluated: so many conditions were evaluated for each by the walk itself.
    """
    if OBSERVED and n_of_cell:
        observe_pairs(cell, n_of_cell, pool)
    if COUNTED and n:
        area, state = pool[M_HOOKS], plan[plan[P_HOOKS] + H_LIST_STATES + k]
        pool[area + pool[area + A_PAIRS] + state] += n
        pool[area + pool[area + A_EVALUATED] + state] += n * n_evaluated


@kernel(inline=True)
def count_evaluated(row_id: int, row: int, plan: Ints, pool: Ints) -> None:
    """Count a condition that is evaluated, by the state of the partial match."""
    count(A_EVALUATED, state_of(row_id, row, plan, pool), pool)
