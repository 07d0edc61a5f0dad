"""The lists in which partial matches wait, and what is too old to be kept."""

from __future__ import annotations

from cepheid.kernels.hooks import OBSERVED, observe_end
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    KEPT_TIME,
    KEPT_WIDTH,
    LIST_FIELD,
    LIST_WIDTH,
    M_BUCKETS,
    M_HEAD,
    M_HEADS,
    M_KEPT,
    M_KEPT_CAPACITY,
    M_KEPT_HEAD,
    M_KEPT_TAIL,
    M_TAIL,
    P_KEEP,
    P_KEEP_NEGATED,
    P_LISTS,
    P_STATES,
    ROW_KEYS_FROM,
    ROW_KEYS_TO,
    START,
    STATE_LISTS_FROM,
    STATE_LISTS_TO,
    STATE_WIDTH,
    Bytes,
    Ints,
)
from cepheid.kernels.predicates import key_of
from cepheid.kernels.rows import bucket_of, row_of


@kernel(inline=True)
def link(row_id: int, row: int, state: int, plan: Ints, pool: Ints, ints: Ints, nulls: Bytes) -> None:
    """Put a row at the front of the lists in which its state waits."""
    at = plan[P_STATES] + state * STATE_WIDTH
    for k in range(plan[at + STATE_LISTS_FROM], plan[at + STATE_LISTS_TO]):
        listed = plan[P_LISTS] + k * LIST_WIDTH
        field = row + plan[listed + LIST_FIELD]
        key, known = key_of(plan[listed + ROW_KEYS_FROM], plan[listed + ROW_KEYS_TO], row, plan, pool, ints, nulls)
        if known:  # else: NULL equals nothing, so nothing can ever extend it here
            head = pool[M_HEADS] + k * pool[M_BUCKETS] + bucket_of(key, pool[M_BUCKETS])
            pool[field] = pool[head]
            pool[field + 1] = key
            pool[head] = row_id


@kernel(macro=True)
def unlink_at(row_id: int, field: int, head: int, following: int, plan: Ints, pool: Ints) -> None:
    """Take a row out of a list whose rows before it are not at hand: they are walked again from the head."""
    before = pool[head]
    if before == row_id:
        pool[head] = following
        return
    while pool[row_of(before, plan, pool) + field] != row_id:
        before = pool[row_of(before, plan, pool) + field]
    pool[row_of(before, plan, pool) + field] = following


@kernel(macro=True)
def forget(time: int, plan: Ints, pool: Ints) -> None:
    """Give back the room of what is older than any window that is open at ``time``."""
    keep_us = plan[P_KEEP]
    tail, head = pool[M_TAIL], pool[M_HEAD]
    while tail < head and time - pool[row_of(tail, plan, pool) + START] > keep_us:
        if OBSERVED:
            observe_end(row_of(tail, plan, pool), plan, pool)
        tail += 1
    pool[M_TAIL] = tail
    keep_us = plan[P_KEEP_NEGATED]
    if keep_us < 0:
        return
    tail, head = pool[M_KEPT_TAIL], pool[M_KEPT_HEAD]
    capacity = pool[M_KEPT_CAPACITY]
    while tail < head and time - pool[pool[M_KEPT] + (tail & (capacity - 1)) * KEPT_WIDTH + KEPT_TIME] > keep_us:
        tail += 1
    pool[M_KEPT_TAIL] = tail
