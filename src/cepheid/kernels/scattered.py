"""Matches that give back events which lie among others of theirs: AND and ANY with a repeated group at the end.

What is left of such a match is no partial match that the pool holds: it is made anew, step by step, from the events
that are kept (SEMANTICS 3.2).
"""

from __future__ import annotations

from cepheid.kernels.endings import accepts, complete, decision_of, log_run, tell_rest
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    ACCEPTS,
    ACCEPTS_LATE,
    DONE,
    EDGE_WIDTH,
    ELEMENT,
    END_WIDTH,
    ENDS_FROM,
    ENDS_TO,
    EVENT,
    FIT_COLUMN,
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
    MOVED_ON,
    NO_ELEMENT,
    NO_ROW,
    OUTPUT_FULL,
    P_COMBINATIONS,
    P_EACH,
    P_EACH_COLUMN,
    P_EDGES,
    P_ENDS,
    P_LIST_EDGES,
    P_LISTS,
    P_LOGS,
    P_MIXED,
    P_N_LISTS,
    P_N_STARTS,
    P_RUN_FIELD,
    P_STATES,
    P_TELLS,
    PARENT,
    POOL_FULL,
    RUN_EDGE,
    RUN_FIRST,
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
from cepheid.kernels.making import make_row
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
def _keeps_iterations(
    made: int, row: int, groups: int, chain: int, length: int, plan: Ints, pool: Ints, out: Ints
) -> bool:
    """Whether a row made anew stands in the iterations in which the row that it stands for does.

    Args:
        made, row: both, as places in ``pool``.
        groups: where it is said in ``plan`` which groups count.
        chain: where the ids of the rows of the match stand in ``out``; ``length`` further on, those made for them.
    """
    for i in range(plan[groups]):
        field = plan[groups + 1 + 2 * i]
        if not (plan[groups + 2 + 2 * i] >> element_of(row, plan, pool)) & 1:
            continue
        begun, anew = pool[row + field], NO_ROW
        for j in range(length):
            # By its event: the row that began it may have a twin, which stands here.
            if (
                begun >= 0
                and pool[row_of(out[chain + j], plan, pool) + EVENT] == pool[row_of(begun, plan, pool) + EVENT]
            ):
                anew = out[chain + length + j]
        if pool[made + field] != anew:
            return False
    return True


@kernel()
def _made_anew(
    row_id: int,
    begins: int,
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

    Args:
        begins: the list of the edges by which its run may begin.
        groups: see `SCATTERED`.

    Returns:
        the last of them; -1 where nothing is left, or a gap between what is left is too long.
    """
    top = row_of(row_id, plan, pool)
    length = pool[top + STATE] >> LENGTH_SHIFT
    chain = pool[M_N_ENTRIES]  # the output has room for so many entries twice, which are not written yet
    i = chain + length
    while row_id >= 0:
        i -= 1
        out[i] = row_id
        row_id = pool[row_of(row_id, plan, pool) + PARENT]
    others = groups + 1 + 2 * plan[groups]
    made_id, made = NO_ROW, 0
    for j in range(chain, chain + length):
        row = row_of(out[j], plan, pool)
        out[j + length] = NO_ROW
        if _is_given_back(row, top, groups, plan, pool):
            continue
        number = pool[row + EVENT]
        time = ints[TIME_COLUMN * pool[M_N_EVENTS] + number - pool[M_BASE]]
        fit = ints[FIT_COLUMN * pool[M_N_EVENTS] + number - pool[M_BASE]]
        # What else had to hold is tested on what is left, but for what strict and UNTIL ask: the events have come so.
        if made_id >= 0 and plan[P_EACH] >= 0:
            clock = plan[P_EACH_COLUMN] * pool[M_N_EVENTS] - pool[M_BASE]
            if ints[clock + number] - ints[clock + pool[made + EVENT]] > plan[P_EACH]:
                return NO_ROW
        pool[M_CURRENT] = number
        out[j + length] = anew = pool[M_HEAD]
        listed, listed_to = begins, begins + 1
        if made_id >= 0:
            state = plan[P_STATES] + (pool[made + STATE] & STATE_MASK) * STATE_WIDTH
            listed, listed_to = plan[state + STATE_LISTS_FROM], plan[state + STATE_LISTS_TO]
        found = False
        for k in range(listed, listed_to):
            at = plan[P_LISTS] + k * LIST_WIDTH
            for e in range(plan[at + LIST_EDGES_FROM], plan[at + LIST_EDGES_TO]):
                edge = plan[P_EDGES] + plan[plan[P_LIST_EDGES] + e] * EDGE_WIDTH
                target = plan[P_STATES] + plan[edge + TARGET] * STATE_WIDTH
                if found or plan[target + STATE_ELEMENT] != element_of(row, plan, pool):
                    continue
                if not (fit >> plan[edge + ELEMENT]) & 1:
                    continue
                one = make_row(edge, made_id, made, number, time, plan, pool, reals, ints, floats, nulls, tally)
                found = _keeps_iterations(one, row, others, chain, length, plan, pool, out)
        if not found:
            return NO_ROW
        made_id, made = anew, row_of(anew, plan, pool)
        pool[M_HEAD] = anew + 1
    return made_id


@kernel()
def _begins(edge: int, plan: Ints) -> int:
    """The list of starts in which an edge stands."""
    last = plan[P_N_LISTS] + plan[P_N_STARTS]
    for k in range(plan[P_N_LISTS], last):
        at = plan[P_LISTS] + k * LIST_WIDTH
        for e in range(plan[at + LIST_EDGES_FROM], plan[at + LIST_EDGES_TO]):
            if plan[P_EDGES] + plan[plan[P_LIST_EDGES] + e] * EDGE_WIDTH == edge:
                return k
    return plan[P_N_LISTS]


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
    logs = plan[P_LOGS]
    n_logs = 3 if logs else 0
    while pool[M_RUN_TAIL] < pool[M_RUN_HEAD]:
        run = pool[M_RUN_TAIL]
        slot = pool[M_RUNS] + (run & (pool[M_RUN_CAPACITY] - 1)) * RUN_WIDTH
        row_id = pool[slot + RUN_ROW]
        if logs:
            if pool[M_N_ENTRIES] >= pool[M_OUT_ENTRIES] or pool[M_N_MATCHES] >= pool[M_OUT_MATCHES]:
                return OUTPUT_FULL
            log_run(slot, plan, pool, out)
        while row_id >= 0:
            row = row_of(row_id, plan, pool)
            length = pool[row + STATE] >> LENGTH_SHIFT
            if pool[M_N_ENTRIES] + 2 * length + n_logs > pool[M_OUT_ENTRIES]:
                return OUTPUT_FULL
            if pool[M_N_MATCHES] + n_logs >= pool[M_OUT_MATCHES]:
                return OUTPUT_FULL
            if pool[M_HEAD] - pool[M_TAIL] + length + 1 > pool[M_CAPACITY]:
                return POOL_FULL
            state = plan[P_STATES] + (pool[row + STATE] & STATE_MASK) * STATE_WIDTH
            head, current = pool[M_HEAD], pool[M_CURRENT]
            late = plan[state + ACCEPTS] == ACCEPTS_LATE
            moved_on = late and plan[P_MIXED] and pool[row + plan[P_RUN_FIELD] + 2] == MOVED_ON
            told = False
            broken_from = broken_to = broken = 0
            for e in range(plan[state + ENDS_FROM], plan[state + ENDS_TO]):
                at = plan[P_ENDS] + e * END_WIDTH
                first, last = plan[at + TRAILING_FROM], plan[at + TRAILING_TO]
                if moved_on or (not late and first == last):
                    continue
                if plan[at + SCATTERED] >= 0:
                    whole = _made_anew(
                        row_id,
                        _begins(pool[slot + RUN_EDGE], plan),
                        plan[P_COMBINATIONS] + plan[at + SCATTERED],
                        plan,
                        pool,
                        reals,
                        ints,
                        floats,
                        nulls,
                        out,
                        large,
                        free,
                        tally,
                    )
                else:
                    whole = complete(at, row_id, plan, pool)
                pool[M_TOP] = row
                if whole >= 0 and accepts(at, whole, 0, plan, pool, reals, ints, floats, nulls, out, large, free):
                    if first == last or free(first, last, whole, plan, pool, reals, ints, floats, nulls, large) == 1:
                        decided, decider = decision_of(
                            at, state, row_id, whole, plan, pool, reals, ints, floats, nulls, large, free
                        )
                        emit(whole, -1, -1, decided, decider, plan, pool, out)
                        if logs:  # its first event may be another than that of the run
                            emit(NO_ROW, pool[slot + RUN_FIRST], NO_ELEMENT, decided, decider, plan, pool, out)
                        told = True
                        break
                    if not late:
                        broken_from, broken_to, broken = first, last, whole
                pool[M_HEAD], pool[M_CURRENT] = head, current
            if plan[P_TELLS] or logs:
                tell_rest(
                    slot,
                    row_id,
                    told,
                    broken_from,
                    broken_to,
                    broken,
                    plan,
                    pool,
                    reals,
                    ints,
                    floats,
                    nulls,
                    out,
                    large,
                    free,
                )
            pool[M_HEAD], pool[M_CURRENT] = head, current
            row_id = pool[row + plan[P_RUN_FIELD] + 1]
            pool[slot + RUN_ROW] = row_id
        pool[M_RUN_TAIL] = run + 1
    return DONE
