"""The paper's simulations (INEv, section 7.2) on networks and queries drawn at random."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cepheid.network.baselines import push_pull
from cepheid.network.cost import centralized_cost, lower_bound, transmission_cost
from cepheid.network.generate import (
    NetworkSettings,
    draw_network,
    draw_queries,
    draw_selectivities,
    negatable,
    type_names,
    with_kleene,
    with_negation,
)
from cepheid.network.patterns import types_of
from cepheid.network.planner import Plan, PlanSettings, plan_workload
from cepheid.network.queries import NetworkQuery, Workload
from cepheid.network.repair import repair

N_TYPES = 7
"""Of the single query of Figures 5 to 7."""


@dataclass
class Series:
    """What was measured along one axis.

    Attributes:
        name: of the line.
        points: value on the axis -> one number for each run.
    """

    name: str
    points: dict[float, list[float]] = field(default_factory=dict)

    def medians(self) -> list[float]:
        """The median at each value."""
        return [float(np.median(values)) for values in self.points.values()]

    def at(self, value: float) -> float:
        """The median at one value."""
        return float(np.median(self.points[value]))


def drawn(
    seed: int,
    settings: NetworkSettings,
    scale: float,
    *,
    n_queries: int = 1,
    n_types: tuple[int, int] | None = None,
    mixed: bool = False,
) -> Workload:
    """A workload: queries of ``n_types`` types (by default of all), no latency of which matters."""
    rng = np.random.default_rng(seed)
    kinds = type_names(settings.n_types)
    network = draw_network(settings, rng)
    queries = draw_queries(n_queries, kinds, rng, n_types=n_types or (len(kinds), len(kinds)), mixed=mixed)
    return Workload(network, queries, draw_selectivities(kinds, rng, scale))


def ratios(
    values: Sequence[float], settings: Callable[[float], NetworkSettings], scale: float, seeds: Sequence[int]
) -> Series:
    """Figure 6: the transmission ratio of one query along an axis."""
    line = Series(f"selectivities up to {scale}")
    for value in values:
        line.points[value] = [plan_workload(drawn(seed, settings(value), scale)).ratio for seed in seeds]
    return line


def least_ratios(skew: float, scale: float, seeds: Sequence[int]) -> list[float]:
    """The lower bound of section 7.2 over the centralized cost, for each run of Figure 6a at one skew."""
    found = []
    for seed in seeds:
        workload = drawn(seed, with_skew(skew), scale)
        found.append(lower_bound(workload, workload.queries[0]) / plan_cost_centralized(workload))
    return found


def against_push_pull(skews: Sequence[float], seeds: Sequence[int], *, at_most_one: bool) -> tuple[Series, Series]:
    """Figure 4: the ratios of plans and of push-pull operator placement, of one query of six types.

    Args:
        skews: of the rates.
        seeds: one for each run.
        at_most_one: rates are divided by the largest, so that no source has more than one event in a window.
    """
    ours, theirs = Series("INEv"), Series("push-pull")
    for skew in skews:
        ours.points[skew], theirs.points[skew] = [], []
        for seed in seeds:
            workload = drawn(seed, NetworkSettings(n_types=6, skew=skew), 0.1)
            if at_most_one:
                rates = workload.network.rates
                most = max(rates.values())
                scaled = {kind: rate / most for kind, rate in rates.items()}
                workload = workload.with_network(workload.network.with_rates(scaled))
            plan = plan_workload(workload)
            asked = push_pull(workload, workload.queries[0]).cost
            ours.points[skew].append(plan.ratio)
            theirs.points[skew].append(asked / plan.centralized.cost)
    return ours, theirs


def closeness(skews: Sequence[float], scale: float, seeds: Sequence[int]) -> tuple[Series, Series]:
    """Figure 5a: the ratio, and the lower bound of section 7.2 over the centralized cost; of one query of six types."""
    ours, least = Series(f"INEv, selectivities up to {scale}"), Series(f"lower bound, {scale}")
    for skew in skews:
        ours.points[skew], least.points[skew] = [], []
        for seed in seeds:
            workload = drawn(seed, NetworkSettings(n_types=6, skew=skew), scale)
            plan = plan_workload(workload)
            ours.points[skew].append(plan.ratio)
            least.points[skew].append(lower_bound(workload, workload.queries[0]) / plan.centralized.cost)
    return ours, least


def times(sizes: Sequence[int], seeds: Sequence[int]) -> list[tuple[int, float]]:
    """Figure 5b: (suitable projections, seconds of CPU time for the plan) of queries of so many types."""
    found = []
    for size in sizes:
        for seed in seeds:
            workload = drawn(seed, NetworkSettings(n_types=size), 0.01)
            n_projections = len(workload.beneficial(workload.queries[0]))
            begun = time.process_time()
            plan_workload(workload)
            found.append((n_projections, time.process_time() - begun))
    return sorted(found)


def kleene(seeds: Sequence[int]) -> dict[str, list[float]]:
    """Figure 7a: the ratio without a loop, and with one over the most or the least frequent type."""
    found: dict[str, list[float]] = {"none": [], "max": [], "min": []}
    for seed in seeds:
        workload = drawn(seed, NetworkSettings(n_types=N_TYPES), 0.1)
        (query,) = workload.queries
        kinds = sorted(query.types, key=workload.network.global_rate)
        for name, kind in (("none", None), ("max", kinds[-1]), ("min", kinds[0])):
            pattern = query.pattern if kind is None else with_kleene(query.pattern, kind)
            found[name].append(_replanned(workload, NetworkQuery(query.name, pattern)).ratio)
    return found


def negation(seeds: Sequence[int]) -> dict[str, list[float]]:
    """Figure 7b: the ratio with SEQ, and with NOT of the most or the least frequent type that can be negated.

    Networks whose query has no place for a NOT are passed over.
    """
    found: dict[str, list[float]] = {"none": [], "max": [], "min": []}
    for seed in seeds:
        workload = drawn(seed, NetworkSettings(n_types=N_TYPES), 0.1)
        (query,) = workload.queries
        kinds = sorted(negatable(query.pattern), key=workload.network.global_rate)
        if not kinds:
            continue
        for name, kind in (("none", None), ("max", kinds[-1]), ("min", kinds[0])):
            pattern = query.pattern if kind is None else with_negation(query.pattern, kind)
            found[name].append(_replanned(workload, NetworkQuery(query.name, pattern)).ratio)
    return found


def _replanned(workload: Workload, query: NetworkQuery) -> Plan:
    assert types_of(query.pattern) == query.types
    return plan_workload(Workload(workload.network, (query,), workload.selectivities))


def by_types(counts: Sequence[int], n_queries: int, seeds: Sequence[int]) -> Series:
    """Figure 8a: the ratio of a mixed workload by the number of types."""
    line = Series(f"{n_queries} queries")
    for count in counts:
        line.points[count] = [
            plan_workload(
                drawn(seed, NetworkSettings(n_types=count), 0.01, n_queries=n_queries, n_types=(4, 6), mixed=True)
            ).ratio
            for seed in seeds
        ]
    return line


def sharing(n_queries: int, seeds: Sequence[int]) -> list[float]:
    """Figure 10a: the cost of a plan for all queries over that of a plan for each of them, over ten types."""
    found = []
    unbounded = PlanSettings(max_latency=math.inf)
    for seed in seeds:
        workload = drawn(seed, NetworkSettings(n_types=10), 0.01, n_queries=n_queries, n_types=(3, 6))
        alone = sum(plan_workload(replace_queries(workload, (query,)), unbounded).cost for query in workload.queries)
        found.append(plan_workload(workload, unbounded).cost / alone if alone else 1.0)
    return found


def replace_queries(workload: Workload, queries: tuple[NetworkQuery, ...]) -> Workload:
    """The same network and selectivities with other queries."""
    return Workload(workload.network, queries, workload.selectivities)


def orders(n_queries: int, n_orders: int, seeds: Sequence[int]) -> list[float]:
    """Figure 10b: the standard deviation of the ratio over orders of the queries, for each workload over 15 types."""
    found = []
    for seed in seeds:
        workload = drawn(seed, NetworkSettings(n_types=15), 0.01, n_queries=n_queries, n_types=(3, 5))
        rng = np.random.default_rng(seed)
        of_orders = []
        for _ in range(n_orders):
            order = rng.permutation(n_queries)
            queries = tuple(workload.queries[int(place)] for place in order)
            of_orders.append(plan_workload(replace_queries(workload, queries)).ratio)
        found.append(float(np.std(of_orders)))
    return found


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


def swaps(parts: Sequence[float], scale: float, seeds: Sequence[int], *, n_queries: int = 15) -> tuple[Series, Series]:
    """Figures 9b and 9d: ratios of a plan whose rates were swapped, left as it is and repaired; over 20 types."""
    broken, mended = Series("broken"), Series("repaired")
    for part in parts:
        broken.points[part], mended.points[part] = [], []
    for seed in seeds:
        workload = drawn(seed, NetworkSettings(n_types=20), scale, n_queries=n_queries, n_types=(3, 5))
        plan = plan_workload(workload)
        for part in parts:
            other = workload.with_network(workload.network.with_rates(swapped(dict(workload.network.rates), part)))
            found = repair(plan, other)
            whole = plan_cost_centralized(other)
            broken.points[part].append(transmission_cost(found.broken) / whole)
            mended.points[part].append(transmission_cost(found.repaired) / whole)
    return broken, mended


def variances(parts: Sequence[float], seeds: Sequence[int], *, n_queries: int = 15) -> Series:
    """Figure 9e: the repaired ratio under other rates over that under the rates planned with.

    Each rate is drawn evenly from so much below to so much above what was planned with.
    """
    line = Series("repaired, over the ratio as planned")
    for part in parts:
        line.points[part] = []
    for seed in seeds:
        workload = drawn(seed, NetworkSettings(n_types=20), 0.01, n_queries=n_queries, n_types=(3, 5))
        plan = plan_workload(workload)
        if not plan.ratio:
            continue
        rng = np.random.default_rng(seed)
        for part in parts:
            rates = {kind: rate * rng.uniform(1 - part, 1 + part) for kind, rate in workload.network.rates.items()}
            other = workload.with_network(workload.network.with_rates(rates))
            cost = transmission_cost(repair(plan, other).repaired)
            line.points[part].append(cost / plan_cost_centralized(other) / plan.ratio)
    return line


def plan_cost_centralized(workload: Workload) -> float:
    """The cost of all events at the site where that is least."""
    return min(centralized_cost(workload, node) for node in workload.network.nodes)


def latencies(skews: Sequence[float], xi: float, seeds: Sequence[int]) -> Series:
    """Figure 12a: the latency of a plan over that of the centralized one, of five queries over seven types."""
    line = Series(f"ξ = {xi:g}")
    for skew in skews:
        line.points[skew] = []
        for seed in seeds:
            workload = drawn(seed, NetworkSettings(skew=skew), 0.01, n_queries=5, n_types=(3, 5))
            plan = plan_workload(workload, PlanSettings(xi=xi))
            line.points[skew].append(plan.latency / plan.centralized.latency)
    return line


def with_size(n_nodes: float) -> NetworkSettings:
    """Figure 6b."""
    return replace(NetworkSettings(n_types=N_TYPES), n_nodes=int(n_nodes))


def with_node_ratio(ratio: float) -> NetworkSettings:
    """Figure 6c."""
    return replace(NetworkSettings(n_types=N_TYPES), node_ratio=ratio)


def with_out_degree(degree: float) -> NetworkSettings:
    """Figure 6d: a true average degree, as the ring has few."""
    return replace(NetworkSettings(n_types=N_TYPES), out_degree=int(degree), topology="degree")


def with_skew(skew: float) -> NetworkSettings:
    """Figure 6a."""
    return NetworkSettings(n_types=N_TYPES, skew=skew)
