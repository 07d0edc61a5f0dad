"""Figure 11 of INEv: engines at the sites of a network under plans of INEv, and under the centralized ones.

The paper runs its own engine on machines. Here plans are carried out in virtual time by engines at the sites
(`cepheid.simulation.network`), and for each plan and the centralized one this is measured:

- *latency*: from when the last event of a match arises until a sink tells it, in virtual time, on average over the
  matches: what links and steps of the clock cost. Nothing waits for a processor there.
- *load*: rows of events and matches that the engines of the busiest site take in. It is the same in every run.
- *throughput*: all events of the trace over the CPU time that the busiest site took; the rate at which it would be busy
  all the time. This one is measured on a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from cepheid.events.schema import Schema
from cepheid.events.types import INT, TEXT, TIMESTAMP
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.network.cost import centralized_graph
from cepheid.network.from_query import planned_queries
from cepheid.network.generate import NetworkSettings, draw_network, draw_pattern
from cepheid.network.graph import InevGraph
from cepheid.network.model import EventNetwork
from cepheid.network.patterns import Absent, Interleaving, Pattern, Primitive
from cepheid.network.planner import plan_workload
from cepheid.simulation.network import Simulated, SimulationSettings, centralized_matches, simulate
from cepheid.simulation.network_measured import measured_workload
from cepheid.simulation.network_trace import Trace, read_trace

FIELDS = {"time": TIMESTAMP, "type": TEXT, "site": INT, "number": INT, "k": INT}
SCHEMA = Schema(FIELDS, time="time", type="type", order=("site", "number"))
WINDOW_S = 60
N_WINDOWS = 3
N_KEYS = 20
"""Events of a match have one key: of the pairs, a twentieth fits together."""

SKEWS = (1.1, 1.3, 1.5, 2.0)
"""One after the other."""

MOST_EVENTS = 400.0
"""Of the most frequent type in one window in the whole network."""


@dataclass(frozen=True)
class Carried:
    """A plan beside the centralized one, on one trace.

    Attributes:
        ratio: of the messages that were sent, over those of the centralized plan.
        latency: mean latency of the matches, over the centralized plan's.
        load: of the busiest site, over that of the central one.
        throughput: over the central site's.
        n_matches: of both, the same.
    """

    ratio: float
    latency: float
    load: float
    throughput: float
    n_matches: int


def text_of(pattern: Pattern | Absent) -> str:
    """A pattern as it is written, with the variable ``v<type>`` for each type."""
    if isinstance(pattern, Primitive):
        return f"{pattern.type} v{pattern.type}"
    assert not isinstance(pattern, Absent)
    word = "AND" if isinstance(pattern, Interleaving) else "SEQ"
    return f"{word}({', '.join(map(text_of, pattern.parts))})"


def drawn_trace(network: EventNetwork, rng: np.random.Generator) -> Trace:
    """Events at the rates of a network, evenly over the time, each with a key."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    rows = []
    for kind, sites in network.sources.items():
        for site in sites:
            n = int(rng.poisson(network.rates[kind] * N_WINDOWS))
            rows += [
                (float(at), kind, site, int(rng.integers(N_KEYS))) for at in rng.uniform(0, WINDOW_S * N_WINDOWS, n)
            ]
    rows.sort()
    events = [(noon + timedelta(seconds=at), kind, site, i, key) for i, (at, kind, site, key) in enumerate(rows)]
    types = (pa.timestamp("us", "UTC"), pa.string(), pa.int64(), pa.int64(), pa.int64())
    columns = zip(*events, strict=True)
    table = pa.table({name: pa.array(v, t) for name, v, t in zip(FIELDS, columns, types, strict=True)})
    return read_trace(table, SCHEMA, network)


def drawn_network(seed: int, skew: float) -> EventNetwork:
    """Ten sites in a ring and five types; rates are drawn, and all made smaller by one factor that a trace can have.

    The rarest have four events in a window.
    """
    settings = NetworkSettings(n_nodes=10, n_types=5, skew=skew)
    network = draw_network(settings, np.random.default_rng(seed))
    factor = min(1.0, MOST_EVENTS / max(map(network.global_rate, network.sources)))
    return network.with_rates(
        {kind: max(rate * factor, 4.0 / network.n_sources(kind)) for kind, rate in network.rates.items()}
    )


def carried(seed: int) -> Carried | None:
    """Draw a network, a query of three or four types and a trace, and carry out both plans; None without a match.

    Raises:
        AssertionError: a plan does not tell the matches of one engine over all events.
    """
    rng = np.random.default_rng(seed)
    network = drawn_network(seed, SKEWS[seed % len(SKEWS)])
    kinds = list(network.sources)
    size = 3 + seed % 2
    pattern = draw_pattern([kinds[int(i)] for i in rng.choice(len(kinds), size, replace=False)], rng)
    text = f"PATTERN {text_of(pattern)} WHERE SAME[k] WITHIN {WINDOW_S} s POLICY any"
    queries = planned_queries({"q": bind(parse(text), SCHEMA)})
    trace = drawn_trace(network, rng)
    wanted = centralized_matches(queries, trace)
    if not wanted["q"]:
        return None
    plan = plan_workload(measured_workload(queries, trace, projections=queries[0].network_query.projections()))
    central = centralized_graph(plan.graph.workload, plan.centralized.node)

    def run(graph: InevGraph) -> Simulated:
        settings = SimulationSettings(hop_us=(50_000, 150_000), step_us=500_000)
        done = simulate(graph, queries, trace, np.random.default_rng(seed), settings)
        assert done.matches == wanted, (seed, text)
        return done

    ours, theirs = run(plan.graph), run(central)
    return Carried(
        ratio=ours.n_messages / theirs.n_messages if theirs.n_messages else 1.0,
        latency=float(ours.latency_us["q"].mean() / theirs.latency_us["q"].mean()),
        load=max(ours.n_taken.values()) / max(theirs.n_taken.values()),
        throughput=max(theirs.busy_ns.values()) / max(ours.busy_ns.values()),
        n_matches=len(wanted["q"]),
    )
