"""What the figures of APAM hold the chosen plan to, and when so many events are too few to tell."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.figures.apam.claims import bounded, undecided
from benchmarks.figures.apam.measure import Point, _as_tried
from benchmarks.figures.apam.queue import BLOCK, Latency, latency, ratio_between
from benchmarks.figures.apam.services import N_WARM, PART, Services
from cepheid.ports.evaluation import Decision, PlanEstimate

N = 20


def latency_of(blocks_us: np.ndarray) -> Latency:
    sums_s = 1e-6 * 100 * np.broadcast_to(blocks_us, N)
    return Latency(0.0, float(sums_s.mean() / 100), 0.1, sums_s, np.full(N, 100.0))


def usual(us: float, burst_us: float = 0.0) -> np.ndarray:
    """A burst is in one of the blocks."""
    return np.where(np.arange(N) == 7, us + burst_us, us * np.where(np.arange(N) % 2, 0.95, 1.05))


@pytest.mark.parametrize(
    ("chosen", "eager", "fails", "is_undecided"),
    [
        ("eager", usual(2.0), False, False),
        ("eager", usual(5.2), False, False),
        ("eager", usual(5.8), True, False),
        ("eager", usual(2.0, 110.0), False, True),  # all that it takes more, it takes in one burst
        ("/a", usual(2.0, 110.0), False, False),
        ("/a", usual(2.0), True, False),
    ],
)
def test_a_bound_holds_by_the_mean_unless_it_hangs_on_one_burst(
    chosen: str, eager: np.ndarray, fails: bool, is_undecided: bool
):
    point = Point(2, 0.2, 1e5, chosen, chosen, "/a", {"eager": latency_of(eager), "/a": latency_of(usual(5.0))})
    wrong = [low > 1 for _, most, ratio, (low, _) in bounded(point) if ratio > most]
    assert any(wrong) == fails
    assert (undecided([point]) == [point]) == is_undecided


def test_a_ratio_lies_where_the_means_of_many_such_streams_lie():
    random = np.random.default_rng(1)
    inside = 0
    for _ in range(300):
        bursts = random.exponential(1.0, N)  # of both plans at once
        one, other = latency_of(3 + bursts * random.uniform(0.5, 1.5, N)), latency_of(4 + bursts)
        low, high = ratio_between(one, [other])
        inside += low <= 4 / 5 <= high
        assert low <= one.latency_s / other.latency_s <= high
    assert 0.93 <= inside / 300 < 1  # twenty blocks with bursts


def test_a_choice_is_wrong_where_it_is_so_before_and_after_it():
    slow = {"eager": latency_of(usual(2.0)), "/a": latency_of(usual(5.0))}
    fast = {"eager": latency_of(usual(2.0)), "/a": latency_of(usual(1.0))}
    for turns, fails in (((slow, slow), True), ((slow, fast), False), ((fast, fast), False), ((fast, slow), False)):
        point = Point(2, 0.2, 1e5, "/a", "/a", "/a", slow, turns)
        assert any(low > 1 for _, most, ratio, (low, _) in bounded(point) if ratio > most) == fails
        assert undecided([point]) == ([] if fails else [point])
    # A plan that was measured in the second turn alone, as it was no candidate.
    point = Point(2, 0.2, 1e5, "b/a", "b/a", "/a", {**slow, "b/a": slow["/a"]}, (slow, {**slow, "b/a": slow["/a"]}))
    assert all(low > 1 for _, _, _, (low, _) in bounded(point))


def test_plans_are_as_fast_beside_each_other_as_in_the_trials():
    services = {
        plan: Services(plan, np.full(PART, 1e-6 * us), *[np.arange(PART) % 5 == 0] * 2)
        for plan, us in (("eager", 2.0), ("/a", 3.0), ("b/a", 7.0))
    }
    tried = [PlanEstimate("eager", 0.0, 0.0, 1e6, 0.1, True), PlanEstimate("/a", 0.0, 0.0, 2e6, 0.1, True)]
    model = PlanEstimate("b/a", 0.0, 0.0, 9e6, 0.1, False)
    found = _as_tried(services, Decision(0, "eager", "/a", (*tried, model), {}, ()))
    assert {plan: 1e6 * one.mean_s for plan, one in found.items()} == pytest.approx(
        {"eager": 6.0, "/a": 3.0, "b/a": 7.0}
    )
    assert _as_tried(services, Decision(0, "eager", "/a", (model,), {}, ())) == services


def test_plans_that_were_not_measured_on_all_streams_are_not_compared():
    short = Latency(0.0, 1e-9, 0.1, np.full(1, 1e-7), np.full(1, 100.0))
    point = Point(2, 0.2, 1e5, "eager", "eager", "/a", {"eager": latency_of(usual(2.0)), "/a": latency_of(usual(5.0))})
    far = Point(2, 0.2, 1e5, "eager", "eager", "/a", {**point.latencies, "b/a": short})
    assert far.near == ("eager", "/a")
    assert far.best == "eager"
    assert far.ratio("/a") == point.ratio("/a") == pytest.approx(2.5)


def test_the_latency_is_that_of_events_that_end_a_match_and_find_the_window_full():
    n = 2 * PART
    services_s = np.full(n, 1e-7)
    services_s[:N_WARM] = services_s[PART:][:N_WARM] = 1e-4
    ends = np.arange(n) % 50 == 0
    own = Services("eager", services_s, ends, ends)
    found = latency(own, 1.0)
    assert own.mean_s == pytest.approx(1e-7)
    assert found.latency_s == pytest.approx(1e-7)
    assert len(found.counts) == n // BLOCK
    assert found.counts.sum() == (n - 2 * N_WARM) // 50
    busy = latency(own, 1 / 1.1e-7)
    assert busy.waiting_s > 1e-4  # what the first events of a stream take is waited for all the same
    assert np.argmin(busy.without_each_block_s()) == np.argmax(busy.sums_s)
