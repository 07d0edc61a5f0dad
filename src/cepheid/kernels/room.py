"""Whether there is room for what an event can make of a partial match, and where to go on once it was made."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    CELLS_FULL,
    DONE,
    LENGTH_SHIFT,
    M_CAPACITY,
    M_HEAD,
    M_LIST,
    M_N_ENTRIES,
    M_N_MATCHES,
    M_OUT_ENTRIES,
    M_OUT_MATCHES,
    M_ROW,
    M_RUN_CAPACITY,
    M_RUN_HEAD,
    M_RUN_TAIL,
    M_TAIL,
    OUTPUT_FULL,
    P_FANOUT,
    P_RUN_FIELD,
    POOL_FULL,
    RUNS_FULL,
    STATE,
    Ints,
)
from cepheid.kernels.open_predicates import POSTPONES, has_cells


@kernel(macro=True)
def has_room(row_id: int, row: int, plan: Ints, pool: Ints) -> int:
    """DONE, or what could overflow when one row (-1 for none) meets one event."""
    fanout = plan[P_FANOUT]
    if pool[M_HEAD] - pool[M_TAIL] + fanout > pool[M_CAPACITY]:
        return POOL_FULL
    length = 1
    if row_id >= 0:
        length += pool[row + STATE] >> LENGTH_SHIFT
    elif plan[P_RUN_FIELD] >= 0 and pool[M_RUN_HEAD] - pool[M_RUN_TAIL] + fanout > pool[M_RUN_CAPACITY]:
        return RUNS_FULL
    if pool[M_N_ENTRIES] + fanout * length > pool[M_OUT_ENTRIES]:
        return OUTPUT_FULL
    if pool[M_N_MATCHES] + fanout > pool[M_OUT_MATCHES]:
        return OUTPUT_FULL
    if POSTPONES and not has_cells(pool):
        return CELLS_FULL
    return DONE


@kernel(macro=True)
def pause(k: int, row_id: int, pool: Ints) -> None:
    """Note where to go on: at a row of a list."""
    pool[M_LIST] = k
    pool[M_ROW] = row_id
