"""Plans as JSON files: what ``cepheid network plan`` writes and the jobs of sites read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cepheid.connectors.writing import write_text
from cepheid.errors import JobError
from cepheid.job.network.load import NetworkJob
from cepheid.language.printer import print_query
from cepheid.network.check import require_well_formed
from cepheid.network.flows import flows, together
from cepheid.network.graph import Combination, InevGraph, Vertex
from cepheid.network.planner import Plan
from cepheid.network.queries import Projection, Workload, events_of

_KIND = "cepheid network plan"
_VERSION = 1


def write_plan(job: NetworkJob, plan: Plan, path: Path) -> None:
    """Write a plan, whole or not at all.

    Raises:
        SetupError: the folder cannot be written.
    """
    write_text(json.dumps(said(job, plan), indent=1, ensure_ascii=False) + "\n", path)


def said(job: NetworkJob, plan: Plan) -> dict[str, Any]:
    """A plan as JSON can say it."""
    graph = plan.graph
    names = {query.planned: query.name for query in graph.workload.queries}
    return {
        "kind": _KIND,
        "version": _VERSION,
        "queries": {query.name: print_query(query.bound.query) for query in job.planned},
        "cost": plan.cost,
        "latency": plan.latency,
        "ratio": plan.ratio,
        "centralized": {"site": plan.centralized.node, "cost": plan.centralized.cost},
        "is_centralized": plan.is_centralized,
        "reason": plan.reason,
        "flows": {f"{way[0]} -> {way[1]}": together(found) for way, found in flows(graph).items()},
        "projections": [
            {
                "pattern": projection.name,
                **_of_query(graph.workload, projection),
                "is": names.get(projection),
                "inputs": [_input(graph.workload, one) for one in graph.combination.inputs[projection]],
                "split_by": graph.combination.partition.get(projection),
            }
            for projection in graph.combination.ordered()
        ],
        "vertices": [
            {
                **_input(graph.workload, vertex.projection),
                "site": vertex.node,
                "links": sorted([list(link) for link in vertex.links]),
                "sends": None if vertex.selector is None else sorted(vertex.selector),
            }
            for vertex in graph.vertices
        ],
    }


def _of_query(workload: Workload, projection: Projection) -> dict[str, Any]:
    """A query that has the projection, and its types."""
    for query in workload.queries:
        if projection == query.planned:
            return {"query": query.name, "types": sorted(projection.types)}
    for query in workload.queries:
        kinds = projection.types
        if kinds < query.types and query.closed(kinds) and query.projection(kinds) == projection:
            return {"query": query.name, "types": sorted(kinds)}
    raise AssertionError("a well-formed plan has projections of its queries")


def _input(workload: Workload, one: Projection) -> dict[str, Any]:
    return {"events": next(iter(one.types))} if one.is_primitive else _of_query(workload, one)


def read_plan(job: NetworkJob, path: Path) -> InevGraph:
    """The graph of a plan that was made for this network.

    Raises:
        JobError: there is no such file, it is no plan, or one of other queries.
        NetworkError: it is not well formed on this network.
    """

    def refuse(problem: str) -> JobError:
        return JobError(problem, remedy="make it again: cepheid network plan", origin=str(path))

    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise refuse(f"the plan cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise refuse(f"the plan is not JSON: {error}") from error
    if not isinstance(found, dict) or found.get("kind") != _KIND:
        raise refuse("this file is no plan of a network")
    if found.get("version") != _VERSION:
        raise refuse(f"the plan has the format {found.get('version')}, and this version of cepheid reads {_VERSION}")
    if found.get("queries") != {query.name: print_query(query.bound.query) for query in job.planned}:
        raise refuse("the plan was made for other queries")
    workload = job.workload(require_rates=False)
    try:
        graph = _graph(workload, found)
    except (KeyError, TypeError, ValueError) as error:
        raise refuse(f"the plan is damaged: {error!r}") from error
    require_well_formed(graph)
    return graph


def _graph(workload: Workload, found: dict[str, Any]) -> InevGraph:
    queries = {query.name: query for query in workload.queries}

    def projection(one: dict[str, Any]) -> Projection:
        if "events" in one:
            return events_of(one["events"])
        query, kinds = queries[one["query"]], frozenset(one["types"])
        return query.planned if kinds == query.types else query.projection(kinds)

    inputs, partition = {}, {}
    for one in found["projections"]:
        made = projection(one)
        inputs[made] = tuple(projection(before) for before in one["inputs"])
        if one["split_by"] is not None:
            partition[made] = one["split_by"]
    network = workload.network
    vertices = tuple(
        Vertex(
            projection(one),
            one["site"],
            frozenset(network.link(a, b) for a, b in one["links"]),
            None if one["sends"] is None else frozenset(one["sends"]),
        )
        for one in found["vertices"]
    )
    return InevGraph(workload, Combination(inputs, partition), vertices)
