"""The paper's simulations of workloads (INEv, section 7.2), on networks and queries drawn at random: Figures 8 on."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.figures.inev.experiments import drawn
from cepheid.network.cost import centralized_cost, transmission_cost
from cepheid.network.forwarding import Forwarding
from cepheid.network.generate import NetworkSettings
from cepheid.network.planner import Plan, PlanSettings, plan_workload
from cepheid.network.queries import NetworkQuery, Workload
from cepheid.network.repair import harmful_projections, invalid_partitions, repair

SIZES = (4, 6)
"""Types of a query of Figure 8: the fewest and the most. The paper does not say how many."""


def mixed(seed: int, settings: NetworkSettings, n_queries: int) -> float:
    """Figure 8: the ratio of a workload, a third of it with loops and a third with NOT."""
    return plan_workload(_mixed(seed, settings, n_queries)).ratio


def _mixed(seed: int, settings: NetworkSettings, n_queries: int) -> Workload:
    return drawn(seed, settings, 0.01, n_queries=n_queries, n_types=SIZES, mixed=True)


@dataclass(frozen=True)
class Conflicts:
    """Why a workload over few types saves little.

    Attributes:
        ratio: of the plan.
        excluded: of the plan when conflicts are excluded as in section 6.3.
        mean_alone: of plans for each query alone, each over its own centralized cost, on average.
        n_types: that the workload reads.
        n_wanted: types that some query, planned alone, is split by.
        n_conflicts: those of them whose events another query, planned alone, sends.
        part: of the events of the workload that conflicting types have.
    """

    ratio: float
    excluded: float
    mean_alone: float
    n_types: int
    n_wanted: int
    n_conflicts: int
    part: float


def conflicts(seed: int, n_types: int, n_queries: int) -> Conflicts:
    """Figure 8a, in numbers: which types some queries would be split by, and others send."""
    workload = _mixed(seed, NetworkSettings(n_types=n_types), n_queries)
    alone = [plan_workload(with_queries(workload, (query,))) for query in workload.queries]
    wanted = {kind for plan in alone for kind in plan.combination.partition.values()}
    sent = {
        next(iter(vertex.projection.types))
        for plan in alone
        for vertex in plan.graph.vertices
        if vertex.projection.is_primitive and vertex.sends
    }
    both = wanted & sent
    rates = {kind: workload.network.global_rate(kind) for kind in workload.types}
    return Conflicts(
        plan_workload(workload).ratio,
        plan_workload(workload, PlanSettings(exclude_conflicts=True)).ratio,
        float(np.mean([plan.ratio for plan in alone])),
        len(workload.types),
        len(wanted),
        len(both),
        sum(rates[kind] for kind in both) / sum(rates.values()),
    )


@dataclass(frozen=True)
class Shared:
    """What sharing saves.

    Attributes:
        together: cost of one plan for all queries, over the centralized cost of all.
        apart: the sum of the costs of a plan for each query alone, over the same.
        dearest: that of the dearest query alone, over the same: no plan for all can cost less than the least plan for
            this one.
    """

    together: float
    apart: float
    dearest: float


def sharing(seed: int, n_queries: int, sizes: tuple[int, int]) -> Shared:
    """Figure 10a: over ten types; queries of so many types, the fewest and the most."""
    unbounded = PlanSettings(max_latency=math.inf)
    workload = drawn(seed, NetworkSettings(n_types=10), 0.01, n_queries=n_queries, n_types=sizes)
    alone = [plan_workload(with_queries(workload, (query,)), unbounded).cost for query in workload.queries]
    plan = plan_workload(workload, unbounded)
    whole = plan.centralized.cost
    return Shared(plan.cost / whole, sum(alone) / whole, max(alone) / whole)


def with_queries(workload: Workload, queries: tuple[NetworkQuery, ...]) -> Workload:
    """The same network and selectivities with other queries."""
    return Workload(workload.network, queries, workload.selectivities)


def orders(seed: int, n_queries: int, sizes: tuple[int, int], n_orders: int) -> tuple[float, float]:
    """Figure 10b: the standard deviation of the ratio over orders of the queries, of workloads as for Figure 10a.

    Returns:
        Of queries that are split as they come, one after the other, as in the paper; and of two orders of the queries
        planned together.
    """
    workload = drawn(seed, NetworkSettings(n_types=10), 0.01, n_queries=n_queries, n_types=sizes)
    rng = np.random.default_rng(seed)
    drawn_orders = [rng.permutation(n_queries) for _ in range(n_orders)]
    shuffled = [
        with_queries(workload, tuple(workload.queries[int(place)] for place in order)) for order in drawn_orders
    ]
    one_by_one = [plan_workload(other, PlanSettings(incremental=True)).ratio for other in shuffled]
    together = [plan_workload(other).ratio for other in shuffled[:2]]
    return float(np.std(one_by_one)), float(np.std(together))


def swapped(rates: dict[str, float], part: float) -> dict[str, float]:
    """Rates swapped from the middle outwards: 0 for none, 1 for all (the most frequent type becomes the rarest)."""
    kinds = sorted(rates, key=lambda kind: (rates[kind], kind))
    n_pairs = round(part * (len(kinds) // 2))
    middle = len(kinds) // 2
    result = dict(rates)
    for step in range(n_pairs):
        one, other = kinds[middle - 1 - step], kinds[len(kinds) - middle + step]
        result[one], result[other] = rates[other], rates[one]
    return result


@dataclass(frozen=True)
class Swapped:
    """What became of a plan when rates were swapped.

    Attributes:
        harmful: the part of its projections (no queries) that match more often than their inputs come.
        invalid: the part of its multi-node placements for which Eq. 1 does not hold.
        broken: its ratio, left as it is.
        repaired: its ratio, repaired.
    """

    harmful: float
    invalid: float
    broken: float
    repaired: float


def swaps(seed: int, parts: Sequence[float], scale: float, n_queries: int) -> list[Swapped]:
    """Figures 9a to 9d: over 20 types, one for each part of the rates that is swapped."""
    workload = drawn(seed, NetworkSettings(n_types=20), scale, n_queries=n_queries, n_types=(3, 5))
    plan = plan_workload(workload)
    return [_swapped(plan, workload, part) for part in parts]


def _swapped(plan: Plan, workload: Workload, part: float) -> Swapped:
    other = workload.with_network(workload.network.with_rates(swapped(dict(workload.network.rates), part)))
    found = repair(plan, other)
    whole = least_centralized(other)
    projections = [one for one in plan.combination.inputs if one not in workload.sinks]
    harmful = harmful_projections(other, plan.combination)
    invalid = invalid_partitions(other, Forwarding(other), plan.combination)
    return Swapped(
        len(harmful) / len(projections) if projections else 0.0,
        len(invalid) / len(plan.combination.partition) if plan.combination.partition else 0.0,
        transmission_cost(found.broken) / whole,
        transmission_cost(found.repaired) / whole,
    )


def variances(seed: int, parts: Sequence[float], n_queries: int) -> list[float]:
    """Figure 9e: the repaired ratio under other rates over that under the rates planned with; none where that is 0.

    Each rate is drawn evenly from so much below to so much above what was planned with.
    """
    workload = drawn(seed, NetworkSettings(n_types=20), 0.01, n_queries=n_queries, n_types=(3, 5))
    plan = plan_workload(workload)
    if not plan.ratio:
        return []
    rng = np.random.default_rng(seed)
    found = []
    for part in parts:
        rates = {kind: rate * rng.uniform(1 - part, 1 + part) for kind, rate in workload.network.rates.items()}
        other = workload.with_network(workload.network.with_rates(rates))
        cost = transmission_cost(repair(plan, other).repaired)
        found.append(cost / least_centralized(other) / plan.ratio)
    return found


def least_centralized(workload: Workload) -> float:
    """The cost of all events at the site where that is least."""
    return min(centralized_cost(workload, node) for node in workload.network.nodes)


def latencies(seed: int, skew: float, xi: float) -> float:
    """Figure 12a: the latency of a plan over that of the centralized one, of five queries over seven types."""
    workload = drawn(seed, NetworkSettings(skew=skew), 0.01, n_queries=5, n_types=(3, 5))
    plan = plan_workload(workload, PlanSettings(xi=xi))
    return plan.latency / plan.centralized.latency


def planning_time(seed: int, n_nodes: int, n_queries: int) -> float:
    """Seconds of CPU time for a plan of queries of seven types each, over ten types."""
    workload = drawn(seed, NetworkSettings(n_nodes=n_nodes, n_types=10), 0.01, n_queries=n_queries, n_types=(7, 7))
    begun = time.process_time()
    plan_workload(workload)
    return time.process_time() - begun
