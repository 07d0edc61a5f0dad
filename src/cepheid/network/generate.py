"""Networks and workloads drawn at random, as in the paper's experiments (INEv, section 7.1, and the authors' code)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import networkx as nx
import numpy as np

from cepheid.network.model import EventNetwork
from cepheid.network.patterns import Absent, Pattern, Primitive, interleaving, sequence, types_of
from cepheid.network.queries import NetworkQuery, Selectivities

Zipf = Literal["unbounded", "bounded"]
Topology = Literal["ring", "degree"]

BOUND = 100_000
"""The largest rate of the bounded Zipf."""


@dataclass(frozen=True)
class NetworkSettings:
    """What a network is drawn with.

    Attributes:
        n_nodes: sites.
        n_types: types of events, named A, B, ... (E27 and so on after Z).
        skew: the exponent of the Zipf distribution of rates; the smaller, the heavier its tail.
        node_ratio: the chance that a site is a source of a type (the paper's event node ratio).
        out_degree: the paper's out-degree.
        zipf: ``unbounded`` as NumPy draws it, ``bounded`` to 1..`BOUND`.
        topology: ``ring``, a connected Watts-Strogatz ring as in the authors' code (an out-degree of 3 acts as 2: as
            many links as sites), rewired with chance 0.2; ``degree``, as many links at random as give the average.
    """

    n_nodes: int = 20
    n_types: int = 7
    skew: float = 1.3
    node_ratio: float = 0.5
    out_degree: int = 3
    zipf: Zipf = "unbounded"
    topology: Topology = "ring"


def type_names(n: int) -> tuple[str, ...]:
    """A, B, ..., Z, E27, E28, ..."""
    return tuple(chr(65 + i) if i < 26 else f"E{i + 1}" for i in range(n))


def draw_rates(n: int, settings: NetworkSettings, rng: np.random.Generator) -> list[float]:
    """Rates of ``n`` types."""
    if settings.zipf == "unbounded":
        return [float(rate) for rate in rng.zipf(settings.skew, n)]
    ranks = np.arange(1, BOUND + 1, dtype=np.float64)
    weights = ranks**-settings.skew
    return [float(rate) for rate in rng.choice(ranks, n, p=weights / weights.sum())]


def draw_topology(settings: NetworkSettings, rng: np.random.Generator) -> nx.Graph:
    """A connected graph of the sites 0, 1, ..."""
    n = settings.n_nodes
    if n <= 2:
        return nx.path_graph(n)
    seed = int(rng.integers(2**31))
    if settings.topology == "ring":
        return nx.connected_watts_strogatz_graph(n, min(settings.out_degree, n - 1), 0.2, tries=1000, seed=seed)
    graph = nx.random_labeled_tree(n, seed=seed)
    missing = [pair for pair in combinations(range(n), 2) if not graph.has_edge(*pair)]
    n_more = max(0, min(round(n * settings.out_degree / 2) - graph.number_of_edges(), len(missing)))
    for place in rng.choice(len(missing), n_more, replace=False) if n_more else ():
        graph.add_edge(*missing[int(place)])
    return graph


def draw_network(settings: NetworkSettings, rng: np.random.Generator) -> EventNetwork:
    """A network: each site is a source of each type with the chance given, drawn anew until each type has one."""
    kinds = type_names(settings.n_types)
    graph = draw_topology(settings, rng)
    rates = draw_rates(len(kinds), settings, rng)
    while True:
        held = rng.random((len(kinds), settings.n_nodes)) < settings.node_ratio
        if held.any(axis=1).all():
            break
    sources = {kind: tuple(int(n) for n in np.flatnonzero(held[i])) for i, kind in enumerate(kinds)}
    return EventNetwork(
        tuple(range(settings.n_nodes)), tuple(graph.edges), sources, dict(zip(kinds, rates, strict=True))
    )


def draw_selectivities(
    kinds: Sequence[str], rng: np.random.Generator, scale: float = 0.1, low: float | None = None
) -> Selectivities:
    """Of each pair of types: 1 with chance 1/3, else uniform from ``low`` (a tenth of ``scale``) to ``scale``."""
    low = scale / 10 if low is None else low
    pairs: Mapping[frozenset[str], float] = {
        frozenset(pair): 1.0 if rng.random() < 1 / 3 else float(rng.uniform(low, scale))
        for pair in combinations(kinds, 2)
    }
    return Selectivities(pairs, seed=int(rng.integers(2**31)))


def draw_pattern(kinds: Sequence[str], rng: np.random.Generator) -> Pattern:
    """SEQ or AND at the root with equal chance, alternating down to a random depth, each type once."""
    order = [kinds[int(i)] for i in rng.permutation(len(kinds))]
    depth = int(rng.integers(1, max(2, len(kinds) // 2 + 1)))
    return _level(order, depth, in_sequence=bool(rng.random() < 0.5), rng=rng)


def _level(kinds: Sequence[str], depth: int, *, in_sequence: bool, rng: np.random.Generator) -> Pattern:
    if len(kinds) == 1:
        return Primitive(kinds[0])
    if depth == 1 or len(kinds) == 2:
        parts: tuple[Pattern, ...] = tuple(Primitive(kind) for kind in kinds)
    else:
        start = int(rng.integers(0, len(kinds) - 1))
        stop = int(rng.integers(start + 2, len(kinds) + 1))
        if stop - start == len(kinds):
            start += 1
        inner = _level(kinds[start:stop], depth - 1, in_sequence=not in_sequence, rng=rng)
        parts = (*map(Primitive, kinds[:start]), inner, *map(Primitive, kinds[stop:]))
    return sequence(parts) if in_sequence else interleaving(parts)


def with_kleene(pattern: Pattern, kind: str) -> Pattern:
    """The same with a loop over one of its types."""
    if isinstance(pattern, Primitive):
        return Primitive(kind, kleene=True) if pattern.type == kind else pattern
    parts = tuple(p if isinstance(p, Absent) else with_kleene(p, kind) for p in pattern.parts)
    return type(pattern)(parts)  # type: ignore[arg-type]


def negatable(pattern: Pattern) -> tuple[str, ...]:
    """The types that stand between two others of a sequence, not negated ones."""
    if isinstance(pattern, Primitive):
        return ()
    found: list[str] = []
    for place, part in enumerate(pattern.parts):
        if isinstance(part, Absent):
            continue
        inner = type(pattern).__name__ == "Sequence" and 0 < place < len(pattern.parts) - 1
        if inner and isinstance(part, Primitive):
            found.append(part.type)
        else:
            found.extend(negatable(part))
    return tuple(found)


def with_negation(pattern: Pattern, kind: str) -> Pattern:
    """The same with one of its types negated, which must stand between two others."""
    if isinstance(pattern, Primitive):
        return pattern
    parts = tuple(
        Absent(kind)
        if isinstance(p, Primitive) and p.type == kind
        else (p if isinstance(p, Absent) else with_negation(p, kind))
        for p in pattern.parts
    )
    return type(pattern)(parts)  # type: ignore[arg-type]


def draw_queries(
    n: int,
    kinds: Sequence[str],
    rng: np.random.Generator,
    *,
    n_types: tuple[int, int] = (4, 7),
    mixed: bool = False,
) -> tuple[NetworkQuery, ...]:
    """Queries, no two with one pattern where the types allow it.

    Args:
        n: how many.
        kinds: the types they may name.
        n_types: the fewest and the most types of a query.
        mixed: every third has a loop, every third a NOT where its pattern has a place for one.
    """
    found: list[NetworkQuery] = []
    seen: set[Pattern] = set()
    for tries in range(100 * n):
        if len(found) == n:
            break
        size = min(int(rng.integers(n_types[0], n_types[1] + 1)), len(kinds))
        pattern = draw_pattern([kinds[int(i)] for i in rng.choice(len(kinds), size, replace=False)], rng)
        if mixed and len(found) % 3 == 1:
            pattern = with_kleene(pattern, sorted(types_of(pattern))[int(rng.integers(size))])
        elif mixed and len(found) % 3 == 2 and (places := negatable(pattern)):
            pattern = with_negation(pattern, places[int(rng.integers(len(places)))])
        if pattern in seen and tries < 50 * n:
            continue
        seen.add(pattern)
        found.append(NetworkQuery(f"q{len(found) + 1}", pattern))
    return tuple(found)
