"""Matches that give back events which lie among others of theirs: AND and ANY with a repeated group at the end.

What is left of such a match is no partial match that the pool holds: it is made anew, step by step, from the events
that are kept (SEMANTICS 3.2).
"""

from __future__ import annotations

from cepheid.kernels.endings import accepts, complete, deadline
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    ACCEPTS,
    ACCEPTS_LATE,
    DONE,
    EDGE_WIDTH,
    END_WIDTH,
    ENDS_FROM,
    ENDS_TO,
    EVENT,
    GAPS,
    LENGTH_SHIFT,
    LIST_EDGES_FROM,
    LIST_EDGES_TO,
    LIST_WIDTH,
    M_BASE,
    M_CAPACITY,
    M_CURRENT,
    M_HEAD,
    M_N_ENTRIES,
    M_N_EVENTS,
    M_N_MATCHES,
    M_OUT_ENTRIES,
    M_OUT_MATCHES,
    M_RUN_CAPACITY,
    M_RUN_HEAD,
    M_RUN_TAIL,
    M_RUNS,
    M_TAIL,
    M_TOP,
    NO_ROW,
    OUTPUT_FULL,
    P_COMBINATIONS,
    P_EDGES,
    P_ENDS,
    P_LIST_EDGES,
    P_LISTS,
    P_N_LISTS,
    P_STATES,
    PARENT,
    POOL_FULL,
    RUN_ROW,
    RUN_WIDTH,
    SCATTERED,
    STATE,
    STATE_ELEMENT,
    STATE_LISTS_FROM,
    STATE_LISTS_TO,
    STATE_MASK,
    STATE_WIDTH,
    TARGET,
    TIME_COLUMN,
    TRAILING_FROM,
    TRAILING_TO,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.making import make_row, qualifies
from cepheid.kernels.output import emit
from cepheid.kernels.rows import element_of, row_of
from cepheid.kernels.signatures import Free, Helper


@kernel()
def _is_given_back(row: int, top: int, groups: int, plan: Ints, pool: Ints) -> bool:
    """Whether the event of a row lies in an iteration that the match whose last row is ``top`` gives back.

    Args:
        groups: where it is said in ``plan`` which: n, pairs (register of the iteration, variables in the group).
    """
    for i in range(plan[groups]):
        field = plan[groups + 1 + 2 * i]
        if (plan[groups + 2 + 2 * i] >> element_of(row, plan, pool)) & 1 and pool[row + field] == pool[top + field]:
            return True
    return False


@kernel()
def _edge_to(element: int, last_id: int, plan: Ints, pool: Ints) -> int:
    """The only edge by which what ends with the row ``last_id`` (-1: nothing) takes an event for an element; or -1."""
    listed = listed_to = plan[P_N_LISTS]
    listed_to += 1
    if last_id >= 0:
        state = plan[P_STATES] + (pool[row_of(last_id, plan, pool) + STATE] & STATE_MASK) * STATE_WIDTH
        listed, listed_to = plan[state + STATE_LISTS_FROM], plan[state + STATE_LISTS_TO]
    for k in range(listed, listed_to):
        at = plan[P_LISTS] + k * LIST_WIDTH
        for e in range(plan[at + LIST_EDGES_FROM], plan[at + LIST_EDGES_TO]):
            edge = plan[P_EDGES] + plan[plan[P_LIST_EDGES] + e] * EDGE_WIDTH
            if plan[plan[P_STATES] + plan[edge + TARGET] * STATE_WIDTH + STATE_ELEMENT] == element:
                return edge
    return -1


@kernel()
def _made_anew(
    row_id: int,
    groups: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    large: Helper,
    free: Free,
    tally: Helper,
) -> int:
    """Make the rows of what is left of a match at the head of the pool. The caller has made sure of room.

    Returns:
        the last of them; -1 where nothing is left, or a gap between what is left is too long.
    """
    top = row_of(row_id, plan, pool)
    length = pool[top + STATE] >> LENGTH_SHIFT
    chain = pool[M_N_ENTRIES]  # the output has room for so many entries, which are not written yet
    i = chain + length
    while row_id >= 0:
        i -= 1
        out[i] = row_id
        row_id = pool[row_of(row_id, plan, pool) + PARENT]
    made_id, made = NO_ROW, 0
    for j in range(chain, chain + length):
        row = row_of(out[j], plan, pool)
        if _is_given_back(row, top, groups, plan, pool):
            continue
        number = pool[row + EVENT]
        time = ints[TIME_COLUMN * pool[M_N_EVENTS] + number - pool[M_BASE]]
        pool[M_CURRENT] = number
        edge = _edge_to(element_of(row, plan, pool), made_id, plan, pool)
        if edge < 0 or qualifies(edge, 0, made_id, made, plan, pool, reals, ints, floats, nulls, large, free) != 1:
            return NO_ROW
        made = make_row(edge, made_id, made, number, time, plan, pool, reals, ints, floats, nulls, tally)
        made_id = pool[M_HEAD]
        pool[M_HEAD] = made_id + 1
    return made_id


@kernel(entry=True)
def fire_scattered(
    until: int,
    everything: int,
    unused: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    large: Helper,
    free: Free,
    tally: Helper,
) -> int:
    """Decide all runs at the end of the input, in the order of their starts; see `endings.fire`.

    Returns:
        DONE, or OUTPUT_FULL, POOL_FULL: make room and call again.
    """
    while pool[M_RUN_TAIL] < pool[M_RUN_HEAD]:
        slot = pool[M_RUNS] + (pool[M_RUN_TAIL] & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH
        row_id = pool[slot + RUN_ROW]
        if row_id >= 0:
            row = row_of(row_id, plan, pool)
            length = pool[row + STATE] >> LENGTH_SHIFT
            if pool[M_N_ENTRIES] + length > pool[M_OUT_ENTRIES] or pool[M_N_MATCHES] >= pool[M_OUT_MATCHES]:
                return OUTPUT_FULL
            if pool[M_HEAD] - pool[M_TAIL] + length > pool[M_CAPACITY]:
                return POOL_FULL
            state = plan[P_STATES] + (pool[row + STATE] & STATE_MASK) * STATE_WIDTH
            head, current = pool[M_HEAD], pool[M_CURRENT]
            for e in range(plan[state + ENDS_FROM], plan[state + ENDS_TO]):
                at = plan[P_ENDS] + e * END_WIDTH
                first, last = plan[at + TRAILING_FROM], plan[at + TRAILING_TO]
                if plan[state + ACCEPTS] != ACCEPTS_LATE and first == last:
                    continue
                if plan[at + SCATTERED] >= 0:
                    groups = plan[P_COMBINATIONS] + plan[at + SCATTERED]
                    whole = _made_anew(row_id, groups, plan, pool, reals, ints, floats, nulls, out, large, free, tally)
                else:
                    whole = complete(at, row_id, plan, pool)
                pool[M_TOP] = row
                if (
                    whole >= 0
                    and accepts(at, whole, 0, plan, pool, reals, ints, floats, nulls, out, large, free)
                    and (first == last or free(first, last, whole, plan, pool, reals, ints, floats, nulls, large) == 1)
                ):
                    emit(whole, -1, -1, deadline(row, plan[at + GAPS], plan, pool, ints), -1, plan, pool, out)
                    break
                pool[M_HEAD], pool[M_CURRENT] = head, current
            pool[M_HEAD], pool[M_CURRENT] = head, current
            pool[slot + RUN_ROW] = NO_ROW
        pool[M_RUN_TAIL] += 1
    return DONE
