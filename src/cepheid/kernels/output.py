"""Writes a match."""

from __future__ import annotations

from cepheid.kernels.hook_layout import H_PAIR
from cepheid.kernels.hooks import OBSERVED, is_match, observe_in_match, observe_twin
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    EVENT,
    LENGTH_SHIFT,
    M_CAPACITY,
    M_N_ENTRIES,
    M_N_MATCHES,
    M_OUT_DECIDED,
    M_OUT_DECIDERS,
    M_OUT_ELEMENTS,
    M_OUT_OFFSETS,
    M_ROWS,
    M_RUN_CAPACITY,
    M_RUNS,
    NO_ROW,
    P_FIXED_LENGTH,
    P_HOOKS,
    P_MIXED,
    P_ROW_WIDTH,
    P_RUN_FIELD,
    PARENT,
    RUN_LAST,
    RUN_LAST_US,
    RUN_ROW,
    RUN_WIDTH,
    STATE,
    Ints,
)
from cepheid.kernels.rows import element_of


@kernel(inline=True)
def emit(
    row_id: int, current: int, element: int, decided: int, decider: int, plan: Ints, pool: Ints, out: Ints
) -> None:
    """Write a match: the chain of ``row_id``, and the event ``current`` after it where it is not -1."""
    observes = OBSERVED and is_match(current, element, decider)
    rows, mask, width = pool[M_ROWS], pool[M_CAPACITY] - 1, plan[P_ROW_WIDTH]
    length = 0
    if row_id >= 0:
        length = pool[rows + (row_id & mask) * width + STATE] >> LENGTH_SHIFT
    if current >= 0:
        length += 1
    n = pool[M_N_MATCHES]
    at = pool[M_N_ENTRIES] + length
    pool[M_N_ENTRIES] = at
    pool[M_N_MATCHES] = n + 1
    varies = plan[P_FIXED_LENGTH] == 0
    elements = pool[M_OUT_ELEMENTS]
    if varies:
        out[pool[M_OUT_OFFSETS] + n + 1] = at
        out[pool[M_OUT_DECIDED] + n] = decided
        out[pool[M_OUT_DECIDERS] + n] = decider
    if current >= 0:
        at -= 1
        out[at] = current
        if varies:
            out[elements + at] = element
    pair_field = plan[plan[P_HOOKS] + H_PAIR] if OBSERVED else 0
    while row_id >= 0:
        row = rows + (row_id & mask) * width
        at -= 1
        out[at] = pool[row + EVENT]
        if varies:
            out[elements + at] = element_of(row, plan, pool)
        if OBSERVED and observes:
            observe_in_match(row + pair_field, pool)
            if plan[P_MIXED]:
                observe_twin(row_id, row, plan, pool)
        row_id = pool[row + PARENT]


@kernel(inline=True)
def hang(row_id: int, row: int, plan: Ints, pool: Ints) -> None:
    """Let a row wait for the deadline of its run, beside others of that run."""
    run = pool[row + plan[P_RUN_FIELD]]
    slot = pool[M_RUNS] + (run & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH
    pool[row + plan[P_RUN_FIELD] + 1] = pool[slot + RUN_ROW]
    pool[slot + RUN_ROW] = row_id


@kernel(inline=True)
def end_run(row: int, current: int, time: int, plan: Ints, pool: Ints) -> None:
    """The run of a row is over with the event ``current``: no deadline of its is waited for."""
    run = pool[row + plan[P_RUN_FIELD]]
    slot = pool[M_RUNS] + (run & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH
    pool[slot + RUN_ROW] = NO_ROW
    pool[slot + RUN_LAST] = current
    pool[slot + RUN_LAST_US] = time


@kernel()
def sort_last(n: int, plan: Ints, pool: Ints, out: Ints) -> None:
    """Bring the ``n`` events of the match that was written last into their order; they are few, and nearly in it."""
    to = pool[M_N_ENTRIES]
    varies = plan[P_FIXED_LENGTH] == 0
    elements = pool[M_OUT_ELEMENTS]
    for i in range(to - n + 1, to):
        event = out[i]
        element = out[elements + i] if varies else 0
        j = i
        while j > to - n and out[j - 1] > event:
            out[j] = out[j - 1]
            if varies:
                out[elements + j] = out[elements + j - 1]
            j -= 1
        out[j] = event
        if varies:
            out[elements + j] = element
