"""Figure 12b: one query, plans with few and with many hops, and links that take longer and longer."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from benchmarks.figures.inev.engines import SCHEMA
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.network.cost import centralized_graph, latency
from cepheid.network.from_query import planned_queries
from cepheid.network.generate import NetworkSettings, draw_network
from cepheid.network.graph import InevGraph
from cepheid.network.planner import PlanSettings, plan_workload
from cepheid.network.queries import Selectivities, Workload
from cepheid.simulation.network import SimulationSettings, simulate
from cepheid.simulation.network_trace import Trace, read_trace

QUERY = """
PATTERN SEQ(A a, B b, C c, D d) WHERE a.k = b.k AND b.k = c.k AND c.k = d.k WITHIN 10 s POLICY any
"""
RATES = {"A": 1.0, "B": 4.0, "C": 12.0, "D": 24.0}
"""Events of each type at each of its sources in a window."""
N_KEYS = 10
STEP_MS = 20
"""How often a site looks at what has come."""
SECONDS = 30


@dataclass(frozen=True)
class Delayed:
    """One plan under several delays.

    Attributes:
        n_links: that its messages go over, all vertices together.
        longest: hops on the longest way to a match.
        n_messages: that the trace made, on all links.
        medians, most: delay of a link in ms -> the median and the greatest time from the last event of a match until it
            is told, ms.
        n_matches: of the query.
    """

    n_links: int
    longest: int
    n_messages: int
    medians: dict[int, float]
    most: dict[int, float]
    n_matches: int


def delayed(delays_ms: tuple[int, ...]) -> list[Delayed]:
    """Everything at one site, the plan within that latency, and the cheapest plan; the fewest links first."""
    rng = np.random.default_rng(12)
    drawn = draw_network(NetworkSettings(n_nodes=12, n_types=4, node_ratio=0.4, topology="degree"), rng)
    network = drawn.with_rates(RATES)
    queries = planned_queries({"q": bind(parse(QUERY), SCHEMA)})
    pairs = {frozenset(pair): 1 / N_KEYS for pair in combinations(RATES, 2)}
    workload = Workload(network, tuple(query.network_query for query in queries), Selectivities(pairs))
    trace = _trace(workload, rng)
    graphs: dict[int, InevGraph] = {}
    whole = plan_workload(workload).centralized
    for graph in (
        centralized_graph(workload, whole.node),
        *(plan_workload(workload, PlanSettings(xi=0.0, max_latency=float(most))).graph for most in range(4, 40, 2)),
    ):
        graphs.setdefault(sum(len(vertex.links) for vertex in graph.vertices), graph)
    counts = sorted(graphs)
    chosen = sorted({counts[0], counts[len(counts) // 2], counts[-1]})
    found = []
    for n_links in chosen:
        graph = graphs[n_links]
        medians, most = {}, {}
        for delay in delays_ms:
            hop = max(1, delay * 1_000)
            outcome = simulate(
                graph,
                queries,
                trace,
                np.random.default_rng(0),
                SimulationSettings(hop_us=(hop, hop), step_us=STEP_MS * 1_000),
            )
            medians[delay] = float(np.median(outcome.latency_us["q"])) / 1_000
            most[delay] = float(np.max(outcome.latency_us["q"])) / 1_000
        found.append(
            Delayed(n_links, round(latency(graph, 0.0)), outcome.n_messages, medians, most, len(outcome.matches["q"]))
        )
    return found


def _trace(workload: Workload, rng: np.random.Generator) -> Trace:
    rows: list[tuple[int, str, int]] = []
    for kind, sites in workload.network.sources.items():
        for site in sites:
            n = int(rng.poisson(RATES[kind] * SECONDS / 10))
            rows += [(int(at), kind, int(site)) for at in rng.integers(0, SECONDS * 1_000_000, n)]
    rows.sort()
    table = pa.table(
        {
            "time": pa.array([at for at, _, _ in rows], pa.timestamp("us")),
            "type": [kind for _, kind, _ in rows],
            "site": [site for _, _, site in rows],
            "number": list(range(len(rows))),
            "k": rng.integers(0, N_KEYS, len(rows)),
        }
    )
    return read_trace(table, SCHEMA, workload.network)
