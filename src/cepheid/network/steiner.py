"""Trees that link sites with few links: Steiner trees, by heuristics (INEv, section 6.1).

The paper takes the heuristic over minimal spanning trees. Ours grows a tree by the nearest site that is not in it, from
each of the sites and with ties broken both ways, takes away what links nothing, and keeps the smallest of the trees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cepheid.network.model import Edge, EventNetwork, Node

MAX_STARTS = 8
"""Trees are grown from so many of the sites, spread over them."""


@dataclass(eq=False)
class SteinerTrees:
    """The trees of one network, each made once: they are kept with it."""

    network: EventNetwork

    def __post_init__(self) -> None:
        self._made = self.network.trees
        # Lists of places: arrays of so few numbers are slower one by one.
        network = self.network
        self._hops: list[list[int]] = network.hops.tolist()
        self._before = network.ways
        self._neighbours = [sorted(network.places[o] for o in network.topology[node]) for node in network.nodes]

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
        hops, before = self._hops, self._before
        away = hops[start]
        # Missing site -> (links to the tree, where in the tree).
        missing = {place: (away[place], start) for place in (reversed(ordered) if last else ordered) if place != start}
        held = {start}
        while missing:
            place = min(missing, key=missing.__getitem__)
            at = missing[place][1]
            fresh = []
            ways = before[at]
            while place not in held:
                fresh.append(place)
                held.add(place)
                place = ways[place]
            for place in fresh:
                missing.pop(place, None)
            for place, (distance, _) in missing.items():
                for other in fresh:
                    if hops[other][place] < distance:
                        distance = hops[other][place]
                        missing[place] = (distance, other)
        return held

    def _tidy(self, held: frozenset[int], sites: frozenset[Node]) -> frozenset[Edge]:
        """A spanning tree of these sites without ends that nobody asked for."""
        places, nodes = self.network.places, self.network.nodes
        asked = {places[site] for site in sites}
        root = min(asked)
        beside: dict[int, set[int]] = {root: set()}
        ring = [root]
        while ring:
            following = []
            for place in ring:
                for other in self._neighbours[place]:
                    if other in held and other not in beside:
                        beside[other] = {place}
                        beside[place].add(other)
                        following.append(other)
            ring = following
        ends = [place for place, others in beside.items() if len(others) == 1 and place not in asked]
        while ends:
            end = ends.pop()
            (before,) = beside.pop(end)
            beside[before].discard(end)
            if len(beside[before]) == 1 and before not in asked:
                ends.append(before)
        link = self.network.link
        return frozenset(link(nodes[a], nodes[b]) for a, others in beside.items() for b in others if a < b)
