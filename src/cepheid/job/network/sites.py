"""What each site of a plan does: the plan as programs of sites (`cepheid.spark.sites`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from cepheid.job.network.load import NetworkJob
from cepheid.job.section import length_us
from cepheid.language.bound import BoundQuery
from cepheid.network.from_query import PlannedQuery
from cepheid.network.graph import InevGraph, Vertex
from cepheid.network.model import Node
from cepheid.network.parts import feeds, parts
from cepheid.plan.projection import project
from cepheid.spark.sites.program import Evaluation, SiteProgram, Source, Stage, Topics
from cepheid.spark.sites.site import WHOLE


def programs(job: NetworkJob, graph: InevGraph) -> dict[str, SiteProgram]:
    """Site -> what it does, of all sites, those that only pass messages on among them.

    Raises:
        NetworkError: a query cannot be split.
    """
    numbers = {vertex: number for number, vertex in enumerate(graph.vertices)}
    digest = _digest(job, graph)
    return {str(node): _program(job, graph, node, numbers, digest) for node in graph.workload.network.nodes}


def topics_of(job: NetworkJob, graph: InevGraph, node: Node) -> Topics:
    """Where a site reads and writes."""
    name, workload = job.model.network.name, graph.workload
    directions = {(before, after) for vertex in graph.vertices for after, before in vertex.ways.items()}
    arises = any(node in workload.network.sources[kind] for kind in workload.types)
    return Topics(
        source=f"{name}.events.{node}" if arises else None,
        from_links={str(a): f"{name}.link.{a}.{b}" for a, b in sorted(directions, key=str) if b == node},
        to_links={str(b): f"{name}.link.{a}.{b}" for a, b in sorted(directions, key=str) if a == node},
        matches={query.name: f"{name}.matches.{query.name}" for query in workload.queries},
        progress=f"{name}.progress",
        rejected=f"{name}.rejected",
    )


def all_topics(found: Sequence[SiteProgram]) -> tuple[str, ...]:
    """Every topic that some site reads or writes."""
    topics: set[str] = set()
    for program in found:
        own = program.topics
        topics |= {*own.read, *own.to_links.values(), *own.matches.values(), own.progress, own.rejected}
    return tuple(sorted(topics))


def _digest(job: NetworkJob, graph: InevGraph) -> str:
    """What tells a plan, with its queries and events, from others."""
    said = [
        [[v.projection.name, str(v.node), sorted(map(str, v.links)), sorted(v.selector or ())] for v in graph.vertices],
        [str(bound.query) for bound in job.bounds.values()],
        job.model.events.model_dump(mode="json"),
    ]
    return hashlib.blake2b(json.dumps(said).encode(), digest_size=16).hexdigest()


def _program(job: NetworkJob, graph: InevGraph, node: Node, numbers: dict[Vertex, int], digest: str) -> SiteProgram:
    order = {projection: number for number, projection in enumerate(graph.combination.ordered())}
    own = [vertex for vertex in graph.vertices if vertex.node == node]
    stages = sorted((v for v in own if not v.projection.is_primitive), key=lambda v: order[v.projection])
    ways: dict[int, tuple[str, ...]] = {}
    for vertex, number in numbers.items():
        after = tuple(str(site) for site, before in vertex.ways.items() if before == node)
        if after:
            ways[number] = after
    return SiteProgram(
        site=str(node),
        columns=job.columns,
        schema=job.schema,
        sources=tuple(
            _source(job.planned, vertex, numbers[vertex])
            for vertex in own
            if vertex.projection.is_primitive and (vertex.links or _is_used(graph, vertex, stages))
        ),
        stages=tuple(_stage(job.planned, graph, vertex, numbers) for vertex in stages),
        ways=ways,
        topics=topics_of(job, graph, node),
        delay_us=length_us(job.model.deploy.delay),
        plan=digest,
    )


def _is_used(graph: InevGraph, vertex: Vertex, stages: Sequence[Vertex]) -> bool:
    return any(vertex in graph.before(stage) for stage in stages)


def _source(queries: Sequence[PlannedQuery], vertex: Vertex, number: int) -> Source:
    (kind,) = vertex.projection.types
    admits: list[BoundQuery] = [
        project(query.bound, [query.variables[kind]]) for query in queries if kind in query.variables
    ]
    return Source(number, kind, tuple(admits))


def _stage(queries: Sequence[PlannedQuery], graph: InevGraph, vertex: Vertex, numbers: dict[Vertex, int]) -> Stage:
    given = parts(graph, vertex.projection)
    sent = any(vertex.projection in inputs for inputs in graph.combination.inputs.values())
    evaluations = []
    sends = False
    for query in queries:
        if query.network_query.planned == vertex.projection:
            # A query without loops is its own projection.
            own = sent and not sends and not query.network_query.kleene
            sends = sends or own
            bound = replace(query.bound, identified=True)
            evaluations.append(_evaluation(query, query.name, bound, given, sends=own))
    if sent and not sends:
        query = next(query for query in queries if query.has(vertex.projection))
        evaluations.append(_evaluation(query, "", query.projected(vertex.projection), given, sends=True))
    window = queries[0].bound.window
    before = graph.before(vertex)
    return Stage(
        vertex=numbers[vertex],
        before=tuple(numbers[one] for one in before),
        feeds={
            numbers[one]: {WHOLE if kind is None else kind: part for kind, part in feeds(graph, one).items()}
            for one in before
        },
        evaluations=tuple(evaluations),
        selector=None if vertex.selector is None else tuple(sorted(vertex.selector)),
        longest_us=queries[0].window_us - window.exclusive,
    )


def _evaluation(
    query: PlannedQuery, name: str, bound: BoundQuery, given: dict[str, frozenset[str]], *, sends: bool
) -> Evaluation:
    variables = {part: tuple(query.variables[kind] for kind in sorted(kinds)) for part, kinds in given.items()}
    return Evaluation(name, bound, variables, dict(query.types), sends)
