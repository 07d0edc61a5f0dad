"""The network: which sites are linked, where events of each type arise, and how often (INEv, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import networkx as nx
import numpy as np

from cepheid.errors import NetworkError

Node: TypeAlias = int | str
Edge: TypeAlias = tuple[Node, Node]
"""A link, the node that stands first in the network first."""

MOST_EVENTS = 1e20
"""The greatest rate: products of the rates of many types stay numbers."""


@dataclass(frozen=True, eq=False)
class EventNetwork:
    """Sites, links, sources and rates: Γ = (G_top, f, r) in the paper.

    Attributes:
        nodes: the sites.
        edges: pairs of sites that are linked; a link carries events both ways.
        sources: type -> the sites at which events of the type arise (f).
        rates: type -> events of the type at each of its sources in one window (r, the local rate).
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    sources: Mapping[str, tuple[Node, ...]]
    rates: Mapping[str, float]

    def __post_init__(self) -> None:
        if not self.nodes:
            raise NetworkError("the network has no site", remedy="name at least one")
        if len(set(self.nodes)) < len(self.nodes):
            twice = next(n for n in self.nodes if self.nodes.count(n) > 1)
            raise NetworkError(f"the site {twice} is named twice", remedy="give each site a name of its own")
        for a, b in self.edges:
            if a not in self.places or b not in self.places:
                missing = a if a not in self.places else b
                raise NetworkError(f"the link {a} - {b} names {missing}, which is no site", remedy="add the site")
        self._require_connected()
        for kind, sites in self.sources.items():
            if not sites:
                raise NetworkError(
                    f"no site is a source of {kind}", remedy="name its sources, or leave the type out of the network"
                )
            for site in sites:
                if site not in self.places:
                    raise NetworkError(f"{site}, a source of {kind}, is no site", remedy="add the site")
            if len(set(sites)) < len(sites):
                raise NetworkError(f"a source of {kind} is named twice", remedy="name each source once")
            rate = self.rates.get(kind)
            if rate is None:
                raise NetworkError(f"the rate of {kind} is missing", remedy="say how many events a source has a window")
            if not 0 <= rate <= MOST_EVENTS:
                raise NetworkError(
                    f"the rate of {kind} is {rate}", remedy=f"a rate is a number from 0 to {MOST_EVENTS:g}"
                )
        for kind in self.rates:
            if kind not in self.sources:
                raise NetworkError(f"{kind} has a rate and no source", remedy="name its sources")

    def _require_connected(self) -> None:
        parts = [sorted(part, key=self.places.__getitem__) for part in nx.connected_components(self.topology)]
        if len(parts) > 1:
            parts.sort(key=len)
            raise NetworkError(
                f"the network falls into {len(parts)} parts: no link leads from {parts[0][0]} to {parts[-1][0]}",
                remedy="link them, or plan each part as a network of its own",
            )

    @cached_property
    def places(self) -> Mapping[Node, int]:
        """Site -> its place in `nodes`."""
        return {node: place for place, node in enumerate(self.nodes)}

    @cached_property
    def topology(self) -> nx.Graph:
        """The sites and links as a graph."""
        graph = nx.Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        return graph

    @cached_property
    def hops(self) -> np.ndarray:
        """Links on the shortest way between any two sites, by their places: int64, (n, n)."""
        result = np.zeros((len(self.nodes), len(self.nodes)), np.int64)
        for node, lengths in nx.all_pairs_shortest_path_length(self.topology):
            for other, length in lengths.items():
                result[self.places[node], self.places[other]] = length
        return result

    @cached_property
    def _parents(self) -> list[dict[Node, Node]]:
        """For each site, the way to any other: the site before it on the shortest way, the earliest on a tie."""
        neighbours = {n: sorted(self.topology[n], key=self.places.__getitem__) for n in self.nodes}
        result = []
        for root in self.nodes:
            seen: dict[Node, Node] = {root: root}
            ring = [root]
            while ring:
                following = []
                for node in ring:
                    for other in neighbours[node]:
                        if other not in seen:
                            seen[other] = node
                            following.append(other)
                ring = following
            result.append(seen)
        return result

    @cached_property
    def ways(self) -> list[list[int]]:
        """By places: of two sites, the one before the second on the way to it from the first, as in `path`."""
        places = self.places
        return [[places[before[node]] for node in self.nodes] for before in self._parents]

    @cached_property
    def mean_hops(self) -> float:
        """The average length of a shortest way between two different sites: δ in the paper (0 for one site)."""
        n = len(self.nodes)
        return float(self.hops.sum()) / (n * (n - 1)) if n > 1 else 0.0

    def distance(self, a: Node, b: Node) -> int:
        """Links on the shortest way."""
        return int(self.hops[self.places[a], self.places[b]])

    def path(self, a: Node, b: Node) -> tuple[Edge, ...]:
        """The links of a shortest way from ``a`` to ``b``, always the same one."""
        parents = self._parents[self.places[a]]
        edges = []
        while b != a:
            before = parents[b]
            edges.append(self.link(before, b))
            b = before
        return tuple(reversed(edges))

    def link(self, a: Node, b: Node) -> Edge:
        """The link between two sites as it is written here."""
        return (a, b) if self.places[a] < self.places[b] else (b, a)

    def n_sources(self, kind: str) -> int:
        """How many sites are sources of a type: |f(ε)|."""
        return len(self.sources[kind])

    def global_rate(self, kind: str) -> float:
        """Events of a type in the whole network in one window: R(ε) = |f(ε)| r(ε)."""
        return self.n_sources(kind) * self.rates[kind]

    def require_sources(self, kinds: Iterable[str], query: str) -> None:
        """Check that each type has a source.

        Raises:
            NetworkError: one has none.
        """
        for kind in sorted(kinds):
            if kind not in self.sources:
                raise NetworkError(
                    f"no site of the network is a source of {kind}, which the query {query} needs",
                    remedy=f"name the sources of {kind}; the network has {', '.join(sorted(self.sources)) or 'none'}",
                )

    @cached_property
    def trees(self) -> dict[frozenset[Node], frozenset[Edge]]:
        """Sites -> the links of a tree that holds them: what `SteinerTrees` has made so far."""
        return {}

    def with_rates(self, rates: Mapping[str, float]) -> EventNetwork:
        """The same network with other rates."""
        other = EventNetwork(self.nodes, self.edges, self.sources, {**self.rates, **rates})
        # Ways and trees do not depend on rates.
        for name in ("hops", "_parents", "ways", "mean_hops", "trees"):
            other.__dict__[name] = getattr(self, name)
        return other
