"""Measures the experiments: what is chosen at each rate, and what each plan takes there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.figures.apam import services as measuring
from benchmarks.figures.apam.experiments import Choice, Experiment
from benchmarks.figures.apam.queue import Latency, arrivals, latency, ratio_between
from benchmarks.figures.apam.services import Services, part, replayed
from cepheid.ports.evaluation import Decision
from cepheid.stats.queueing import waits_s

EAGER = "eager"
UTILIZATIONS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.1, 1.25, 1.5, 2.0)
UTILIZATIONS_QUICK = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.1, 1.5, 2.0)
N_REPLAYED = 30_000
"""Events of a replay in real time."""

LONGER = 3
"""A whole run has so many times the decisions and the streams of a quick one."""

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
    def near(self) -> tuple[str, ...]:
        """The plans that were measured on all streams: of the others, none comes near them."""
        most = max(len(one.counts) for one in self.latencies.values())
        return tuple(plan for plan, one in self.latencies.items() if len(one.counts) == most)

    @property
    def best(self) -> str:
        """The plan of the least latency."""
        return min(self.near, key=lambda plan: self.latencies[plan].latency_s)

    @property
    def saturated(self) -> bool:
        """Whether events come faster than any plan is done with them."""
        return all(one.utilization >= 1 for one in self.latencies.values())

    def ratio(self, plan: str, *others: str) -> float:
        """How many times the latency of the best of some plans (`near`, where none is named) that of a plan is."""
        compared = others or self.near
        return self.latencies[plan].latency_s / min(self.latencies[other].latency_s for other in compared)

    def ratio_between(self, plan: str, *others: str) -> tuple[float, float]:
        """That, less and more two standard errors; see `queue.ratio_between`."""
        compared = others or self.near
        return ratio_between(self.latencies[plan], [self.latencies[other] for other in compared])

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
    longer = 1 if quick else LONGER
    choice = Choice(experiment, longer * experiment.n_decisions)
    decision = choice.at(1_000.0, by_model=True)
    plans = [one.plan for one in decision.estimates]
    services = measuring.measured(experiment, plans, longer * experiment.n_parts)
    lazy = next(plan for plan in services if plan.startswith("/"))
    eager_s = services[EAGER].mean_s
    rates = [u / eager_s for u in (UTILIZATIONS_QUICK if quick else UTILIZATIONS)]
    rates.append(OVER / min(one.mean_s for one in services.values()))
    chosen = {rate: (choice.at(rate).plan, choice.at(rate, by_model=True).plan) for rate in rates}
    # Samples tell another order of the joins now and then, and what is chosen is none of the plans that were measured.
    others = dict.fromkeys(plan for both in chosen.values() for plan in both if plan not in services)
    services |= measuring.measured_in_full(experiment, list(others), longer * experiment.n_parts)
    points = [
        Point(
            experiment=experiment.number,
            utilization=rate * eager_s,
            rate_per_s=rate,
            chosen=chosen[rate][0],
            by_model=chosen[rate][1],
            lazy=lazy,
            latencies={plan: latency(one, rate) for plan, one in services.items()},
        )
        for rate in rates
    ]
    replays, stream = [], part(experiment, 0)
    for plan in (EAGER, lazy):
        for utilization in (0.1, 0.3):
            rate = utilization / services[plan].mean_s
            one = services[plan].first(N_REPLAYED)
            which, times = one.ends & one.late, arrivals(N_REPLAYED, rate, seed=0)
            virtual = waits_s(one.service_s, times) + one.service_s
            real, undisturbed = replayed(stream.first(N_REPLAYED), one, times)
            both = which & undisturbed
            found = (float(virtual[both].mean()), float(real[both].mean())) if both.any() else (np.nan, np.nan)
            replays.append((plan, utilization, *found, int(np.count_nonzero(both))))
    return Measurements(experiment, tuple(points), services, decision, tuple(replays))
