"""The kernel for the plans that most queries have: a sequence of single events, each step with one way to take it.

It does what `advance` does, on the same pool, for plans without NOT, loops, deadlines, floats in conditions, or NULL in
what conditions read. What `advance` looks up in its tables for every partial match, it looks up once for an event.
"""

from __future__ import annotations

from cepheid.kernels.chain import (
    BITS,
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
from cepheid.kernels.index import at
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
    M_LIST,
    M_N_ENTRIES,
    M_N_EVENTS,
    M_N_MATCHES,
    M_N_TRIED,
    M_OUT_ENTRIES,
    M_ROW,
    M_ROWS,
    M_STAGE,
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
        if chain[at(place + T_A)] >= 0:
            a = pool[at(row + chain[at(place + T_A)])] - base
        if chain[at(place + T_B)] >= 0:
            b = pool[at(row + chain[at(place + T_B)])] - base
        x, y = ints[at(chain[at(place + T_A_COLUMN)] * n + a)], ints[at(chain[at(place + T_B_COLUMN)] * n + b)]
        if not compare_ints(chain[at(place + T_COMPARATOR)], x, y):
            return False
    return True


@kernel(entry=True)
def advance_chain(plan: Ints, chain: Ints, pool: Ints, ints: Ints, out: Ints) -> int:
    """Step over the rest of the batch.

    Args:
        chain: as `chain` says.

    Returns:
        DONE, or POOL_FULL, OUTPUT_FULL: make room and call again.
    """
    n, base = pool[M_N_EVENTS], pool[M_BASE]
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
    i = pool[M_EVENT]
    resumed = pool[M_STAGE] != 0
    code = DONE
    time, stepped = 0, False
    while i < n:
        fit = ints[at(FIT_COLUMN * n + i)]
        if fit == 0:
            i += 1
            continue
        time, stepped = ints[at(TIME_COLUMN * n + i)], True
        # Later steps first: so no row that this event makes is walked.
        first = n_steps - 1
        last = 0
        if fit & (fit - 1) == 0:
            first = chain[at(chain[C_NUMBERS] + fit % BITS)]
            last = first
        if resumed:
            first = pool[M_LIST]
        for e in range(first, last - 1, -1):
            if not (fit >> e) & 1:
                continue
            step = CHAIN_HEADER + e * STEP_WIDTH
            row_id = NO_ROW
            row, link, key, following = 0, 0, 0, NO_ROW
            field, passes = chain[at(step + S_FILTER_FIELD)], chain[at(step + S_PASSES)]
            against = ints[at(chain[at(step + S_FILTER_COLUMN)] * n + i)]
            if e > 0:
                if chain[at(step + S_EVENT_KEY)] >= 0:
                    key = ints[at(chain[at(step + S_EVENT_KEY)] * n + i)]
                link = heads + (e - 1) * n_buckets + bucket_of(key, n_buckets)
                row_id = pool[at(link)]
                if resumed and pool[M_ROW] != NO_ROW:
                    while row_id != pool[M_ROW]:
                        link = rows + (row_id & mask) * width + NEXT
                        row_id = pool[at(link)]
            resumed = False
            test_from, test_to = chain[at(step + S_TEST_FROM)], chain[at(step + S_TEST_TO)]
            while row_id >= tail or e == 0:
                if e > 0:
                    row = rows + (row_id & mask) * width
                    following = pool[at(row + NEXT)]
                    if time - pool[at(row + START)] > within:
                        if e == 1:  # the rows of this list began one after the other: all others are older still
                            pool[at(link)] = NO_ROW
                            break
                        pool[at(row + NEXT)] = UNLINKED
                        pool[at(link)] = following
                        row_id = following
                        continue
                    value = pool[at(row + field)]
                    order = 1 + (value > against) - (value < against)
                    # One branch: which rows pass cannot be foreseen.
                    if (pool[at(row + KEY)] ^ key) | (((passes >> order) & 1) ^ 1):
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
                    out[at(put)] = base + i
                    taken = row
                    while put > entries:
                        put -= 1
                        out[at(put)] = pool[at(taken + EVENT)]
                        taken = rows + (pool[at(taken + PARENT)] & mask) * width
                    entries += n_steps
                else:
                    if head - tail > mask:
                        while tail < head and time - pool[at(rows + (tail & mask) * width + START)] > keep:
                            tail += 1
                        if head - tail > mask:
                            code = POOL_FULL
                            break
                    made = rows + (head & mask) * width
                    if e > 0:
                        pool[at(made + START)] = pool[at(row + START)]
                        for register in range(registers, width):
                            pool[at(made + register)] = pool[at(row + register)]
                    else:
                        n_tried += 1
                        pool[at(made + START)] = time
                        for register in range(registers, width):
                            pool[at(made + register)] = 0
                    pool[at(made + EVENT)] = base + i
                    pool[at(made + PARENT)] = row_id
                    pool[at(made + STATE)] = chain[at(step + S_STATE)]
                    for update in range(chain[at(step + S_UPDATE_FROM)], chain[at(step + S_UPDATE_TO)]):
                        place = chain[C_UPDATES] + update * UPDATE_WIDTH
                        if chain[at(place + U_COLUMN)] >= 0:
                            pool[at(made + chain[at(place + U_FIELD)])] = ints[at(chain[at(place + U_COLUMN)] * n + i)]
                        else:
                            pool[at(made + chain[at(place + U_FIELD)])] = base + i
                    waits = 0
                    if chain[at(step + S_ROW_KEY)] >= 0:
                        event = pool[at(made + chain[at(step + S_ROW_KEY_EVENT)])] - base
                        waits = ints[at(chain[at(step + S_ROW_KEY)] * n + event)]
                    slot = heads + e * n_buckets + bucket_of(waits, n_buckets)
                    pool[at(made + KEY)] = waits
                    pool[at(made + NEXT)] = pool[at(slot)]
                    pool[at(slot)] = head
                    head += 1
                if e == 0:
                    break
                if chain[at(step + S_FORKS)]:
                    link = row + NEXT
                else:
                    pool[at(row + NEXT)] = UNLINKED
                    pool[at(link)] = following
                row_id = following
            if code != DONE:
                pool[M_LIST], pool[M_ROW] = e, row_id
                if e > 0:
                    n_tried -= 1  # this row is tried again
                break
        if code != DONE:
            break
        i += 1
    if stepped:
        # What is too old leaves the ring when there is no room, and here.
        while tail < head and time - pool[at(rows + (tail & mask) * width + START)] > keep:
            tail += 1
    if code == DONE:
        pool[M_ROW] = NO_ROW
    pool[M_STAGE] = 1 if code != DONE else 0
    pool[M_EVENT] = i
    pool[M_HEAD], pool[M_TAIL] = head, tail
    pool[M_N_ENTRIES], pool[M_N_MATCHES] = entries, entries // n_steps
    pool[M_N_TRIED] += n_tried
    return code
