"""The cost model, the order and the candidates of APAM, against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, permutations

import pytest

from cepheid.errors import SetupError
from cepheid.policies.evaluation.choice import Hysteresis, best
from cepheid.policies.evaluation.cost_model import (
    Estimate,
    UnitCosts,
    eager_service_s,
    estimate,
    estimated,
    join_s,
    merging_s,
    n_instances,
    services_s,
)
from cepheid.policies.evaluation.matching_order import greedy_order, matching_order, optimal_order
from cepheid.policies.evaluation.plans import Plan, candidates
from cepheid.policies.evaluation.workload import Condition, Loop, Workload, n_choices

COSTS = UnitCosts(predicate_s=1.0, result_s=10.0, insertion_s=100.0)
UNIT = UnitCosts(1e-6, 1e-6, 1e-6)


def workload(
    names: str, pairs: dict[str, float], rate: float = 10.0, window_s: float = 2.0, same: float | None = None
) -> Workload:
    conditions = tuple(Condition(frozenset(pair), selectivity) for pair, selectivity in pairs.items())
    return Workload(tuple(names), dict.fromkeys(names, rate), window_s, conditions, same)


ABC = workload("ABC", {"AB": 0.1, "BC": 0.5})  # 20 events of each in a window


def test_the_number_of_partial_matches():
    assert n_instances(ABC, "A") == 20
    assert n_instances(ABC, "AB") == pytest.approx(20 * 20 * 0.1 * 0.5)
    assert n_instances(ABC, "BC", final_arrived=False) == pytest.approx(20 * 20 * 0.5 * 0.5)
    assert n_instances(ABC, "BC") == pytest.approx(20 * 0.5 * 0.5)  # the event of C that has arrived
    assert n_instances(ABC, "ABC", final_arrived=False) == pytest.approx(20**3 * 0.1 * 0.5 / 8)
    assert n_instances(workload("AB", {}, same=0.25), "AB", final_arrived=False) == pytest.approx(400 / 2 / 4)


def test_services_of_eager_and_lazy_events():
    assert eager_service_s(ABC, "AB", 0, COSTS) == 10.0  # a result: the event alone
    assert eager_service_s(ABC, "AB", 1, COSTS) == pytest.approx(20 * 1 * 1.0 + 20 * 0.1 * 10.0)
    assert eager_service_s(ABC, "AC", 1, COSTS) == pytest.approx(20 * 0 * 1.0 + 20 * 10.0)  # no condition
    assert services_s(ABC, Plan((), tuple("CBA")), COSTS)["A"] == 100.0


def test_the_joins_of_a_merging():
    # the C that has come with 20 events of B: a condition and an order; 20 x 0.5 x 0.5 results
    first = 20 * 2 * 1.0 + 5 * 10.0
    assert join_s(ABC, "C", "B", COSTS) == pytest.approx(first)
    # these with A: a condition with B, orders with B and C; |PI_CB| x 20 x 0.1 x 1/4 results
    second = 5 * 20 * 3 * 1.0 + 5 * 20 * 0.1 * 0.25 * 10.0
    assert merging_s(ABC, Plan((), tuple("CBA")), COSTS) == pytest.approx(first + second)
    assert merging_s(ABC, Plan(tuple("ABC"), ()), COSTS) == 0.0
    assert services_s(ABC, Plan((), tuple("CBA")), COSTS)["C"] == pytest.approx(100.0 + first + second)


def test_latency_is_waiting_and_service():
    found = estimate(ABC, Plan(tuple("ABC"), ()), UNIT)
    assert found.latency_s == found.waiting_s + found.final_service_s
    assert found.final_service_s == found.services_s["C"]
    assert found.utilization == pytest.approx(30.0 * found.mean_service_s)


@pytest.mark.parametrize(
    ("selectivities", "order"),
    [
        ((0.008, 0.006, 0.004, 0.002), "DECBA"),
        ((0.002, 0.004, 0.006, 0.008), "ABCDE"),
        ((0.006, 0.002, 0.004, 0.008), "BCDAE"),
    ],
)
def test_the_matching_orders_of_the_experiments(selectivities: tuple[float, ...], order: str):
    """Table 2 names EDCBA for the first: of its first two variables either may come first (section 6.2.1)."""
    pairs = dict(zip(("AB", "BC", "CD", "DE"), selectivities, strict=True))
    found = workload("ABCDE", pairs, rate=40.0, window_s=10.0)
    assert "".join(matching_order(found, UNIT)) == order
    assert "".join(greedy_order(found)) == order


def test_the_candidates_of_the_paper():
    assert [str(plan).replace(" ", "") for plan in candidates("ABCD", "BCAD")] == [
        "/BCAD",
        "B/CAD",
        "BC/AD",
        "ABC/D",
        "ABCD/",
    ]


def test_the_exact_order_is_the_best_of_all():
    found = replace(
        workload("ABCDEF", {"AC": 0.01, "BD": 0.3, "CE": 0.2, "AF": 0.05, "EF": 0.9, "BC": 0.4}),
        rates_per_s={"A": 100.0, "B": 1.0, "C": 100.0, "D": 2.0, "E": 30.0, "F": 5.0},
    )

    def cost(before: tuple[str, ...], name: str) -> float:
        return join_s(found, before, (name,), UNIT, final_arrived=False) if before else 0.0

    def total(order: tuple[str, ...]) -> float:
        return math.fsum(cost(order[:i], name) for i, name in enumerate(order))

    order = optimal_order(found.variables, cost)
    assert total(order) == pytest.approx(min(map(total, permutations("ABCDEF"))))
    assert total(order) < total(greedy_order(found))  # the heuristic is no more than that


def test_beyond_ten_variables_the_heuristic_orders():
    names = "ABCDEFGHIJKL"
    found = workload(names, {a + b: 0.001 * (i + 1) for i, (a, b) in enumerate(pairwise(names))})
    assert matching_order(found, UNIT) == greedy_order(found) == tuple(names)


def plans_at(rate: float) -> tuple[Workload, list[Plan]]:
    """The first experiment of the paper: 2,000 events in a window."""
    pairs = {"AB": 0.008, "BC": 0.006, "CD": 0.004, "DE": 0.002}
    found = workload("ABCDE", pairs, rate=rate / 5, window_s=2000 / rate)
    return found, [Plan(tuple("ABCDE"), ()), Plan((), tuple("EDCBA"))]


def test_work_ahead_while_events_are_rare_and_wait_when_they_are_many():
    costs, chosen = UnitCosts(predicate_s=1e-6, result_s=50e-6, insertion_s=1e-6), []
    for rate in (100.0, 2_450.0, 100_000.0):
        found, plans = plans_at(rate)
        chosen.append(str(best([estimate(found, plan, costs) for plan in plans]).plan).replace(" ", ""))
    assert chosen == ["ABCDE/", "/EDCBA", "/EDCBA"]


def test_where_every_plan_is_saturated_the_fastest_service_wins():
    found, plans = plans_at(1e9)
    estimates = [estimate(found, plan, UNIT) for plan in plans]
    assert all(math.isinf(one.latency_s) for one in estimates)
    assert best(estimates).mean_service_s == min(one.mean_service_s for one in estimates)


def test_a_plan_stays_while_the_other_is_little_better():
    found, (eager, lazy) = plans_at(10.0)

    def of(plan: Plan, service_s: float) -> Estimate:
        return estimated(found, plan, dict.fromkeys("ABCDE", service_s))

    hysteresis = Hysteresis(0.1)
    assert hysteresis.choose([of(eager, 1e-4), of(lazy, 0.95e-4)], eager).plan == eager
    assert hysteresis.choose([of(eager, 1e-4), of(lazy, 0.8e-4)], eager).plan == lazy
    assert hysteresis.choose([of(eager, 1e-4), of(lazy, 0.95e-4)], None).plan == lazy
    assert hysteresis.choose([of(eager, 1.0), of(lazy, 0.95e-4)], eager).plan == lazy  # from saturation, always
    assert hysteresis.choose([of(eager, 1.0), of(lazy, 0.95)], eager).plan == eager  # both are: by the service rate
    assert hysteresis.choose([of(eager, 1.0), of(lazy, 0.8)], eager).plan == lazy
    with pytest.raises(SetupError, match="no share"):
        Hysteresis(1.0)


@pytest.mark.parametrize("rate", [0.0, 1e-300, 1e300])
@pytest.mark.parametrize("selectivity", [0.0, 1.0])
@pytest.mark.parametrize("window_s", [0.0, 1e-9, 1e12])
def test_whatever_the_numbers_a_plan_is_chosen(rate: float, selectivity: float, window_s: float):
    names = "ABCDEFGHIJ"
    found = workload(names, {a + b: selectivity for a, b in pairwise(names)}, rate, window_s)
    order = matching_order(found, UNIT)
    assert sorted(order) == sorted(names)
    estimates = [estimate(found, plan, UNIT) for plan in candidates(names, order)]
    assert not any(math.isnan(one.latency_s) or math.isnan(one.mean_service_s) for one in estimates)
    assert best(estimates) in estimates


def test_a_type_that_never_comes():
    found = Workload(tuple("ABC"), {"A": 100.0, "B": 100.0, "C": 0.0}, 10.0)
    estimates = [estimate(found, plan, UNIT) for plan in candidates("ABC", matching_order(found, UNIT))]
    assert all(math.isfinite(one.final_service_s) for one in estimates)
    assert not best(estimates).plan.eager or best(estimates).utilization < 1


@pytest.mark.parametrize(
    ("n", "loop", "choices"),
    [
        (3, Loop(1, None), 7),
        (4, Loop(2, 2), 6),
        (5, Loop(1, 2), 15),
        (0, Loop(1, None), 0),
        (2, Loop(3, None), 0),
        (10_000, Loop(1, None), 1e15),
    ],
)
def test_the_ways_in_which_a_loop_takes_events(n: float, loop: Loop, choices: float):
    assert n_choices(n, loop) == pytest.approx(choices)
