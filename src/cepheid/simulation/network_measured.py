"""Rates and selectivities of a trace, and a plan's model of what is sent beside what was sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from cepheid.engine.session import run
from cepheid.network.cost import sent_rate
from cepheid.network.from_query import PlannedQuery
from cepheid.network.graph import InevGraph, Vertex
from cepheid.network.patterns import Interleaving
from cepheid.network.queries import Projection, Selectivities, Workload
from cepheid.simulation.network import Simulated
from cepheid.simulation.network_trace import Trace, admitted


def n_windows(queries: Sequence[PlannedQuery], trace: Trace) -> float:
    """How many windows of the queries a trace is long; at least one."""
    if not len(trace):
        return 1.0
    span_us = int(trace.arises_us.max()) - int(trace.arises_us.min())
    return max(1.0, span_us / queries[0].window_us)


def measured_workload(
    queries: Sequence[PlannedQuery], trace: Trace, *, projections: Iterable[Projection] = ()
) -> Workload:
    """The workload with the rates and selectivities that a trace has.

    Rates are of the events that some query takes, on average over the sources of a type. The selectivity of a pair of
    types is what makes the rate of their projection (INEv, section 3.2) that of its matches in the trace; where queries
    have different conditions on a pair, the greatest; at most 1, though pairs that come in bursts can match more often.

    Args:
        queries: of the workload.
        trace: the events; the rates that its network has are replaced.
        projections: of which it is measured, too, what part of the events of each type is in their matches. It is
            for all those of two types.
    """
    wanted = admitted(trace, queries)
    windows = n_windows(queries, trace)
    of_type = {kind: wanted & trace.of_type(kind) for kind in trace.network.sources}
    rates = {
        kind: int(np.count_nonzero(own)) / (trace.network.n_sources(kind) * windows) for kind, own in of_type.items()
    }
    network = trace.network.with_rates(rates)
    pairs: dict[frozenset[str], float] = {}
    single: dict[tuple[str, str], float] = {}
    for query, projection in _asked(queries, projections):
        bound = query.projected(projection)
        found = run(bound, trace.batch)
        names = list(bound.variables)
        for kind in projection.bound:
            own = found.positions[found.variables == names.index(query.variables[kind])]
            n_events = int(np.count_nonzero(of_type[kind]))
            share = len(np.unique(own)) / n_events if n_events else 0.0
            key = (projection.name, kind)
            single[key] = max(share, single.get(key, 0.0))
        if len(projection.types) == 2:
            n_orders = 2 if isinstance(projection.pattern, Interleaving) else 1
            n_pairs = windows * n_orders * float(np.prod([network.global_rate(kind) for kind in projection.types]))
            selectivity = min(1.0, len(found) / n_pairs) if n_pairs else 0.0
            pairs[projection.types] = max(selectivity, pairs.get(projection.types, 0.0))
    return Workload(network, tuple(query.network_query for query in queries), Selectivities(pairs, single))


def _asked(queries: Sequence[PlannedQuery], projections: Iterable[Projection]) -> list[tuple[PlannedQuery, Projection]]:
    found: dict[Projection, PlannedQuery] = {}
    for query in queries:
        for pair in combinations(sorted(query.network_query.types - query.network_query.negated), 2):
            found.setdefault(query.network_query.projection(frozenset(pair)), query)
    for projection in projections:
        if not projection.is_primitive:
            for query in queries:
                if query.has(projection):
                    found.setdefault(projection, query)
    return [(query, projection) for projection, query in found.items()]


@dataclass(frozen=True)
class Compared:
    """Messages of a vertex.

    Attributes:
        vertex: which.
        modelled: those that the model says it sends along each of its links on the whole trace.
        measured: those that it sent.
    """

    vertex: Vertex
    modelled: float
    measured: int


def compared(
    simulated: Simulated, queries: Sequence[PlannedQuery], trace: Trace, workload: Workload | None = None
) -> tuple[Compared, ...]:
    """What each vertex of a plan sent beside what the model of transmission costs (INEv, section 5.3) says.

    Args:
        simulated: what came of the plan.
        queries: of its workload.
        trace: that it was carried out on.
        workload: the rates and selectivities that the model is given; those of the plan by default.
    """
    graph = simulated.graph
    windows = n_windows(queries, trace)
    model = graph if workload is None else InevGraph(workload, graph.combination, graph.vertices)
    return tuple(
        Compared(vertex, sent_rate(model, vertex) * windows if vertex.links else 0.0, simulated.sent[vertex])
        for vertex in graph.vertices
    )
