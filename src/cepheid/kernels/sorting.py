"""Events that were kept, in the order of a value: those that a range holds are found without a look at the others.

For each step of P_JOINS that has such an order, the pool has the number of its entries, how many of them mattered when
that was last looked at, and the entries: a value, and the place of the event among those kept. Entries of events that
are forgotten stay until they are as many as the others.
"""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    FIRST_COLUMN,
    GE,
    GT,
    JOIN_COMPARATOR,
    JOIN_EVENT_COLUMN,
    JOIN_FILTER,
    JOIN_ROW_COLUMN,
    JOIN_SORTED,
    JOIN_WIDTH,
    KEPT_BUFFER,
    KEPT_EVENT,
    KEPT_WIDTH,
    LE,
    LT,
    M_BASE,
    M_INT_NULLS,
    M_KEPT,
    M_KEPT_CAPACITY,
    M_KEPT_HEAD,
    M_KEPT_TAIL,
    M_N_EVENTS,
    M_SORTED,
    P_JOINS,
    P_N_BUFFERS,
    P_N_JOINS,
    SORTED_FROM,
    UNSORTED,
    Bytes,
    Ints,
)

FEWEST = 32
"""So few entries are not looked through for forgotten ones."""


@kernel(inline=True)
def entries_of(join: int, plan: Ints, pool: Ints) -> int:
    """Where the entries of the step at ``plan[join:]`` are counted."""
    return pool[M_SORTED] + plan[join + JOIN_SORTED] * (SORTED_FROM + 2 * pool[M_KEPT_CAPACITY])


@kernel()
def _first_from(at: int, n: int, value: int, after_equal: int, pool: Ints) -> int:
    """The first of ``n`` entries with at least a value, or, where ``after_equal``, with more."""
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        found = pool[at + SORTED_FROM + 2 * middle]
        if found < value or (after_equal and found == value):
            low = middle + 1
        else:
            high = middle
    return low


@kernel()
def sort_in(kept: int, plan: Ints, pool: Ints, ints: Ints, nulls: Bytes) -> None:
    """Put an event, by its place among those kept, among the entries of its step, if that has any."""
    capacity, tail = pool[M_KEPT_CAPACITY], pool[M_KEPT_TAIL]
    place = pool[M_KEPT] + (kept & (capacity - 1)) * KEPT_WIDTH
    step = pool[place + KEPT_BUFFER] - (plan[P_N_BUFFERS] - plan[P_N_JOINS])
    if step < 0:
        return  # it is kept for a NOT
    join = plan[P_JOINS] + step * JOIN_WIDTH
    if plan[join + JOIN_SORTED] < 0:
        return
    n_events, column = pool[M_N_EVENTS], plan[join + JOIN_EVENT_COLUMN]
    i = pool[place + KEPT_EVENT] - pool[M_BASE]
    null_place = ints[pool[M_INT_NULLS] + column]
    if null_place >= 0 and nulls[null_place * n_events + i]:
        return  # NULL is in no range
    value = ints[(FIRST_COLUMN + column) * n_events + i]
    at = entries_of(join, plan, pool)
    n = pool[at]
    if n >= 2 * max(FEWEST, pool[at + 1]) or n == capacity:
        living = 0
        for e in range(at + SORTED_FROM, at + SORTED_FROM + 2 * n, 2):
            if pool[e + 1] >= tail:
                pool[at + SORTED_FROM + 2 * living] = pool[e]
                pool[at + SORTED_FROM + 2 * living + 1] = pool[e + 1]
                living += 1
        n = living
        pool[at + 1] = n
    to = at + SORTED_FROM + 2 * _first_from(at, n, value, 1, pool)
    for e in range(at + SORTED_FROM + 2 * n - 1, to - 1, -1):
        pool[e + 2] = pool[e]
    pool[to] = value
    pool[to + 1] = kept
    pool[at] = n + 1


@kernel()
def sort_kept(plan: Ints, pool: Ints, ints: Ints, nulls: Bytes) -> None:
    """Make the entries of a pool that was laid out anew."""
    some = False
    for step in range(plan[P_N_JOINS]):
        join = plan[P_JOINS] + step * JOIN_WIDTH
        if plan[join + JOIN_SORTED] >= 0 and pool[entries_of(join, plan, pool)] == UNSORTED:
            pool[entries_of(join, plan, pool)] = 0
            some = True
    if some:  # all are, where one is
        for kept in range(pool[M_KEPT_TAIL], pool[M_KEPT_HEAD]):
            sort_in(kept, plan, pool, ints, nulls)


@kernel()
def range_for(join: int, row: int, plan: Ints, pool: Ints, ints: Ints) -> tuple[int, int]:
    """The entries, from and to before, that fulfil the first condition of a step with a row; all, if it may be NULL."""
    at = entries_of(join, plan, pool)
    n = pool[at]
    if ints[pool[M_INT_NULLS] + plan[join + JOIN_ROW_COLUMN]] >= 0:
        return 0, n
    value, comparator = pool[row + plan[join + JOIN_FILTER]], plan[join + JOIN_COMPARATOR]
    if comparator == LT:
        return _first_from(at, n, value, 1, pool), n
    if comparator == LE:
        return _first_from(at, n, value, 0, pool), n
    if comparator == GT:
        return 0, _first_from(at, n, value, 0, pool)
    if comparator == GE:
        return 0, _first_from(at, n, value, 1, pool)
    return 0, n
