"""Which elements of its loops a condition is tried on: an odometer with a wheel for each iterated variable.

Where variables stand in quantified groups, they are compared within one iteration, and an iteration may lack some of
them (SEMANTICS 4.3): the table `combinations` of a condition tells which settings of the wheels count.
"""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    EVENT,
    M_BEFORES,
    M_ELEMENTS,
    M_FIRSTS,
    M_ITERATED,
    NO_ROW,
    PARENT,
    SAME_AS_ROW,
    WHEEL_ELEMENT,
    WHEEL_FIRST,
    WHEEL_GROUPED,
    WHEEL_WIDTH,
    Ints,
)
from cepheid.kernels.rows import element_of, row_of


@kernel()
def element_at_or_above(row_id: int, element: int, plan: Ints, pool: Ints) -> int:
    """The id of the nearest row of ``element`` on the way from ``row_id`` to the start, or -1."""
    while row_id >= 0:
        row = row_of(row_id, plan, pool)
        if element_of(row, plan, pool) == element:
            return row_id
        row_id = pool[row + PARENT]
    return NO_ROW


@kernel()
def row_before(row_id: int, plan: Ints, pool: Ints) -> int:
    """Where the row lies that the loop element ``row_id`` extends, or -1 where it is the first of its loop."""
    if row_id < 0:
        return -1
    row = row_of(row_id, plan, pool)
    if element_at_or_above(pool[row + PARENT], element_of(row, plan, pool), plan, pool) < 0:
        return -1
    return row_of(pool[row + PARENT], plan, pool)


@kernel()
def turn(v: int, row_id: int, wheels: int, plan: Ints, pool: Ints) -> None:
    """Set wheel ``v`` of those at ``plan[wheels:]`` to the element ``row_id`` (-1: none)."""
    pool[pool[M_ITERATED] + v] = row_id
    element = before = first = -1
    if row_id >= 0:
        row = row_of(row_id, plan, pool)
        element = pool[row + EVENT]
        previous = element_at_or_above(pool[row + PARENT], element_of(row, plan, pool), plan, pool)
        if previous >= 0:
            before = pool[row_of(previous, plan, pool) + EVENT]
            field = plan[wheels + v * WHEEL_WIDTH + WHEEL_FIRST]
            if field >= 0:
                first = pool[row_of(pool[row + PARENT], plan, pool) + field]
    pool[M_ELEMENTS + v] = element
    pool[M_BEFORES + v] = before
    pool[M_FIRSTS + v] = first


@kernel()
def begin_turning(n: int, wheels: int, combination: int, row_id: int, plan: Ints, pool: Ints) -> None:
    """Set all wheels to their last elements."""
    for v in range(n):
        if combination >= 0 and plan[combination] == v:
            turn(v, row_id, wheels, plan, pool)
        else:
            element = plan[wheels + v * WHEEL_WIDTH + WHEEL_ELEMENT]
            turn(v, element_at_or_above(row_id, element, plan, pool), wheels, plan, pool)


@kernel()
def turn_on(n: int, wheels: int, combination: int, row_id: int, plan: Ints, pool: Ints) -> bool:
    """Go on to the next combination; False behind the last one."""
    v = n - 1
    while v >= 0:
        if combination < 0 or plan[combination] != v:
            element = plan[wheels + v * WHEEL_WIDTH + WHEEL_ELEMENT]
            standing = pool[pool[M_ITERATED] + v]
            if standing >= 0:
                parent = pool[row_of(standing, plan, pool) + PARENT]
                following = element_at_or_above(parent, element, plan, pool)
                if following >= 0 or (combination >= 0 and plan[wheels + v * WHEEL_WIDTH + WHEEL_GROUPED]):
                    turn(v, following, wheels, plan, pool)
                    return True
            turn(v, element_at_or_above(row_id, element, plan, pool), wheels, plan, pool)
        v -= 1
    return False


@kernel()
def waits(combination: int, row: int, plan: Ints, pool: Ints) -> bool:
    """Whether a variable that the condition needs has no element yet."""
    for i in range(combination + 2, combination + 2 + plan[combination + 1]):
        if pool[row + plan[i]] < 0:
            return True
    return False


@kernel()
def _same_iterations(v: int, tried: int, pairs: int, row: int, plan: Ints, pool: Ints) -> bool:
    """Whether the row ``tried``, as an element for wheel ``v``, shares the iterations of the row and of the others."""
    for p in range(plan[pairs]):
        at = pairs + 1 + 3 * p
        other = -1
        if plan[at] == v:
            other = plan[at + 1]
        elif plan[at + 1] == v:
            other = plan[at]
        field = plan[at + 2]
        if other == SAME_AS_ROW:
            if field < 0 or pool[row + field] != pool[row_of(tried, plan, pool) + field]:
                return False
        elif other >= 0:
            standing = pool[pool[M_ITERATED] + other]
            if standing >= 0 and pool[row_of(standing, plan, pool) + field] != pool[row_of(tried, plan, pool) + field]:
                return False
    return True


@kernel()
def _may_come(place: int, row: int, plan: Ints, pool: Ints) -> bool:
    """Whether an element that comes at a place would share the iterations of what the wheels stand at."""
    for c in range(plan[place + 1]):
        standing = pool[pool[M_ITERATED] + plan[place + 2 + 2 * c]]
        if standing >= 0:
            field = plan[place + 3 + 2 * c]
            if field < 0 or pool[row_of(standing, plan, pool) + field] != pool[row + field]:
                return False
    return True


@kernel()
def counts(n: int, wheels: int, combination: int, row_id: int, row: int, plan: Ints, pool: Ints) -> bool:
    """Whether the condition is tried on what the wheels stand at."""
    pairs = combination + 2 + plan[combination + 1]
    places = pairs + 1 + 3 * plan[pairs]
    for v in range(n):
        standing = pool[pool[M_ITERATED] + v]
        if standing >= 0:
            if not _same_iterations(v, standing, pairs, row, plan, pool):
                return False
            continue
        element = plan[wheels + v * WHEEL_WIDTH + WHEEL_ELEMENT]
        tried = element_at_or_above(row_id, element, plan, pool)
        while tried >= 0:
            if _same_iterations(v, tried, pairs, row, plan, pool):
                return False
            tried = element_at_or_above(pool[row_of(tried, plan, pool) + PARENT], element, plan, pool)
        place = places + 1
        for _ in range(plan[places]):
            if plan[place] == v and _may_come(place, row, plan, pool):
                return False
            place += 2 + 2 * plan[place + 1]
    return True
