"""Chooses the evaluation plan of a query while it runs, by what is seen of its stream.

Source: APAM, sections 3 and 4: statistics by samples over a sliding window, the l + 1 candidate plans of the optimal
matching order, the plan of the lowest estimated latency. Ours: what joins cost in this engine (`indexed_joins`), the
order in which the lazy variables of a plan are joined (the best one after the final event, which comes first here),
hysteresis, and a limit on the time that choosing itself may take.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cepheid.errors import SetupError
from cepheid.policies.evaluation.choice import Hysteresis, best
from cepheid.policies.evaluation.cost_model import Estimate, estimated
from cepheid.policies.evaluation.fitting import machine_model
from cepheid.policies.evaluation.indexed_joins import IndexedJoins
from cepheid.policies.evaluation.matching_order import MOST_EXACT, greedy_order, matching_order, optimal_order
from cepheid.policies.evaluation.plans import Plan, candidates
from cepheid.policies.evaluation.workload import Condition, Loop, Workload
from cepheid.ports.evaluation import Decision, Measure, Pattern, PlanEstimate, Sampled
from cepheid.stats.sliding import SlidingSums, share

N_PERIODS = 10
"""Sampling periods between two choices, at least."""

EVENTS_A_PERIOD = 10_000
"""A sampling period where no window says how long one should be."""

FEWEST_EVENTS = 200
"""Events that the first choice waits for."""

EAGER = "eager"


@dataclass(frozen=True)
class Options:
    """How a plan is chosen.

    Attributes:
        sampling_period_us: event time between two samples; None for a tenth of the window. Where the window counts
            events, so does the period: `sampling_period_events`.
        sampling_period_events: the same in events; None for a tenth of the window, or `EVENTS_A_PERIOD` without one.
        hysteresis: how much better another plan must be.
        most_cost_ratio: the share of its time that a process spends on samples and choices, at most.
        clock: seconds; what they took is measured with it.
    """

    sampling_period_us: int | None = None
    sampling_period_events: int | None = None
    hysteresis: Hysteresis = field(default_factory=Hysteresis)
    most_cost_ratio: float = 0.01
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            SetupError: one of them does not do.
        """
        for name in ("sampling_period_us", "sampling_period_events"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SetupError(f"{name}={value!r} is no period", remedy="give 1 or more, or None")
        if not self.most_cost_ratio > 0:
            raise SetupError(f"most_cost_ratio={self.most_cost_ratio!r} lets nothing be chosen", remedy="give 0.01")


class AdaptiveEvaluation:
    """Chooses between the evaluation plans of a pattern; see `ports.evaluation.Chooser`."""

    def __init__(self, pattern: Pattern, measure: Measure, options: Options | None = None) -> None:
        """Begin without knowing anything of the stream.

        Args:
            pattern: the pattern.
            measure: gives what work costs on this machine.
            options: how a plan is chosen.
        """
        self._pattern = pattern
        self._options = options or Options()
        self._model = machine_model(measure, pattern.kernel)
        self._counts_events = pattern.within_us is None
        self.period, self.between = self._periods()
        self._sums = SlidingSums(self.between)
        self._sampled_us: int | None = None
        self._since_choice = 0.0
        self._chosen = False
        self._elapsed_us = 0
        self._began_s = self._options.clock()
        self._asked_s = self._began_s
        self._spent_s = 0.0

    def _periods(self) -> tuple[float, float]:
        """A sampling period, and what must lie between two choices: us, or events where there is no window of time."""
        pattern, options = self._pattern, self._options
        if pattern.within_us is not None:
            window, period = float(pattern.within_us), options.sampling_period_us
        else:
            window, period = float(pattern.within_events or 0), options.sampling_period_events
        usual = window / N_PERIODS if window else float(EVENTS_A_PERIOD)
        length = max(usual if period is None else float(period), 1.0)
        return length, max(window, N_PERIODS * length)

    def wants(self, time_us: int, n_events: int) -> bool:
        """See `ports.evaluation.Chooser.wants`."""
        if n_events < 1:
            return False
        if self._sampled_us is None:
            self._sampled_us = time_us  # where the first period begins
        passed = float(n_events if self._counts_events else time_us - self._sampled_us)
        if self._pattern.at_once:
            return True
        if passed < self.period and (self._chosen or n_events < FEWEST_EVENTS):
            return False
        now = self._options.clock()
        if self._spent_s > self._options.most_cost_ratio * max(now - self._began_s, 0.0) and self._spent_s > 0:
            return False
        self._asked_s = now
        return True

    def decide(self, sampled: Sampled, current: str) -> Decision | None:
        """See `ports.evaluation.Chooser.decide`."""
        self._sampled_us = sampled.until_us
        n = float(sampled.n_events)
        elapsed_us = max(sampled.elapsed_us, 0)
        self._elapsed_us += elapsed_us
        length = n if self._counts_events else float(elapsed_us)
        fits = n * np.array(sampled.shares)
        held = [count for pair in (*sampled.held, *((sampled.same,) if sampled.same else ())) for count in pair]
        self._sums.add(length, np.array([elapsed_us, n, *fits, *held]))
        self._since_choice += length
        decision = None
        if self._is_time():
            decision = self._choose(sampled.until_us, current)
            self._since_choice, self._chosen = 0.0, True
        self._spent_s += max(self._options.clock() - self._asked_s, 0.0)
        return decision

    def _is_time(self) -> bool:
        if self._pattern.at_once:
            return True
        if self._chosen:
            return self._since_choice >= self.between
        return self._since_choice >= self.between or float(self._sums.sums()[1]) >= FEWEST_EVENTS

    def _choose(self, time_us: int, current: str) -> Decision:
        workload = self.workload()
        estimates = estimates_of(workload, self._model, at_once=self._pattern.at_once)
        by_text = {text_of(workload, one.plan): one for one in estimates}
        running = by_text.get(current)
        chosen = self._options.hysteresis.choose(estimates, None if running is None else running.plan)
        return Decision(
            time_us=time_us,
            before=current,
            plan=text_of(workload, chosen.plan),
            estimates=tuple(_told(text, one) for text, one in by_text.items()),
            rates_per_s={name: workload.rates_per_s[name] for name in workload.variables},
            selectivities=tuple(one.selectivity for one in workload.conditions),
        )

    def workload(self) -> Workload:
        """What is known of the stream."""
        pattern, sums = self._pattern, self._sums.sums()
        n = len(pattern.variables)
        n_events = max(float(sums[1]), 1.0)
        elapsed_s = float(sums[0]) / 1e6
        if elapsed_s <= 0.0:  # all came at one time: a microsecond apart, which is as close as times can be
            elapsed_s = n_events / 1e6
        rates = {name: float(fits) / elapsed_s for name, fits in zip(pattern.variables, sums[2 : 2 + n], strict=True)}
        pairs = sums[2 + n :].reshape(-1, 2)
        same = share(*pairs[-1]) if pattern.same else None
        if pattern.within_us is not None:
            window_s = pattern.within_us / 1e6
        elif pattern.within_events is not None:
            # So many events of a partition: of all events, as many more as there are partitions.
            window_s = pattern.within_events * elapsed_s / n_events / (same or 1.0)
        else:
            window_s = max(self._elapsed_us / 1e6, elapsed_s)
        return Workload(
            variables=pattern.variables,
            rates_per_s=rates,
            window_s=window_s,
            conditions=tuple(
                Condition(variables, share(*pair), form)
                for (variables, form), pair in zip(pattern.conditions, pairs, strict=False)
            ),
            same=same,
            loops={name: Loop(*bounds) for name, bounds in pattern.loops.items()},
        )


def plans_of(workload: Workload, model: IndexedJoins) -> list[Plan]:
    """The candidate plans as this engine runs them: those of the paper, what waits joined in the best order.

    Args:
        workload: the pattern and the stream.
        model: what joins cost.
    """
    final = workload.final
    known: dict[tuple[frozenset[str], str], float] = {}

    def cost(before: tuple[str, ...], name: str) -> float:
        key = frozenset(before), name
        if key not in known:
            known[key] = model.joined_s(workload, before, name)
        return known[key]

    found: dict[Plan, None] = {}
    for plan in candidates(workload.variables, matching_order(workload, model.nested_costs)):
        eager = tuple(name for name in plan.eager if name != final)
        rest = workload.in_order(name for name in plan.lazy if name != final)
        if len(workload.variables) <= MOST_EXACT:
            lazy = optimal_order(rest, cost, known=eager)
        else:
            lazy = greedy_order(workload, known=(*eager, final))
        found[Plan(eager, lazy)] = None
    return list(found)


def estimates_of(workload: Workload, model: IndexedJoins, *, at_once: bool = False) -> list[Estimate]:
    """What each of the candidate plans is expected to do.

    Args:
        workload: the pattern and the stream.
        model: what services take.
        at_once: events come faster than any plan can serve them.
    """
    rate = float("inf") if at_once else None
    return [estimated(workload, plan, model.services_s(workload, plan), rate) for plan in plans_of(workload, model)]


def chosen_plan(workload: Workload, model: IndexedJoins) -> Estimate:
    """The best of the candidate plans."""
    return best(estimates_of(workload, model))


def text_of(workload: Workload, plan: Plan) -> str:
    """A plan as `cepheid.Settings` takes it."""
    return str(plan) if any(name != workload.final for name in plan.lazy) else EAGER


def _told(text: str, estimate: Estimate) -> PlanEstimate:
    mean = estimate.mean_service_s
    return PlanEstimate(
        plan=text,
        waiting_s=estimate.waiting_s,
        service_s=estimate.final_service_s,
        events_per_s=1 / mean if mean > 0 else float("inf"),
        utilization=estimate.utilization,
    )
