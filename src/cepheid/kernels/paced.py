"""Steps over a batch event by event, and writes down when each was begun and done; or replays it in real time.

An event is begun when it has arrived and the one before it is done. With arrivals in the past that is at once, and what
lies between begin and end is the service time of an event.
"""

from __future__ import annotations

from cepheid.kernels.advance_chain import advance_chain
from cepheid.kernels.advance_lazy import advance_lazy
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import DONE, M_EVENT, M_N_EVENTS, M_STOP, Bytes, Floats, Ints
from cepheid.kernels.signatures import Ending, Free, Helper
from cepheid.kernels.ticks import now_ns


@kernel()
def _begin(i: int, arrivals: Ints, times: Ints) -> None:
    """Wait for an event."""
    now = now_ns()
    while now < arrivals[i]:
        now = now_ns()
    times[2 * i] = now


@kernel(entry=True)
def pace_chain(plan: Ints, chain: Ints, pool: Ints, ints: Ints, out: Ints, arrivals: Ints, times: Ints) -> int:
    """Step a chain, as `advance_chain` does.

    Args:
        plan, chain, pool, ints, out: see there.
        arrivals: when each event arrives, ns of `ticks.now_ns`.
        times: when each was begun and done, two entries an event; written.

    Returns:
        DONE; or what is full: make room and call again. Then that event counts twice.
    """
    n = pool[M_N_EVENTS]
    for i in range(pool[M_EVENT], n):
        pool[M_STOP] = i + 1
        _begin(i, arrivals, times)
        code = advance_chain(plan, chain, pool, ints, out)
        times[2 * i + 1] = now_ns()
        if code != DONE:
            return code
    return DONE


@kernel(entry=True)
def pace_lazy(
    plan: Ints,
    pool: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Bytes,
    out: Ints,
    large: Helper,
    free: Free,
    accept: Ending,
    tally: Helper,
    keep: Helper,
    fire: Ending,
    arrivals: Ints,
    times: Ints,
) -> int:
    """Step a plan in which variables wait for the last event, as `advance_lazy` does; else as `pace_chain`."""
    n = pool[M_N_EVENTS]
    for i in range(pool[M_EVENT], n):
        pool[M_STOP] = i + 1
        _begin(i, arrivals, times)
        code = advance_lazy(plan, pool, reals, ints, floats, nulls, out, large, free, accept, tally, keep, fire)
        times[2 * i + 1] = now_ns()
        if code != DONE:
            return code
    return DONE
