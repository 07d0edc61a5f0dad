"""What an evaluation at a site of a plan is put together from, and how far its output has come.

For who runs a plan (`simulation.network`, jobs): an engine at a vertex joins *parts*, each fed by the output of some of
the vertices before it (`engine.joiner.Joiner` names them so).
"""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.network.graph import InevGraph, Vertex
from cepheid.network.queries import Projection

Feeds = Mapping[str | None, str]
"""What a vertex sends, a type of single events or None for whole matches -> the part that it is for."""


def parts(graph: InevGraph, projection: Projection) -> dict[str, frozenset[str]]:
    """The parts that a projection is joined from: name -> types.

    A type is a part of its events, wherever they come from: its sources, or the output selectors of projections. A
    projection whose matches come whole is a part named by its pattern.
    """
    found: dict[str, frozenset[str]] = {}
    for one in graph.combination.inputs[projection]:
        for kind, part in _feeds(graph, one).items():
            found[part] = one.types if kind is None else frozenset({kind})
    return found


def feeds(graph: InevGraph, before: Vertex) -> Feeds:
    """The parts, wherever it goes, that the output of a vertex is for."""
    return _feeds(graph, before.projection)


def _feeds(graph: InevGraph, one: Projection) -> Feeds:
    if one.is_primitive:
        (kind,) = one.types
        return {kind: kind}
    selector = graph.by_projection[one][0].selector
    return {None: one.name} if selector is None else {kind: kind for kind in sorted(selector)}


def output_watermark(vertex: Vertex, watermark_us: int, longest_us: int) -> int:
    """How far the output of a vertex has come, when it has found all matches whose last event is not after a watermark.

    Whole matches have come as far. Of an event that an output selector takes out of a match, the last event of the
    match may lie up to a window later: only when that has passed will it be sent no more.

    Args:
        vertex: whose output.
        watermark_us: how far the joiner at the vertex has come.
        longest_us: the longest time from the first event of a match to the last.
    """
    return watermark_us if vertex.selector is None else watermark_us - longest_us
