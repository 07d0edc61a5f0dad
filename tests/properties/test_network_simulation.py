"""Whatever the network, the queries and the plan, the sinks tell what one engine finds over all events."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import numpy as np
import pytest

from cepheid.network.check import faults
from cepheid.network.graph import InevGraph
from cepheid.network.model import Node
from cepheid.network.planner import PlanSettings, plan_workload
from cepheid.simulation.network import (
    Crash,
    Simulated,
    SimulationSettings,
    centralized_matches,
    simulate,
)
from cepheid.simulation.network_links import Outage
from cepheid.testing.oracle import match
from cepheid.testing.oracle_events import OracleEvent
from tests.properties.networks import SECOND_US, Case, case, drawn_plan, features_of


def plan_of(made: Case, seed: int) -> InevGraph:
    """The best plan, or any: which is as right, and shows more."""
    if seed % 2:
        return plan_workload(made.workload, PlanSettings(max_latency=math.inf)).graph
    return drawn_plan(made, Random(seed))


def settings_of(made: Case, random: Random, seed: int) -> SimulationSettings:
    """Delays longer than steps; in some cases links that are down, and sites that die."""
    network = made.network
    outages = []
    if network.edges and seed % 3 == 0:
        begins = random.randint(0, 20) * SECOND_US
        outages.append(Outage(random.choice(network.edges), begins, begins + random.randint(1, 30) * SECOND_US))
    crashes = []
    if seed % 4 == 0:
        for node in random.sample(network.nodes, min(2, len(network.nodes))):
            dies = random.randint(1, 45) * SECOND_US
            crashes.append(Crash(node, dies, dies + random.randint(1, 20) * SECOND_US))
    return SimulationSettings(
        hop_us=(SECOND_US // 10, random.choice((1, 4, 15)) * SECOND_US),
        step_us=random.choice((2, 3, 8)) * SECOND_US,
        outages=tuple(outages),
        crashes=tuple(crashes),
        checkpoint_steps=random.choice((2, 5)),
    )


def skew_of(made: Case, random: Random, seed: int) -> dict[Node, int]:
    if seed % 5:
        return {}
    return {node: random.randint(-6, 6) * SECOND_US // 2 for node in made.network.nodes}


def require_the_same(seed: int) -> tuple[Simulated, int]:
    """Carry out a plan of a random case, and compare; the number of matches."""
    random = Random(seed)
    made = case(seed)
    graph = plan_of(made, seed)
    assert not faults(graph)
    trace = made.trace(skew_of(made, random, seed))
    settings = settings_of(made, random, seed)
    simulated = simulate(graph, made.queries, trace, np.random.default_rng(seed), settings)
    wanted = centralized_matches(made.queries, trace)
    assert simulated.matches == wanted, (seed, made.texts)
    if not settings.crashes:
        assert simulated.n_late == simulated.n_sent_again == simulated.n_told_again == 0
    if len(made.queries) == 1:  # else a query may keep fewer events of a type than another
        assert simulated.n_refused == 0
    return simulated, sum(len(found) for found in wanted.values())


def test_simulated_plans_tell_the_matches_of_one_engine():
    n_matches = sum(require_the_same(seed)[1] for seed in range(16))
    assert n_matches > 500


FIRST = range(1_000, 1_510, 51)
LEAST = {
    "SEQ": 300,
    "AND": 250,
    "NSEQ": 50,
    "KL": 200,
    "NSEQ and KL in one query": 10,
    "several queries": 250,
    "split over sites": 200,
    "projections as inputs": 150,
    "output selectors": 60,
}
"""Of the 510 cases below, those that have it, at the least."""


@pytest.mark.slow
def test_the_many_cases_have_what_they_are_to_try():
    counts: Counter[str] = Counter()
    for first in FIRST:
        for seed in range(first, first + 51):
            made = case(seed)
            counts.update(features_of(made, plan_of(made, seed)))
    print("\n".join(f"{counts[feature]:>5}  {feature}" for feature in LEAST))
    assert {feature: counts[feature] for feature, least in LEAST.items() if counts[feature] < least} == {}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", FIRST)
def test_many_simulated_plans_tell_the_matches_of_one_engine(first: int):
    found = [require_the_same(seed) for seed in range(first, first + 51)]
    graphs = [simulated.graph for simulated, _ in found]
    assert sum(n > 0 for _, n in found) > 20
    assert sum(bool(graph.combination.partition) for graph in graphs) > 12
    assert sum(any(vertex.selector is not None for vertex in graph.vertices) for graph in graphs) > 1
    assert sum(simulated.n_overtaking > 0 for simulated, _ in found) > 1


@pytest.mark.parametrize("seed", [8, 10, 15])
def test_one_engine_over_all_events_is_what_the_queries_mean(seed: int):
    made = case(seed)
    trace = made.trace()
    events = [
        OracleEvent(
            time=int(row["time"].timestamp() * SECOND_US),
            order=(row["site"], row["number"]),
            type=row["type"],
            source="",
            values=row,
        )
        for row in made.table.to_pylist()
    ]
    for query in made.queries:
        wanted = {
            frozenset((name, event.values["number"]) for name, event in found.bindings)
            for found in match(query.bound, events).matches
        }
        assert {frozenset(found) for found in centralized_matches(made.queries, trace)[query.name]} == wanted
