"""ProbSlack against the paper's listings, time point by time point, and against worked numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from cepheid.engine.closing import Closed, Closer
from cepheid.policies.slack.baselines import Baseline
from cepheid.policies.slack.delays import NO_WAIT, DelayModel
from cepheid.policies.slack.oracle import known_slack, oracle_slack
from cepheid.policies.slack.probabilistic import Fitting, ProbSlack
from cepheid.ports.slack import Closing, Grid, Guard, Kind
from cepheid.stats.frequencies import Bins, Frequencies
from tests.unit.policies.slack.listings import Listing

MODEL = DelayModel.of(Frequencies(np.array([2, 4]), np.array([1, 1])), Frequencies(np.array([1, 3]), np.array([1, 3])))
CASES = [
    (1, 0, 0),
    (2, 2, 1 / 2),
    (2, 3, 3 / 8),
    (2, 4, 3 / 8),
    (2, 5, 0),
    (4, 0, 1),
    (4, 3, 7 / 8),
    (4, 5, 3 / 8),
    (4, 6, 3 / 8),
    (4, 7, 0),
]


@pytest.mark.parametrize(("alpha", "beta", "chance"), CASES)
def test_the_chance_of_a_miss(alpha: int, beta: int, chance: float) -> None:
    assert float(MODEL.p_miss(alpha, beta)) == chance


def test_the_chance_of_a_miss_that_can_be_avoided() -> None:
    # Eq. 8: what comes after the greatest slack does not count. g = 2, d = 3 arrives at 5, g = 4 at 5 and 7.
    assert float(MODEL.p_miss(4, 3, by=5)) == 1 / 2 * 3 / 4 + 1 / 2 * 1 / 4
    assert float(MODEL.p_miss(4, 3, by=4)) == 0
    assert float(MODEL.p_miss(4, 3, by=7)) == 7 / 8


def test_what_the_silence_says() -> None:
    # Silent up to 4: only (2, 3) at 5, (4, 1) at 5 and (4, 3) at 7 are left: 3/8, 1/8 and 3/8.
    assert float(MODEL.p_silent(4)) == 7 / 8
    assert float(MODEL.p_missing(2, 4)) == pytest.approx(3 / 7)
    assert float(MODEL.p_missing(4, 4)) == 1
    assert float(MODEL.p_missing(2, 9)) == 0  # longer than was ever seen


def test_waits_of_the_constant_stream() -> None:
    """Stream CB: gaps of 20, delays 1 + B(10, 1/2)."""
    counts = np.array([1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1])
    model = DelayModel.of(Frequencies(np.array([20]), np.array([1024])), Frequencies(np.arange(1, 12), counts))
    given = {23: 0.9453125, 24: 0.828125, 25: 0.623046875, 26: 0.376953125, 27: 0.171875, 28: 0.0546875}
    given |= {29: 0.0107421875, 30: 0.0009765625, 31: 0.0}
    assert model.p_miss(20, np.array(list(given))).tolist() == list(given.values())
    assert float(model.p_miss(19, 0)) == 0
    assert (model.wait(20, 0.3), model.wait(20, 0.1)) == (27, 28)
    assert model.waits(0.3).tolist() == [27]
    assert model.waits(0.3, given_silence=True).tolist() == [31]  # an event is coming, surely, until it must have come


def test_bins_never_make_a_chance_smaller() -> None:
    rng = np.random.default_rng(3)
    gaps, delays = Frequencies.of(rng.integers(1, 4000, 5000)), Frequencies.of(rng.integers(1, 3000, 5000))
    exact, binned = DelayModel.of(gaps, delays, n_bins=1 << 20), DelayModel.of(gaps, delays, n_bins=64)
    alpha, beta = rng.integers(0, 5000, 300), rng.integers(0, 7000, 300)
    assert len(binned.gaps.least) <= 64
    difference = binned.p_miss(alpha, beta) - exact.p_miss(alpha, beta)
    assert difference.min() >= -1e-12
    assert difference.max() < 0.1


def test_waits_are_the_least_ones() -> None:
    rng = np.random.default_rng(5)
    for n in (5, 400):
        model = DelayModel.of(Frequencies.of(rng.integers(3, 3 * n, 900)), Frequencies.of(rng.integers(-9, n, 900)))
        for edge in range(0, len(model.gaps.least), max(1, n // 20)):
            alpha = model.gaps.least[edge]
            wait = model.wait(int(alpha), 0.07)
            assert model.p_miss(alpha, wait) <= 0.07
            assert wait == NO_WAIT or model.p_miss(alpha, wait - 1) > 0.07


def test_all_waits_at_once_are_those_of_each() -> None:
    rng = np.random.default_rng(11)
    for n in (2, 5, 60):
        model = DelayModel.of(Frequencies.of(rng.integers(3, 3 * n, 900)), Frequencies.of(rng.integers(-9, n, 900)))
        for budget in (0.0, 0.07, 0.5, 0.99):
            assert model.waits(budget).tolist() == [model.wait(int(alpha), budget) for alpha in model.gaps.least]
            betas = np.arange(-20, model.longest + 2)
            for alpha, wait in zip(model.gaps.least, model.waits(budget, given_silence=True), strict=True):
                above = np.flatnonzero(model.p_missing(alpha, betas) > budget + 1e-12)
                last = betas[above[-1]] if len(above) else None
                assert (wait == NO_WAIT) if last is None else (wait == last + 1)


def _stream(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    generated = np.cumsum(rng.choice([4, 7, 9], n)).astype(np.int64)
    return generated, generated + rng.integers(1, 4, n)


def _closed(closer: Closer, generated: np.ndarray, received: np.ndarray, cuts: int = 1) -> list[int]:
    slack: list[int] = []
    for part in np.array_split(np.arange(len(generated)), cuts):
        found = closer.receive(np.zeros(len(part), np.int64), generated[part], received[part])
        slack += closed_slack(closer, found)
    return slack


def closed_slack(closer: Closer, found: Closed) -> list[int]:
    return found.each(closer.grid)[1].tolist()


@pytest.mark.parametrize(
    ("f", "delta", "mal"), [(5, 0.1, None), (8, 0.3, None), (20, 0.2, None), (8, 0.2, 6), (6, 0.2, 1)]
)
def test_the_kernel_does_what_the_listings_say(f: int, delta: float, mal: int | None) -> None:
    n_resets = 0
    for seed in range(3):
        generated, received = _stream(seed, 600)
        slow = Listing(f, Fraction(str(delta)), 60, mal)
        slow.run(list(zip(generated.tolist(), received.tolist(), strict=True)), int(received[-1]))
        policy = ProbSlack(
            Closing(Kind.LEARNED, latest=mal, guard=Guard.KNOWN, budget=delta), Fitting(period=60, warm_up=60)
        )
        closer = Closer(policy, Grid(f, f), first=1)
        slack = _closed(closer, generated, received, cuts=1 + 5 * seed)
        assert slack == slow.slack
        assert closer.n_missed == len(slow.missed)
        assert closer.slack_sum == sum(slack)
        n_resets += int(closer.n_missed > 0)
    assert n_resets


def test_exact_baselines_of_the_constant_stream() -> None:
    """Every delay as often as its chance says, in every place of the cycle of windows."""
    delays = 1 + np.repeat(np.arange(11), [1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1])
    delays = np.tile(np.repeat(delays, 3), 40)
    generated = 20 * np.arange(1, len(delays) + 1)
    for f, ignore, slack_6, by_event in ((30, 0.50048828, 0.18847656, 21.0), (20, 1.0, 0.37695313, 26.0)):
        found = {}
        for closing in (Closing(Kind.DELAY), Closing(Kind.DELAY, delay=6), Closing(Kind.EVENTS)):
            closer = Closer(Baseline(closing), Grid(f, f), first=1)
            _closed(closer, generated, generated + delays)
            found[closing.kind, closing.delay] = (closer.n_missed / closer.n_closed, closer.slack_sum / closer.n_closed)
        assert found[Kind.DELAY, 0][0] == pytest.approx(ignore, abs=5e-5)
        assert found[Kind.DELAY, 6][0] == pytest.approx(slack_6, abs=5e-5)
        assert found[Kind.EVENTS, 0] == (0, pytest.approx(by_event, abs=2e-3))


def test_oracle_gives_up_the_windows_that_take_longest() -> None:
    grid = Grid(10, 10)
    generated, received = np.array([4, 9, 18, 33]), np.array([5, 16, 19, 34])
    known = known_slack(grid, np.arange(1, 5), generated, received)
    assert known.tolist() == [6, -1, -10, -6]
    slack, given_up = oracle_slack(known, 10, 0.25)
    assert slack.tolist() == [-10, -1, -10, -6]
    assert given_up.tolist() == [True, False, False, False]


def test_bins_hold_what_was_seen() -> None:
    bins = Bins.of(Frequencies(np.arange(100), np.ones(100, np.int64)), 10)
    assert len(bins.least) == 10
    assert bins.probabilities.sum() == pytest.approx(1)
    assert (bins.least[1:] > bins.greatest[:-1]).all()
