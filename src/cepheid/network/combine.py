"""How a query is split into projections: INEv, sections 6.2 and 6.3 (Alg. 1).

Dynamic programming over the projections of a query, smaller ones first: each is given the inputs with which it, and all
that it is made of, costs least on top of what the queries before it need.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.network.estimate import Choice, Choices, Estimator, known_types
from cepheid.network.queries import NetworkQuery, Projection, Workload, events_of


@dataclass(frozen=True)
class Limits:
    """What bounds the search.

    Attributes:
        n_covers: sets of inputs that are looked at closely, for each projection and partitioning type.
        exclude_conflicts: never split by a type that another query sends as events (Θ in section 6.3); otherwise
            what such a conflict costs is part of the estimate, and decides.
        latency: τ, the latency that no estimate may exceed; None for no bound.
        xi: ξ, the latency of one partial match in hops.
    """

    n_covers: int = 4
    exclude_conflicts: bool = False
    latency: float | None = None
    xi: float = 1.0


@dataclass(frozen=True)
class _Item:
    """An input that could be: its types as bits, and what it costs with all that it is made of."""

    mask: int
    projection: Projection
    cost: float


class Combiner:
    """Splits one query of a workload after the other."""

    def __init__(self, workload: Workload, estimator: Estimator, limits: Limits) -> None:
        self.workload = workload
        self.estimator = estimator
        self.limits = limits

    def add(self, query: NetworkQuery, before: Choices) -> dict[Projection, Choice]:
        """The choices for a query and those before it.

        Args:
            query: what is split.
            before: the combination of other queries; their projections stay as they are.
        """
        if query.planned in before:
            return dict(before)
        search = _Search(self, query, before)
        for projection in (*self.workload.beneficial(query), query.planned):
            search.choose(projection)
        return {**before, **search.closures[query.planned]}

    def latency(self, query: NetworkQuery, choices: Choices) -> float:
        """What the latency of a query is estimated at: hops by the depth of its split, ξ for each partial match."""
        known: dict[Projection, float] = {}
        for projection in sorted(choices, key=lambda p: len(p.types)):
            known[projection] = self.step(projection, choices[projection], known)
        return known[query.planned]

    def step(self, projection: Projection, choice: Choice, known: Mapping[Projection, float]) -> float:
        """The estimate for a projection from those for its inputs."""
        network = self.workload.network
        rate = self.workload.partial_match_rate(projection, choice.inputs)
        n_sites = 1 if choice.partition is None else network.n_sources(choice.partition)
        below = max((known.get(one, 0.0) for one in choice.inputs), default=0.0)
        return self.limits.xi * rate / n_sites + network.mean_hops + below


class _Search:
    """Alg. 1 for one query."""

    def __init__(self, combiner: Combiner, query: NetworkQuery, before: Choices) -> None:
        self.combiner = combiner
        self.workload, self.estimator, self.limits = combiner.workload, combiner.estimator, combiner.limits
        self.query = query
        self.before = before
        self.base = self.estimator.cost(before)
        self.bits = {kind: 1 << place for place, kind in enumerate(sorted(query.types))}
        self.closures: dict[Projection, dict[Projection, Choice]] = {}
        self.latencies: dict[Projection, float] = {}
        self.costs: dict[Projection, float] = {}
        self.excluded = known_types(before.values()) if self.limits.exclude_conflicts else frozenset()

    def choose(self, projection: Projection) -> None:
        """Give a projection its inputs; leave it out where none keeps the latency."""
        if projection in self.before:
            closure = self._closure_of(projection)
            self.closures[projection] = closure
            self.costs[projection] = 0.0
            self.latencies[projection] = self.combiner.step(projection, self.before[projection], self.latencies)
            return
        sink = projection == self.query.planned
        best: tuple[float, dict[Projection, Choice]] | None = None
        for part in (None, *self._partitions(projection)):
            for inputs in self._covers(projection, part):
                choice = Choice(inputs, part)
                closure = {projection: choice}
                for one in inputs:
                    closure.update(self.closures.get(one, {}))
                known = known_types(closure.values())
                if part is not None and not self.estimator.is_multi_node(projection, choice, known, sink=sink):
                    continue
                latency = self.combiner.step(projection, choice, self.latencies)
                if self.limits.latency is not None and latency > self.limits.latency and not _plain(choice, sink):
                    continue
                cost = self.estimator.cost({**self.before, **closure}) - self.base
                if best is None or cost < best[0]:
                    best = (cost, closure)
        if best is not None:
            self.costs[projection], self.closures[projection] = best
            self.latencies[projection] = self.combiner.step(projection, best[1][projection], self.latencies)

    def _closure_of(self, projection: Projection) -> dict[Projection, Choice]:
        found: dict[Projection, Choice] = {}
        waiting = [projection]
        while waiting:
            one = waiting.pop()
            if one in self.before and one not in found:
                found[one] = self.before[one]
                waiting.extend(self.before[one].inputs)
        return found

    def _partitions(self, projection: Projection) -> list[str]:
        """Types that may split a projection: no negated ones, and none of which a loop of a query needs several."""
        kinds = projection.bound - self.excluded - self.workload.kleene.get(projection, frozenset())
        return sorted(kinds, key=lambda kind: (-self.workload.network.global_rate(kind), kind))

    def _covers(self, projection: Projection, part: str | None) -> list[tuple[Projection, ...]]:
        """The cheapest sets of inputs that together have all types, were each sent for itself."""
        whole = self._mask(projection.types)
        taken = 0 if part is None else self.bits[part]
        by_lowest: dict[int, list[_Item]] = {bit: [] for bit in self.bits.values()}
        for item in self._items(projection, part):
            if item.mask & ~whole or item.mask & taken or item.mask == whole:
                continue
            for bit in by_lowest:
                if item.mask & bit:
                    by_lowest[bit].append(item)
        memo: dict[int, list[tuple[float, tuple[Projection, ...]]]] = {0: [(0.0, ())]}
        n_covers = self.limits.n_covers

        def best(missing: int) -> list[tuple[float, tuple[Projection, ...]]]:
            if missing not in memo:
                found = [
                    (item.cost + cost, (item.projection, *rest))
                    for item in by_lowest[missing & -missing]
                    for cost, rest in best(missing & ~item.mask)
                ]
                memo[missing] = heapq.nsmallest(n_covers, found, key=lambda one: one[0])
            return memo[missing]

        own = () if part is None else (events_of(part),)
        covers = [(*own, *inputs) for _, inputs in best(whole & ~taken)]
        plain = tuple(events_of(kind) for kind in sorted(projection.types))
        if set(plain) not in [set(cover) for cover in covers]:
            covers.append(plain)
        return [cover for cover in covers if len(cover) > 1]

    def _items(self, projection: Projection, part: str | None) -> list[_Item]:
        network = self.workload.network
        hops = network.mean_hops if part is None else float(self.estimator.spread(part))
        items = []
        for kind in projection.types:
            items.append(_Item(self.bits[kind], events_of(kind), network.global_rate(kind) * hops))
        for one, cost in self.costs.items():
            if one.types < projection.types:
                known = known_types(self.closures[one].values())
                items.append(_Item(self._mask(one.types), one, cost + self.estimator.sent(one, known)[0] * hops))
        return items

    def _mask(self, kinds: frozenset[str]) -> int:
        return sum(self.bits[kind] for kind in kinds)


def _plain(choice: Choice, sink: bool) -> bool:
    """A query evaluated at one site of events alone: the split that is none."""
    return sink and choice.partition is None and all(one.is_primitive for one in choice.inputs)
