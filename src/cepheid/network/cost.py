"""What a plan sends, and how long a match takes (INEv, sections 5.3, 5.4 and 7.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cepheid.network.graph import Combination, InevGraph, Vertex
from cepheid.network.model import Node
from cepheid.network.queries import NetworkQuery, Workload, events_of


def sent_rate(graph: InevGraph, vertex: Vertex) -> float:
    """Messages that leave a vertex along each of its links in one window."""
    workload, projection = graph.workload, vertex.projection
    if vertex.selector is None:
        return workload.rate(projection) / len(graph.by_projection[projection])
    part = graph.combination.partition.get(projection)
    total = 0.0
    for kind in vertex.selector:
        rate = workload.selected_rate(kind, projection)
        # A site of a multi-node placement has its own events of the partitioning type only.
        total += rate / workload.network.n_sources(kind) if kind == part else rate
    return total


def vertex_cost(graph: InevGraph, vertex: Vertex) -> float:
    """tc(v): messages on all links of a vertex in one window.

    The printed formula lacks the brackets around its two sums; Example 9 counts both of them on each link.
    """
    return len(vertex.links) * sent_rate(graph, vertex) if vertex.links else 0.0


def transmission_cost(graph: InevGraph) -> float:
    """ψ(I): messages on all links in one window."""
    return sum(vertex_cost(graph, vertex) for vertex in graph.vertices)


def processing_latency(graph: InevGraph, vertex: Vertex) -> float:
    """ℓ_p(v): partial matches that a vertex makes in one window."""
    inputs = graph.combination.inputs.get(vertex.projection)
    if not inputs:
        return 0.0
    rate = graph.workload.partial_match_rate(vertex.projection, inputs)
    return rate / len(graph.by_projection[vertex.projection])


def latency(graph: InevGraph, xi: float) -> float:
    """ℓ(I): hops on the longest way to a match, and ``xi`` (ξ) for each partial match on it."""
    known: dict[Vertex, float] = {}

    def of(vertex: Vertex) -> float:
        if vertex not in known:
            before = graph.before(vertex)
            if not before:
                known[vertex] = 0.0
            else:
                own = processing_latency(graph, vertex) * xi if xi else 0.0
                hops = max(one.n_hops[vertex.node] for one in before)
                known[vertex] = own + hops + max(of(one) for one in before)
        return known[vertex]

    return max(of(vertex) for vertex in graph.sinks())


@dataclass(frozen=True)
class Centralized:
    """All queries at one site.

    Attributes:
        node: the site.
        cost: messages on all links in one window.
        latency: τ, of the slowest query.
    """

    node: Node
    cost: float
    latency: float


def centralized_cost(workload: Workload, node: Node) -> float:
    """Messages on all links in one window where every event that a query needs goes to one site."""
    network = workload.network
    return math.fsum(
        network.rates[kind] * sum(network.distance(source, node) for source in network.sources[kind])
        for kind in sorted(workload.types)
    )


def centralized(workload: Workload, xi: float, most: float = math.inf) -> Centralized:
    """The site where all queries together cost least; of several the one of the least latency, and the first of these.

    Args:
        workload: the queries.
        xi: ξ, the latency of one partial match in hops.
        most: a bound on the latency: sites that keep it go before all that do not.
    """
    network = workload.network
    found = [
        Centralized(node, centralized_cost(workload, node), latency(centralized_graph(workload, node), xi))
        for node in network.nodes
    ]
    return min(found, key=lambda one: (one.latency > most, one.cost, one.latency))


def centralized_graph(workload: Workload, node: Node) -> InevGraph:
    """The plan that sends every event to one site."""
    network = workload.network
    vertices = []
    for kind in sorted(workload.types):
        for source in network.sources[kind]:
            vertices.append(Vertex(events_of(kind), source, frozenset(network.path(source, node))))
    inputs = {}
    for query in workload.queries:
        inputs[query.planned] = tuple(events_of(kind) for kind in sorted(query.types))
    vertices += [Vertex(sink, node) for sink in inputs]
    return InevGraph(workload, Combination(inputs, {}), tuple(vertices))


def lower_bound(workload: Workload, query: NetworkQuery) -> float:
    """What any plan for a query must send, as section 7.2 estimates it.

    A type need not be sent where some projection, the query or another type come less often than its events at one
    source. Any other is sent from all its sources but one over the mean distance of two sites: so it is a bound where
    sources are strewn over the network, and too high where they lie closer together than its sites do.
    """
    network = workload.network
    least = min(network.global_rate(kind) for kind in query.types)
    for projection in (*query.projections(), query.planned):
        least = min(least, workload.rate(projection))
    return sum(
        (network.global_rate(kind) - network.rates[kind]) * network.mean_hops
        for kind in query.types
        if network.rates[kind] <= least
    )
