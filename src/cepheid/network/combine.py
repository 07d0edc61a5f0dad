"""How a query is split into projections: INEv, sections 6.2 and 6.3 (Alg. 1).

Dynamic programming over the projections of a query, smaller ones first: each is given the inputs with which it, and all
that it is made of, costs least on top of what the queries before it need.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.network.estimate import NO_TYPE, Cut, Estimator, Split, bits_of, known_types
from cepheid.network.queries import NetworkQuery, Workload


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


class Combiner:
    """Splits one query of a workload after the other."""

    def __init__(self, workload: Workload, estimator: Estimator, limits: Limits) -> None:
        self.workload = workload
        self.estimator = estimator
        self.limits = limits
        self._projections: dict[str, tuple[int, ...]] = {}

    def add(self, query: NetworkQuery, before: Split) -> dict[int, Cut]:
        """The split of a query and those before it.

        Args:
            query: what is split.
            before: the split of other queries; their projections stay as they are.
        """
        planned = self.estimator.number(query.planned)
        if planned in before:
            return dict(before)
        search = _Search(self, planned, before)
        for one in (*self.suitable(query), planned):
            search.choose(one)
        return {**before, **search.closures[planned]}

    def suitable(self, query: NetworkQuery) -> tuple[int, ...]:
        """Π_eval, as numbers, smaller ones first."""
        if query.name not in self._projections:
            self._projections[query.name] = tuple(map(self.estimator.number, self.workload.beneficial(query)))
        return self._projections[query.name]

    def latency(self, query: NetworkQuery, split: Split) -> float:
        """What the latency of a query is estimated at: hops by the depth of its split, ξ for each partial match."""
        known: dict[int, float] = {}
        masks = self.estimator.masks
        for one in sorted(split, key=lambda one: masks[one].bit_count()):
            known[one] = self.step(one, split[one], known)
        return known[self.estimator.number(query.planned)]

    def step(self, one: int, cut: Cut, known: Mapping[int, float]) -> float:
        """The estimate for a projection from those for its inputs."""
        network = self.workload.network
        n_sites = 1 if cut.part == NO_TYPE else network.n_sources(self.estimator.kinds[cut.part])
        below = max((known.get(part, 0.0) for part in cut.inputs), default=0.0)
        matches = self.estimator.matches(one, cut.inputs) if self.limits.xi else 0.0
        return self.limits.xi * matches / n_sites + network.mean_hops + below


class _Search:
    """Alg. 1 for one query, over numbers of projections."""

    def __init__(self, combiner: Combiner, planned: int, before: Split) -> None:
        self.combiner = combiner
        self.workload, self.estimator, self.limits = combiner.workload, combiner.estimator, combiner.limits
        self.planned = planned
        self.before = before
        self.splits = self.estimator.costs(before)
        self.base = self.splits.with_more({})
        self.closures: dict[int, dict[int, Cut]] = {}
        self.latencies: dict[int, float] = {}
        # Those known so far, with their types as bits and what they cost with all that they are made of.
        self.costs: dict[int, tuple[int, float]] = {}
        self._rates: dict[int, float] = {}
        self.excluded = known_types(before.values()) if self.limits.exclude_conflicts else 0

    def choose(self, one: int) -> None:
        """Give a projection its inputs; leave it out where none keeps the latency."""
        estimator, limits = self.estimator, self.limits
        mask = estimator.masks[one]
        if one in self.before:
            self.closures[one] = closure_of(self.before, one)
            self.costs[one] = (mask, 0.0)
            self.latencies[one] = self.combiner.step(one, self.before[one], self.latencies)
            return
        sink = one == self.planned
        best: tuple[float, dict[int, Cut], float] | None = None
        for part in (NO_TYPE, *self._partitions(one)):
            for inputs in self._covers(mask, part):
                cut = estimator.cut(inputs, part)
                closure = {one: cut}
                for given in inputs:
                    if given in self.closures:
                        closure.update(self.closures[given])
                if part != NO_TYPE and not estimator.is_multi_node(
                    cut, known_types(closure.values()), NO_TYPE if sink else one
                ):
                    continue
                latency = self.combiner.step(one, cut, self.latencies)
                if limits.latency is not None and latency > limits.latency and not (sink and self._plain(cut)):
                    continue
                cost = self.splits.with_more(closure) - self.base
                if best is None or cost < best[0]:
                    best = (cost, closure, latency)
        if best is not None:
            cost, self.closures[one], self.latencies[one] = best
            self.costs[one] = (mask, cost)

    def _plain(self, cut: Cut) -> bool:
        """Evaluated at one site of events alone: the split that is none."""
        return cut.part == NO_TYPE and all(one < len(self.estimator.kinds) for one in cut.inputs)

    def _partitions(self, one: int) -> list[int]:
        """Types that may split a projection: no negated ones, and none of which a loop of a query needs several."""
        projection = self.estimator.projections[one]
        kinds = projection.bound - self.workload.kleene.get(projection, frozenset())
        rates = self.estimator.rates
        places = [place for place, kind in enumerate(self.estimator.kinds) if kind in kinds]
        return sorted((p for p in places if not self.excluded >> p & 1), key=lambda place: -rates[place])

    def _covers(self, whole: int, part: int) -> list[tuple[int, ...]]:
        """The cheapest sets of inputs that together have all types, were each sent for itself."""
        taken = 0 if part == NO_TYPE else 1 << part
        missing_at_first = whole & ~taken
        bits = bits_of(whole)
        by_lowest: dict[int, list[tuple[float, int, int]]] = {1 << place: [] for place in bits}
        for item in sorted(self._items(whole, taken, part)):
            for place in bits_of(item[1]):
                by_lowest[1 << place].append(item)
        memo: dict[int, list[tuple[float, tuple[int, ...]]]] = {0: [(0.0, ())]}
        n_covers = self.limits.n_covers

        def best(missing: int) -> list[tuple[float, tuple[int, ...]]]:
            known = memo.get(missing)
            if known is not None:
                return known
            # The cheapest come first, so what is too dear already ends the search.
            found: list[tuple[float, tuple[int, ...]]] = []
            most = math.inf
            for own, mask, one in by_lowest[missing & -missing]:
                if own >= most:
                    break
                for cost, rest in best(missing & ~mask):
                    if own + cost >= most:
                        break
                    insort(found, (own + cost, (one, *rest)))
                    if len(found) > n_covers:
                        found.pop()
                    if len(found) == n_covers:
                        most = found[-1][0]
            memo[missing] = found
            return found

        own = () if part == NO_TYPE else (part,)
        covers = [(*own, *inputs) for _, inputs in best(missing_at_first)]
        if {*bits} not in [set(cover) for cover in covers]:
            covers.append(bits)
        return [cover for cover in covers if len(cover) > 1]

    def _items(self, whole: int, taken: int, part: int) -> list[tuple[float, int, int]]:
        """What could be an input: cost, types as bits, number."""
        estimator = self.estimator
        hops = self.workload.network.mean_hops if part == NO_TYPE else float(estimator.spreads[part])
        items = [(estimator.rates[place] * hops, 1 << place, place) for place in bits_of(whole & ~taken)]
        for one, (mask, cost) in self.costs.items():
            if mask & ~whole or mask & taken or mask == whole:
                continue
            items.append((cost + self._alone(one) * hops, mask, one))
        return items

    def _alone(self, one: int) -> float:
        """The rate with which a projection is sent where no other split makes types known."""
        if one not in self._rates:
            self._rates[one] = self.estimator.sent(one, known_types(self.closures[one].values()))[0]
        return self._rates[one]


def closure_of(split: Split, *roots: int) -> dict[int, Cut]:
    """What some projections rest on, they among it."""
    found: dict[int, Cut] = {}
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if one in split and one not in found:
            found[one] = split[one]
            waiting.extend(split[one].inputs)
    return found
