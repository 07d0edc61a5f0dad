"""Whether a plan finds every match and no other: well-formed combinations and forwarding (INEv, section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.errors import NetworkError
from cepheid.network.graph import InevGraph, Vertex
from cepheid.network.model import Node
from cepheid.network.patterns import closure, kleene_types, restrict, without_kleene
from cepheid.network.queries import NetworkQuery, Projection, events_of


def faults(graph: InevGraph) -> list[str]:
    """What is wrong with a plan, as sentences; none where it is well formed."""
    return [*_combination(graph), *_kleene(graph), *_forwarding(graph)]


def require_well_formed(graph: InevGraph) -> None:
    """Check a plan.

    Raises:
        NetworkError: it would lose matches or make wrong ones.
    """
    found = faults(graph)
    if found:
        raise NetworkError(f"the plan is not well formed: {found[0]}", remedy="plan the workload anew")


def _combination(graph: InevGraph) -> list[str]:
    found = []
    inputs, partition = graph.combination.inputs, graph.combination.partition
    network = graph.workload.network
    for query in graph.workload.queries:
        if query.planned not in inputs:
            found.append(f"the query {query.name} is evaluated nowhere")
    for projection, given in inputs.items():
        covered: frozenset[str] = frozenset().union(*(one.types for one in given))
        if covered != projection.types:
            found.append(f"the inputs of {projection} have the types {', '.join(sorted(covered))}")
        found += [f"{one}, an input of {projection}, is made nowhere" for one in given if not _made(graph, one)]
        found += [f"{projection} is made of itself" for one in given if one.types == projection.types]
        strange = [one for one in given if not _is_part(projection, one)]
        found += [f"{one}, an input of {projection}, is no part of it" for one in strange]
        if not any(_projects(query, projection) for query in graph.workload.queries):
            found.append(f"{projection} is no projection of a query that has with each NOT what it stands between")
        nodes = sorted(str(v.node) for v in graph.by_projection.get(projection, ()))
        part = partition.get(projection)
        if part is None:
            if len(nodes) != 1:
                found.append(f"{projection} is evaluated at {len(nodes)} sites and split by nothing")
            continue
        if nodes != sorted(map(str, network.sources[part])):
            found.append(f"{projection} is split by {part} and not evaluated at all of its sources")
        if part in projection.negated:
            found.append(f"{projection} is split by {part}, of which it must know every event")
        if events_of(part) not in given or any(part in one.types for one in given if not one.is_primitive):
            found.append(f"{projection} is split by {part}, which another of its inputs holds, too")
    for kind in sorted(graph.workload.types):
        have = {v.node for v in graph.by_projection.get(events_of(kind), ())}
        found += [
            f"the events of {kind} at {source} go into no query"
            for source in network.sources[kind]
            if source not in have
        ]
    return found


def _projects(query: NetworkQuery, projection: Projection) -> bool:
    if projection == query.planned:
        return True
    kinds = projection.types
    return kinds < query.types and query.closed(kinds) and query.projection(kinds) == projection


def _is_part(projection: Projection, one: Projection) -> bool:
    """Whether an input tests what its types are tested for in what is made of it, and nothing else."""
    if one.is_primitive or not one.types <= projection.types:
        return True
    conditions = frozenset(condition for condition in projection.conditions if condition.types <= one.types)
    loops, bounds = kleene_types(projection.pattern), closure(projection.pattern)
    for kind in one.negated:
        needed = bounds[kind].union(*(c.types for c in projection.conditions if kind in c.types))
        if not needed <= one.types or needed & loops:
            return False
    part = restrict(without_kleene(projection.pattern), one.types)
    return one.pattern == part and one.conditions == conditions


def _made(graph: InevGraph, projection: Projection) -> bool:
    return projection in graph.by_projection


def _kleene(graph: InevGraph) -> list[str]:
    """A loop's events must come together: whatever is split by their type goes to the same vertices, all of it."""
    found = []
    for sink, kinds in graph.workload.kleene.items():
        part = graph.combination.partition.get(sink)
        if part in kinds:
            found.append(f"{sink} is split by {part}, of which its loop takes several events")
    return found


def _forwarding(graph: InevGraph) -> list[str]:
    """Definition 2.

    Its second part, read as printed, asks for the vertices of the very projection that is made. What the proof needs,
    and what is tested: each type that is not selected reaches the site as events, from all of its sources.
    """
    found = []
    reached = {vertex: vertex.reached() for vertex in graph.vertices}
    for vertex in graph.vertices:
        for before in graph.before(vertex):
            if vertex.node not in reached[before]:
                found.append(f"{before.projection} at {before.node} does not reach {vertex.node}")
            if before.selector is None:
                continue
            for kind in sorted(before.projection.types - before.selector):
                found += _missing(graph, kind, vertex, before, reached)
            if before.selector & before.projection.negated:
                found.append(f"{before.projection} at {before.node} cannot select a type of which it holds no event")
    return found


def _missing(
    graph: InevGraph, kind: str, vertex: Vertex, before: Vertex, reached: Mapping[Vertex, frozenset[Node]]
) -> list[str]:
    sources = graph.by_projection.get(events_of(kind), ())
    return [
        f"{vertex.projection} at {vertex.node} gets {before.projection} without {kind}, and not {kind} from {one.node}"
        for one in sources
        if vertex.node not in reached[one]
    ]
