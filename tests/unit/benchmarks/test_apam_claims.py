"""What the figures of APAM hold the chosen plan to, where a rare burst makes the mean differ from what is usual."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.figures.apam.claims import bounded, contested
from benchmarks.figures.apam.measure import Point
from benchmarks.figures.apam.queue import Latency, latency
from benchmarks.figures.apam.services import Services


def point(chosen: str, eager_us: tuple[float, float], lazy_us: tuple[float, float]) -> Point:
    """A point at which each plan takes (by the mean, usually) so long."""
    latencies = {
        plan: Latency(0.0, mean * 1e-6, 0.1, usual * 1e-6)
        for plan, (mean, usual) in {"eager": eager_us, "/a": lazy_us}.items()
    }
    return Point(2, 0.2, 1e5, chosen, chosen, "/a", latencies)


@pytest.mark.parametrize(
    ("chosen", "eager_us", "fails", "is_contested"),
    [
        ("eager", (2.0, 2.0), False, False),
        ("eager", (13.0, 2.0), False, True),  # a burst, which the usual block does not have
        ("/a", (13.0, 2.0), False, False),
        ("/a", (2.0, 2.0), True, False),
        ("eager", (13.0, 13.0), True, False),
    ],
)
def test_a_bound_holds_by_the_mean_or_in_a_usual_block(
    chosen: str, eager_us: tuple[float, float], fails: bool, is_contested: bool
):
    one = point(chosen, eager_us, (5.0, 5.0))
    assert any(min(ratio, usual) > most for _, most, ratio, usual in bounded(one)) == fails
    assert (contested([one]) == [one]) == is_contested


def test_a_burst_is_in_the_mean_and_not_in_what_is_usual():
    n = 420_000
    services_s = np.full(n, 1e-6)
    services_s[330_000:332_000] = 2e-5
    ends = np.arange(n) % 50 == 0
    found = latency(Services("eager", services_s, ends, ends), 2e5, range(2))
    assert found.usual_s < 1.3e-6
    assert found.latency_s > 1e-4
