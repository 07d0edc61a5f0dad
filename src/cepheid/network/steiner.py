"""Trees that link sites with few links: Steiner trees, by heuristics (INEv, section 6.1).

The paper takes the heuristic over minimal spanning trees. Ours grows a tree by the nearest site that is not in it, from
each of the sites and with ties broken both ways, takes away what links nothing, and keeps the smallest of the trees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import networkx as nx
import numpy as np

from cepheid.network.model import Edge, EventNetwork, Node

MAX_STARTS = 8
"""Trees are grown from so many of the sites, spread over them."""


@dataclass(eq=False)
class SteinerTrees:
    """The trees of one network, each made once."""

    network: EventNetwork
    _made: dict[frozenset[Node], frozenset[Edge]] = field(default_factory=dict)

    def tree(self, sites: Iterable[Node]) -> frozenset[Edge]:
        """The links of a tree that holds all the sites; none for one site."""
        key = frozenset(sites)
        if key not in self._made:
            self._made[key] = self._grow(key)
        return self._made[key]

    def size(self, sites: Iterable[Node]) -> int:
        """The number of its links: |ST(N', G)|."""
        return len(self.tree(sites))

    def _grow(self, sites: frozenset[Node]) -> frozenset[Edge]:
        if len(sites) < 2:
            return frozenset()
        places = self.network.places
        ordered = sorted(places[site] for site in sites)
        if len(ordered) == 2:
            return frozenset(self.network.path(self.network.nodes[ordered[0]], self.network.nodes[ordered[1]]))
        step = max(1, len(ordered) // MAX_STARTS)
        best: frozenset[Edge] | None = None
        seen: set[frozenset[int]] = set()
        for start in ordered[::step][:MAX_STARTS]:
            for last in (False, True):
                held = frozenset(self._from(start, ordered, last=last))
                if held in seen or (best is not None and len(held) - 1 >= len(best) + 3):
                    continue  # tidying takes a few ends away at most
                seen.add(held)
                tree = self._tidy(held, sites)
                if best is None or len(tree) < len(best):
                    best = tree
                if len(best) == len(ordered) - 1:
                    return best  # no tree is smaller
        assert best is not None
        return best

    def _from(self, start: int, ordered: list[int], *, last: bool) -> set[int]:
        """The sites of a tree grown from one: the nearest one next, the first or the last of several."""
        hops, nodes = self.network.hops, self.network.nodes
        missing = np.array([p for p in ordered if p != start], np.int64)
        held = {start}
        distance = hops[start, missing].copy()
        nearest = np.full(len(missing), start, np.int64)
        while len(missing):
            at = len(distance) - 1 - int(np.argmin(distance[::-1])) if last else int(np.argmin(distance))
            fresh = set()
            for a, b in self.network.path(nodes[nearest[at]], nodes[missing[at]]):
                fresh |= {self.network.places[a], self.network.places[b]}
            fresh -= held
            held |= fresh
            for place in sorted(fresh):
                closer = hops[place, missing] < distance
                distance[closer] = hops[place, missing][closer]
                nearest[closer] = place
            keep = distance > 0
            missing, distance, nearest = missing[keep], distance[keep], nearest[keep]
        return held

    def _tidy(self, held: frozenset[int], sites: frozenset[Node]) -> frozenset[Edge]:
        """A spanning tree of these sites without ends that nobody asked for."""
        nodes = self.network.nodes
        part = self.network.topology.subgraph([nodes[place] for place in sorted(held)])
        root = min(sites, key=self.network.places.__getitem__)
        tree = nx.Graph(list(nx.bfs_edges(part, root)))
        ends = [n for n in tree if tree.degree(n) == 1 and n not in sites]
        while ends:
            end = ends.pop()
            (before,) = tree[end]
            tree.remove_node(end)
            if tree.degree(before) == 1 and before not in sites:
                ends.append(before)
        return frozenset(self.network.link(a, b) for a, b in tree.edges)
