"""Under prefixes: the copy of a partial match that leaves a loop while the other goes on in it (SEMANTICS 3.4)."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    ACCEPTS,
    ACCEPTS_LATE,
    COPY_REALS,
    GROWN,
    LENGTH_SHIFT,
    LINKS,
    LOGS_ROWS,
    M_HEAD,
    MOVED_ON,
    P_LOGS,
    P_N_REALS,
    P_REGISTERS,
    P_ROW_WIDTH,
    P_RUN_FIELD,
    P_STATES,
    P_TELLS,
    STATE,
    STATE_WIDTH,
    UNLINKED,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.lists import link
from cepheid.kernels.output import hang
from cepheid.kernels.rows import row_of, twin_of
from cepheid.kernels.signatures import Helper


@kernel()
def add_twin(
    made_id: int,
    twin: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    tally: Helper,
) -> None:
    """Copy a row into the state ``twin``. The caller has made sure of room."""
    copy_id = pool[M_HEAD]
    pool[M_HEAD] = copy_id + 1
    made, copy = row_of(made_id, plan, pool), row_of(copy_id, plan, pool)
    for field in range(plan[P_ROW_WIDTH]):
        pool[copy + field] = pool[made + field]
    run_field = plan[P_RUN_FIELD]
    for field in range(LINKS, plan[P_REGISTERS]):
        if field != run_field:
            pool[copy + field] = UNLINKED
    if plan[P_TELLS]:
        pool[copy + run_field + 2] = GROWN  # the row that goes on is the one that is left
    pool[copy + STATE] = twin | (pool[made + STATE] >> LENGTH_SHIFT << LENGTH_SHIFT)
    if plan[P_N_REALS]:
        tally(COPY_REALS, copy, made, 0, 0, plan, pool, reals, ints, floats, nulls)
    if plan[P_LOGS] == LOGS_ROWS or plan[plan[P_STATES] + twin * STATE_WIDTH + ACCEPTS] == ACCEPTS_LATE:
        hang(copy_id, copy, plan, pool)
    link(copy_id, copy, twin, plan, pool, ints, nulls)


@kernel()
def grow_twin(row_id: int, row: int, plan: Ints, pool: Ints) -> None:
    """A row took one more event, and also stays as it is; so did its twin, as they are one partial match."""
    twin, mark = twin_of(row_id, row, plan, pool), plan[P_RUN_FIELD] + 2
    if twin >= 0 and pool[twin + mark] != MOVED_ON:
        pool[twin + mark] = GROWN
