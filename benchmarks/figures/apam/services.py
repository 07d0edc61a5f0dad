"""What each event of a stream takes under a plan: the clock is read by the kernel, before and after it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures.apam.experiments import Experiment, Prepared, prepared
from cepheid.compiler.columns import events_of
from cepheid.engine.session import prepare
from cepheid.engine.trials import paced, trial
from cepheid.plan.evaluation import asked_for

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PART, N_WARM = 500_000, 4_000
"""Services are measured on streams of so many events, each made up from a seed of its own; the first ones of each,
which find the window not full, do not count."""

FAR, N_SHORT = 2.0, 10_000
"""See `out_of_the_question`; so many events in a quick run."""

LEAD_NS = 2_000_000
"""A replay begins so much after it is asked for."""

N_REPLAYS = 3
"""Of each event the least time of so many replays counts, as of services."""

LATE_NS, SLOW_NS, SLOW = 1_000, 3_000, 2.0
"""An event that is begun so long after it could be, or takes so much longer than so many times what was measured, was
interrupted."""


@dataclass(frozen=True, eq=False)
class Services:
    """Service times under a plan, of streams one after the other.

    Attributes:
        plan: the plan.
        service_s: of each event; shape (n,).
        ends: which events end a match (true final events); shape (n,).
        final: which events are of the type that may; shape (n,).
    """

    plan: str
    service_s: Floats
    ends: NDArray[np.bool_]
    final: NDArray[np.bool_]

    @property
    def late(self) -> NDArray[np.bool_]:
        """Which events found the window full; shape (n,)."""
        return np.arange(len(self.service_s)) % PART >= N_WARM

    @property
    def mean_s(self) -> float:
        """Of an event that found the window full: 1 / μ."""
        return float(self.service_s[self.late].mean())

    def first(self, n: int) -> Services:
        """Those of the first events."""
        return Services(self.plan, self.service_s[:n], self.ends[:n], self.final[:n])

    def times(self, factor: float) -> Services:
        """This one with every event so many times as long."""
        return replace(self, service_s=factor * self.service_s)

    def then(self, other: Services) -> Services:
        """This one, of whole streams, with that of one more stream after it."""
        pairs = ((self.service_s, other.service_s), (self.ends, other.ends), (self.final, other.final))
        return Services(self.plan, *(np.concatenate(pair) for pair in pairs))

    def least(self, other: Services) -> Services:
        """This one with the lesser of both times of each event, where the other is of the same events."""
        return replace(self, service_s=np.minimum(self.service_s, other.service_s))

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which events have a latency: those that end a match; where none does, those that might; shape (n,)."""
        which = self.late & self.ends
        return which if which.any() else self.late & self.final

    @property
    def ending_s(self) -> float:
        """The same of one that ends a match, or might where none does."""
        return float(self.service_s[self.counted].mean())


def part(experiment: Experiment, number: int) -> Prepared:
    """One of the streams on which services are measured; none of them is the one by which the plan is chosen."""
    return prepared(experiment, PART, seed=100 * experiment.number + number)


def out_of_the_question(experiment: Experiment, plans: Sequence[str], n_events: int) -> dict[str, Services]:
    """Of the plans, those that cannot be the best, with what they take for the first events of the first stream.

    Another plan takes a part (1 / `FAR`) of the time both for an event and for one that ends a match. They are measured
    on these events alone.
    """
    found = measured_on(part(experiment, 0).first(n_events), plans)
    taken = {plan: FAR * np.array([one.mean_s, one.ending_s]) for plan, one in found.items()}
    return {
        plan: one
        for plan, one in found.items()
        if any((of <= (one.mean_s, one.ending_s)).all() for other, of in taken.items() if other != plan)
    }


def measured(experiment: Experiment, plans: Sequence[str], n_parts: int) -> dict[str, Services]:
    """Service times of each plan on all streams: of each event what it took in one run, less what the clock takes.

    The plans take turns, so that where the machine is slow for a while, it is so for all of them.
    """
    parts = [measured_on(part(experiment, number), plans) for number in range(n_parts)] if plans else []
    return {
        plan: Services(
            plan,
            np.concatenate([one[plan].service_s for one in parts]),
            np.concatenate([one[plan].ends for one in parts]),
            np.concatenate([one[plan].final for one in parts]),
        )
        for plan in plans
    }


def measured_on(stream: Prepared, plans: Sequence[str], n_times: int = 1) -> dict[str, Services]:
    """Service times of each plan on one stream; of each event the least of some runs."""
    compiled = {plan: prepare(stream.bound, evaluation=asked_for(stream.bound, plan)) for plan in plans}
    found: dict[str, Services] = {}
    for _ in range(n_times):
        for plan in plans:
            run = trial(compiled[plan], stream.batch)
            assert run is not None
            one = Services(plan, run.services_s, run.ends, run.final)
            found[plan] = found[plan].least(one) if plan in found else one
    return found


def replayed(stream: Prepared, services: Services, arrivals_s: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """A replay in real time, some times over.

    Args:
        stream: the events.
        services: under the plan that is replayed.
        arrivals_s: when each event arrives.

    Returns:
        How long each event took from its arrival until it was done, in seconds, at least; and which of them count:
        those between whose arrival and end, and that of all others that they wait for, the system let no other process
        run in one of the replays.
    """
    runs = [_replayed(stream, services, arrivals_s) for _ in range(N_REPLAYS)]
    # An interruption of some microseconds is no service, and looks like one; it hardly hits an event in every replay.
    taken = np.min([np.where(undisturbed, times, np.inf) for times, undisturbed in runs], axis=0)
    return taken, np.isfinite(taken)


def _replayed(stream: Prepared, services: Services, arrivals_s: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    compiled = prepare(stream.bound, evaluation=asked_for(stream.bound, services.plan))
    events = events_of(compiled, stream.batch)
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
