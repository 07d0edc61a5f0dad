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
UTILIZATIONS_QUICK = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.1, 2.0)
N_REPLAYED = 30_000
"""Events of a replay in real time."""

LONGER = 3
"""A whole run has so many times the decisions and the streams of a quick one, and they are so many times as long where
plans are out of the question."""

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
        latencies: of all candidate plans, of each event the less it took in two runs, with the events by which the
            plan was chosen; an interruption that hits a run once is none of them.
        turns: the same of the plans near the best, as they were measured before the plan was chosen, after it, with
            plans as fast beside each other as they were in the trials by which it was chosen, and on the events of
            these trials alone.
    """

    experiment: int
    utilization: float
    rate_per_s: float
    chosen: str
    by_model: str
    lazy: str
    latencies: Mapping[str, Latency]
    turns: tuple[Mapping[str, Latency], ...] = ()

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
        """That, less and more three standard errors, by the least times and by each turn; see `queue.ratio_between`.

        A machine is faster and slower for minutes, and more so for plans that keep much: by 15 % in the mean, which
        near saturation is fifty times in the latency. And where the latencies of two plans cross, the ratio of one
        stream of half a million events is 0.2, that of another 4.5. What is chosen is wrong where it is so by all of
        them; where it is so by some, it is undecided, and there may be few such points.
        """
        compared = [other for other in others if other in self.near] or self.near
        found = [
            ratio_between(of[plan], [of[other] for other in compared if other in of] or [*of.values()])
            for of in (self.latencies, *self.turns)
            if plan in of
        ]
        return min(low for low, _ in found), max(high for _, high in found)

    @property
    def drained_ratio(self) -> float:
        """How fast the chosen plan is done with events, as a share of the fastest, in the turn that shows the more."""
        found = [of for of in (*self.turns, self.latencies) if self.chosen in of]
        return max(min(one.utilization for one in of.values()) / of[self.chosen].utilization for of in found)


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
    n_parts = longer * experiment.n_parts
    services = measuring.out_of_the_question(experiment, plans, longer * measuring.N_SHORT)
    near = [plan for plan in plans if plan not in services]
    before = measuring.measured(experiment, near, n_parts)
    services |= before
    lazy = next(plan for plan in plans if plan.startswith("/"))
    eager_s = services[EAGER].mean_s
    rates = [u / eager_s for u in (UTILIZATIONS_QUICK if quick else UTILIZATIONS)]
    rates.append(OVER / min(one.mean_s for one in services.values()))
    decisions = {rate: choice.at(rate) for rate in rates}
    chosen = {rate: (one.plan, choice.at(rate, by_model=True).plan) for rate, one in decisions.items()}
    # Samples tell another order of the joins now and then, and what is chosen is none of the plans that were measured.
    others = dict.fromkeys(one for one, _ in chosen.values() if one not in before)
    others |= dict.fromkeys(one for _, one in chosen.values() if one not in services)
    after = measuring.measured(experiment, [*near, *others], n_parts)
    own = measuring.measured_on(choice.stream, [*near, *others], n_times=2)
    services |= {
        plan: (one.least(before[plan]) if plan in before else one).then(own[plan]) for plan, one in after.items()
    }
    points = [
        Point(
            experiment=experiment.number,
            utilization=rate * services[EAGER].mean_s,
            rate_per_s=rate,
            chosen=chosen[rate][0],
            by_model=chosen[rate][1],
            lazy=lazy,
            latencies={plan: latency(one, rate) for plan, one in services.items()},
            turns=tuple(
                {plan: latency(one, rate) for plan, one in turn.items()}
                for turn in (before, after, _as_tried({plan: services[plan] for plan in after}, decisions[rate]), own)
            ),
        )
        for rate in rates
    ]
    replays, stream = [], part(experiment, 0)
    for plan in (EAGER, lazy):
        for utilization in (0.1, 0.3):
            rate = utilization / services[plan].mean_s
            one = services[plan].first(N_REPLAYED)
            which, times = one.ends & one.late, arrivals(N_REPLAYED, rate)
            virtual = waits_s(one.service_s, times) + one.service_s
            real, undisturbed = replayed(stream.first(N_REPLAYED), one, times)
            both = which & undisturbed
            found = (float(virtual[both].mean()), float(real[both].mean())) if both.any() else (np.nan, np.nan)
            replays.append((plan, utilization, *found, int(np.count_nonzero(both))))
    return Measurements(experiment, tuple(points), services, decision, tuple(replays))


def _as_tried(services: Mapping[str, Services], decision: Decision) -> dict[str, Services]:
    """Services of plans that were tried, as fast beside those of the fastest of them as they were in the trials."""
    took = {one.plan: 1 / one.events_per_s for one in decision.estimates if one.tried and one.plan in services}
    if not took:
        return dict(services)
    first = min(took, key=took.__getitem__)
    as_fast = {plan: services[first].mean_s * mean_s / took[first] for plan, mean_s in took.items()}
    return {plan: one.times(as_fast.get(plan, one.mean_s) / one.mean_s) for plan, one in services.items()}
