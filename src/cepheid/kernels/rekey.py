"""Brings a pool to the columns of another batch, in which other codes stand for the same values."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    BUFFER_KEYS_FROM,
    BUFFER_KEYS_TO,
    BUFFER_WIDTH,
    EVENT,
    KEPT_BUFFER,
    KEPT_EVENT,
    KEPT_KEY,
    KEPT_WIDTH,
    LIST_FIELD,
    LIST_WIDTH,
    M_CURRENT,
    M_HEAD,
    M_KEPT,
    M_KEPT_CAPACITY,
    M_KEPT_HEAD,
    M_KEPT_TAIL,
    M_TAIL,
    P_BUFFERS,
    P_LISTS,
    P_STATES,
    ROW_KEYS_FROM,
    ROW_KEYS_TO,
    STATE,
    STATE_LISTS_FROM,
    STATE_LISTS_TO,
    STATE_MASK,
    STATE_WIDTH,
    UNLINKED,
    Bytes,
    Ints,
)
from cepheid.kernels.predicates import key_of
from cepheid.kernels.rows import row_of


@kernel(entry=True)
def rekey(plan: Ints, pool: Ints, ints: Ints, nulls: Bytes) -> None:
    """Make the keys of rows, and of events kept for NOT, anew from the columns of their events; the lists are not."""
    for row_id in range(pool[M_TAIL], pool[M_HEAD]):
        row = row_of(row_id, plan, pool)
        state = plan[P_STATES] + (pool[row + STATE] & STATE_MASK) * STATE_WIDTH
        for k in range(plan[state + STATE_LISTS_FROM], plan[state + STATE_LISTS_TO]):
            listed = plan[P_LISTS] + k * LIST_WIDTH
            field = row + plan[listed + LIST_FIELD]
            if pool[field] != UNLINKED:
                pool[M_CURRENT] = pool[row + EVENT]  # as when it joined the list
                key, known = key_of(
                    plan[listed + ROW_KEYS_FROM], plan[listed + ROW_KEYS_TO], row, plan, pool, ints, nulls
                )
                if known:
                    pool[field + 1] = key
    for kept in range(pool[M_KEPT_TAIL], pool[M_KEPT_HEAD]):
        place = pool[M_KEPT] + (kept & (pool[M_KEPT_CAPACITY] - 1)) * KEPT_WIDTH
        buffer = plan[P_BUFFERS] + pool[place + KEPT_BUFFER] * BUFFER_WIDTH
        pool[M_CURRENT] = pool[place + KEPT_EVENT]
        key, known = key_of(plan[buffer + BUFFER_KEYS_FROM], plan[buffer + BUFFER_KEYS_TO], 0, plan, pool, ints, nulls)
        if known:
            pool[place + KEPT_KEY] = key
