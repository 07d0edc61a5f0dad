"""What a combination will send, before anything is placed: INEv, section 6.2 (getSavings).

The paper adds up savings; here the cost is added up, and the savings are what is left of the cost without a split.
Each partitioning type is saved once, and each input is sent once to all the multi-node placements that take it: so
the two heuristics of the paper (sharedMNSavings, sharedInputs) hold by construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cepheid.network.forwarding import selector
from cepheid.network.queries import Projection, Workload, events_of
from cepheid.network.steiner import SteinerTrees


@dataclass(frozen=True)
class Choice:
    """How one projection is made: its inputs, and the type that splits it or None."""

    inputs: tuple[Projection, ...]
    partition: str | None = None


Choices = Mapping[Projection, Choice]


@dataclass(eq=False)
class Estimator:
    """Estimates on one workload; keeps the sizes of trees."""

    workload: Workload
    trees: SteinerTrees
    _lengths: dict[tuple[frozenset[str], str | None], float] = field(default_factory=dict)

    def spread(self, kind: str) -> int:
        """|ST(f(ε), G)|: links of the tree that holds all sources of a type."""
        return self.trees.size(self.workload.network.sources[kind])

    def length(self, parts: frozenset[str], source: str | None) -> float:
        """Links from a site to all sources of some types, on average over the sources of one type (None: any site)."""
        key = (parts, source)
        if key not in self._lengths:
            network = self.workload.network
            sites = frozenset().union(*(network.sources[part] for part in parts))
            if source is None:
                self._lengths[key] = self.trees.size(sites) + network.mean_hops * len(network.nodes) / (
                    len(network.nodes) + len(sites) ** 2
                )
            else:
                starts = network.sources[source]
                self._lengths[key] = sum(self.trees.size({*sites, start}) for start in starts) / len(starts)
        return self._lengths[key]

    def sent(self, projection: Projection, known: frozenset[str]) -> tuple[float, frozenset[str]]:
        """The rate with which a projection is sent, and the types that must come as events beside it."""
        if projection.is_primitive:
            return self.workload.network.global_rate(next(iter(projection.types))), frozenset()
        kept = selector(self.workload, projection, known)
        if kept is None:
            return self.workload.rate(projection), frozenset()
        return sum(self.workload.selected_rate(kind, projection) for kind in kept), projection.types - kept

    def cost(self, choices: Choices) -> float:
        """Messages on all links in one window, roughly."""
        known = known_types(choices.values())
        sent = {one: self.sent(one, known) for choice in choices.values() for one in choice.inputs}
        parts: dict[Projection, set[str]] = {}
        single: set[Projection] = set()
        for choice in choices.values():
            inputs = set(choice.inputs)
            for one in choice.inputs:
                inputs |= {events_of(kind) for kind in sent[one][1]}
            for one in inputs:
                if choice.partition is None:
                    single.add(one)
                elif not (one.is_primitive and one.types == {choice.partition}):
                    parts.setdefault(one, set()).add(choice.partition)
        total = 0.0
        mean = self.workload.network.mean_hops
        for one in parts.keys() | single:
            rate = sent[one][0] if one in sent else self.sent(one, known)[0]
            length = 0.0
            if one in parts:
                if one.is_primitive:
                    source: str | None = next(iter(one.types))
                else:
                    source = choices[one].partition
                length = self.length(frozenset(parts[one]), source)
            if one in single:
                # A tree that passes through the network comes close to any site.
                length += mean if one not in parts else mean / 2
            total += rate * length
        return total

    def is_multi_node(self, projection: Projection, choice: Choice, known: frozenset[str], *, sink: bool) -> bool:
        """Eq. 1: whether a multi-node placement is worth it, with what the inputs send in place of their rates."""
        part = choice.partition
        assert part is not None
        network = self.workload.network
        others = sum(self.sent(one, known)[0] for one in choice.inputs if one.types != {part})
        own = 0.0 if sink else self.sent(projection, known)[0] * network.mean_hops
        return network.global_rate(part) * network.mean_hops > self.spread(part) * others + own


def known_types(choices: Iterable[Choice]) -> frozenset[str]:
    """Types whose events go to all sites of some multi-node placement."""
    found: set[str] = set()
    for choice in choices:
        if choice.partition is not None:
            for one in choice.inputs:
                if one.is_primitive:
                    found |= one.types - {choice.partition}
    return frozenset(found)
