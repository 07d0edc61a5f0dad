"""Counts the matches of queries whose matches share their structure, without making them.

The numbers of ways from state to state through some events are the product of the matrices of these events. A window
has two parts: of the earlier events, the first row of each product that ends at the middle is kept in `front`; the
product of the later ones is one matrix, which each event changes a little. When all earlier events have left the
window, the middle moves to its end. So an event costs the same in windows of all lengths, and nothing is subtracted.
"""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import DONE, POOL_FULL, Halves, Ints
from cepheid.kernels.shared import (
    ADD,
    C_COLUMNS_FROM,
    C_COLUMNS_TO,
    C_ENDS_FROM,
    C_ENDS_TO,
    C_ROWS_FROM,
    C_ROWS_TO,
    CLASS_WIDTH,
    CLEAR,
    LARGEST,
    O_FROM,
    O_KIND,
    O_SOURCE,
    O_TARGET,
    O_TO,
    OPERATION_WIDTH,
    P_N_SLOTS,
    P_N_STATES,
    PLAN_HEADER,
    W_BASE,
    W_COUNT,
    W_EVENT,
    W_FIRST,
    W_MIDDLE,
    W_MOST,
    W_N_ENDS,
    W_PARTITION,
    W_ROWS,
    W_TOO_LARGE,
    WORK_HEADER,
)


@kernel(inline=True)
def _operate(plan: Ints, first: int, last: int, work: Ints, vectors: int, n: int, most: int, modulus: int) -> int:
    """Do operations on vectors of ``n`` entries that begin at ``work[vectors]``, on their first ``most`` entries.

    Returns:
        1 where a number was not below the modulus, else 0.
    """
    exceeded = 0
    while first < last:
        begin, end = plan[first + O_FROM], min(plan[first + O_TO], most)
        target = vectors + plan[first + O_TARGET] * n
        source = vectors + plan[first + O_SOURCE] * n
        kind = plan[first + O_KIND]
        if kind == ADD:
            for i in range(begin, end):
                total = work[target + i] + work[source + i]
                if total >= modulus:
                    total -= modulus
                    exceeded = 1
                work[target + i] = total
        elif kind == CLEAR:
            for i in range(begin, end):
                work[target + i] = 0
        else:
            for i in range(begin, end):
                work[target + i] = work[source + i]
        first += OPERATION_WIDTH
    return exceeded


@kernel(inline=True)
def _make_unit(work: Ints, vectors: int, n: int, rows: int) -> None:
    """Make the first ``rows`` entries of ``n`` vectors those of the unit matrix."""
    for i in range(n):
        for j in range(rows):
            work[vectors + i * n + j] = 0
        if i < rows:
            work[vectors + i * n + i] = 1


@kernel(entry=True)
def shared_count(
    plan: Ints,
    classes: Halves,
    clock: Ints,
    starts: Ints,
    within: int,
    modulus: int,
    work: Ints,
    front: Ints,
    out: Ints,
) -> int:
    """Step over the rest of the events.

    Args:
        plan: as `shared` says.
        classes, clock: of the events, those of each partition side by side, there by their time or place.
        starts: where each partition begins, and the end of the last one.
        within: longest distance from the first event; -1 for none.
        modulus: numbers are less than it: `LARGEST`, where they are to be exact, or a prime number below 2**31.
        work: what the kernel keeps, as `shared` says.
        front: for each event of the earlier part of a window as many words as there are states.
        out: gets the number of matches that end with each event; of no entries where that is not asked for.

    Returns:
        DONE; or POOL_FULL: give a larger `front`, whatever is in it, and call again.
    """
    n = plan[P_N_STATES]
    matrix = WORK_HEADER
    product = matrix + plan[P_N_SLOTS] * n
    i, first, middle, base = work[W_EVENT], work[W_FIRST], work[W_MIDDLE], work[W_BASE]
    partition, rows, most, too_large = work[W_PARTITION], work[W_ROWS], work[W_MOST], work[W_TOO_LARGE]
    count, n_ends = work[W_COUNT], work[W_N_ENDS]
    code = DONE
    while i < len(classes):
        if partition < 0 or i == starts[partition + 1]:
            partition += 1
            first = middle = i
            end = starts[partition + 1]
            rows = n
            if within < 0 or clock[end - 1] - clock[i] <= within:
                rows = 1
            _make_unit(work, matrix, n, rows)
        place = PLAN_HEADER + int(classes[i]) * CLASS_WIDTH
        if rows > 1:
            oldest = clock[i] - within
            while clock[first] < oldest:
                first += 1
            if first > middle:
                if (i - first) * n > len(front):
                    code = POOL_FULL
                    break
                _make_unit(work, product, n, n)
                event = i - 1
                while event >= first:
                    own = PLAN_HEADER + int(classes[event]) * CLASS_WIDTH
                    too_large |= _operate(
                        plan, plan[own + C_ROWS_FROM], plan[own + C_ROWS_TO], work, product, n, n, modulus
                    )
                    to = (event - first) * n
                    for state in range(n):
                        front[to + state] = work[product + state]
                    event -= 1
                base, middle = first, i
                _make_unit(work, matrix, n, n)
        most = max(most, i - first + 1)
        found = 0
        source = plan[place + C_ENDS_FROM]
        while source < plan[place + C_ENDS_TO]:
            column = matrix + plan[source] * n
            if first == middle:
                found += work[column]
                if found >= modulus:
                    found -= modulus
                    too_large = 1
            else:
                row = (first - base) * n
                for state in range(n):
                    one, other = front[row + state], work[column + state]
                    if one == 0 or other == 0:
                        continue
                    if modulus < LARGEST:
                        found = (found + one * other) % modulus
                    elif float(one) * float(other) >= float(LARGEST):
                        too_large = 1
                    else:
                        found += one * other
                        if found >= LARGEST:
                            found -= LARGEST
                            too_large = 1
            source += 1
        if found > 0:
            count += found
            n_ends += 1
            if count >= modulus:
                count -= modulus
                too_large = 1
        if len(out) > 0:
            out[i] = found
        too_large |= _operate(
            plan, plan[place + C_COLUMNS_FROM], plan[place + C_COLUMNS_TO], work, matrix, n, rows, modulus
        )
        i += 1
    work[W_EVENT], work[W_FIRST], work[W_MIDDLE], work[W_BASE] = i, first, middle, base
    work[W_PARTITION], work[W_ROWS], work[W_MOST], work[W_TOO_LARGE] = partition, rows, most, too_large
    work[W_COUNT], work[W_N_ENDS] = count, n_ends
    return code
