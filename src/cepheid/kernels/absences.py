"""NOT: whether an event that must not come lies in a gap."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    ABSENCE_WIDTH,
    FATAL,
    KEPT_EVENT,
    KEPT_KEY,
    KEPT_NEXT,
    KEPT_WIDTH,
    LEFT_ARG,
    LEFT_SOURCE,
    M_KEPT,
    M_KEPT_CAPACITY,
    M_KEPT_HEADS,
    M_KEPT_TAIL,
    NEGATED,
    P_ABSENCES,
    PROBE_FROM,
    PROBE_TO,
    RIGHT_ARG,
    RIGHT_SOURCE,
    TRIED_FROM,
    TRIED_TO,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.predicates import holds, key_of, locate
from cepheid.kernels.rows import bucket_of
from cepheid.kernels.signatures import Large


@kernel(entry=True)
def free_of(
    first: int,
    last: int,
    row_id: int,
    row: int,
    current: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Large,
) -> int:
    """Whether the absences ``first`` to before ``last`` hold: 1 yes, 0 no, -1 no and never again."""
    capacity = pool[M_KEPT_CAPACITY]
    for k in range(first, last):
        at = plan[P_ABSENCES] + k * ABSENCE_WIDTH
        left = locate(plan[at + LEFT_SOURCE], plan[at + LEFT_ARG], row, current, -1, plan, pool)
        right = locate(plan[at + RIGHT_SOURCE], plan[at + RIGHT_ARG], row, current, -1, plan, pool)
        key, known = key_of(plan[at + PROBE_FROM], plan[at + PROBE_TO], row, current, plan, pool, ints, nulls)
        if not known:
            continue  # an equality with NULL: no negated event satisfies it
        head = pool[M_KEPT_HEADS] + plan[at + NEGATED] * capacity + bucket_of(key, capacity)
        cursor = pool[head]
        while cursor >= pool[M_KEPT_TAIL]:
            place = pool[M_KEPT] + (cursor & (capacity - 1)) * KEPT_WIDTH
            tried = pool[place + KEPT_EVENT]
            if tried <= left:
                break
            if tried < right and pool[place + KEPT_KEY] == key:
                found = True
                for c in range(plan[at + TRIED_FROM], plan[at + TRIED_TO]):
                    if not holds(c, row_id, row, current, tried, plan, pool, reals, ints, floats, nulls, large):
                        found = False
                        break
                if found:
                    return -1 if plan[at + FATAL] else 0
            cursor = pool[place + KEPT_NEXT]
    return 1
