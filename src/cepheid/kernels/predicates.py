"""Comparisons between two events: the conditions that most steps have, in one instruction each."""

from __future__ import annotations

from cepheid.kernels.comparators import compare_ints as compare_ints
from cepheid.kernels.hooks import COUNTED, count_evaluated
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    A_ARG,
    A_COLUMN,
    A_SOURCE,
    ABSENT,
    ARG,
    B_ARG,
    B_COLUMN,
    B_SOURCE,
    CODE_FROM,
    CODE_WIDTH,
    CONDITION_WIDTH,
    FIRST_COLUMN,
    IS_FUSED,
    KEY_ARG,
    KEY_COLUMN,
    KEY_SOURCE,
    KEY_WIDTH,
    M_BASE,
    M_INT_NULLS,
    M_N_EVENTS,
    P_CODE,
    P_CONDITIONS,
    P_KEYS,
    Bytes,
    Floats,
    Ints,
)
from cepheid.kernels.signatures import Helper


@kernel(inline=True)
def compare_floats(comparator: int, a: float, b: float) -> bool:
    """NaN equals itself and is greater than any number."""
    if a != a:
        order = 0 if b != b else 1
    elif b != b:
        order = -1
    else:
        order = 0 if a == b else (-1 if a < b else 1)
    return compare_ints(comparator, order, 0)


@kernel(macro=True)
def locate(source: int, argument: int, row: int, pool: Ints) -> int:
    """The number of the event that an operand reads, or -1 where it is absent."""
    return pool[argument + source * row]


@kernel(macro=True)
def _is_null(places: int, column: int, i: int, n: int, ints: Ints, nulls: Bytes) -> bool:
    """Whether column ``column`` is NULL for the event at index ``i``; ``places``: where to look its mask up."""
    place = ints[places + column]
    return place >= 0 and nulls[place * n + i] != 0


@kernel(inline=True)
def _compare_fused(at: int, row: int, plan: Ints, pool: Ints, ints: Ints, nulls: Bytes) -> int:
    """The comparison of two columns at ``plan[at:]``: 1 true, 0 false, 2 absent, -1 NULL."""
    a = locate(plan[at + A_SOURCE], plan[at + A_ARG], row, pool)
    b = locate(plan[at + B_SOURCE], plan[at + B_ARG], row, pool)
    if a < 0 or b < 0:
        return ABSENT
    n = pool[M_N_EVENTS]
    a -= pool[M_BASE]
    b -= pool[M_BASE]
    column_a = plan[at + A_COLUMN]
    column_b = plan[at + B_COLUMN]
    places = pool[M_INT_NULLS]
    if _is_null(places, column_a, a, n, ints, nulls) or _is_null(places, column_b, b, n, ints, nulls):
        return -1
    x = ints[(FIRST_COLUMN + column_a) * n + a]
    y = ints[(FIRST_COLUMN + column_b) * n + b]
    return 1 if compare_ints(plan[at + ARG], x, y) else 0


@kernel(inline=True)
def holds(
    k: int,
    row_id: int,
    row: int,
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    large: Helper,
) -> bool:
    """Whether condition ``k`` holds for a partial match and the event that is being taken.

    Args:
        row_id, row: the partial match (-1 for none) and where it lies in the pool.
        large: evaluates a condition that is more than one comparison.
    """
    if COUNTED:
        count_evaluated(row_id, row, plan, pool)
    at = plan[P_CONDITIONS] + k * CONDITION_WIDTH
    if plan[at + IS_FUSED]:
        code = plan[P_CODE] + plan[at + CODE_FROM] * CODE_WIDTH
        return _compare_fused(code, row, plan, pool, ints, nulls) > 0
    return large(at, row_id, row, 0, 0, plan, pool, reals, ints, floats, nulls) == 1


@kernel(inline=True)
def key_of(first: int, last: int, row: int, plan: Ints, pool: Ints, ints: Ints, nulls: Bytes) -> tuple[int, bool]:
    """The key that the rows ``first`` to before ``last`` of the table `keys` give, and whether no part is NULL."""
    key = 0
    n = pool[M_N_EVENTS]
    for k in range(first, last):
        at = plan[P_KEYS] + k * KEY_WIDTH
        event = locate(plan[at + KEY_SOURCE], plan[at + KEY_ARG], row, pool)
        if event < 0:
            return 0, False
        event -= pool[M_BASE]
        column = plan[at + KEY_COLUMN]
        place = ints[pool[M_INT_NULLS] + column]
        if place >= 0 and nulls[place * n + event] != 0:
            return 0, False
        part = ints[(FIRST_COLUMN + column) * n + event]
        if k == first:
            key = part
        else:  # several parts: a hash; the conditions are tested all the same
            key = ((key & 0x3FFFFFFF) * 1000003) ^ (key >> 30) ^ part
    return key, True
