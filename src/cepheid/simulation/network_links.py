"""The links of a simulated network: how long messages take, which overtake others, and how many there are."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from cepheid.errors import NetworkError
from cepheid.events.column import Int64Array
from cepheid.network.graph import Vertex
from cepheid.network.model import Edge, EventNetwork, Node


@dataclass(frozen=True)
class Outage:
    """A link that carries nothing for a while; what comes to it waits.

    Attributes:
        link: two sites.
        from_us, until_us: when, on the clock of the simulation.
    """

    link: Edge
    from_us: int
    until_us: int


class Links:
    """The links, with what is on its way on them.

    Attributes:
        messages: link -> messages that it carried.
        n_overtaking: messages that came to a site before one that the same vertex had sent in an earlier step.
    """

    def __init__(
        self, network: EventNetwork, hop_us: tuple[int, int], outages: Sequence[Outage], random: Generator
    ) -> None:
        """Links that are empty.

        Args:
            network: the sites.
            hop_us: the least and the greatest time that a message takes over a link; each takes one drawn from these.
            outages: links that are down.
            random: draws the times.

        Raises:
            NetworkError: an outage is of no link.
        """
        self.messages = dict.fromkeys((network.link(*edge) for edge in network.edges), 0)
        self.n_overtaking = 0
        self._network = network
        self._hop_us = hop_us
        self._random = random
        self._outages: dict[Edge, list[Outage]] = {}
        for outage in outages:
            one, other = outage.link
            known = one in network.places and other in network.places
            if not known or network.link(one, other) not in self.messages:
                raise NetworkError(f"{one} - {other}, which is down, is no link", remedy="name a link of the network")
            self._outages.setdefault(network.link(one, other), []).append(outage)
            self._outages[network.link(one, other)].sort(key=lambda known: known.from_us)
        # For each vertex and site: when the last of what was sent so far arrives, and the watermarks on their way.
        self._latest_us: dict[tuple[Vertex, Node], int] = {}
        self._watermarks: dict[tuple[Vertex, Node], deque[tuple[int, int]]] = {}

    def send(self, vertex: Vertex, n: int, now_us: int) -> dict[Node, Int64Array]:
        """Send ``n`` messages along all links of a vertex: site -> when each of them arrives there, int64, (n,)."""
        arrivals = {vertex.node: np.full(n, now_us, np.int64)}
        for node, before in vertex.ways.items():
            link = self._network.link(before, node)
            delays = self._random.integers(self._hop_us[0], self._hop_us[1], n, endpoint=True)
            arrivals[node] = self._crossed(link, arrivals[before]) + delays
            self.messages[link] += n
        del arrivals[vertex.node]
        for node, at in arrivals.items():
            latest = self._latest_us.get((vertex, node), -1)
            self.n_overtaking += int(np.count_nonzero(at < latest))
            self._latest_us[vertex, node] = max(latest, int(at.max(initial=-1)))
        return arrivals

    def announce(self, vertex: Vertex, watermark_us: int, now_us: int, to: Iterable[Node]) -> None:
        """Tell sites that a vertex reaches how far its output has come; this overtakes nothing sent before it."""
        delayed = self._arrivals(vertex, now_us) if any(link in self._outages for link in vertex.links) else None
        for node in to:
            at = now_us + vertex.n_hops[node] * self._hop_us[1] if delayed is None else delayed[node]
            waiting = self._watermarks.setdefault((vertex, node), deque())
            earlier = waiting[-1][0] if waiting else at
            waiting.append((max(at, earlier, self._latest_us.get((vertex, node), at)), watermark_us))

    def _arrivals(self, vertex: Vertex, now_us: int) -> dict[Node, int]:
        """When what takes longest arrives everywhere."""
        arrivals = {vertex.node: now_us}
        for node, before in vertex.ways.items():
            at = arrivals[before]
            for outage in self._outages.get(self._network.link(before, node), ()):
                if outage.from_us <= at < outage.until_us:
                    at = outage.until_us
            arrivals[node] = at + self._hop_us[1]
        return arrivals

    def watermark(self, vertex: Vertex, node: Node, now_us: int) -> int | None:
        """The newest watermark of a vertex that has come to a site since the last call; None for none."""
        waiting = self._watermarks.get((vertex, node))
        newest = None
        while waiting and waiting[0][0] <= now_us:
            _, watermark_us = waiting.popleft()
            newest = watermark_us if newest is None else max(newest, watermark_us)
        return newest

    def _crossed(self, link: Edge, at_us: Int64Array) -> Int64Array:
        """When messages that come to a link begin to cross it."""
        for outage in self._outages.get(link, ()):
            at_us = np.where((at_us >= outage.from_us) & (at_us < outage.until_us), outage.until_us, at_us)
        return at_us
