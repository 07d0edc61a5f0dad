"""The order in which the variables of a pattern are matched best: exactly, or by the paper's heuristic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from cepheid.policies.evaluation.cost_model import ORDER_SELECTIVITY, UnitCosts, join_s
from cepheid.policies.evaluation.workload import Workload

MOST_EXACT = 10
"""Variables up to which every order is looked at (by subsets: 1,024 of 10); beyond, the heuristic decides."""

JoinCost = Callable[[tuple[str, ...], str], float]
"""The time to join one more variable to some, which are in the order of the pattern."""


def optimal_order(names: Sequence[str], cost: JoinCost, known: Sequence[str] = ()) -> tuple[str, ...]:
    """The order of least cost, by dynamic programming over subsets.

    Args:
        names: the variables, in the order of the pattern; at most about 20.
        cost: of one join; it may depend on which variables were joined before, not on their order.
        known: variables that are matched already, which come before all.

    Returns:
        ``names`` in that order; of equal ones, the one that takes earlier variables of the pattern first.

    Source: APAM, section 4: the optimal matching order is the optimal join order.
    """
    n = len(names)
    every = tuple(known)
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for subset in range(1, 1 << n):
        found = None
        for last in range(n):
            if not subset >> last & 1:
                continue
            rest = subset & ~(1 << last)
            before = tuple(names[i] for i in range(n) if rest >> i & 1)
            total = best[rest][0] + cost((*every, *before), names[last])
            way = (*best[rest][1], last)
            if found is None or _better(total, way, *found):
                found = total, way
        assert found is not None
        best[subset] = found
    return tuple(names[i] for i in best[(1 << n) - 1][1])


def _better(cost: float, way: tuple[int, ...], other: float, other_way: tuple[int, ...]) -> bool:
    if math.isclose(cost, other, rel_tol=1e-9):
        return way < other_way
    return cost < other


def greedy_order(workload: Workload, known: Sequence[str] = ()) -> tuple[str, ...]:
    """What is more selective earlier.

    Begins with the two variables that fewest pairs of events pass, and goes on with the variable whose conditions and
    orders with those before let fewest through.

    Args:
        workload: the pattern and the stream.
        known: variables that are matched already.

    Source: APAM, section 4: "a heuristic method", the one that processes more selective matching earlier.
    """
    left = [name for name in workload.variables if name not in known]
    order: list[str] = []

    def passing(before: Sequence[str], name: str) -> float:
        share = math.prod(one.selectivity for one in workload.new_conditions(before, name))
        return share * ORDER_SELECTIVITY ** len(before)

    if not known and len(left) > 1:
        pairs = [(passing((a,), b), i, j) for i, a in enumerate(left) for j, b in enumerate(left) if i < j]
        _, i, j = min(pairs)
        order = [left[i], left[j]]
    while len(order) < len(left):
        rest = [name for name in left if name not in order]
        before = (*known, *order)
        order.append(min(rest, key=lambda name: (passing(before, name), left.index(name))))
    return tuple(order)


def matching_order(workload: Workload, costs: UnitCosts) -> tuple[str, ...]:
    """The order of all variables: the optimal one up to `MOST_EXACT` variables, beyond by the heuristic.

    Args:
        workload: the pattern and the stream.
        costs: T_PE, T_RC.
    """

    def cost(before: tuple[str, ...], name: str) -> float:
        return join_s(workload, before, (name,), costs, final_arrived=False) if before else 0.0

    if len(workload.variables) <= MOST_EXACT:
        return optimal_order(workload.variables, cost)
    return greedy_order(workload)
