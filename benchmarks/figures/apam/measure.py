"""Measures the experiments: what is chosen at each rate, and what each plan takes there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.figures.apam import services as measuring
from benchmarks.figures.apam.experiments import N_FIRST, Choice, Experiment, prepared
from benchmarks.figures.apam.queue import Latency, arrivals, counted, latency
from benchmarks.figures.apam.services import Services, replayed
from cepheid.ports.evaluation import Decision
from cepheid.stats.queueing import waits_s

EAGER = "eager"
UTILIZATIONS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.1, 1.25, 1.5, 2.0)
UTILIZATIONS_QUICK = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.1, 1.5, 2.0)
N_REPLAYED = 80_000
"""Events of a replay in real time."""

OVER = 1.2
"""Beside these, a rate at which even the plan of the fastest service is so much over what it can do."""


@dataclass(frozen=True)
class Point:
    """One rate of one experiment.

    Attributes:
        experiment: its number.
        utilization: of the eager plan.
        rate_per_s: events a second.
        chosen, by_model: the plans that are chosen with trials, and by the cost model alone.
        lazy: the plan in which all variables wait.
        latencies: of all candidate plans.
    """

    experiment: int
    utilization: float
    rate_per_s: float
    chosen: str
    by_model: str
    lazy: str
    latencies: Mapping[str, Latency]

    @property
    def saturated(self) -> bool:
        """Whether events come faster than any plan is done with them."""
        return all(one.utilization >= 1 for one in self.latencies.values())

    def ratio(self, plan: str, *others: str) -> float:
        """How many times the latency of the best of some plans (all, where none is named) that of a plan is."""
        compared = others or tuple(self.latencies)
        return self.latencies[plan].latency_s / min(self.latencies[other].latency_s for other in compared)

    def usual_ratio(self, plan: str, *others: str) -> float:
        """The same of a usual block of the events; see `queue.Latency.usual_s`."""
        compared = others or tuple(self.latencies)
        return self.latencies[plan].usual_s / min(self.latencies[other].usual_s for other in compared)

    @property
    def drained_ratio(self) -> float:
        """How fast the chosen plan is done with events, as a share of the fastest."""
        return min(one.utilization for one in self.latencies.values()) / self.latencies[self.chosen].utilization


@dataclass(frozen=True)
class Measurements:
    """One experiment.

    Attributes:
        experiment: which.
        points: by rate.
        services: of each candidate plan.
        decision: by the cost model, at a low rate.
        replays: (plan, its utilization, latency in virtual time, in real time, of so many events), in seconds.
    """

    experiment: Experiment
    points: tuple[Point, ...]
    services: Mapping[str, Services]
    decision: Decision
    replays: tuple[tuple[str, float, float, float, int], ...]


def measurements(experiment: Experiment, *, quick: bool) -> Measurements:
    """Measure an experiment."""
    n, n_times, seeds = (N_FIRST + 400_000, 3, range(3)) if quick else (N_FIRST + 1_500_000, 4, range(5))
    stream = prepared(experiment, n, seed=experiment.number)
    choice = Choice(stream)
    decision = choice.at(1_000.0, by_model=True)
    services = measuring.measured(stream, [one.plan for one in decision.estimates], n_times)
    lazy = next(plan for plan in services if plan.startswith("/"))
    eager_s = services[EAGER].mean_s
    rates = [u / eager_s for u in (UTILIZATIONS_QUICK if quick else UTILIZATIONS)]
    rates.append(OVER / min(one.mean_s for one in services.values()))
    points = [
        Point(
            experiment=experiment.number,
            utilization=rate * eager_s,
            rate_per_s=rate,
            chosen=choice.at(rate).plan,
            by_model=choice.at(rate, by_model=True).plan,
            lazy=lazy,
            latencies={plan: latency(one, rate, seeds) for plan, one in services.items()},
        )
        for rate in rates
    ]
    replays = []
    for plan in (EAGER, lazy):
        for utilization in (0.1, 0.3):
            rate = utilization / services[plan].mean_s
            one = services[plan].first(N_REPLAYED)
            which, times = counted(one), arrivals(N_REPLAYED, rate, seed=0)
            virtual = waits_s(one.service_s, times) + one.service_s
            real, undisturbed = replayed(stream.first(N_REPLAYED), one, times)
            both = which & undisturbed
            found = (float(virtual[both].mean()), float(real[both].mean())) if both.any() else (np.nan, np.nan)
            replays.append((plan, utilization, *found, int(np.count_nonzero(both))))
    return Measurements(experiment, tuple(points), services, decision, tuple(replays))
