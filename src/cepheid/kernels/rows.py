"""Where partial matches lie, and how their lists are kept."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    EVENT,
    M_CAPACITY,
    M_HEAD,
    M_ROWS,
    M_TAIL,
    P_N_REALS,
    P_REGISTER_REALS,
    P_ROW_WIDTH,
    P_STATES,
    PARENT,
    STATE,
    STATE_ELEMENT,
    STATE_MASK,
    STATE_WIDTH,
    TWIN,
    Ints,
)

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1


@kernel(inline=True)
def row_of(row_id: int, plan: Ints, pool: Ints) -> int:
    """Where a row lies in the pool."""
    return pool[M_ROWS] + (row_id & (pool[M_CAPACITY] - 1)) * plan[P_ROW_WIDTH]


@kernel()
def twin_of(row_id: int, row: int, plan: Ints, pool: Ints) -> int:
    """Where the copy of a row lies that left a loop in which the row goes on (`twins`), or the row of a copy; or -1.

    They are made one after the other, so they stand side by side as long as there are both.
    """
    state = pool[row + STATE] & STATE_MASK
    for other_id in range(max(row_id - 1, pool[M_TAIL]), min(row_id + 2, pool[M_HEAD])):
        other = row_of(other_id, plan, pool)
        if pool[other + EVENT] == pool[row + EVENT] and pool[other + PARENT] == pool[row + PARENT]:
            others = pool[other + STATE] & STATE_MASK
            goes_on, left = (others, state) if other_id < row_id else (state, others)
            if plan[plan[P_STATES] + goes_on * STATE_WIDTH + TWIN] == left:
                return other
    return -1


@kernel(macro=True)
def reals_of(row: int, plan: Ints, pool: Ints) -> int:
    """Where the float registers of the row at ``row`` lie in ``reals``."""
    return plan[P_REGISTER_REALS] + (row - pool[M_ROWS]) // plan[P_ROW_WIDTH] * plan[P_N_REALS]


@kernel(macro=True)
def element_of(row: int, plan: Ints, pool: Ints) -> int:
    """The element that the row at ``row`` took last."""
    return plan[plan[P_STATES] + (pool[row + STATE] & STATE_MASK) * STATE_WIDTH + STATE_ELEMENT]


@kernel(macro=True)
def bucket_of(key: int, n_buckets: int) -> int:
    """The bucket of a key; the number of buckets is a power of two, at most 2**31."""
    mixed = ((key ^ (key >> 31)) & 0x7FFFFFFF) * 2654435769
    return (mixed >> 15) & (n_buckets - 1)
