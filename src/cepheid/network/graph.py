"""The INEv graph: what is evaluated where, and what is sent along which links (INEv, Definition 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from cepheid.network.model import Edge, Node
from cepheid.network.queries import Projection, Workload


@dataclass(frozen=True)
class Vertex:
    """A projection at a site: v = (v_proj, v_node, v_graph, v_os).

    Attributes:
        projection: what is evaluated there, or the events of a type that arise there.
        node: the site.
        links: the links along which its output is sent: the edges of v_graph.
        selector: the types whose events are sent; None where whole matches are (≡ in the paper).
    """

    projection: Projection
    node: Node
    links: frozenset[Edge] = frozenset()
    selector: frozenset[str] | None = None

    def __post_init__(self) -> None:
        # Vertices are keys of all that is known of a plan while it runs.
        object.__setattr__(self, "_hash", hash((self.projection, self.node, self.links, self.selector)))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined, no-any-return]

    @property
    def sends(self) -> bool:
        """Anything leaves the site."""
        return bool(self.links)

    def reached(self) -> frozenset[Node]:
        """The sites of v_graph, its own among them."""
        return frozenset({self.node}).union(*(frozenset(edge) for edge in self.links))

    @cached_property
    def ways(self) -> Mapping[Node, Node]:
        """Each site that its output comes to -> the site before it on the way; nearer ones first, its own not."""
        beside: dict[Node, list[Node]] = {}
        for one, other in sorted(self.links, key=repr):
            beside.setdefault(one, []).append(other)
            beside.setdefault(other, []).append(one)
        found: dict[Node, Node] = {}
        ring = [self.node]
        while ring:
            following = []
            for node in ring:
                for other in beside.get(node, ()):
                    if other not in found and other != self.node:
                        found[other] = node
                        following.append(other)
            ring = following
        return found

    @cached_property
    def n_hops(self) -> Mapping[Node, int]:
        """Links from its site to each site that its output comes to, along its own: d(v_graph, v_node, n)."""
        found = {self.node: 0}
        for node, before in self.ways.items():
            found[node] = found[before] + 1
        return found


@dataclass(frozen=True)
class Combination:
    """How the queries of a workload are split: C = (P, λ), with the multi-node placements MN.

    Attributes:
        inputs: projection -> what its matches are joined from (λ); its keys are the projections, queries among them.
        partition: projection -> the type by whose events its matches are split over the sources of that type;
            projections that are not in it are evaluated at one site.
    """

    inputs: Mapping[Projection, tuple[Projection, ...]]
    partition: Mapping[Projection, str]

    def ordered(self) -> tuple[Projection, ...]:
        """The projections, inputs before what is made of them."""
        return tuple(sorted(self.inputs, key=lambda p: (len(p.types), p.name)))


@dataclass(frozen=True, eq=False)
class InevGraph:
    """A plan: I = (V, E).

    Attributes:
        workload: what it evaluates.
        combination: the split, with the inputs that output selectors add (Alg. 2, line 7).
        vertices: the events of each type at each of its sources, and each projection at each of its sites.
    """

    workload: Workload
    combination: Combination
    vertices: tuple[Vertex, ...]

    @cached_property
    def by_projection(self) -> Mapping[Projection, tuple[Vertex, ...]]:
        """Projection -> its vertices."""
        result: dict[Projection, list[Vertex]] = {}
        for vertex in self.vertices:
            result.setdefault(vertex.projection, []).append(vertex)
        return {projection: tuple(found) for projection, found in result.items()}

    @cached_property
    def edges(self) -> tuple[tuple[Vertex, Vertex], ...]:
        """E: (input, what is made of it)."""
        return tuple((before, vertex) for vertex in self.vertices for before in self.before(vertex))

    def before(self, vertex: Vertex) -> tuple[Vertex, ...]:
        """The vertices whose output it is made of; of the partitioning input, only that at its own site."""
        part = self.combination.partition.get(vertex.projection)
        result: list[Vertex] = []
        for one in self.combination.inputs.get(vertex.projection, ()):
            found = self.by_projection.get(one, ())
            if part is not None and one.is_primitive and one.types == {part}:
                found = tuple(v for v in found if v.node == vertex.node)
            result.extend(found)
        return tuple(result)

    def sinks(self) -> tuple[Vertex, ...]:
        """The vertices that evaluate a query of the workload: V_Q."""
        return tuple(v for v in self.vertices if v.projection in self.workload.sinks)
