"""When time decides what a partial match comes to."""

from __future__ import annotations

from cepheid.kernels.aggregates import add_overflows
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import (
    EVENT,
    GAPS_SHIFT,
    LATE_AFTER,
    M_BASE,
    M_N_EVENTS,
    MANY_GAPS,
    P_EACH,
    P_EACH_COLUMN,
    P_WITHIN,
    START,
    TIME_COLUMN,
    Ints,
)
from cepheid.kernels.rows import INT_MAX


@kernel()
def closing(first: int, last: int, gaps: int, plan: Ints) -> int:
    """The time (us) from which the windows let no more follow events at the times ``first`` and ``last``.

    Args:
        gaps: so many events may follow, each of which BETWEEN EACH lets come later; 0: no bound.

    Returns:
        The greatest where nothing but the end of the input, of a sliding window, or what another clock measures does.
    """
    decided = INT_MAX
    if plan[P_WITHIN] >= 0 and not add_overflows(first, plan[P_WITHIN]):
        decided = first + plan[P_WITHIN]
    each = plan[P_EACH]
    if each >= 0 and plan[P_EACH_COLUMN] == TIME_COLUMN and gaps > 0 and each <= INT_MAX // gaps:
        if not add_overflows(last, each * gaps):
            decided = min(decided, last + each * gaps)
    return decided


@kernel()
def by_time(last: int, gaps: int, plan: Ints) -> int:
    """What stands for the event that decides, where time does after the event ``last`` and so many gaps."""
    if plan[P_EACH_COLUMN] == TIME_COLUMN:
        return -1
    return LATE_AFTER - last - (((gaps if gaps > 0 else MANY_GAPS) - 1) << GAPS_SHIFT)


@kernel()
def time_of(event: int, pool: Ints, ints: Ints) -> int:
    """The time of an event, us."""
    return ints[TIME_COLUMN * pool[M_N_EVENTS] + event - pool[M_BASE]]


@kernel()
def deadline(row: int, gaps: int, plan: Ints, pool: Ints, ints: Ints) -> int:
    """The time from which the windows let no more follow what a row has taken, nor so many gaps after it."""
    return closing(pool[row + START], time_of(pool[row + EVENT], pool, ints), gaps, plan)
