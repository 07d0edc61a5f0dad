"""The paper's simulations (INEv, section 7.2) of one query, on networks and queries drawn at random: Figures 4 to 7."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import permutations
from typing import TypeVar

import numpy as np

from benchmarks.figures.cores import workers
from cepheid.network.baselines import push_pull
from cepheid.network.cost import lower_bound
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
from cepheid.network.planner import Plan, plan_workload
from cepheid.network.queries import NetworkQuery, Workload

T = TypeVar("T")

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


def each(run: Callable[..., T], seeds: Sequence[int], *given: object) -> list[T]:
    """One experiment with each seed, on all cores: ``run(seed, *given)``, in the order of the seeds."""
    return list(_pool().map(partial(_run, run, given), seeds))


def _run(run: Callable[..., T], given: tuple[object, ...], seed: int) -> T:
    return run(seed, *given)


@cache
def _pool() -> ProcessPoolExecutor:
    return workers()


@dataclass(frozen=True)
class Ratio:
    """One query.

    Attributes:
        ours: its transmission ratio.
        least: the lower bound of section 7.2 over the centralized cost.
        first_join: what the first join of any plan sends over the same: `first_join`.
    """

    ours: float
    least: float
    first_join: float


def ratio(seed: int, settings: NetworkSettings, scale: float) -> Ratio:
    """Figures 5a and 6."""
    workload = drawn(seed, settings, scale)
    plan = plan_workload(workload)
    (query,) = workload.queries
    whole = plan.centralized.cost
    return Ratio(plan.ratio, lower_bound(workload, query) / whole, first_join(workload) / whole)


def first_join(workload: Workload) -> float:
    """What any plan for queries without NOT sends at least.

    Something is joined from events alone, of two types or more. Split by one of them, all events of another go from
    each of their sources to all sources of that one; at one site, all events of both come there but those that arise
    there. No output selector takes anything of events.
    """
    network = workload.network
    least = math.inf
    for query in workload.queries:
        for one, other in permutations(sorted(query.types), 2):
            ends = set(network.sources[other])
            split = network.rates[one] * sum(len(ends - {source}) for source in network.sources[one])
            at_one_site = sum((network.n_sources(kind) - 1) * network.rates[kind] for kind in (one, other))
            least = min(least, split, at_one_site)
    return least


def along(
    values: Sequence[float], settings: Callable[[float], NetworkSettings], scale: float, seeds: Sequence[int]
) -> tuple[Series, Series, Series]:
    """Along an axis: the ratios, the lower bounds of section 7.2, and what the first join sends at least."""
    ours, least = Series(f"selectivities up to {scale}"), Series(f"lower bound, {scale}")
    joins = Series(f"first join, {scale}")
    for value in values:
        found = each(ratio, seeds, settings(value), scale)
        ours.points[value] = [one.ours for one in found]
        least.points[value] = [one.least for one in found]
        joins.points[value] = [one.first_join for one in found]
    return ours, least, joins


def against_push_pull(seed: int, skew: float, at_most_one: bool) -> tuple[float, float]:
    """Figure 4: the ratios of a plan and of push-pull operator placement, of one query of six types.

    Args:
        seed: of the draw.
        skew: of the rates.
        at_most_one: rates are divided by the largest, so that no source has more than one event in a window.
    """
    workload = drawn(seed, NetworkSettings(n_types=6, skew=skew), 0.1)
    if at_most_one:
        rates = workload.network.rates
        most = max(rates.values())
        scaled = {kind: rate / most for kind, rate in rates.items()}
        workload = workload.with_network(workload.network.with_rates(scaled))
    plan = plan_workload(workload)
    return plan.ratio, push_pull(workload, workload.queries[0]).cost / plan.centralized.cost


def seconds(seed: int, size: int) -> tuple[int, float]:
    """Figure 5b: (suitable projections, seconds of CPU time for the plan) of a query of so many types."""
    workload = drawn(seed, NetworkSettings(n_types=size), 0.01)
    n_projections = len(workload.beneficial(workload.queries[0]))
    begun = time.process_time()
    plan_workload(workload)
    return n_projections, time.process_time() - begun


def kleene(seed: int) -> dict[str, float]:
    """Figure 7a: the ratio without a loop, and with one over the most or the least frequent type."""
    workload = drawn(seed, NetworkSettings(n_types=N_TYPES), 0.1)
    (query,) = workload.queries
    kinds = sorted(query.types, key=workload.network.global_rate)
    found = {}
    for name, kind in (("none", None), ("max", kinds[-1]), ("min", kinds[0])):
        pattern = query.pattern if kind is None else with_kleene(query.pattern, kind)
        found[name] = _replanned(workload, NetworkQuery(query.name, pattern)).ratio
    return found


def negation(seed: int) -> dict[str, float]:
    """Figure 7b: the ratio with SEQ, and with NOT of the most or the least frequent type that can be negated.

    Nothing for a query that has no place for a NOT.
    """
    workload = drawn(seed, NetworkSettings(n_types=N_TYPES), 0.1)
    (query,) = workload.queries
    kinds = sorted(negatable(query.pattern), key=workload.network.global_rate)
    found = {}
    for name, kind in (("none", None), ("max", kinds[-1]), ("min", kinds[0])) if kinds else ():
        pattern = query.pattern if kind is None else with_negation(query.pattern, kind)
        found[name] = _replanned(workload, NetworkQuery(query.name, pattern)).ratio
    return found


def _replanned(workload: Workload, query: NetworkQuery) -> Plan:
    assert types_of(query.pattern) == query.types
    return plan_workload(Workload(workload.network, (query,), workload.selectivities))


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


def of_six_types(skew: float) -> NetworkSettings:
    """Figure 5a."""
    return NetworkSettings(n_types=6, skew=skew)
