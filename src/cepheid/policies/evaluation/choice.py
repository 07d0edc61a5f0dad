"""Chooses a plan by what each is expected to do, and keeps the one that runs where others are little better.

Source: APAM, section 4.2: the plan of the lowest E[L]; where all are infinite, the plan of the fastest μ. The paper
says nothing of noise in the estimates: `Hysteresis` is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.errors import SetupError
from cepheid.policies.evaluation.cost_model import Estimate
from cepheid.policies.evaluation.plans import Plan


def rank(estimate: Estimate, saturated: bool) -> float:
    """What the best plan has the least of: E[L], or 1 / μ where all plans are saturated."""
    return estimate.mean_service_s if saturated else estimate.latency_s


def all_saturated(estimates: Sequence[Estimate]) -> bool:
    """Whether events come faster than any plan can serve them."""
    return all(math.isinf(estimate.latency_s) for estimate in estimates)


def best(estimates: Sequence[Estimate]) -> Estimate:
    """The plan of the lowest latency; of the fastest service rate where every latency is infinite.

    Args:
        estimates: at least one; of equal ones, the first is taken.
    """
    saturated = all_saturated(estimates)
    return min(estimates, key=lambda estimate: rank(estimate, saturated))


@dataclass(frozen=True)
class Hysteresis:
    """How much better another plan must be than the one that runs.

    Attributes:
        least_gain_ratio: the share of the latency (of the service time, where all plans are saturated) by which it is
            better; 0 for any gain.
    """

    least_gain_ratio: float = 0.1

    def __post_init__(self) -> None:
        """Check the value.

        Raises:
            SetupError: it is no share.
        """
        if not 0 <= self.least_gain_ratio < 1:
            raise SetupError(f"least_gain_ratio={self.least_gain_ratio!r} is no share", remedy="give 0 to below 1")

    def choose(self, estimates: Sequence[Estimate], current: Plan | None) -> Estimate:
        """The best plan, or the one that runs.

        Args:
            estimates: of all plans.
            current: the plan that runs; None for none, or for one that is none of them.
        """
        found = best(estimates)
        running = next((one for one in estimates if one.plan == current), None)
        if running is None:
            return found
        saturated = all_saturated(estimates)
        before, after = rank(running, saturated), rank(found, saturated)
        return found if after < before * (1 - self.least_gain_ratio) else running
