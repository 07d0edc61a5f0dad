"""The latency of an evaluation plan as the paper estimates it: APAM, Eqs. 1 to 9, with joins by nested loops.

All times are in seconds, all rates are per second. Names in the paper stand in the docstrings.

Deviations: the standard deviation of Eq. 5 is the square root of the sum (`stats.queueing`); of the final variable only
the event that has just arrived is merged, as each final event starts a merging of its own, so |PI| of it is 1 there;
a condition on more than two variables is tested with the first step that knows all of them; the selectivity of the
order of two variables, which the paper does not give, is 1/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cepheid.policies.evaluation.plans import Plan
from cepheid.policies.evaluation.workload import MOST, Workload
from cepheid.stats.queueing import service_moments_s, utilization, waiting_s

ORDER_SELECTIVITY = 0.5
"""SP_Ei;Ej: the chance that of two events the one that must come first does."""


@dataclass(frozen=True)
class UnitCosts:
    """What the parts of a service take, in seconds.

    Attributes:
        predicate_s: T_PE, one predicate.
        result_s: T_RC, one result.
        insertion_s: T_BI, one event into a buffer.
    """

    predicate_s: float
    result_s: float
    insertion_s: float


@dataclass(frozen=True)
class Estimate:
    """What a plan is expected to do.

    Attributes:
        plan: the plan.
        services_s: E[ST_E] of each variable; that of the final one holds the merging.
        arrival_rate_per_s: λ.
        mean_service_s: E[ST] = 1 / μ.
        deviation_s: σ_ST.
        waiting_s: E[QWT]; infinite from ρ = 1 on.
        final_service_s: E[ST_FE].
    """

    plan: Plan
    services_s: Mapping[str, float]
    arrival_rate_per_s: float
    mean_service_s: float
    deviation_s: float
    waiting_s: float
    final_service_s: float

    @property
    def latency_s(self) -> float:
        """E[L] = E[QWT] + E[ST_FE] (Eq. 2, which stands for Eq. 1)."""
        return self.waiting_s + self.final_service_s

    @property
    def utilization(self) -> float:
        """ρ = λ / μ."""
        return utilization(self.arrival_rate_per_s, self.mean_service_s)


def n_instances(workload: Workload, names: Iterable[str], final_arrived: bool = True) -> float:
    """|PI|: the matches of the partial pattern of some variables in a window.

    Args:
        workload: the pattern and the stream.
        names: the variables.
        final_arrived: of the final variable only the event that has just arrived counts.
    """
    members = workload.in_order(names)
    total = 1.0
    for i, name in enumerate(members):
        if not (final_arrived and name == workload.final):
            total *= workload.n_in_window(name)
        for condition in workload.new_conditions(members[:i], name):
            total *= condition.selectivity
        total *= ORDER_SELECTIVITY**i
    return min(total * _same(workload, len(members)), MOST)


def _same(workload: Workload, n_members: int) -> float:
    """The chance that so many events are of one partition."""
    return 1.0 if workload.same is None else workload.same ** max(n_members - 1, 0)


def eager_service_s(workload: Workload, eager: Sequence[str], place: int, costs: UnitCosts) -> float:
    """E[ST] of an event of the eager group (Eq. 6).

    Args:
        workload: the pattern and the stream.
        eager: EEG, in the order of the pattern.
        place: of the variable in it.
        costs: T_PE, T_RC.
    """
    before, name = eager[:place], eager[place]
    waiting = n_instances(workload, before, final_arrived=False)
    conditions = workload.new_conditions(before, name)
    n_conditions = len(conditions) + (workload.same is not None and place > 0)
    passing = math.prod(condition.selectivity for condition in conditions)
    if workload.same is not None and place:
        passing *= workload.same
    return waiting * n_conditions * costs.predicate_s + waiting * passing * costs.result_s


def deferred_service_s(costs: UnitCosts) -> float:
    """E[ST] of an event of the lazy group (Eq. 7)."""
    return costs.insertion_s


def join_s(
    workload: Workload, left: Sequence[str], right: Sequence[str], costs: UnitCosts, final_arrived: bool = True
) -> float:
    """The time of one join of a merging (Eq. 9).

    Args:
        workload: the pattern and the stream.
        left, right: the variables of its two sides.
        costs: T_PE, T_RC.
        final_arrived: see `n_instances`; False for the joins of all that a window holds.
    """
    sides = (n_instances(workload, side, final_arrived) for side in (left, right))
    pairs = min(math.prod(sides), MOST)
    known = {*left, *right}
    across = [
        one
        for one in workload.conditions
        if one.variables <= known and not one.variables <= {*left} and not one.variables <= {*right}
    ]
    n_orders = len(left) * len(right)
    n_conditions = len(across) + n_orders + (workload.same is not None)
    passing = math.prod(one.selectivity for one in across) * ORDER_SELECTIVITY**n_orders
    if workload.same is not None:
        passing *= workload.same
    return min(pairs * n_conditions, MOST) * costs.predicate_s + pairs * passing * costs.result_s


def merging_s(workload: Workload, plan: Plan, costs: UnitCosts) -> float:
    """T_M: the joins that a final event starts, one after the other, from the eager result on."""
    known: tuple[str, ...] = plan.eager
    total = 0.0
    for name in plan.lazy:
        if known:
            total += join_s(workload, known, (name,), costs)
        known = (*known, name)
    return total


def services_s(workload: Workload, plan: Plan, costs: UnitCosts) -> dict[str, float]:
    """E[ST_E] of each variable under a plan (Eqs. 6 to 8)."""
    found = {name: eager_service_s(workload, plan.eager, place, costs) for place, name in enumerate(plan.eager)}
    found |= dict.fromkeys(plan.lazy, deferred_service_s(costs))
    found[workload.final] += merging_s(workload, plan, costs)
    return found


Services = Callable[[Workload, Plan], Mapping[str, float]]
"""Gives E[ST_E] of each variable under a plan."""


def estimated(
    workload: Workload, plan: Plan, services: Mapping[str, float], arrival_rate_per_s: float | None = None
) -> Estimate:
    """The latency of a plan from the service times of its events (Eqs. 2 to 5).

    Args:
        workload: the pattern and the stream.
        plan: the plan.
        services: E[ST_E] of each variable, in seconds.
        arrival_rate_per_s: λ, where events come faster than their times say: infinite where they are all there.
    """
    arrivals = workload.arrival_rate_per_s if arrival_rate_per_s is None else arrival_rate_per_s
    rates = [workload.rates_per_s[name] for name in workload.variables]
    mean, deviation = service_moments_s(rates, [services[name] for name in workload.variables])
    return Estimate(
        plan=plan,
        services_s=services,
        arrival_rate_per_s=arrivals,
        mean_service_s=mean,
        deviation_s=deviation,
        waiting_s=waiting_s(arrivals, mean, deviation),
        final_service_s=services[workload.final],
    )


def estimate(workload: Workload, plan: Plan, costs: UnitCosts) -> Estimate:
    """The latency of a plan, as the paper estimates it."""
    return estimated(workload, plan, services_s(workload, plan, costs))
