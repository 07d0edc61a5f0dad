"""The kernel for the plans that most queries have: a sequence of single events, each step with one way to take it.

It does what `advance` does, on the same pool, for plans without NOT, loops, deadlines, floats in conditions, or NULL in
what conditions read. What `advance` looks up in its tables for every partial match, it looks up once for an event.
"""

from __future__ import annotations

from cepheid.kernels.chain import (
    C_N_STEPS,
    C_NUMBERS,
    C_TESTS,
    C_UPDATES,
    CHAIN_HEADER,
    KEY,
    NEXT,
    S_EVENT_KEY,
    S_FILTER_COLUMN,
    S_FILTER_FIELD,
    S_FORKS,
    S_PASSES,
    S_ROW_KEY,
    S_ROW_KEY_EVENT,
    S_STATE,
    S_TEST_FROM,
    S_TEST_TO,
    S_UPDATE_FROM,
    S_UPDATE_TO,
    STEP_WIDTH,
    T_A,
    T_A_COLUMN,
    T_B,
    T_B_COLUMN,
    T_COMPARATOR,
    TEST_WIDTH,
    U_COLUMN,
    U_FIELD,
    UPDATE_WIDTH,
)
from cepheid.kernels.comparators import compare_ints
from cepheid.kernels.hook_layout import A_FIELD, ALL, SOME
from cepheid.kernels.hooks import GUARDED, cell_in, drops, group_of, meet_group, place_from
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    DONE,
    EVENT,
    FIT_COLUMN,
    M_BASE,
    M_BUCKETS,
    M_CAPACITY,
    M_EVENT,
    M_HEAD,
    M_HEADS,
    M_HOOKS,
    M_LIST,
    M_N_ENTRIES,
    M_N_EVENTS,
    M_N_MATCHES,
    M_N_TRIED,
    M_OUT_ENTRIES,
    M_ROW,
    M_ROWS,
    M_STAGE,
    M_STOP,
    M_TAIL,
    NO_ROW,
    OUTPUT_FULL,
    P_KEEP,
    P_REGISTERS,
    P_ROW_WIDTH,
    P_WITHIN,
    PARENT,
    POOL_FULL,
    START,
    STATE,
    TIME_COLUMN,
    UNLINKED,
    Ints,
)
from cepheid.kernels.rows import INT_MAX, bucket_of


@kernel(inline=True)
def _passes(first: int, last: int, row: int, i: int, base: int, n: int, pool: Ints, chain: Ints, ints: Ints) -> bool:
    """Whether the tests ``first`` to before ``last`` hold for the row at ``row`` and the event at index ``i``."""
    for test in range(first, last):
        place = chain[C_TESTS] + test * TEST_WIDTH
        a, b = i, i
        if chain[place + T_A] >= 0:
            a = pool[row + chain[place + T_A]] - base
        if chain[place + T_B] >= 0:
            b = pool[row + chain[place + T_B]] - base
        x, y = ints[chain[place + T_A_COLUMN] * n + a], ints[chain[place + T_B_COLUMN] * n + b]
        if not compare_ints(chain[place + T_COMPARATOR], x, y):
            return False
    return True


@kernel(inline=True)
def _add(
    row_id: int,
    row: int,
    parent: int,
    start: int,
    step: int,
    heads: int,
    n_buckets: int,
    i: int,
    base: int,
    n: int,
    pool: Ints,
    chain: Ints,
    ints: Ints,
) -> None:
    """Make the row that a step leads to, and put it in front of its list.

    Args:
        row_id, row: its id, and where it lies, with registers as its parent has them.
        parent, start: the id of the row that it extends (NO_ROW for none), and the time of its first event.
        step: where the step begins in ``chain``.
        heads, n_buckets: where the heads of its list begin, and how many there are.
        i, base, n: the index of the arriving event, the number of the event at index 0, and the number of events.
    """
    pool[row + EVENT] = base + i
    pool[row + PARENT] = parent
    pool[row + START] = start
    pool[row + STATE] = chain[step + S_STATE]
    for update in range(chain[step + S_UPDATE_FROM], chain[step + S_UPDATE_TO]):
        place = chain[C_UPDATES] + update * UPDATE_WIDTH
        if chain[place + U_COLUMN] >= 0:
            pool[row + chain[place + U_FIELD]] = ints[chain[place + U_COLUMN] * n + i]
        else:
            pool[row + chain[place + U_FIELD]] = base + i
    key = 0
    if chain[step + S_ROW_KEY] >= 0:
        event = pool[row + chain[step + S_ROW_KEY_EVENT]] - base
        key = ints[chain[step + S_ROW_KEY] * n + event]
    slot = heads + bucket_of(key, n_buckets)
    pool[row + KEY] = key
    pool[row + NEXT] = pool[slot]
    pool[slot] = row_id


@kernel(entry=True)
def advance_chain(plan: Ints, chain: Ints, pool: Ints, ints: Ints, out: Ints) -> int:
    """Step over the batch up to `M_STOP`.

    Args:
        chain: as `chain` says.

    Returns:
        DONE, or POOL_FULL, OUTPUT_FULL: make room and call again.
    """
    n, stop, base = pool[M_N_EVENTS], pool[M_STOP], pool[M_BASE]
    within, keep = plan[P_WITHIN], plan[P_KEEP]
    if within < 0:
        within = INT_MAX
    if keep < 0:
        keep = INT_MAX
    rows, mask, width, registers = pool[M_ROWS], pool[M_CAPACITY] - 1, plan[P_ROW_WIDTH], plan[P_REGISTERS]
    heads, n_buckets = pool[M_HEADS], pool[M_BUCKETS]
    head, tail = pool[M_HEAD], pool[M_TAIL]
    n_steps = chain[C_N_STEPS]
    entries, room = pool[M_N_ENTRIES], pool[M_OUT_ENTRIES] - n_steps
    n_tried = 0
    place_field = pool[pool[M_HOOKS] + A_FIELD] if GUARDED else 0
    i = pool[M_EVENT]
    resumed = pool[M_STAGE] != 0
    code = DONE
    time, stepped = 0, False
    while i < stop:
        fit = ints[FIT_COLUMN * n + i]
        if fit == 0:
            i += 1
            continue
        time, stepped = ints[TIME_COLUMN * n + i], True
        # Later steps first: so no row that this event makes is walked.
        first = n_steps - 1
        last = 0
        if fit & (fit - 1) == 0:
            first = chain[chain[C_NUMBERS] + fit]
            last = first
        if resumed:
            first = pool[M_LIST]
        for e in range(first, last - 1, -1):
            if not (fit >> e) & 1:
                continue
            step = CHAIN_HEADER + e * STEP_WIDTH
            guarded = False
            if e == 0:
                resumed = False
                # The rows that wait for step e are in state e - 1 and list e - 1; the starts are the last list.
                group = group_of(n_steps - 1, i, plan, pool, ints) if GUARDED else 0
                if GUARDED and meet_group(group, i, True, plan, pool, ints) == ALL:
                    continue
                if head - tail > mask:
                    while tail < head and time - pool[rows + (tail & mask) * width + START] > keep:
                        tail += 1
                    if head - tail > mask:
                        pool[M_LIST], pool[M_ROW], code = 0, NO_ROW, POOL_FULL
                        break
                made = rows + (head & mask) * width
                for register in range(registers, width):
                    pool[made + register] = 0
                _add(head, made, NO_ROW, time, step, heads, n_buckets, i, base, n, pool, chain, ints)
                head += 1
                n_tried += 1
                continue
            key = 0
            if chain[step + S_EVENT_KEY] >= 0:
                key = ints[chain[step + S_EVENT_KEY] * n + i]
            link = heads + (e - 1) * n_buckets + bucket_of(key, n_buckets)
            row_id = pool[link]
            if resumed:
                resumed = False
                while row_id != pool[M_ROW]:
                    link = rows + (row_id & mask) * width + NEXT
                    row_id = pool[link]
            group, place, far = 0, 0, 0
            if GUARDED and row_id >= tail:
                group = group_of(e - 1, i, plan, pool, ints)
                answer = meet_group(group, i, False, plan, pool, ints)
                if answer == ALL:
                    continue
                guarded = answer == SOME
                place, far = place_from(i, False, plan, pool, ints)
            field, passes = chain[step + S_FILTER_FIELD], chain[step + S_PASSES]
            against = ints[chain[step + S_FILTER_COLUMN] * n + i]
            test_from, test_to = chain[step + S_TEST_FROM], chain[step + S_TEST_TO]
            forks = chain[step + S_FORKS]
            while row_id >= tail:
                row = rows + (row_id & mask) * width
                following = pool[row + NEXT]
                if time - pool[row + START] > within:
                    if e == 1:  # the rows of this list began one after the other: all others are older still
                        pool[link] = NO_ROW
                        break
                    pool[row + NEXT] = UNLINKED
                    pool[link] = following
                    row_id = following
                    continue
                if (
                    GUARDED
                    and guarded
                    and pool[row + KEY] == key
                    and drops(cell_in(group, place - (pool[row + place_field] & far), plan), pool)
                ):
                    link = row + NEXT
                    row_id = following
                    continue
                value = pool[row + field]
                order = 1 + (value > against) - (value < against)
                # One branch: which rows pass cannot be foreseen.
                if (pool[row + KEY] ^ key) | (((passes >> order) & 1) ^ 1):
                    link = row + NEXT
                    row_id = following
                    continue
                n_tried += 1
                if test_from != test_to and not _passes(test_from, test_to, row, i, base, n, pool, chain, ints):
                    link = row + NEXT
                    row_id = following
                    continue
                if e == n_steps - 1:
                    if entries > room:
                        code = OUTPUT_FULL
                        break
                    put = entries + e
                    out[put] = base + i
                    taken = row
                    while put > entries:
                        put -= 1
                        out[put] = pool[taken + EVENT]
                        taken = rows + (pool[taken + PARENT] & mask) * width
                    entries += n_steps
                else:
                    if head - tail > mask:
                        while tail < head and time - pool[rows + (tail & mask) * width + START] > keep:
                            tail += 1
                        if head - tail > mask:
                            code = POOL_FULL
                            break
                    made = rows + (head & mask) * width
                    for register in range(registers, width):
                        pool[made + register] = pool[row + register]
                    start = pool[row + START]
                    _add(
                        head, made, row_id, start, step, heads + e * n_buckets, n_buckets, i, base, n, pool, chain, ints
                    )
                    head += 1
                if forks:
                    link = row + NEXT
                else:
                    pool[row + NEXT] = UNLINKED
                    pool[link] = following
                row_id = following
            if code != DONE:
                pool[M_LIST], pool[M_ROW] = e, row_id
                n_tried -= 1  # this row is tried again
                break
        if code != DONE:
            break
        i += 1
    if stepped:
        # What is too old leaves the ring when there is no room, and here.
        while tail < head and time - pool[rows + (tail & mask) * width + START] > keep:
            tail += 1
    if code == DONE:
        pool[M_ROW] = NO_ROW
    pool[M_STAGE] = 1 if code != DONE else 0
    pool[M_EVENT] = i
    pool[M_HEAD], pool[M_TAIL] = head, tail
    pool[M_N_ENTRIES], pool[M_N_MATCHES] = entries, entries // n_steps
    pool[M_N_TRIED] += n_tried
    return code
