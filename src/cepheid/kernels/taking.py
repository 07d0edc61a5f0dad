"""Takes a step: what a partial match and an event that qualifies for it become."""

from __future__ import annotations

from cepheid.kernels.hooks import OBSERVED, observe_last, observe_taken, went_on
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    ACCEPTS,
    ACCEPTS_ALSO,
    ACCEPTS_LATE,
    BARE_FINAL,
    CLOSE_FROM,
    END_WIDTH,
    ENDS_ANYWAY,
    ENDS_FROM,
    ENDS_IF_ACCEPTED,
    ENDS_TO,
    FULL_COUNT,
    FULL_REGISTER,
    IS_FINAL,
    LOGS_ROWS,
    M_HEAD,
    M_RUN_CAPACITY,
    M_RUN_HEAD,
    M_RUNS,
    MADE_FROM,
    MOVED_ON,
    NO_ELEMENT,
    NO_ROW,
    OVER_WHEN_FULL,
    P_ENDS,
    P_LOGS,
    P_MIXED,
    P_ONE_START,
    P_REGISTERS,
    P_RUN_FIELD,
    P_STATES,
    P_TELLS,
    REJECTS,
    RUN_EDGE,
    RUN_FIRST,
    RUN_LAST,
    RUN_LAST_US,
    RUN_ROW,
    RUN_START,
    RUN_WIDTH,
    STATE_ELEMENT,
    STATE_WIDTH,
    TARGET,
    TELLS_ALL,
    TWIN,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.lists import link
from cepheid.kernels.making import make_row
from cepheid.kernels.open_predicates import POSTPONES
from cepheid.kernels.output import emit, end_run, hang
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
            observe_last(row_id, target, pool)
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
        if POSTPONES and plan[P_LOGS]:  # the run is open still, if what the row rests on is so
            emit(NO_ROW, pool[slot + RUN_FIRST], NO_ELEMENT, time, current, plan, pool, out)
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
        if OBSERVED:
            went_on(made, plan, pool)  # it waits as long as its twin does, which takes nothing for good
    return True
