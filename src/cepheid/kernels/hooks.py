"""Where policies reach into the kernels: which pairs are dropped, what is counted, and when control goes back.

The flags say which of these a kernel has in it. They are 0 in the kernels as they stand, so the compiler leaves out all
that they guard; `variants.variant` makes the same kernels with some of them set.
"""

from __future__ import annotations

from cepheid.kernels.hook_layout import (
    A_FIELD,
    A_GROUPS,
    A_LEAST,
    A_LIMIT,
    A_PAIR,
    A_STATES,
    A_THRESHOLD,
    A_WORK,
    ALL,
    AREA_HEADER,
    BELOW_PLACE,
    C_COMPLETED,
    C_DROPPED,
    C_LAST,
    C_MATCHED,
    C_PROCESSED,
    C_TAKEN,
    C_UTILITY,
    CELL_SHIFT,
    G_ANSWER,
    G_DROPPED,
    G_MET,
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
    RECORD_SHIFT,
    S_CREATED,
    S_EVALUATED,
    S_EXPIRED,
    S_EXTENDED,
    S_PAIRS,
    SOME,
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
from cepheid.kernels.rows import twin_of

GUARDED = 0
"""Pairs may be dropped."""
OBSERVED = 0
"""What becomes of pairs and partial matches is counted."""
COUNTED = 0
"""Work is counted, and control goes back after so much of it."""


@kernel(macro=True)
def record_of(cell: int, pool: Ints) -> int:
    """Where the record of a cell lies."""
    return pool[M_HOOKS] + AREA_HEADER + (cell << RECORD_SHIFT)


@kernel(macro=True)
def is_apart(record: int, pool: Ints) -> bool:
    """Whether the pairs of a cell are kept apart, by its record."""
    return pool[record + C_UTILITY] <= pool[pool[M_HOOKS] + A_THRESHOLD]


@kernel(macro=True)
def count_cell(field: int, cell: int, pool: Ints) -> None:
    """Add one to a number of a cell."""
    pool[record_of(cell, pool) + field] += 1


@kernel(macro=True)
def count_state(field: int, state: int, pool: Ints) -> None:
    """Add one to a number of a state."""
    pool[pool[M_HOOKS] + pool[pool[M_HOOKS] + A_STATES] + (state << RECORD_SHIFT) + field] += 1


@kernel(macro=True)
def may_drop(pool: Ints) -> bool:
    """Whether there is a pair that is dropped."""
    return pool[pool[M_HOOKS] + A_LEAST] <= pool[pool[M_HOOKS] + A_THRESHOLD]


@kernel(inline=True)
def first_group_of(i: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The first group of the type of the event at index ``i``; that of each state follows by its number."""
    number = ints[(FIRST_COLUMN + plan[plan[P_HOOKS] + H_TYPE]) * pool[M_N_EVENTS] + i]
    return number * plan[plan[P_HOOKS] + H_N_STATES]


@kernel(inline=True)
def place_of(i: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The place of the event at index ``i``, in its window or its partition."""
    return ints[(FIRST_COLUMN + plan[plan[P_HOOKS] + H_PLACE]) * pool[M_N_EVENTS] + i]


@kernel(inline=True)
def group_of(k: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The group of the event at index ``i`` and the rows of list ``k``, or its starts."""
    return first_group_of(i, plan, pool, ints) + plan[plan[P_HOOKS] + H_LIST_STATES + k]


@kernel(inline=True)
def state_of(row_id: int, row: int, plan: Ints, pool: Ints) -> int:
    """The state of a row; that of none where ``row_id`` is negative."""
    return pool[row + STATE] & STATE_MASK if row_id >= 0 else plan[plan[P_HOOKS] + H_N_STATES] - 1


@kernel(inline=True)
def place_from(i: int, starting: bool, plan: Ints, pool: Ints, ints: Ints) -> tuple[int, int]:
    """What places of the event at index ``i`` are counted from.

    Returns:
        The place of a row's first event is to be taken off the first number, as far as the second one, a mask, lets it.
    """
    if plan[plan[P_HOOKS] + H_FIRST] < 0:
        return place_of(i, plan, pool, ints), 0
    return (0, 0) if starting else (place_of(i, plan, pool, ints) + BELOW_PLACE, -1)


@kernel(macro=True)
def cell_at(first: int, place: int, shift: int, last_bin: int) -> int:
    """The cell of a place in a group whose first cell is ``first``."""
    return first + min(place >> shift, last_bin)


@kernel(inline=True)
def cell_in(group: int, place: int, plan: Ints) -> int:
    """The same, by the number of the group."""
    n_bins = plan[plan[P_HOOKS] + H_N_BINS]
    return cell_at(group * n_bins, place, plan[plan[P_HOOKS] + H_PLACE_SHIFT], n_bins - 1)


@kernel(inline=True)
def cell_of(state: int, starting: bool, row: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The cell of the event at index ``i`` and the row at ``row``, which is in a state; or of a start."""
    place, far = place_from(i, starting, plan, pool, ints)
    if far:
        place -= pool[row + pool[pool[M_HOOKS] + A_FIELD]]
    return cell_in(first_group_of(i, plan, pool, ints) + state, place, plan)


@kernel(macro=True)
def group_record(group: int, pool: Ints) -> int:
    """Where the record of a type and state lies."""
    return pool[M_HOOKS] + pool[pool[M_HOOKS] + A_GROUPS] + (group << RECORD_SHIFT)


@kernel(inline=True)
def meet_group(group: int, i: int, starting: bool, plan: Ints, pool: Ints, ints: Ints) -> int:
    """Begin with rows of one list, of which there is one at least, or with a start. It is counted.

    Returns:
        Whether they are all kept apart from the event at index ``i``, none of them are, or some. Where some are, or
        pairs are observed, `meets` is to be asked for each.
    """
    record = group_record(group, pool)
    answer = NONE
    if GUARDED:
        answer = pool[record + G_ANSWER]
        if answer == SOME:
            place, far = place_from(i, starting, plan, pool, ints)
            if far == 0:  # all are in one bin, wherever they lie
                answer = ALL if is_apart(record_of(cell_in(group, place, plan), pool), pool) else NONE
        if answer == ALL:
            if starting:
                place, _ = place_from(i, True, plan, pool, ints)
                pool[record_of(cell_in(group, place, plan), pool) + C_DROPPED] += 1
            else:
                pool[record + G_DROPPED] += 1
    if OBSERVED and answer != ALL:
        pool[record + G_MET] += 1
    return answer


@kernel(macro=True)
def leave_group(group: int, pool: Ints) -> None:
    """The list that is walked is met again, so do not count it twice."""
    pool[group_record(group, pool) + G_MET] -= 1


@kernel(macro=True)
def leave_pair(cell: int, pool: Ints) -> None:
    """The same of the pair that met last."""
    pool[record_of(cell, pool) + C_PROCESSED] -= 1


@kernel(inline=True)
def drops(cell: int, pool: Ints) -> bool:
    """Whether a pair is dropped; then it is counted."""
    record = record_of(cell, pool)
    if not is_apart(record, pool):
        return False
    pool[record + C_DROPPED] += 1
    return True


@kernel(inline=True)
def meets(cell: int, guarded: bool, pool: Ints) -> bool:
    """Let an event meet a row, or start one; False where the two are kept apart. It is counted."""
    if GUARDED and guarded and drops(cell, pool):
        return False
    if OBSERVED:
        count_cell(C_PROCESSED, cell, pool)
    return True


@kernel(macro=True)
def note_pair(cell: int, pool: Ints) -> None:
    """Note which pair is at hand, for what it may lead to."""
    pool[pool[M_HOOKS] + A_PAIR] = cell


@kernel(inline=True)
def observe_taken(row_id: int, state: int, pool: Ints) -> None:
    """Count that the pair at hand leads to a row in a state."""
    count_cell(C_TAKEN, pool[pool[M_HOOKS] + A_PAIR], pool)
    count_state(S_EXTENDED if row_id >= 0 else S_CREATED, state, pool)


@kernel(inline=True)
def observe_last(row_id: int, state: int, pool: Ints) -> None:
    """Count that the pair at hand makes a match without a row."""
    count_cell(C_LAST, pool[pool[M_HOOKS] + A_PAIR], pool)
    count_state(S_EXTENDED if row_id >= 0 else S_CREATED, state, pool)


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
        place = pool[row + plan[hooks + H_PAIR]] & ~BELOW_PLACE
    elif plan[hooks + H_FIRST] >= 0:
        place = place_of(i, plan, pool, ints)
    pool[made + plan[hooks + H_PAIR]] = place | pool[pool[M_HOOKS] + A_PAIR] << CELL_SHIFT


@kernel(inline=True)
def went_on(row: int, plan: Ints, pool: Ints) -> None:
    """Note that a row takes no further event."""
    pool[row + plan[plan[P_HOOKS] + H_PAIR]] |= WENT_ON


@kernel(inline=True)
def observe_expired(row: int, plan: Ints, pool: Ints) -> None:
    """Count a row whose window closed while it waited, where that is known at once (POLICY strict)."""
    cell = (pool[row + plan[plan[P_HOOKS] + H_PAIR]] & BELOW_PLACE) >> CELL_SHIFT
    if AREA_HEADER + ((cell + 1) << RECORD_SHIFT) < pool[pool[M_HOOKS] + A_GROUPS]:  # else it was there before
        count_state(S_EXPIRED, pool[row + STATE] & STATE_MASK, pool)


@kernel(inline=True)
def meets_item(item_id: int, item: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> bool:
    """Let the event at index ``i`` meet a row that waits for it (-1: none); False where the two are kept apart."""
    if GUARDED or OBSERVED:
        state = state_of(item_id, item, plan, pool)
        cell = cell_of(state, item_id < 0, item, i, plan, pool, ints)
        if not meets(cell, True, pool):
            return False
        if OBSERVED:
            note_pair(cell, pool)
    if COUNTED:
        count_state(S_PAIRS, state_of(item_id, item, plan, pool), pool)
    return True


@kernel(inline=True)
def meets_in_prefix(element: int, row_id: int, row: int, i: int, plan: Ints, pool: Ints, ints: Ints) -> bool:
    """As `meets` where variables wait for the last event: only what begins a match is known to be next to it yet."""
    if GUARDED and element < plan[plan[P_HOOKS] + H_N_PREFIX]:
        state = state_of(row_id, row, plan, pool)
        return not drops(cell_of(state, row_id < 0, row, i, plan, pool, ints), pool)
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
        first = (first_group_of(number - base, plan, pool, ints) + state) * (last_bin + 1)
        cell = first + min(place, last_bin)
        if drops(cell, pool):
            pool[M_N_MATCHES] -= 1
            pool[M_N_ENTRIES] -= n
            return True
        state = out[pool[M_OUT_ELEMENTS] + entry] if varies else entry - begin
    return False


@kernel(inline=True)
def observe_end(row: int, plan: Ints, pool: Ints) -> None:
    """Count a row whose window closed while it waited. Without a branch, as nobody could foresee which do."""
    waits = (pool[row + plan[plan[P_HOOKS] + H_PAIR]] & WENT_ON) == 0
    states = pool[M_HOOKS] + pool[pool[M_HOOKS] + A_STATES]
    pool[states + ((pool[row + STATE] & STATE_MASK) << RECORD_SHIFT) + S_EXPIRED] += waits


@kernel(macro=True)
def is_match(current: int, element: int, decider: int) -> bool:
    """Whether what `output.emit` writes is a match."""
    return decider != TIMED_OUT and decider != NOT_LEFT and (current < 0 or element >= 0)


@kernel(inline=True)
def observe_in_match(field: int, pool: Ints) -> None:
    """Count the pair that made a row of a match, by the field that tells it. Without a branch, as in `observe_end`."""
    pair = pool[field]
    pool[field] = pair | IN_MATCH
    record = record_of((pair & BELOW_PLACE) >> CELL_SHIFT, pool)
    pool[record + C_MATCHED] += 1
    pool[record + C_COMPLETED] += (pair & IN_MATCH) == 0


@kernel()
def observe_twin(row_id: int, row: int, plan: Ints, pool: Ints) -> None:
    """Let a partial match and its copy that left a loop count as one: if one began a match, the other did."""
    twin = twin_of(row_id, row, plan, pool)
    if twin >= 0:
        pool[twin + plan[plan[P_HOOKS] + H_PAIR]] |= IN_MATCH


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
        state = plan[plan[P_HOOKS] + H_LIST_STATES + k]
        record = pool[M_HOOKS] + pool[pool[M_HOOKS] + A_STATES] + (state << RECORD_SHIFT)
        pool[record + S_PAIRS] += n
        pool[record + S_EVALUATED] += n * n_evaluated


@kernel(inline=True)
def count_evaluated(row_id: int, row: int, plan: Ints, pool: Ints) -> None:
    """Count a condition that is evaluated, by the state of the partial match."""
    count_state(S_EVALUATED, state_of(row_id, row, plan, pool), pool)
