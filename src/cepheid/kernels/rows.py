"""Where partial matches lie, and how their lists are kept."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    M_CAPACITY,
    M_ROWS,
    P_N_REALS,
    P_REGISTER_REALS,
    P_ROW_WIDTH,
    P_STATES,
    STATE,
    STATE_ELEMENT,
    STATE_MASK,
    STATE_WIDTH,
    Ints,
)

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1


@kernel(inline=True)
def row_of(row_id: int, plan: Ints, pool: Ints) -> int:
    """Where a row lies in the pool."""
    return pool[M_ROWS] + (row_id & (pool[M_CAPACITY] - 1)) * plan[P_ROW_WIDTH]


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
