"""Chooses the evaluation plan of a query while it runs, by what is seen of its stream.

Source: APAM, sections 3 and 4: statistics by samples over a sliding window, the l + 1 candidate plans of the optimal
matching order, the plan of the lowest estimated latency. Ours: what joins cost in this engine (`indexed_joins`), the
order in which the lazy variables of a plan are joined (the best one after the final event, which comes first here),
hysteresis, and a limit on the time that choosing itself may take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cepheid.errors import SetupError
from cepheid.policies.evaluation.choice import Hysteresis
from cepheid.policies.evaluation.cost_model import Estimate, estimated
from cepheid.policies.evaluation.fitting import machine_model
from cepheid.policies.evaluation.indexed_joins import IndexedJoins
from cepheid.policies.evaluation.matching_order import MOST_EXACT, greedy_order, matching_order, optimal_order
from cepheid.policies.evaluation.plans import Plan, candidates
from cepheid.policies.evaluation.trying import Evidence, in_turns, leaders, shortlist
from cepheid.policies.evaluation.workload import Condition, Loop, Workload
from cepheid.ports.evaluation import Decision, Measure, Pattern, PlanEstimate, Sampled
from cepheid.stats.sliding import SlidingSums, share

N_PERIODS = 10
"""Sampling periods between two choices, at least."""

EVENTS_A_PERIOD = 10_000
"""A sampling period where no window says how long one should be."""

FEWEST_EVENTS = 200
"""Events that the first choice waits for."""

JUMP, FEWEST_IN_JUMP = 3.0, 50
"""A sample whose rate is so many times that of the average, or its inverse, begins a new average of rates; it must have
so many events."""

WINDOWS_TRIED = 4
"""Plans are tried on the last events where these are so many windows, at least."""

MOST_WAITED = 100_000
"""Where plans were tried before a snapshot, so many events are waited for until they can be tried again."""

FORMAT = 1
"""Of what `AdaptiveEvaluation.remembered` gives."""

EAGER = "eager"


@dataclass(frozen=True)
class Options:
    """How a plan is chosen.

    Attributes:
        sampling_period_us: event time between two samples; None for a tenth of the window. Where the window counts
            events, so does the period: `sampling_period_events`.
        sampling_period_events: the same in events; None for a tenth of the window, or `EVENTS_A_PERIOD` without one.
        hysteresis: how much better another plan must be.
        most_cost_ratio: the share of its time that a process spends on samples and choices, at most, and as much again
            on trials; when the rate of events jumps, they are made all the same.
        clock: seconds; what they took is measured with it.
    """

    sampling_period_us: int | None = None
    sampling_period_events: int | None = None
    hysteresis: Hysteresis = field(default_factory=Hysteresis)
    most_cost_ratio: float = 0.005
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
            raise SetupError(f"most_cost_ratio={self.most_cost_ratio!r} lets nothing be chosen", remedy="give 0.005")


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
        self._measure = measure
        self._model = machine_model(measure, pattern.kernel)
        self._counts_events = pattern.within_us is None
        self.period, self.between = self._periods()
        self._rates = SlidingSums(self.between)
        self._held = SlidingSums(self.between)
        self._n_since_jump = 0
        self._sampled_us: int | None = None
        self._since_choice = 0.0
        self._chosen = False
        self._has_tried = False
        self._evidence = Evidence()
        self._n_waited: int | None = None
        self._elapsed_us = 0
        self._began_s = self._options.clock()
        self._asked_s = self._began_s
        self._spent_s = 0.0
        self._tried_s = 0.0
        self._jumped = False

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
            return self._model is not None
        if passed < self.period and (self._chosen or n_events < FEWEST_EVENTS):
            return False
        if self._model is None:  # the kernels were not ready to be measured; what that takes is no cost of choosing
            self._model = machine_model(self._measure, self._pattern.kernel)
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
        if self._jumps(n, elapsed_us):
            self._rates, self._n_since_jump = SlidingSums(self.between), 0
            self._evidence.clear()
            self._n_waited, self._jumped = None, True
        if self._n_waited is not None:
            self._n_waited += sampled.n_events
        self._n_since_jump += sampled.n_events
        self._rates.add(length, np.array([elapsed_us, n, *fits]))
        self._held.add(length, np.array(held, np.float64))
        self._since_choice += length
        decision, tried_s = None, self._tried_s
        may_try = self._jumped or self._tried_s <= self._options.most_cost_ratio * (self._asked_s - self._began_s)
        if self._model is not None and self._is_time() and may_try and not self._waits_for_trials(sampled):
            decision = self._choose(sampled, current, self._model)
            self._since_choice, self._chosen, self._jumped = 0.0, True, False
        self._spent_s += max(self._options.clock() - self._asked_s - (self._tried_s - tried_s), 0.0)
        return decision

    def _jumps(self, n: float, elapsed_us: int) -> bool:
        """Whether the rate of a sample is another one than before: then the average is begun anew."""
        if not self._rates.n_samples or n < FEWEST_IN_JUMP:
            return False
        before = self._rates.sums()
        ratio = (n / max(elapsed_us, 1)) / (max(float(before[1]), 1.0) / max(float(before[0]), 1.0))
        return ratio > JUMP or ratio < 1 / JUMP

    def _is_time(self) -> bool:
        if self._pattern.at_once:
            return True
        if self._chosen:
            return self._since_choice >= self.between
        return self._since_choice >= self.between or float(self._rates.sums()[1]) >= FEWEST_EVENTS

    def _waits_for_trials(self, sampled: Sampled) -> bool:
        """Whether plans were tried before a snapshot, and will be again when there are enough events.

        What runs was chosen by what trials took; the cost model alone knows less.
        """
        if self._n_waited is None:
            return False
        for_nothing = not self._has_tried or sampled.trial is None or self._n_waited >= MOST_WAITED
        if for_nothing or sampled.n_recent >= self._fewest_recent():
            self._n_waited = None
        return self._n_waited is not None

    def _fewest_recent(self) -> float:
        """Events on which plans are tried, at least."""
        workload = self.workload()
        return WINDOWS_TRIED * workload.arrival_rate_per_s * workload.window_s

    def remembered(self) -> dict[str, Any]:
        """See `ports.evaluation.RemembersStream.remembered`."""
        return {
            "format": FORMAT,
            "between": self.between,
            "rates": [[length, values.tolist()] for length, values in self._rates.samples],
            "held": [[length, values.tolist()] for length, values in self._held.samples],
            "n_since_jump": self._n_since_jump,
            "sampled_us": self._sampled_us,
            "since_choice": self._since_choice,
            "elapsed_us": self._elapsed_us,
            "chosen": self._chosen,
            "tried": self._has_tried,
        }

    def remember(self, said: Mapping[str, Any]) -> None:
        """See `ports.evaluation.RemembersStream.remember`."""
        pattern = self._pattern
        lengths = {
            "rates": 2 + len(pattern.variables),
            "held": 2 * (len(pattern.conditions) + (1 if pattern.same else 0)),
        }
        fits = all(len(values) == n for name, n in lengths.items() for _, values in said.get(name, []))
        if said.get("format") != FORMAT or said["between"] != self.between or not fits:
            return  # of another version, or with other options: it learns anew
        for sums, name in ((self._rates, "rates"), (self._held, "held")):
            for length, values in said[name]:
                sums.add(length, np.array(values, np.float64))
        self._n_since_jump, self._sampled_us = said["n_since_jump"], said["sampled_us"]
        self._since_choice, self._elapsed_us = said["since_choice"], said["elapsed_us"]
        self._chosen, self._has_tried = said["chosen"], said["tried"]
        self._n_waited = 0

    def _choose(self, sampled: Sampled, current: str, model: IndexedJoins) -> Decision:
        workload = self.workload()
        estimates = estimates_of(workload, model, at_once=self._pattern.at_once, also=plan_of(workload, current))
        by_text = {text_of(workload, one.plan): one for one in estimates}
        tried = self._tried(workload, by_text, sampled, current)
        self._has_tried = bool(tried)
        by_text |= tried
        running = by_text.get(current)
        compared = list((tried or by_text).values())
        chosen = self._options.hysteresis.choose(compared, None if running is None else running.plan)
        return Decision(
            time_us=sampled.until_us,
            before=current,
            plan=text_of(workload, chosen.plan),
            estimates=tuple(_told(text, one, text in tried) for text, one in by_text.items()),
            rates_per_s={name: workload.rates_per_s[name] for name in workload.variables},
            selectivities=tuple(one.selectivity for one in workload.conditions),
        )

    def _tried(
        self, workload: Workload, estimates: Mapping[str, Estimate], sampled: Sampled, current: str
    ) -> dict[str, Estimate]:
        """What trials say of the plans that may be the best; none where there were too few events for trials.

        Services depend on each other: where a window holds many partial matches, all its events take long, and the
        queue grows while a formula for independent services says that there is none. Trials show that.
        """
        in_window = workload.arrival_rate_per_s * workload.window_s
        # Events from before a jump found another number of events in a window of time.
        n_alike = sampled.n_recent if self._counts_events else min(sampled.n_recent, self._n_since_jump)
        if self._pattern.at_once or sampled.trial is None or n_alike < WINDOWS_TRIED * in_window:
            return {}
        rate = workload.arrival_rate_per_s
        goes_on = self._evidence.goes_on(rate, current)
        names = self._evidence.names(leaders(estimates), current) if goes_on else shortlist(estimates, current)
        if names == [current]:  # a trial of what runs, with nothing to be compared with, would be for nothing
            return {}
        began_s = self._options.clock()
        trials = in_turns(sampled.trial, names, self._evidence.usual_s())
        if trials is None:
            return {}
        found = self._evidence.add(estimates, trials, round(in_window), n_alike / max(sampled.n_recent, 1))
        self._tried_s += max(self._options.clock() - began_s, 0.0)
        return found

    def workload(self) -> Workload:
        """What is known of the stream."""
        pattern, sums = self._pattern, self._rates.sums()
        n_events = max(float(sums[1]), 1.0)
        elapsed_s = float(sums[0]) / 1e6
        if elapsed_s <= 0.0:  # all came at one time: a microsecond apart, which is as close as times can be
            elapsed_s = n_events / 1e6
        rates = {name: float(fits) / elapsed_s for name, fits in zip(pattern.variables, sums[2:], strict=True)}
        pairs = self._held.sums().reshape(-1, 2)
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


def estimates_of(
    workload: Workload, model: IndexedJoins, *, at_once: bool = False, also: Plan | None = None
) -> list[Estimate]:
    """What each of the candidate plans is expected to do.

    Args:
        workload: the pattern and the stream.
        model: what services take.
        at_once: events come faster than any plan can serve them.
        also: one more plan. What runs was a candidate once, and the stream may name another order now; what is not
            compared with it may be worse.
    """
    rate = float("inf") if at_once else None
    plans = plans_of(workload, model)
    if also is not None and also not in plans:
        plans.append(also)
    return [estimated(workload, plan, model.services_s(workload, plan), rate) for plan in plans]


def text_of(workload: Workload, plan: Plan) -> str:
    """A plan as `cepheid.Settings` takes it."""
    return str(plan) if any(name != workload.final for name in plan.lazy) else EAGER


def plan_of(workload: Workload, text: str) -> Plan | None:
    """The plan of such a text; None for the eager one, which is always a candidate."""
    if text == EAGER:
        return None
    eager, lazy = text.split("/")
    return Plan(tuple(eager.split()), tuple(lazy.split()))


def _told(text: str, estimate: Estimate, is_tried: bool) -> PlanEstimate:
    mean = estimate.mean_service_s
    return PlanEstimate(
        plan=text,
        waiting_s=estimate.waiting_s,
        service_s=estimate.final_service_s,
        events_per_s=1 / mean if mean > 0 else float("inf"),
        utilization=estimate.utilization,
        tried=is_tried,
    )
