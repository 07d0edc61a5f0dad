"""Events that were kept, in the order of a value: those that a range holds are found without a look at the others.

For each step of P_JOINS that has such an order, the pool has entries: a value, and the place of the event among those
kept. Those that came last lie in no order; when they are so many that looking through them would tell, they are put
among the others, and those of events that are forgotten are left out. So an event moves few entries: to put each in its
place at once took ten times as long with 400 of them.
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
    LATE_FROM,
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
    MOST_LATE,
    N_LATE,
    N_SORTED,
    P_JOINS,
    P_N_BUFFERS,
    P_N_JOINS,
    SORTED_FROM,
    UNSORTED,
    Bytes,
    Ints,
)


@kernel(inline=True)
def entries_of(join: int, plan: Ints, pool: Ints) -> int:
    """Where the entries of the step at ``plan[join:]`` are counted."""
    return pool[M_SORTED] + plan[join + JOIN_SORTED] * (SORTED_FROM + 2 * pool[M_KEPT_CAPACITY])


@kernel()
def _first_from(at: int, n: int, value: int, after_equal: int, pool: Ints) -> int:
    """The first of ``n`` entries in order with at least a value, or, where ``after_equal``, with more."""
    first, left = 0, n
    while left > 0:  # no branch on values: which way it goes cannot be foreseen
        half = (left + 1) >> 1
        found = pool[at + SORTED_FROM + 2 * (first + half - 1)]
        first += half * ((found < value) | ((found == value) & (after_equal == 1)))
        left -= half
    return first


@kernel()
def _sort_late(at: int, tail: int, pool: Ints) -> int:
    """Put the late entries at ``at`` in order, without those of forgotten events; how many are left."""
    late, n = at + LATE_FROM, 0
    for e in range(late, late + 2 * pool[at + N_LATE], 2):
        value, kept = pool[e], pool[e + 1]
        if kept < tail:
            continue
        to = late + 2 * n
        while to > late and pool[to - 2] > value:
            pool[to] = pool[to - 2]
            pool[to + 1] = pool[to - 1]
            to -= 2
        pool[to] = value
        pool[to + 1] = kept
        n += 1
    return n


@kernel()
def _merge_late(at: int, tail: int, pool: Ints) -> None:
    """Put the late entries among the others, and leave out those of forgotten events."""
    n_late = _sort_late(at, tail, pool)
    first = at + SORTED_FROM
    end = first  # of those that are left
    for e in range(first, first + 2 * pool[at + N_SORTED], 2):
        value, kept = pool[e], pool[e + 1]
        pool[end] = value
        pool[end + 1] = kept
        end += 2 * (kept >= tail)
    to, late = end + 2 * n_late, at + LATE_FROM + 2 * n_late
    pool[at + N_SORTED], pool[at + N_LATE] = (to - first) >> 1, 0
    while late > at + LATE_FROM:
        to -= 2
        if end > first and pool[end - 2] > pool[late - 2]:
            end -= 2
            pool[to] = pool[end]
            pool[to + 1] = pool[end + 1]
        else:
            late -= 2
            pool[to] = pool[late]
            pool[to + 1] = pool[late + 1]


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
    at = entries_of(join, plan, pool)
    if pool[at + N_LATE] == MOST_LATE:
        _merge_late(at, tail, pool)
    late = at + LATE_FROM + 2 * pool[at + N_LATE]
    pool[late] = ints[(FIRST_COLUMN + column) * n_events + i]
    pool[late + 1] = kept
    pool[at + N_LATE] += 1


@kernel()
def sort_kept(plan: Ints, pool: Ints, ints: Ints, nulls: Bytes) -> None:
    """Make the entries of a pool that was laid out anew."""
    some = False
    for step in range(plan[P_N_JOINS]):
        join = plan[P_JOINS] + step * JOIN_WIDTH
        if plan[join + JOIN_SORTED] < 0:
            continue
        at = entries_of(join, plan, pool)
        if pool[at + N_SORTED] == UNSORTED:
            pool[at + N_SORTED] = pool[at + N_LATE] = 0
            some = True
    if some:  # all are, where one is
        for kept in range(pool[M_KEPT_TAIL], pool[M_KEPT_HEAD]):
            sort_in(kept, plan, pool, ints, nulls)


@kernel()
def range_for(join: int, row: int, plan: Ints, pool: Ints, ints: Ints) -> tuple[int, int]:
    """The entries in order, from and to before, that fulfil the first condition of a step with a row.

    All, where it may be NULL.
    """
    at = entries_of(join, plan, pool)
    n = pool[at + N_SORTED]
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
