"""Steps: whether one may be taken, and the partial match that it leads to."""

from __future__ import annotations

from cepheid.kernels.hooks import OBSERVED, observe_row
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    ABSENCE_FROM,
    ABSENCE_TO,
    COPY_REALS,
    EVENT,
    FIRST_COLUMN,
    GUARD_FROM,
    GUARD_TO,
    INCREMENT,
    LENGTH_SHIFT,
    LINKS,
    M_BASE,
    M_HEAD,
    M_N_EVENTS,
    P_N_REALS,
    P_REGISTERS,
    P_ROW_WIDTH,
    P_UPDATES,
    PARENT,
    SET_INT,
    SET_PARENT_SLOT,
    SET_SLOT,
    SET_VALUE,
    START,
    STATE,
    TARGET,
    UNLINKED,
    UPDATE_FROM,
    UPDATE_TO,
    UPDATE_WIDTH,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.predicates import holds
from cepheid.kernels.rows import row_of
from cepheid.kernels.signatures import Free, Helper


@kernel(inline=True)
def qualifies(
    edge: int,
    n_known: int,
    row_id: int,
    row: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Helper,
    free: Free,
) -> int:
    """Whether the edge at ``plan[edge:]`` may be taken: 1 yes, 0 no, -1 no and never again.

    Args:
        n_known: this many of its conditions are known to hold.
    """
    for k in range(plan[edge + GUARD_FROM] + n_known, plan[edge + GUARD_TO]):
        if not holds(k, row_id, row, plan, pool, reals, ints, floats, nulls, large):
            return 0
    first, last = plan[edge + ABSENCE_FROM], plan[edge + ABSENCE_TO]
    if first != last:
        return free(first, last, row_id, plan, pool, reals, ints, floats, nulls, large)
    return 1


@kernel(inline=True)
def make_row(
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
    tally: Helper,
) -> int:
    """Fill the next row of the pool with what the edge at ``plan[edge:]`` makes of a row (-1: of none) and an event.

    The row is not counted as made: the caller does that, once it knows that it is wanted.

    Returns:
        where it lies in the pool.
    """
    made_id = pool[M_HEAD]
    made = row_of(made_id, plan, pool)
    registers, width = plan[P_REGISTERS], plan[P_ROW_WIDTH]
    for field in range(LINKS, registers):
        pool[made + field] = UNLINKED
    length = 1
    if row_id >= 0:
        length += pool[row + STATE] >> LENGTH_SHIFT
        pool[made + START] = pool[row + START]
        for field in range(registers, width):
            pool[made + field] = pool[row + field]
        if plan[P_N_REALS]:
            tally(COPY_REALS, made, row, 0, 0, plan, pool, reals, ints, floats, nulls)
    else:
        pool[made + START] = time
        for field in range(registers, width):
            pool[made + field] = 0
    pool[made + EVENT] = current
    pool[made + PARENT] = row_id
    pool[made + STATE] = plan[edge + TARGET] | (length << LENGTH_SHIFT)
    for u in range(plan[edge + UPDATE_FROM], plan[edge + UPDATE_TO]):
        at = plan[P_UPDATES] + u * UPDATE_WIDTH
        op = plan[at]
        register = made + registers + plan[at + 1]
        if op == SET_SLOT:
            pool[register] = current
        elif op == SET_INT:
            pool[register] = plan[at + 2]
        elif op == INCREMENT:
            pool[register] += 1
        elif op == SET_VALUE:
            pool[register] = ints[(FIRST_COLUMN + plan[at + 3]) * pool[M_N_EVENTS] + current - pool[M_BASE]]
        elif op == SET_PARENT_SLOT:
            pool[register] = pool[row + EVENT]
        else:
            tally(at, made, 0, 0, 0, plan, pool, reals, ints, floats, nulls)
    if OBSERVED:
        observe_row(made, row_id, row, current - pool[M_BASE], plan, pool, ints)
    return made
