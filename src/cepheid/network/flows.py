"""What goes over each link of a plan, and which way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.network.cost import sent_rate
from cepheid.network.graph import InevGraph, Vertex
from cepheid.network.model import Node
from cepheid.network.queries import Projection

Direction = tuple[Node, Node]
"""A link as a message takes it: from a site to its neighbour."""


@dataclass(frozen=True)
class Flow:
    """What a vertex sends over a link.

    Attributes:
        vertex: whose output.
        what: its output as text: events of a type, whole matches, or the events that an output selector takes of them.
        rate: messages in one window, as the plan expects them.
    """

    vertex: Vertex
    what: str
    rate: float


def flows(graph: InevGraph) -> Mapping[Direction, tuple[Flow, ...]]:
    """Direction -> what goes there, the most frequent first; only directions that something takes."""
    found: dict[Direction, list[Flow]] = {}
    names = titles(graph)
    for vertex in graph.vertices:
        what = names[vertex.projection]
        if vertex.selector is not None:
            what = f"{', '.join(sorted(vertex.selector))} of {what}"
        for node, before in vertex.ways.items():
            found.setdefault((before, node), []).append(Flow(vertex, what, sent_rate(graph, vertex)))
    places = graph.workload.network.places
    ordered = sorted(found, key=lambda way: (places[way[0]], places[way[1]]))
    return {way: tuple(sorted(found[way], key=lambda flow: (-flow.rate, flow.what))) for way in ordered}


def titles(graph: InevGraph) -> Mapping[Projection, str]:
    """Projection -> its pattern, with the name of the query that it is, or of those that are made of it."""
    made_for: dict[Projection, list[str]] = {}
    for query in graph.workload.queries:
        waiting = [query.planned]
        while waiting:
            one = waiting.pop()
            if query.name not in made_for.setdefault(one, []):
                made_for[one].append(query.name)
                waiting.extend(graph.combination.inputs.get(one, ()))
    found = {}
    for projection, queries in made_for.items():
        names = [query.name for query in graph.workload.queries if query.planned == projection]
        if projection.is_primitive:
            found[projection] = projection.name
        elif names:
            found[projection] = f"{', '.join(names)} = {projection}"
        else:
            found[projection] = f"{projection} for {', '.join(sorted(queries))}"
    for vertex in graph.vertices:
        found.setdefault(vertex.projection, vertex.projection.name)
    return found


def together(of_link: tuple[Flow, ...]) -> dict[str, float]:
    """What goes over a link -> messages in one window, those of several vertices added up."""
    found: dict[str, float] = {}
    for flow in of_link:
        found[flow.what] = found.get(flow.what, 0.0) + flow.rate
    return found


def placements(graph: InevGraph) -> Mapping[Node, tuple[str, ...]]:
    """Site -> the projections that are evaluated there, as text; queries with their names."""
    names = titles(graph)
    found: dict[Node, list[str]] = {}
    for vertex in graph.vertices:
        if not vertex.projection.is_primitive:
            found.setdefault(vertex.node, []).append(names[vertex.projection])
    return {node: tuple(texts) for node, texts in found.items()}
