"""Finds what the parts of the work cost on a machine from what whole streams took there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cepheid.policies.evaluation.indexed_joins import IndexedJoins, MachineCosts, work_of
from cepheid.policies.evaluation.plans import Plan
from cepheid.policies.evaluation.workload import Condition, Workload
from cepheid.ports.calibration import Measured
from cepheid.ports.evaluation import Form, Measure

_models: dict[tuple[Measure, str], IndexedJoins] = {}


def machine_model(measure: Measure, kernel: str) -> IndexedJoins | None:
    """The service times of plans on this machine; None as long as nothing can be measured.

    Args:
        measure: gives what was measured; where it gives something, it is asked once in a process for each kernel.
        kernel: the one that evaluates all variables as their events arrive, by a name that ``measure`` knows.
    """
    key = measure, kernel
    if key not in _models:
        eager, lazy = measure(kernel), measure("lazy")
        if not eager or not lazy:
            return None
        _models[key] = IndexedJoins(MachineCosts({kernel: fitted(eager)}, fitted(lazy)), kernel)
    return _models[key]


def fitted(measurements: Sequence[Measured]) -> tuple[float, ...]:
    """What each part costs, in seconds: none less than nothing, and the relative errors of all streams least.

    Args:
        measurements: of one kernel; more of them than there are parts, or as many.
    """
    rows = []
    for one in measurements:
        workload, plan = workload_of(one), plan_of(one)
        counts = work_of(workload, plan).counts
        rates = np.array([workload.rates_per_s[name] for name in workload.variables])
        average = np.array([counts[name] for name in workload.variables]).T @ (rates / rates.sum())
        rows.append(average / one.service_s if one.service_s > 0 else average)
    wanted = np.array([1.0 if one.service_s > 0 else 0.0 for one in measurements])
    return tuple(least_squares_from_zero(np.array(rows), wanted).tolist())


def workload_of(one: Measured) -> Workload:
    """The pattern and the stream that was measured, its window a second long."""
    conditions = [
        Condition(frozenset(pair), share, form)
        for form, shares in ((Form.RANGE, one.less), (Form.EQUALITY, one.equal))
        for pair, share in shares.items()
    ]
    return Workload(one.variables, one.n_in_window, 1.0, tuple(conditions), one.same)


def plan_of(one: Measured) -> Plan:
    """The plan that was measured."""
    eager, lazy = one.plan.split("/")
    return Plan(tuple(eager.split()), tuple(lazy.split()))


def least_squares_from_zero(rows: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """The x >= 0 for which ``rows @ x`` is nearest to ``wanted``.

    Args:
        rows: (n, m), float64.
        wanted: (n,).

    Returns:
        (m,), float64.

    Source: Lawson and Hanson, Solving Least Squares Problems, chapter 23: variables enter one at a time.
    """
    scale = np.linalg.norm(rows, axis=0)
    scale[scale == 0] = 1.0
    a = rows / scale
    x, free = np.zeros(a.shape[1]), np.zeros(a.shape[1], np.bool_)
    for _ in range(3 * a.shape[1]):
        gradient = a.T @ (wanted - a @ x)
        gradient[free] = -np.inf
        if gradient.max() <= 1e-10:
            break
        free[np.argmax(gradient)] = True
        while True:
            best = np.zeros_like(x)
            best[free] = np.linalg.lstsq(a[:, free], wanted, rcond=None)[0]
            if (best[free] > 0).all():
                break
            down = free & (best <= 0)
            steps = x[down] / np.maximum(x[down] - best[down], 1e-300)
            x = x + steps.min() * (best - x)
            free &= x > 1e-15
            x[~free] = 0.0
        x = best
    found: NDArray[np.float64] = x / scale
    return found
