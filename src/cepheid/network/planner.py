"""A plan for a workload: splits, places, forwards, checks, and keeps the latency bound (INEv, section 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.errors import NetworkError
from cepheid.network.check import require_well_formed
from cepheid.network.combine import Combiner, Limits, closure_of
from cepheid.network.cost import Centralized, centralized, centralized_graph, latency, transmission_cost
from cepheid.network.estimate import NO_TYPE, Cut, Estimator, Split, bits_of
from cepheid.network.forwarding import Forwarding, Selectors, selectors
from cepheid.network.graph import Combination, InevGraph
from cepheid.network.queries import NetworkQuery, Workload

N_ATTEMPTS = 6
"""How often a split that turns out too slow is sought again under a tighter bound."""

MOST_TYPES = 12
"""Of a query: planning looks at all sets of its types, and takes seven to nine times as long for two types more."""


@dataclass(frozen=True)
class PlanSettings:
    """How a plan is sought.

    Attributes:
        xi: ξ, the latency of one partial match in hops.
        max_latency: τ; the latency of the centralized plan where None. ``math.inf`` for no bound. Where all events at
            the cheapest site would take longer, and at another one would not, that one is the centralized plan.
        exclude_conflicts: never split by a type that a query before sends as events, as in section 6.3. Otherwise such
            conflicts have their price in the estimates.
        share: queries use each other's projections.
        n_passes: how often at most each query is split anew while the others stay, after the first time.
        incremental: the queries are split once, in the order of the workload, as if they came one after the other. The
            plan of a workload does not depend on that order otherwise.
        n_covers: sets of inputs looked at closely, for each projection and partitioning type.

    Raises:
        NetworkError: a number is out of its range.
    """

    xi: float = 1.0
    max_latency: float | None = None
    exclude_conflicts: bool = False
    share: bool = True
    n_passes: int = 2
    incremental: bool = False
    n_covers: int = 4

    def __post_init__(self) -> None:
        if not 0 <= self.xi < math.inf:
            raise NetworkError(f"xi is {self.xi}", remedy="a partial match takes a finite number of hops, from 0 on")
        if self.max_latency is not None and not self.max_latency >= 0:
            raise NetworkError(f"max_latency is {self.max_latency}", remedy="name hops, from 0 on, or math.inf")
        if self.n_passes < 0 or self.n_covers < 1:
            raise NetworkError(
                f"n_passes is {self.n_passes} and n_covers {self.n_covers}", remedy="from 0 on, and from 1 on"
            )


@dataclass(frozen=True, eq=False)
class Plan:
    """What is evaluated where and sent along which links, and what that costs.

    Attributes:
        graph: the INEv graph; well formed.
        combination: the split, before output selectors add inputs.
        selectors: projection -> types whose events it sends.
        cost: ψ, messages on all links in one window.
        latency: ℓ, hops plus ξ for each partial match on the longest way.
        centralized: the best centralized plan.
        is_centralized: no split is cheaper within the latency, and the plan is the centralized one.
        reason: why, where it is; else empty.
        split_cost: ψ of the best split that was found, whether it was taken or not.
    """

    graph: InevGraph
    combination: Combination
    selectors: Selectors
    cost: float
    latency: float
    centralized: Centralized
    is_centralized: bool
    reason: str
    split_cost: float

    @property
    def ratio(self) -> float:
        """The transmission ratio: its cost over that of the centralized plan (1 where neither sends anything)."""
        return self.cost / self.centralized.cost if self.centralized.cost else 1.0


def plan_workload(workload: Workload, settings: PlanSettings | None = None) -> Plan:
    """Split the queries of a workload over its network.

    Raises:
        NetworkError: a query has more than `MOST_TYPES` types; the plan that was made is not well formed.
    """
    settings = settings or PlanSettings()
    for query in workload.queries:
        if len(query.types) > MOST_TYPES:
            raise NetworkError(
                f"the query {query.name} has {len(query.types)} types, and its splits are too many to try",
                remedy=f"plan queries of at most {MOST_TYPES} types",
            )
    middle = centralized(workload, settings.xi, math.inf if settings.max_latency is None else settings.max_latency)
    bound = middle.latency if settings.max_latency is None else settings.max_latency
    forwarding = Forwarding(workload)
    estimator = Estimator(workload, forwarding.trees)
    best: _Split | None = None
    cheapest: _Split | None = None
    limit = bound
    for _ in range(N_ATTEMPTS):
        splits = _attempt(forwarding, estimator, settings, limit)
        cheapest = min([*splits, *([cheapest] if cheapest else [])], key=_cost)
        best = min((split for split in splits if split.latency <= bound), key=_cost, default=None)
        if best is not None:
            break
        # What was only estimated too short gets less room.
        limit = min(limit, *(split.estimated for split in splits)) * 0.9
    assert cheapest is not None
    if best is not None and best.cost < middle.cost:
        require_well_formed(best.graph)
        return Plan(best.graph, best.combination, best.selectors, best.cost, best.latency, middle, False, "", best.cost)
    if best is not None:
        reason = f"the split would send {best.cost:.6g} messages in a window, the centralized plan {middle.cost:.6g}"
    else:
        reason = f"the split would take {cheapest.latency:.6g} and the bound is {bound:.6g}"
    if middle.latency > bound:
        reason += f"; the centralized plan takes {middle.latency:.6g} and is beyond the bound, too"
    whole = centralized_graph(workload, middle.node)
    require_well_formed(whole)
    split_cost = cheapest.cost if best is None else best.cost
    return Plan(whole, whole.combination, {}, middle.cost, middle.latency, middle, True, reason, split_cost)


@dataclass(frozen=True, eq=False)
class _Split:
    """A split with its place: what became of one attempt."""

    combination: Combination
    selectors: Selectors
    graph: InevGraph
    cost: float
    latency: float
    estimated: float


def _cost(split: _Split) -> float:
    return split.cost


def _attempt(forwarding: Forwarding, estimator: Estimator, settings: PlanSettings, limit: float) -> list[_Split]:
    combiner = Combiner(
        forwarding.workload, estimator, Limits(settings.n_covers, settings.exclude_conflicts, limit, settings.xi)
    )
    found = []
    for split in _splits(combiner, estimator, settings):
        combination = combination_of(estimator, split)
        chosen, graph, cost = _best_selectors(forwarding, combination)
        estimated = max(combiner.latency(query, split) for query in forwarding.workload.queries)
        found.append(_Split(combination, chosen, graph, cost, latency(graph, settings.xi), estimated))
    return found


def _splits(combiner: Combiner, estimator: Estimator, settings: PlanSettings) -> list[dict[int, Cut]]:
    """The queries split one after the other, and each again while that makes all of them cheaper; in some orders."""
    queries = combiner.workload.queries
    if not settings.share or len(queries) == 1:
        return [_apart(combiner, queries)]
    found: dict[frozenset[tuple[int, tuple[int, ...], int]], dict[int, Cut]] = {}
    ordered = [list(queries)] if settings.incremental else _orders(combiner, estimator)
    for order in ordered:
        split: dict[int, Cut] = {}
        for query in order:
            split = combiner.add(query, split)
        cost = estimator.cost(split)
        for _ in range(0 if settings.incremental else settings.n_passes):
            split, cost, was = *_again(combiner, estimator, order, split, cost), cost
            if cost >= was:
                break
        found.setdefault(frozenset((one, cut.inputs, cut.part) for one, cut in split.items()), split)
    # What two queries take alike is sent once, even where none was split with the other in mind.
    return [*found.values(), *([] if settings.incremental else [_apart(combiner, ordered[0])])]


def _apart(combiner: Combiner, queries: Sequence[NetworkQuery]) -> dict[int, Cut]:
    """Each query split as if it were alone."""
    split: dict[int, Cut] = {}
    for query in queries:
        split |= combiner.add(query, {})
    return split


def _orders(combiner: Combiner, estimator: Estimator) -> list[list[NetworkQuery]]:
    """The orders to try: by how many events each query reads, both ways; the order in the workload changes nothing."""

    def key(query: NetworkQuery) -> tuple[float, str, list[str]]:
        events = sum(estimator.rates[place] for place in bits_of(estimator.mask(query.types)))
        return events, query.planned.name, sorted(condition.text for condition in query.planned.conditions)

    most_last = sorted(combiner.workload.queries, key=key)
    return [most_last[::-1], most_last]


def _again(
    combiner: Combiner, estimator: Estimator, queries: Sequence[NetworkQuery], split: dict[int, Cut], cost: float
) -> tuple[dict[int, Cut], float]:
    """Each query split anew while the others stay, where that is cheaper."""
    for query in queries:
        others = [estimator.number(q.planned) for q in queries if q.planned != query.planned]
        fresh = combiner.add(query, closure_of(split, *others))
        if (less := estimator.cost(fresh)) < cost:
            split, cost = fresh, less
    return split, cost


def combination_of(estimator: Estimator, split: Split) -> Combination:
    """The combination that a split is."""
    named, kinds = estimator.projections, estimator.kinds
    return Combination(
        {named[one]: tuple(named[part] for part in cut.inputs) for one, cut in split.items()},
        {named[one]: kinds[cut.part] for one, cut in split.items() if cut.part != NO_TYPE},
    )


def _best_selectors(forwarding: Forwarding, combination: Combination) -> tuple[Selectors, InevGraph, float]:
    """Output selectors by the rule of Alg. 2, without those that cost more than they save.

    The rule looks at rates alone; that the events of the other types must then reach more sites can cost more.
    """
    chosen = selectors(forwarding.workload, combination)
    graph = forwarding.graph(combination, chosen)
    cost = transmission_cost(graph)
    for projection in sorted(chosen, key=lambda p: p.name):
        fewer = {p: kept for p, kept in chosen.items() if p != projection}
        other = forwarding.graph(combination, fewer)
        if (less := transmission_cost(other)) < cost:
            chosen, graph, cost = fewer, other, less
    return chosen, graph, cost
