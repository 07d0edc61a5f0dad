"""Where projections are evaluated and which way their inputs go: INEv, section 6.4 (Alg. 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from cepheid.network.graph import Combination, InevGraph, Vertex
from cepheid.network.model import Node
from cepheid.network.queries import Projection, Workload, events_of
from cepheid.network.steiner import SteinerTrees

Selectors = Mapping[Projection, frozenset[str]]
"""Projection -> the types whose events it sends; whole matches where it has none."""


def disseminated(combination: Combination) -> frozenset[str]:
    """Types whose events go to all sites of some multi-node placement (DissEv)."""
    found: set[str] = set()
    for projection, part in combination.partition.items():
        for one in combination.inputs[projection]:
            if one.is_primitive and one.types != {part}:
                found |= one.types
    return frozenset(found)


def selector(workload: Workload, projection: Projection, known: frozenset[str]) -> frozenset[str] | None:
    """getOS: the types that must be sent where the events of others are known anyway, None for whole matches.

    A negated type must be among the known ones: no match holds its events.
    """
    kept = projection.bound - known
    if not projection.negated <= known or kept == projection.bound:
        return None
    rate = sum(workload.selected_rate(kind, projection) for kind in kept)
    return kept if rate < workload.rate(projection) else None


def selectors(workload: Workload, combination: Combination) -> dict[Projection, frozenset[str]]:
    """The output selectors that Alg. 2 chooses, by the rates alone (lines 2 to 5)."""
    known = disseminated(combination)
    chosen: dict[Projection, frozenset[str]] = {}
    used = {one for inputs in combination.inputs.values() for one in inputs}
    for projection in combination.inputs:
        if projection in used:
            kept = selector(workload, projection, known)
            if kept is not None:
                chosen[projection] = kept
    return chosen


def extended(combination: Combination, chosen: Selectors) -> Combination:
    """Line 7: what takes a projection without some of its types takes the events of those types."""
    inputs = {}
    for projection, given in combination.inputs.items():
        more: dict[Projection, None] = dict.fromkeys(given)
        for one in given:
            if one in chosen:
                more.update(dict.fromkeys(events_of(kind) for kind in sorted(one.types - chosen[one])))
        inputs[projection] = tuple(more)
    return Combination(inputs, combination.partition)


@dataclass(eq=False)
class Forwarding:
    """Places projections in one network and links them; keeps the trees that it made.

    Attributes:
        workload: its queries and network.
    """

    workload: Workload
    trees: SteinerTrees = field(init=False)

    def __post_init__(self) -> None:
        self.trees = SteinerTrees(self.workload.network)

    def graph(
        self,
        combination: Combination,
        chosen: Selectors | None = None,
        *,
        fixed: Mapping[Projection, Node] | None = None,
    ) -> InevGraph:
        """The INEv graph of a combination.

        Args:
            combination: the split, without the inputs that output selectors add.
            chosen: the output selectors; those of Alg. 2 by default.
            fixed: sites of projections with a single-node placement that are known already.
        """
        workload = self.workload
        if chosen is None:
            chosen = selectors(workload, combination)
        whole = extended(combination, chosen)
        sites = self._sites(whole, chosen, fixed or {})
        targets = _targets(whole, sites)
        vertices = []
        # Events of types that nothing takes but their own sites are vertices, too.
        for kind in sorted(workload.types):
            one = events_of(kind)
            for source in workload.network.sources[kind]:
                vertices.append(Vertex(one, source, self.trees.tree({source, *targets.get(one, ())})))
        for projection in whole.ordered():
            for node in sites[projection]:
                links = self.trees.tree({node, *targets.get(projection, ())})
                vertices.append(Vertex(projection, node, links, chosen.get(projection)))
        return InevGraph(workload, whole, tuple(vertices))

    def _sites(
        self, whole: Combination, chosen: Selectors, fixed: Mapping[Projection, Node]
    ) -> dict[Projection, tuple[Node, ...]]:
        """Projection -> its sites: the sources of the partitioning type, or the one site where it costs least."""
        network = self.workload.network
        sites = {p: network.sources[part] for p, part in whole.partition.items()}
        # Single-node placements add to what the multi-node ones need anyway; those before them are known by then.
        targets = {one: set(nodes) for one, nodes in _targets(whole, sites).items()}
        for projection in whole.ordered():
            if projection in sites:
                continue
            node = fixed.get(projection)
            if node is None:
                node = self._cheapest(projection, whole, chosen, sites, targets)
            sites[projection] = (node,)
            for one in whole.inputs[projection]:
                targets.setdefault(one, set()).add(node)
        return sites

    def _cheapest(
        self,
        projection: Projection,
        whole: Combination,
        chosen: Selectors,
        sites: Mapping[Projection, tuple[Node, ...]],
        targets: Mapping[Projection, Iterable[Node]],
    ) -> Node:
        """The site to which the inputs of a projection, and from which its matches, have the cheapest way.

        An input that comes to other sites already has its way from the nearest of its tree.
        """
        network = self.workload.network
        costs = np.zeros(len(network.nodes))
        for one in whole.inputs[projection]:
            from_sites = network.sources[next(iter(one.types))] if one.is_primitive else sites[one]
            rate = self._rate_of_a_site(one, whole, chosen, len(from_sites))
            for source in from_sites:
                costs += rate * self._distances({source, *targets.get(one, ())})
        if targets.get(projection):
            rate = self._rate_of_a_site(projection, whole, chosen, 1)
            costs += rate * self._distances(targets[projection])
        return network.nodes[int(np.argmin(costs))]

    def _distances(self, nodes: Iterable[Node]) -> np.ndarray:
        """Of each site from the tree that links these: float64, (n,)."""
        network = self.workload.network
        held = {network.places[n] for edge in self.trees.tree(nodes) for n in edge}
        held |= {network.places[n] for n in nodes}
        return np.asarray(network.hops[:, sorted(held)].min(axis=1), np.float64)

    def _rate_of_a_site(self, one: Projection, whole: Combination, chosen: Selectors, n_sites: int) -> float:
        workload = self.workload
        if one not in chosen:
            return workload.rate(one) / n_sites
        part = whole.partition.get(one)
        return sum(
            workload.selected_rate(kind, one) / (workload.network.n_sources(kind) if kind == part else 1)
            for kind in chosen[one]
        )


def _targets(whole: Combination, sites: Mapping[Projection, tuple[Node, ...]]) -> dict[Projection, frozenset[Node]]:
    """Input -> the sites that it must reach, as far as they are known."""
    result: dict[Projection, set[Node]] = {}
    for projection, inputs in whole.inputs.items():
        part = whole.partition.get(projection)
        for one in inputs:
            if one.is_primitive and one.types == {part}:
                continue
            result.setdefault(one, set()).update(sites.get(projection, ()))
    return {one: frozenset(nodes) for one, nodes in result.items()}
