"""Fills the lists of a pool that has grown."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    KEPT_BUFFER,
    KEPT_KEY,
    KEPT_NEXT,
    KEPT_WIDTH,
    LIST_FIELD,
    LIST_WIDTH,
    M_BUCKETS,
    M_HEAD,
    M_HEADS,
    M_KEPT,
    M_KEPT_CAPACITY,
    M_KEPT_HEAD,
    M_KEPT_HEADS,
    M_KEPT_TAIL,
    M_TAIL,
    P_LISTS,
    P_STATES,
    STATE,
    STATE_LISTS_FROM,
    STATE_LISTS_TO,
    STATE_MASK,
    STATE_WIDTH,
    UNLINKED,
    Ints,
)
from cepheid.kernels.rows import bucket_of, row_of


@kernel(entry=True)
def relink(plan: Ints, pool: Ints) -> None:
    """Fill the empty heads of a pool that has grown with its rows, oldest first."""
    for row_id in range(pool[M_TAIL], pool[M_HEAD]):
        row = row_of(row_id, plan, pool)
        state = plan[P_STATES] + (pool[row + STATE] & STATE_MASK) * STATE_WIDTH
        for k in range(plan[state + STATE_LISTS_FROM], plan[state + STATE_LISTS_TO]):
            field = row + plan[plan[P_LISTS] + k * LIST_WIDTH + LIST_FIELD]
            if pool[field] != UNLINKED:
                head = pool[M_HEADS] + k * pool[M_BUCKETS] + bucket_of(pool[field + 1], pool[M_BUCKETS])
                pool[field] = pool[head]
                pool[head] = row_id


@kernel(entry=True)
def relink_kept(pool: Ints) -> None:
    """The same for the events kept for NOT."""
    capacity = pool[M_KEPT_CAPACITY]
    for kept in range(pool[M_KEPT_TAIL], pool[M_KEPT_HEAD]):
        place = pool[M_KEPT] + (kept & (capacity - 1)) * KEPT_WIDTH
        head = pool[M_KEPT_HEADS] + pool[place + KEPT_BUFFER] * capacity + bucket_of(pool[place + KEPT_KEY], capacity)
        pool[place + KEPT_NEXT] = pool[head]
        pool[head] = kept
