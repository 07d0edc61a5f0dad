"""Plans that are made, and networks for which none can be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cepheid.errors import NetworkError
from cepheid.network.baselines import push_pull
from cepheid.network.check import faults
from cepheid.network.combine import Combiner, Limits
from cepheid.network.cost import lower_bound, transmission_cost
from cepheid.network.estimate import Cut, Estimator
from cepheid.network.forwarding import Forwarding
from cepheid.network.generate import (
    NetworkSettings,
    draw_network,
    draw_queries,
    draw_selectivities,
    type_names,
)
from cepheid.network.graph import Combination
from cepheid.network.model import EventNetwork
from cepheid.network.patterns import Absent, Primitive, Sequence, interleaving, sequence
from cepheid.network.planner import Plan, PlanSettings, plan_workload
from cepheid.network.queries import Condition, NetworkQuery, Selectivities, Workload, events_of
from cepheid.network.repair import fallback_nodes, repair
from cepheid.network.steiner import SteinerTrees
from tests.unit.network.figure1 import Q1, Q2, network, workload

A, B, C, D = (Primitive(kind) for kind in "ABCD")


def _drawn(seed: int, n_queries: int = 3, **settings: object) -> Workload:
    rng = np.random.default_rng(seed)
    given = NetworkSettings(**{"n_nodes": 9, "n_types": 6, **settings})  # type: ignore[arg-type]
    net = draw_network(given, rng)
    kinds = type_names(given.n_types)
    queries = draw_queries(n_queries, kinds, rng, n_types=(2, 5), mixed=True)
    return Workload(net, queries, draw_selectivities(kinds, rng))


def test_the_example_gets_a_plan_that_costs_no_more_than_plan_2():
    plan = plan_workload(workload(Q1, Q2))
    assert {Q1.planned, Q2.planned} <= set(plan.combination.partition)
    assert plan.cost <= 11 * 1.0 + 24 * 400 * 0.01
    assert plan.cost < plan.centralized.cost / 20
    assert plan.cost == transmission_cost(plan.graph)


@pytest.mark.parametrize("topology", ["ring", "degree"])
@pytest.mark.parametrize("seed", range(8))
def test_plans_of_drawn_workloads_are_well_formed_and_never_worse_than_one_site(seed: int, topology: str):
    load = _drawn(seed, topology=topology)
    plan = plan_workload(load)
    assert not faults(plan.graph)
    assert plan.cost <= plan.centralized.cost
    assert plan.latency <= plan.centralized.latency
    assert all(lower_bound(load, query) >= 0 for query in load.queries)


def pair(rate_b: float = 900.0, rate_a: float = 2.0) -> Workload:
    line = EventNetwork((0, 1, 2), ((0, 1), (1, 2)), {"A": (0,), "B": (1, 2)}, {"A": rate_a, "B": rate_b})
    return Workload(line, (NetworkQuery("q", sequence((A, B))),), Selectivities({frozenset("AB"): 0.01}))


def test_the_lower_bound_knows_that_a_rare_type_goes_to_a_frequent_one():
    load = pair()
    assert plan_workload(load).cost == 4.0
    assert lower_bound(load, load.queries[0]) == 0.0


def test_of_sites_that_cost_the_same_the_one_within_the_bound_is_taken():
    line = EventNetwork(("a", "b", "c"), (("a", "b"), ("b", "c")), {"A": ("a",), "B": ("c",)}, {"A": 1.0, "B": 1.0})
    load = Workload(line, (NetworkQuery("q", sequence((A, B))),))
    assert plan_workload(load, PlanSettings(xi=0.0, max_latency=1.0)).centralized.node == "b"
    # A dearer one, too, where the cheapest is too slow.
    lopsided = Workload(line.with_rates({"A": 10.0}), load.queries)
    assert plan_workload(lopsided, PlanSettings(xi=0.0)).centralized.node == "a"
    plan = plan_workload(lopsided, PlanSettings(xi=0.0, max_latency=1.0))
    assert (plan.centralized.node, plan.latency, plan.is_centralized) == ("b", 1.0, True)


@pytest.mark.parametrize(
    "wrong", [{"xi": -1.0}, {"xi": math.nan}, {"xi": math.inf}, {"max_latency": math.nan}, {"n_covers": 0}]
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]):
    with pytest.raises(NetworkError):
        PlanSettings(**wrong)  # type: ignore[arg-type]


def test_repair_is_of_the_same_queries_and_network():
    plan = plan_workload(pair())
    with pytest.raises(NetworkError, match="queries"):
        repair(plan, Workload(plan.graph.workload.network, (NetworkQuery("q", sequence((B, A))),)))
    far = EventNetwork((7, 1, 2), ((7, 1), (1, 2)), {"A": (7,), "B": (1, 2)}, {"A": 2.0, "B": 900.0})
    with pytest.raises(NetworkError, match="network"):
        repair(plan, Workload(far, plan.graph.workload.queries))


def test_a_query_of_too_many_types_is_refused_at_once():
    kinds = type_names(13)
    net = EventNetwork((0,), (), dict.fromkeys(kinds, (0,)), dict.fromkeys(kinds, 1.0))
    with pytest.raises(NetworkError, match="13 types"):
        plan_workload(Workload(net, (NetworkQuery("q", sequence(tuple(map(Primitive, kinds)))),)))


@pytest.mark.parametrize("seed", range(8))
def test_repaired_plans_are_well_formed(seed: int):
    plan = plan_workload(_drawn(seed, 4, skew=1.2))
    rates = plan.graph.workload.network.rates
    turned = dict(zip(sorted(rates, key=rates.__getitem__), sorted(rates.values(), reverse=True), strict=True))
    load = plan.graph.workload.with_network(plan.graph.workload.network.with_rates(turned))
    mended = repair(plan, load)
    assert not faults(mended.broken)
    assert not faults(mended.repaired)
    assert transmission_cost(mended.repaired) <= transmission_cost(mended.broken)
    assert set(fallback_nodes(plan)) == set(plan.combination.partition)


def test_rates_that_stay_need_no_repair():
    plan = plan_workload(workload(Q1, Q2))
    same = repair(plan, workload(Q1, Q2))
    assert same.repaired is same.broken
    assert not same.harmful
    assert not same.unsplit


def test_repair_gives_up_a_split_that_no_longer_pays():
    plan = plan_workload(workload(Q1, Q2))
    mended = repair(plan, workload(Q1, Q2, A=400.0, B=1.0, C=1.0, D=1.0))
    assert Q1.planned in mended.unsplit
    assert transmission_cost(mended.repaired) < transmission_cost(mended.broken)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_the_queries_changes_nothing(seed: int):
    load = _drawn(seed, 5)
    plan = plan_workload(load)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        order = rng.permutation(len(load.queries))
        other = plan_workload(
            Workload(load.network, tuple(load.queries[int(place)] for place in order), load.selectivities)
        )
        assert other.cost == plan.cost
        assert other.combination == plan.combination


@pytest.mark.parametrize("seed", range(4))
def test_queries_that_come_one_after_the_other_are_split_in_their_order(seed: int):
    load = _drawn(seed, 4)
    plan = plan_workload(load, PlanSettings(incremental=True))
    assert not faults(plan.graph)
    assert plan.cost <= plan.centralized.cost


@pytest.mark.parametrize("seed", range(4))
def test_an_estimate_on_top_of_another_is_that_of_both(seed: int):
    load = _drawn(seed, 4)
    estimator = Estimator(load, SteinerTrees(load.network))
    combiner = Combiner(load, estimator, Limits())
    before: dict[int, Cut] = {}
    for query in load.queries:
        after = combiner.add(query, before)
        assert estimator.costs(before).with_more(after) == pytest.approx(estimator.cost(after))
        before = after


def test_a_combination_is_negation_closed():
    query = NetworkQuery("n", Sequence((A, Absent("B"), C, D)))
    names = {p.name for p in query.projections()}
    assert names == {"SEQ(A, C)", "SEQ(A, D)", "SEQ(C, D)", "SEQ(A, C, D)", "SEQ(A, NOT B, C)"}
    read = NetworkQuery("r", query.pattern, frozenset({Condition(frozenset("BD"), "b.x > d.x")}))
    assert "SEQ(A, NOT B, C)" not in {p.name for p in read.projections()}


def test_a_loop_is_planned_as_one_event_and_splits_no_sink():
    query = NetworkQuery("k", sequence((A, Primitive("C", kleene=True), D)))
    load = workload(query, C=100_000.0)
    assert query.planned.name == "SEQ(A, C, D)"
    plan = plan_workload(load)
    assert plan.combination.partition.get(query.planned) != "C"
    assert plan.ratio < 0.1


def test_interleavings_are_equal_in_any_order():
    assert interleaving((B, C)) == interleaving((C, B))


def test_the_rate_of_and_counts_its_orders():
    load = workload(Q1)
    assert load.rate(Q1.projection(frozenset("BC"))) == 2 * 700 * 1200
    assert load.rate(Q1.projection(frozenset("AB"))) == pytest.approx(0.01 * 700)


def test_selectivities_of_types_have_the_product_of_their_pairs():
    pairs = {frozenset("AC"): 0.02, frozenset("CD"): 0.5}
    for seed in (None, 3):
        drawn = Selectivities(pairs, seed=seed)
        product = math.prod(drawn.of_type(kind, Q2.planned) for kind in "ACD")
        assert product == pytest.approx(drawn.of(Q2.planned)) == pytest.approx(0.01)


@pytest.mark.parametrize("seed", range(5))
def test_trees_hold_their_sites_and_are_trees(seed: int):
    rng = np.random.default_rng(seed)
    net = draw_network(NetworkSettings(topology="degree"), rng)
    trees = SteinerTrees(net)
    sites = {int(n) for n in rng.choice(20, 6, replace=False)}
    tree = trees.tree(sites)
    reached = {n for edge in tree for n in edge}
    assert sites <= reached
    assert len(tree) == len(reached) - 1
    assert (
        max(net.distance(a, b) for a in sites for b in sites) <= len(tree) <= sum(net.distance(0, b) * 2 for b in sites)
    )


def test_push_pull_saves_only_where_a_window_holds_less_than_one_event():
    rare = workload(Q2, A=0.001, B=0.01, C=0.5, D=0.4)
    assert push_pull(rare, Q2).steps[0] == {"A"}
    assert push_pull(rare, Q2).cost < 0.1 * plan_workload(rare).centralized.cost
    often = workload(Q2, A=3.0)
    assert push_pull(often, Q2).cost == plan_workload(often).centralized.cost


# --- what cannot be planned -----------------------------------------------------------------------


def test_a_network_in_two_parts_is_refused():
    with pytest.raises(NetworkError, match="falls into 2 parts: no link leads from 3 to 1"):
        EventNetwork((1, 2, 3), ((1, 2),), {"A": (1,)}, {"A": 1.0})


def test_a_type_without_sources_is_refused():
    with pytest.raises(NetworkError, match="no site is a source of A"):
        EventNetwork((1, 2), ((1, 2),), {"A": ()}, {"A": 1.0})


@pytest.mark.parametrize("rate", [-1.0, math.nan, math.inf])
def test_rates_are_numbers_from_zero_on(rate: float):
    with pytest.raises(NetworkError, match="the rate of A is"):
        EventNetwork((1,), (), {"A": (1,)}, {"A": rate})


def test_a_query_whose_types_no_site_has_is_refused():
    with pytest.raises(NetworkError, match="no site of the network is a source of X, which the query q needs"):
        Workload(network(), (NetworkQuery("q", sequence((A, Primitive("X")))),))


def test_rates_of_zero_have_a_plan():
    plan = plan_workload(workload(Q1, Q2, A=0.0, B=0.0, C=0.0, D=0.0))
    assert plan.cost == 0
    assert plan.ratio == 1
    half = plan_workload(workload(Q1, Q2, A=0.0))
    assert not faults(half.graph)
    assert half.cost <= half.centralized.cost


def test_a_bound_that_no_plan_meets_gives_the_centralized_plan_and_says_so():
    plan = plan_workload(workload(Q1, Q2), PlanSettings(max_latency=0.5))
    assert plan.is_centralized
    assert plan.cost == plan.centralized.cost
    assert "the bound is 0.5" in plan.reason
    assert "beyond the bound, too" in plan.reason


def test_a_single_site_needs_no_network():
    net = EventNetwork(("here",), (), {"A": ("here",), "C": ("here",)}, {"A": 1.0, "C": 2.0})
    plan: Plan = plan_workload(Workload(net, (NetworkQuery("q", sequence((A, C))),)))
    assert plan.cost == 0


def test_a_not_at_the_end_is_refused():
    with pytest.raises(NetworkError, match="NOT B does not stand between two events"):
        NetworkQuery("q", Sequence((A, C, Absent("B"))))


def test_a_type_named_twice_is_refused():
    with pytest.raises(NetworkError, match="names the type A twice"):
        NetworkQuery("q", sequence((A, B, A)))


def test_a_query_that_is_a_part_of_another_is_not_split_by_the_type_of_its_loop_there_either():
    looped = NetworkQuery("looped", sequence((A, Primitive("C", kleene=True))))
    for queries in ((Q2, looped), (looped, Q2)):
        plan = plan_workload(workload(*queries, C=100_000.0))
        assert not faults(plan.graph)
        assert plan.combination.partition.get(looped.planned) != "C"


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_split_by_a_negated_type_or_by_that_of_a_loop(seed: int):
    # The negated and the looped types come by far the most often, so to split by them would save the most.
    negated = NetworkQuery("n", Sequence((A, Absent("B"), C, D)))
    looped = NetworkQuery("k", sequence((A, Primitive("E", kleene=True), D)))
    drawn = draw_network(NetworkSettings(n_nodes=9, n_types=5), np.random.default_rng(seed))
    net = drawn.with_rates({"A": 2.0, "B": 90_000.0, "C": 3.0, "D": 2.0, "E": 70_000.0})
    pairs = {frozenset(pair): 0.01 for pair in ("AB", "AC", "AD", "AE", "BC", "BD", "CD", "DE")}
    load = Workload(net, (negated, looped), Selectivities(pairs))
    graph = plan_workload(load, PlanSettings(max_latency=math.inf)).graph
    assert not faults(graph)
    partition = graph.combination.partition
    assert all(part not in projection.negated for projection, part in partition.items())
    assert partition.get(looped.planned) != "E"


def test_an_input_that_tests_more_than_its_projection_is_a_fault():
    whole = NetworkQuery("q", sequence((A, B, C)))
    strict = NetworkQuery("s", sequence((A, B, D)), frozenset({Condition(frozenset("AB"), "a.x = b.x")}))
    load = workload(whole, strict)
    ab = strict.projection(frozenset("AB"))
    inputs = {
        ab: (events_of("A"), events_of("B")),
        whole.planned: (ab, events_of("C")),
        strict.planned: (ab, events_of("D")),
    }
    graph = Forwarding(load).graph(Combination(inputs, {}), {})
    assert faults(graph) == ["SEQ(A, B), an input of SEQ(A, B, C), is no part of it"]


def test_an_input_that_tests_a_not_beside_a_loop_is_a_fault():
    looped = NetworkQuery("k", sequence((Primitive("A", kleene=True), Absent("B"), C, D)))
    single = NetworkQuery("s", sequence((A, Absent("B"), C)))
    load = workload(looped, single)
    inputs = {
        single.planned: tuple(map(events_of, "ABC")),
        looped.planned: (single.planned, events_of("D")),
    }
    graph = Forwarding(load).graph(Combination(inputs, {}), {})
    assert faults(graph) == ["SEQ(A, NOT B, C), an input of SEQ(A+, NOT B, C, D), is no part of it"]
