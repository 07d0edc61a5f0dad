"""Plans carried out in virtual time: what is sent, what is told, and what sites lose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from cepheid.errors import DataError, NetworkError, SchemaError
from cepheid.events.schema import Schema
from cepheid.events.types import INT, TEXT, TIMESTAMP
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.network.cost import centralized_graph, transmission_cost
from cepheid.network.forwarding import Forwarding
from cepheid.network.from_query import PlannedQuery, planned_queries
from cepheid.network.graph import Combination, InevGraph, Vertex
from cepheid.network.model import EventNetwork, Node
from cepheid.network.parts import output_watermark
from cepheid.network.queries import Projection, Workload, events_of
from cepheid.simulation.network import (
    Crash,
    Simulated,
    SimulationSettings,
    centralized_matches,
    centralized_messages,
    simulate,
)
from cepheid.simulation.network_links import Outage
from cepheid.simulation.network_measured import compared, measured_workload
from cepheid.simulation.network_trace import Trace, read_trace
from tests.unit.network.figure1 import EDGES, SOURCES, TREES, network

S = 1_000_000
FIELDS = {"time": TIMESTAMP, "type": TEXT, "site": INT, "number": INT, "x": INT}
SCHEMA = Schema(FIELDS, time="time", type="type", order=("site", "number"))
TYPES = (pa.timestamp("us", "UTC"), pa.string(), pa.int64(), pa.int64(), pa.int64())
EVENTS = {kind: events_of(kind) for kind in "ABCD"}
Row = tuple[float, str, int, int]
"""Seconds, type, site, x."""


def table_of(rows: Iterable[Row]) -> pa.Table:
    whole = [(int(time * S), kind, site, number, x) for number, (time, kind, site, x) in enumerate(rows)]
    columns = zip(FIELDS, zip(*whole, strict=True), TYPES, strict=True)
    return pa.table({name: pa.array(values, dtype) for name, values, dtype in columns})


def queries_of(*texts: str) -> tuple[PlannedQuery, ...]:
    return planned_queries(
        {f"q{i}": bind(parse(f"PATTERN {text} POLICY any"), SCHEMA) for i, text in enumerate(texts, 1)}
    )


def workload_of(queries: tuple[PlannedQuery, ...], net: EventNetwork) -> Workload:
    return Workload(net, tuple(query.network_query for query in queries))


def done(graph: InevGraph, queries: tuple[PlannedQuery, ...], trace: Trace, **settings: object) -> Simulated:
    given = SimulationSettings(**{"hop_us": (1_000, 2_000), "step_us": S, **settings})  # type: ignore[arg-type]
    return simulate(graph, queries, trace, np.random.default_rng(7), given)


# --- the network of Figure 1 ------------------------------------------------------------------------

Q2 = "SEQ(A a, C c, D d) WHERE a.x = c.x WITHIN 20 s"


def figure_3(queries: tuple[PlannedQuery, ...]) -> InevGraph:
    """The graph of Figure 3, forwarding graphs as drawn there."""
    load = workload_of(queries, network())
    (query,) = queries
    ac = query.network_query.projection(frozenset("AC"))
    sink = query.network_query.planned

    def links(name: str, node: int) -> frozenset[tuple[Node, Node]]:
        return frozenset(load.network.link(a, b) for a, b in TREES.get((name, node), ()))

    vertices = [Vertex(EVENTS[kind], node, links(kind, node)) for kind in "ACD" for node in SOURCES[kind]]
    vertices += [Vertex(ac, node, links(ac.name, node), frozenset("C")) for node in SOURCES["C"]]
    vertices += [Vertex(sink, node) for node in SOURCES["D"]]
    inputs = {ac: (EVENTS["A"], EVENTS["C"]), sink: (ac, EVENTS["A"], EVENTS["D"])}
    return InevGraph(load, Combination(inputs, {ac: "C", sink: "D"}), tuple(vertices))


ROWS: list[Row] = [
    (1, "A", 1, 1),
    (2, "C", 2, 1),  # fits the A
    (3, "C", 10, 1),  # fits the A
    (3, "C", 10, 5),
    (4, "A", 1, 1),
    (5, "C", 12, 1),  # fits both As, and is sent once
    (5, "C", 12, 6),
    (6, "D", 6, 0),
    (7, "D", 11, 0),
    (40, "D", 11, 0),
]


def test_figure_3_sends_what_can_be_counted_by_hand():
    queries = queries_of(Q2)
    trace = read_trace(table_of(ROWS), SCHEMA, network())
    found = done(figure_3(queries), queries, trace)
    assert found.matches == centralized_matches(queries, trace)
    assert len(found.matches["q1"]) == 8
    sent = {(vertex.projection.name, vertex.node): n for vertex, n in found.sent.items() if n}
    assert sent == {("A", 1): 2, ("SEQ(A, C)", 2): 1, ("SEQ(A, C)", 10): 1, ("SEQ(A, C)", 12): 1}
    # Two As, the Cs of the site, or the three that were selected and the Ds of the site.
    assert {node: n for node, n in found.n_taken.items() if n} == {2: 3, 10: 4, 12: 4, 6: 6, 11: 7}
    assert all(busy > 0 for busy in found.busy_ns.values())
    assert found.n_messages == 2 * 11 + 1 * (3 + 4 + 5)
    # The As pass 6-7 and 7-11, as do the Cs of 2, 10 and 12.
    assert found.messages[6, 7] == 2 + 3
    assert found.messages[7, 11] == 2 + 3
    assert found.messages[1, 2] == 0
    assert (found.n_late, found.n_refused, found.n_told_again) == (0, 0, 0)


def test_all_events_at_one_site_are_sent_over_the_distance_of_each():
    queries = queries_of(Q2)
    trace = read_trace(table_of(ROWS), SCHEMA, network())
    found = done(centralized_graph(workload_of(queries, network()), 7), queries, trace)
    assert found.matches == centralized_matches(queries, trace)
    # 1-2-7; 2-7; 10-5-6-7; 12-9-8-7; 6-7; 11-7.
    assert found.n_messages == 2 * 2 + 1 + 2 * 3 + 2 * 3 + 1 + 2
    assert centralized_messages(queries, trace) == (7, found.n_messages)


def test_what_a_link_carried_is_what_the_model_says_of_even_sources():
    queries = queries_of("SEQ(A a, C c) WHERE a.x = c.x WITHIN 10 s")
    rows: list[Row] = []
    for start in range(0, 200, 10):
        rows.append((start, "A", 1, start))
        rows += [(start + 1 + i, "C", site, start) for i, site in enumerate(SOURCES["C"])]
    trace = read_trace(table_of(rows), SCHEMA, network())
    load = workload_of(queries, network())
    sink = queries[0].network_query.planned
    graph = Forwarding(load).graph(Combination({sink: (EVENTS["A"], EVENTS["C"])}, {sink: "C"}))
    found = done(graph, queries, trace)
    measured = measured_workload(queries, trace)
    assert found.matches == centralized_matches(queries, trace)
    assert len(found.matches["q1"]) == 60
    for one in compared(found, queries, trace, measured):
        assert one.modelled == pytest.approx(one.measured)
    assert sum(one.measured for one in compared(found, queries, trace, measured)) == 20
    assert transmission_cost(InevGraph(measured, graph.combination, graph.vertices)) > 0


# --- a line of sites ----------------------------------------------------------------------------------

LINE = EventNetwork(
    (1, 2, 3, 4),
    ((1, 2), (2, 3), (3, 4)),
    {"A": (1,), "B": (2,), "C": (3,), "D": (4,)},
    {"A": 1.0, "B": 1.0, "C": 1.0, "D": 1.0},
)


def line_graph(
    queries: tuple[PlannedQuery, ...],
    inputs: Mapping[str, tuple[str, ...]],
    sites: Mapping[str, int],
    selectors: Mapping[str, str] | None = None,
) -> InevGraph:
    """A plan for one query on the line: types of a projection -> types of its inputs, and its site."""
    load = workload_of(queries, LINE)
    query = queries[0].network_query

    def of(kinds: str) -> Projection:
        return query.planned if frozenset(kinds) == query.types else query.projection(frozenset(kinds))

    combination = Combination({of(kinds): tuple(map(of, given)) for kinds, given in inputs.items()}, {})
    chosen = {of(kinds): frozenset(kept) for kinds, kept in (selectors or {}).items()}
    return Forwarding(load).graph(combination, chosen, fixed={of(kinds): site for kinds, site in sites.items()})


def test_an_event_that_is_selected_late_is_not_late():
    # The A at 1 s is selected by the match with the C at 18 s. By then all matches that end before are known to be out,
    # and with them all As before them, if the watermark was that of matches.
    queries = queries_of("SEQ(A a, B b, D d) WHERE a.x = b.x WITHIN 20 s")
    rows: list[Row] = [
        (1, "A", 1, 1),
        (2, "D", 4, 0),
        (9, "D", 4, 0),
        (18, "B", 2, 1),
        (19, "D", 4, 0),
        (90, "D", 4, 0),
    ]
    trace = read_trace(table_of(rows), SCHEMA, LINE)
    graph = line_graph(queries, {"AB": ("A", "B"), "ABD": ("AB", "D")}, {"AB": 2, "ABD": 4}, {"AB": "A"})
    found = done(graph, queries, trace)
    assert found.matches == centralized_matches(queries, trace)
    assert len(found.matches["q1"]) == 1
    assert found.n_late == 0


def test_the_watermark_of_selected_events_is_a_window_behind():
    one = events_of("A")
    assert output_watermark(Vertex(one, 1), 50, 20) == 50
    assert output_watermark(Vertex(one, 1, frozenset(), frozenset("A")), 50, 20) == 30


def test_a_not_is_tested_with_what_comes_after_its_match():
    # The B at 2 s arrives at the sink long after the C at 3 s and at 9 s.
    queries = queries_of("SEQ(A a, NOT B n, C c) WHERE n.x = a.x WITHIN 20 s")
    rows: list[Row] = [(1, "A", 1, 1), (2, "B", 2, 1), (3, "C", 3, 0), (8, "A", 1, 2), (9, "C", 3, 0), (60, "C", 3, 0)]
    trace = read_trace(table_of(rows), SCHEMA, LINE)
    graph = line_graph(queries, {"ABC": ("A", "B", "C")}, {"ABC": 4})
    slow = Outage((2, 3), 1 * S, 30 * S)
    found = done(graph, queries, trace, outages=(slow,))
    assert found.matches == centralized_matches(queries, trace)
    assert found.matches["q1"] == {(("a", 3), ("c", 4))}


def test_a_link_that_is_down_delays_and_loses_nothing():
    queries = queries_of("SEQ(A a, C c) WITHIN 20 s")
    rows: list[Row] = [(1, "A", 1, 0), (4, "A", 1, 0), (5, "C", 3, 0), (40, "C", 3, 0)]
    trace = read_trace(table_of(rows), SCHEMA, LINE)
    graph = line_graph(queries, {"AC": ("A", "C")}, {"AC": 3})
    quick = done(graph, queries, trace)
    slow = done(graph, queries, trace, outages=(Outage((2, 1), 0, 31 * S),))
    assert quick.matches == slow.matches == centralized_matches(queries, trace)
    assert quick.messages == slow.messages
    assert quick.latency_us["q1"].tolist() == [0, 0]  # told in the step in which the C arises
    assert slow.latency_us["q1"].min() > 25 * S


@pytest.mark.parametrize(("node", "checkpoint_steps"), [(1, 3), (2, 1), (2, 1000), (3, 1000)])
def test_a_site_that_dies_and_comes_back_loses_nothing(node: int, checkpoint_steps: int):
    queries = queries_of("SEQ(A a, B+ b, C c, D d) WHERE a.x = b.x AND sum(b.x) > 1 WITHIN 20 s")
    rows: list[Row] = []
    for start in range(0, 42, 6):
        rows += [(start + i, kind, site, start % 4) for i, (kind, site) in enumerate([("A", 1), ("B", 2), ("C", 3)])]
        rows.append((start + 4, "D", 4, 0))
    trace = read_trace(table_of(rows), SCHEMA, LINE)
    inputs = {"AB": ("A", "B"), "ABC": ("AB", "C"), "ABCD": ("ABC", "D")}
    graph = line_graph(queries, inputs, {"AB": 1, "ABC": 2, "ABCD": 3}, {"AB": "A"})
    found = done(graph, queries, trace, crashes=(Crash(node, 17 * S, 25 * S),), checkpoint_steps=checkpoint_steps)
    assert found.matches == centralized_matches(queries, trace)
    assert len(found.matches["q1"]) > 10
    if checkpoint_steps == 1000:
        assert (found.n_told_again if node == 3 else found.n_sent_again) > 0
    if checkpoint_steps == 1:
        assert found.n_sent_again == found.n_told_again == found.n_late == 0


def test_the_clock_of_a_site_says_when_its_events_are():
    # The A arises before the C; the clock of its site is 3 s ahead, so it is stamped behind it.
    queries = queries_of("SEQ(A a, C c) WITHIN 20 s")
    table = table_of([(5, "A", 1, 0), (6, "C", 3, 0), (9, "C", 3, 0)])
    graph = line_graph(queries, {"AC": ("A", "C")}, {"AC": 3})
    right = read_trace(table, SCHEMA, LINE)
    ahead = read_trace(table, SCHEMA, LINE, skew_us={1: 3 * S})
    assert len(done(graph, queries, right).matches["q1"]) == 2
    found = done(graph, queries, ahead)
    assert found.matches["q1"] == {(("a", 0), ("c", 2))}
    assert found.matches == centralized_matches(queries, ahead)
    assert ahead.arises_us.tolist() == [6 * S, 5 * S, 9 * S]
    assert ahead.batch.time_us.tolist() == [6 * S, 8 * S, 9 * S]


@pytest.mark.parametrize("skew_s", [-9, 9])
def test_nothing_is_late_by_the_clock_of_a_site(skew_s: int):
    queries = queries_of("SEQ(A a, NOT B n, C c) WITHIN 20 s")
    rows: list[Row] = [(i, kind, site, 0) for i, (kind, site) in enumerate([("A", 1), ("B", 2), ("C", 3)] * 9)]
    graph = line_graph(queries, {"ABC": ("A", "B", "C")}, {"ABC": 2})
    for node in (1, 2, 3):
        trace = read_trace(table_of(rows), SCHEMA, LINE, skew_us={node: skew_s * S})
        found = done(graph, queries, trace)
        assert found.matches == centralized_matches(queries, trace)
        assert found.n_late == 0


def test_times_of_whole_numbers_are_stamped_in_their_unit():
    fields = {**FIELDS, "time": INT}
    schema = Schema(fields, time="time", time_unit="s", type="type", order=("site", "number"))
    table = table_of([(5, "A", 1, 0), (6, "C", 3, 0)]).set_column(0, "time", pa.array([5, 6]))
    trace = read_trace(table, schema, LINE, skew_us={1: 3 * S})
    assert trace.batch.table.column("time").to_pylist() == [8, 6]
    with pytest.raises(DataError, match="'time' cannot hold the skew"):
        read_trace(table, schema, LINE, skew_us={1: 3})


def test_sources_keep_what_no_query_takes():
    queries = queries_of("SEQ(A a, C c) WHERE a.x > 3 WITHIN 20 s", "SEQ(A a, C c) WHERE a.x < 1 WITHIN 20 s")
    rows: list[Row] = [(1, "A", 1, 0), (2, "A", 1, 2), (3, "A", 1, 5), (4, "C", 3, 0), (5, "B", 2, 0)]
    trace = read_trace(table_of(rows), SCHEMA, LINE)
    load = workload_of(queries, LINE)
    inputs = {query.network_query.planned: (EVENTS["A"], EVENTS["C"]) for query in queries}
    assert len(inputs) == 2  # with other conditions on single events they are other projections
    graph = Forwarding(load).graph(Combination(inputs, {}), {}, fixed=dict.fromkeys(inputs, 3))
    found = done(graph, queries, trace)
    assert found.matches == centralized_matches(queries, trace)
    assert found.n_messages == 2 * 2
    assert found.n_refused == 2  # each query has no use for one of the two As


def test_messages_overtake_each_other_and_the_same_seed_draws_the_same():
    queries = queries_of("SEQ(A a, NOT B n, C c) WHERE n.x = a.x WITHIN 8 s")
    rows: list[Row] = [(i / 2, "ABC"[i % 3], i % 3 + 1, i % 4) for i in range(90)]
    trace = read_trace(table_of(rows), SCHEMA, LINE)
    graph = line_graph(queries, {"ABC": ("A", "B", "C")}, {"ABC": 4})
    found = [done(graph, queries, trace, hop_us=(1, 9 * S)) for _ in range(2)]
    assert found[0].n_overtaking > 5
    assert found[0].matches == centralized_matches(queries, trace)
    assert found[0].n_overtaking == found[1].n_overtaking
    assert found[0].latency_us["q1"].tolist() == found[1].latency_us["q1"].tolist()


# --- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, "A", 9, 0)], "events arise at 9, which is no site"),
        ([(1, "A", 2, 0)], "an event of A arises at 2, which is no source of A"),
    ],
)
def test_events_at_sites_that_the_network_does_not_know_are_refused(rows: list[Row], message: str):
    with pytest.raises(NetworkError, match=message):
        read_trace(table_of(rows), SCHEMA, LINE)


def test_a_trace_without_sites_or_identity_is_refused():
    table = table_of([(1, "A", 1, 0), (2, "A", 1, 0)])
    with pytest.raises(SchemaError, match="no column 'place' with their sites"):
        read_trace(table, SCHEMA, LINE, site="place")
    with pytest.raises(SchemaError, match="no order key"):
        read_trace(table, Schema(FIELDS, time="time", type="type"), LINE)
    with pytest.raises(NetworkError, match="1 events have no site"):
        read_trace(table.set_column(2, "site", pa.array([None, 1])), SCHEMA, LINE)
    with pytest.raises(DataError, match="two events have one order key"):
        read_trace(table.set_column(3, "number", pa.array([1, 1])), SCHEMA, LINE)
    with pytest.raises(DataError, match="the event in row 1 has no place"):
        read_trace(table.set_column(0, "time", pa.array([1, None], TYPES[0])), SCHEMA, LINE)
    with pytest.raises(NetworkError, match="9, whose clock is skewed, is no site"):
        read_trace(table, SCHEMA, LINE, skew_us={9: 1})


def test_sites_may_be_written_as_text():
    table = table_of([(1, "A", 1, 0)])
    assert read_trace(table.append_column("place", pa.array(["1"])), SCHEMA, LINE, site="place").places.tolist() == [0]


def test_a_plan_is_carried_out_with_its_own_queries_and_network():
    queries = queries_of("SEQ(A a, C c) WITHIN 20 s")
    trace = read_trace(table_of([(1, "A", 1, 0)]), SCHEMA, LINE)
    graph = line_graph(queries, {"AC": ("A", "C")}, {"AC": 3})
    with pytest.raises(NetworkError, match="not those of the plan's workload"):
        done(graph, queries_of("SEQ(A a, D d) WITHIN 20 s"), trace)
    with pytest.raises(NetworkError, match="of another network than the plan"):
        done(graph, queries, read_trace(table_of([(1, "A", 1, 0)]), SCHEMA, network()))
    with pytest.raises(NetworkError, match="1 - 3, which is down, is no link"):
        done(graph, queries, trace, outages=(Outage((1, 3), 0, 1),))
    with pytest.raises(NetworkError, match="9, which dies, is no site"):
        done(graph, queries, trace, crashes=(Crash(9, 0, 1),))
    cut = tuple(Vertex(v.projection, v.node) for v in graph.vertices)
    with pytest.raises(NetworkError, match="not well formed"):
        done(InevGraph(graph.workload, graph.combination, cut), queries, trace)
    for wrong in ({"hop_us": (0, 5)}, {"hop_us": (5, 4)}, {"step_us": 0}, {"checkpoint_steps": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            SimulationSettings(**wrong)  # type: ignore[arg-type]


def test_the_clock_starts_with_the_first_event():
    queries = queries_of("SEQ(A a, C c) WITHIN 20 s")
    year_s = 31_556_952
    trace = read_trace(table_of([(45 * year_s, "A", 1, 0), (45 * year_s + 3, "C", 3, 0)]), SCHEMA, LINE)
    found = done(line_graph(queries, {"AC": ("A", "C")}, {"AC": 3}), queries, trace)
    assert len(found.matches["q1"]) == 1
    assert found.n_steps < 10


def test_a_trace_without_events_is_carried_out():
    queries = queries_of("SEQ(A a, C c) WITHIN 20 s")
    trace = read_trace(table_of([(1, "A", 1, 0)]).slice(0, 0), SCHEMA, LINE)
    found = done(line_graph(queries, {"AC": ("A", "C")}, {"AC": 3}), queries, trace)
    assert (found.matches, found.n_messages) == ({"q1": frozenset()}, 0)


def test_the_ways_of_a_vertex_are_those_of_its_links():
    edges = frozenset(network().link(*edge) for edge in EDGES)
    vertex = Vertex(EVENTS["A"], 1, edges - {(3, 4)})
    assert vertex.n_hops[12] == 5
    assert vertex.n_hops[10] == 5
    assert all(network().distance(*pair) == 1 for pair in vertex.ways.items())
    order = [vertex.n_hops[node] for node in vertex.ways]
    assert all(one <= other for one, other in pairwise(order))
