"""Every number of the INEv paper's example, as recounted on its topology."""

from __future__ import annotations

import pytest

from cepheid.network.check import faults
from cepheid.network.cost import centralized, centralized_cost, latency, transmission_cost, vertex_cost
from cepheid.network.forwarding import Forwarding, selectors
from cepheid.network.graph import Combination, InevGraph, Vertex
from cepheid.network.model import Edge
from cepheid.network.queries import events_of
from tests.unit.network.figure1 import Q1, Q2, RATES, SOURCES, TREES, network, workload

AC = Q2.projection(frozenset("AC"))
EVENTS = {kind: events_of(kind) for kind in "ABCD"}


def _unit(kind: str) -> dict[str, float]:
    return {other: float(other == kind) for other in RATES}


@pytest.mark.parametrize(("node", "hops"), [(6, (3, 12, 8, 2)), (7, (2, 12, 7, 2))])
def test_all_events_at_one_site(node: int, hops: tuple[int, ...]):
    for kind, expected in zip("ABCD", hops, strict=True):
        assert centralized_cost(workload(Q1, Q2, **_unit(kind)), node) == expected
    load = workload(Q1, Q2)
    assert centralized_cost(load, node) == sum(h * RATES[k] for h, k in zip(hops, "ABCD", strict=True))


def test_site_7_is_never_worse_than_6_so_it_is_the_cheapest():
    assert centralized(workload(Q1, Q2), 0).node == 7


def test_global_rates_and_paths():
    net = network()
    assert [net.global_rate(kind) for kind in "ABCD"] == [1, 700, 1200, 120]
    assert net.path(12, 7) == ((9, 12), (8, 9), (7, 8))


def _combination(partition: dict[str, str]) -> Combination:
    named = {"AC": AC, "q1": Q1.planned, "q2": Q2.planned}
    return Combination(
        {
            AC: (EVENTS["A"], EVENTS["C"]),
            Q1.planned: (AC, EVENTS["B"]),
            Q2.planned: (AC, EVENTS["D"]),
        },
        {named[name]: part for name, part in partition.items()},
    )


def test_plan_1():
    load = workload(Q1, Q2)
    graph = Forwarding(load).graph(_combination({"AC": "C"}), {}, fixed={Q1.planned: 6, Q2.planned: 6})
    assert not faults(graph)
    (a,) = graph.by_projection[EVENTS["A"]]
    assert len(a.links) == 8
    assert a.reached() == {1, 2, 7, 8, 9, 12, 6, 5, 10}
    assert [(v.node, len(v.links)) for v in graph.by_projection[AC]] == [(2, 2), (10, 2), (12, 4)]
    assert all(not v.links for v in graph.by_projection[EVENTS["C"]])
    local = load.rate(AC) / 3
    assert transmission_cost(graph) == 8 * RATES["A"] + 8 * local + 12 * RATES["B"] + 2 * RATES["D"]


def test_shortest_paths_of_plan_1_would_take_one_link_more():
    net = network()
    ways = {net.path(1, target) for target in SOURCES["C"]}
    assert len({edge for way in ways for edge in way}) == 9


def test_plan_2_counts_24_where_the_paper_prints_21():
    load = workload(Q1, Q2)
    combination = _combination({"AC": "C", "q1": "B", "q2": "D"})
    assert selectors(load, combination) == {AC: frozenset("C")}
    graph = Forwarding(load).graph(combination)
    assert not faults(graph)
    (a,) = graph.by_projection[EVENTS["A"]]
    assert len(a.links) == 11
    assert [len(v.links) for v in graph.by_projection[AC]] == [8, 8, 8]
    selected = RATES["C"] * 0.01
    assert transmission_cost(graph) == pytest.approx(11 * RATES["A"] + 24 * selected)


def test_plan_2_without_the_source_11_counts_21():
    graph = Forwarding(workload(Q1)).graph(
        Combination({AC: (EVENTS["A"], EVENTS["C"]), Q1.planned: (AC, EVENTS["B"])}, {AC: "C", Q1.planned: "B"})
    )
    assert sum(len(v.links) for v in graph.by_projection[AC]) == 21


def _figure3() -> InevGraph:
    """The graph of Figure 3, forwarding graphs as drawn there."""
    load = workload(Q2)
    net = load.network

    def links(name: str, node: int) -> frozenset[Edge]:
        return frozenset(net.link(a, b) for a, b in TREES.get((name, node), ()))

    vertices = [Vertex(EVENTS[kind], node, links(kind, node)) for kind in "ACD" for node in SOURCES[kind]]
    vertices += [Vertex(AC, node, links(AC.name, node), frozenset("C")) for node in SOURCES["C"]]
    vertices += [Vertex(Q2.planned, node) for node in SOURCES["D"]]
    inputs = {AC: (EVENTS["A"], EVENTS["C"]), Q2.planned: (AC, EVENTS["A"], EVENTS["D"])}
    return InevGraph(load, Combination(inputs, {AC: "C", Q2.planned: "D"}), tuple(vertices))


def test_figure_3():
    graph = _figure3()
    assert not faults(graph)
    assert len(graph.vertices) == 11
    (a,) = graph.by_projection[EVENTS["A"]]
    assert vertex_cost(graph, a) == 11 * RATES["A"]
    selected = RATES["C"] * 0.01
    assert transmission_cost(graph) == pytest.approx(11 * RATES["A"] + 12 * selected)


def test_forwarding_makes_the_trees_of_figure_3():
    load = workload(Q2)
    inputs = {AC: (EVENTS["A"], EVENTS["C"]), Q2.planned: (AC, EVENTS["D"])}
    combination = Combination(inputs, {AC: "C", Q2.planned: "D"})
    graph = Forwarding(load).graph(combination)
    for vertex in graph.by_projection[AC]:
        drawn = TREES[AC.name, int(vertex.node)]
        assert vertex.links == {load.network.link(x, y) for x, y in drawn}
    # Without q1, the As need not pass all sources of B, as they do in the figure.
    (a,) = graph.by_projection[EVENTS["A"]]
    assert len(a.links) == 9


def test_latency_of_figure_3_in_hops():
    # Eight hops bring an A to 12 (1-3-4-5-6-7-8-9-12). Site 11 then waits for the longest way of its inputs: four
    # hops for what is joined at 12, six for the As themselves (1-3-4-5-6-7-11), which it needs as the Cs come alone.
    graph = _figure3()
    assert latency(graph, 0) == 8 + 6
    joined = graph.combination.inputs
    drawn = Combination(
        {**joined, Q2.planned: (AC, EVENTS["D"])},
        graph.combination.partition,
    )
    # With the edges that the figure draws, where no A leads to q2:
    assert latency(InevGraph(graph.workload, drawn, graph.vertices), 0) == 8 + 4


def test_a_forwarding_graph_that_misses_a_site_is_a_fault():
    graph = _figure3()
    cut = tuple(
        Vertex(v.projection, v.node, v.links - {(7, 11)}, v.selector) if v.projection == AC else v
        for v in graph.vertices
    )
    found = faults(InevGraph(graph.workload, graph.combination, cut))
    assert found == [f"SEQ(A, C) at {node} does not reach 11" for node in SOURCES["C"]]


def test_a_selected_type_whose_others_do_not_come_is_a_fault():
    graph = _figure3()
    cut = tuple(
        Vertex(v.projection, v.node, v.links - {(7, 11)}, v.selector) if v.projection == EVENTS["A"] else v
        for v in graph.vertices
    )
    found = faults(InevGraph(graph.workload, graph.combination, cut))
    assert "SEQ(A, C, D) at 11 gets SEQ(A, C) without A, and not A from 1" in found
