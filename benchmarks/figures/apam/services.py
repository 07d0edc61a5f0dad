"""What each event of a stream takes under a plan: the clock is read by the kernel, before and after it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures.apam.experiments import N_FIRST, Prepared
from cepheid.compiler.columns import events_of
from cepheid.engine.session import prepare
from cepheid.engine.trials import paced, trial
from cepheid.plan.evaluation import asked_for

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FAR, N_SHORT, N_SHORT_WARM, N_SHORT_TIMES = 5.0, 50_000, 10_000, 2
"""See `measured`; of so many first events, the first ones warm up, and so many runs count."""

LEAD_NS = 2_000_000
"""A replay begins so much after it is asked for."""

N_REPLAYS = 3
"""Of each event the least time of so many replays counts, as of services."""

LATE_NS, SLOW_NS, SLOW = 1_000, 3_000, 2.0
"""An event that is begun so long after it could be, or takes so much longer than so many times what was measured, was
interrupted."""


@dataclass(frozen=True, eq=False)
class Services:
    """Service times under a plan.

    Attributes:
        plan: the plan.
        service_s: of each event; shape (n,).
        ends: which events end a match (true final events); shape (n,).
        final: which events are of the type that may; shape (n,).
        n_warm: the first events, which do not count.
    """

    plan: str
    service_s: Floats
    ends: NDArray[np.bool_]
    final: NDArray[np.bool_]
    n_warm: int = N_FIRST

    @property
    def mean_s(self) -> float:
        """Of an event after the first ones, by which the plan is chosen: 1 / μ."""
        return float(self.service_s[self.n_warm :].mean())

    def first(self, n: int) -> Services:
        """Those of the first events."""
        return Services(self.plan, self.service_s[:n], self.ends[:n], self.final[:n], N_SHORT_WARM)

    @property
    def ending_s(self) -> float:
        """The same of one that ends a match."""
        late, ends = self.service_s[self.n_warm :], self.ends[self.n_warm :]
        return float(late[ends].mean()) if ends.any() else float(late[self.final[self.n_warm :]].mean())


def measured(prepared: Prepared, plans: Sequence[str], n_times: int) -> dict[str, Services]:
    """Service times of each plan: of each event the least over some runs, less what it takes to read the clock.

    The least, as in any run the system may let another process run for milliseconds, which is many services, or slow
    the whole run down by half. The plans take turns, so that where the machine is slow for a while, it is so for all of
    them. What is out of the question by the first events that count (`FAR` times the best in the time of an event, and
    of one that ends a match) is measured on these alone.
    """
    found = {plan: one.first(N_SHORT) for plan, one in _measured(prepared.first(N_SHORT), plans, N_SHORT_TIMES).items()}
    least = min(one.mean_s for one in found.values()), min(one.ending_s for one in found.values())
    far = [plan for plan, one in found.items() if one.mean_s > FAR * least[0] and one.ending_s > FAR * least[1]]
    return found | _measured(prepared, [plan for plan in plans if plan not in far], n_times)


def _measured(prepared: Prepared, plans: Sequence[str], n_times: int) -> dict[str, Services]:
    compiled = {plan: prepare(prepared.bound, evaluation=asked_for(prepared.bound, plan)) for plan in plans}
    found: dict[str, Services] = {}
    for _ in range(n_times):
        for plan in plans:
            run = trial(compiled[plan], prepared.batch)
            assert run is not None
            before = found[plan].service_s if plan in found else run.services_s
            found[plan] = Services(plan, np.minimum(before, run.services_s), run.ends, run.final)
    return found


def replayed(prepared: Prepared, services: Services, arrivals_s: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """A replay in real time, some times over.

    Args:
        prepared: the events.
        services: under the plan that is replayed.
        arrivals_s: when each event arrives.

    Returns:
        How long each event took from its arrival until it was done, in seconds, at least; and which of them count:
        those between whose arrival and end, and that of all others that they wait for, the system let no other process
        run in one of the replays.
    """
    runs = [_replayed(prepared, services, arrivals_s) for _ in range(N_REPLAYS)]
    # An interruption of some microseconds is no service, and looks like one; it hardly hits an event in every replay.
    taken = np.min([np.where(undisturbed, times, np.inf) for times, undisturbed in runs], axis=0)
    return taken, np.isfinite(taken)


def _replayed(prepared: Prepared, services: Services, arrivals_s: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    compiled = prepare(prepared.bound, evaluation=asked_for(prepared.bound, services.plan))
    events = events_of(compiled, prepared.batch)
    arrivals = (arrivals_s * 1e9).astype(np.int64) + (time.perf_counter_ns() + LEAD_NS)
    run = paced(compiled, events, arrivals)
    assert run is not None
    times = run[1]
    begun, done = times[::2], times[1::2]
    before = np.concatenate([arrivals[:1], done[:-1]])
    late = begun - np.maximum(arrivals, before) > LATE_NS
    slow = done - begun > SLOW * 1e9 * services.service_s + SLOW_NS
    idle = before <= arrivals
    # An interruption disturbs all events until the queue is empty: those after it up to the next idle moment.
    number = np.arange(events.n)
    last_idle = np.maximum.accumulate(np.where(idle, number, -1))
    last_disturbed = np.maximum.accumulate(np.where(late | slow, number, -1))
    return (done - arrivals) / 1e9, last_disturbed < np.maximum(last_idle, 0)
