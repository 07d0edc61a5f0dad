"""What plans are compared with: operator placement with push and pull, by exhaustive search (INEv, section 7.1).

The other baseline, everything at one site, is `cost.centralized`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cepheid.errors import NetworkError
from cepheid.network.model import Node
from cepheid.network.patterns import restrict
from cepheid.network.queries import NetworkQuery, Projection, Workload

MAX_TYPES = 7
"""Queries of more types have too many orders (47,293 for seven)."""


@dataclass(frozen=True)
class PushPull:
    """A query at one site that asks for its frequent events only when it needs them.

    Attributes:
        node: the site.
        steps: the types in groups: the first is sent unasked, each next one is asked for when the ones before match.
        cost: messages on all links in one window, questions included.
    """

    node: Node
    steps: tuple[frozenset[str], ...]
    cost: float


def push_pull(workload: Workload, query: NetworkQuery) -> PushPull:
    """The cheapest site and order.

    A step is asked for by each partial match of those before it, at most once a window; then the sources send what the
    window holds. With at most one event of a type in a window a rate is a chance, and asking saves most of it. Where
    the partial matches of a window are one or more, all is sent, and asked for besides.

    Raises:
        NetworkError: too many types for an exhaustive search.
    """
    kinds = sorted(query.types)
    if len(kinds) > MAX_TYPES:
        raise NetworkError(
            f"the query {query.name} has {len(kinds)} types, too many to try all orders",
            remedy=f"compare with queries of at most {MAX_TYPES} types",
        )
    network = workload.network
    hops = np.stack(
        [network.hops[:, [network.places[n] for n in network.sources[kind]]].sum(axis=1) for kind in kinds]
    ).astype(np.float64)
    rates = np.array([network.rates[kind] for kind in kinds])
    chance = {
        mask: _chance(workload, query, frozenset(k for i, k in enumerate(kinds) if mask >> i & 1))
        for mask in range(1, 1 << len(kinds))
    }
    best: tuple[float, int, tuple[int, ...]] | None = None
    for steps in _orders((1 << len(kinds)) - 1):
        total = np.zeros(len(network.nodes))
        before = 0
        for step in steps:
            asked = 1.0 if not before else chance[before]
            for place in range(len(kinds)):
                if step >> place & 1:
                    total += hops[place] * asked * (rates[place] + (1.0 if before else 0.0))
            before |= step
        at = int(np.argmin(total))
        if best is None or total[at] < best[0]:
            best = (float(total[at]), at, steps)
    assert best is not None
    named = tuple(frozenset(k for i, k in enumerate(kinds) if step >> i & 1) for step in best[2])
    return PushPull(network.nodes[best[1]], named, best[0])


def _chance(workload: Workload, query: NetworkQuery, kinds: frozenset[str]) -> float:
    """That a window holds a match of the query restricted to some types, at most 1."""
    pattern = restrict(query.planned.pattern, kinds - query.negated)
    return 1.0 if pattern is None else min(1.0, workload.rate(Projection(pattern)))


def _orders(mask: int) -> Iterator[tuple[int, ...]]:
    """All ordered partitions of a set of bits."""
    if not mask:
        yield ()
        return
    part = mask
    while part:
        for rest in _orders(mask & ~part):
            yield (part, *rest)
        part = (part - 1) & mask
