"""What holds of every policy: budgets, silence, bad clocks, several sources, cuts and restarts."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from cepheid.engine.closing import REASONS, Closer
from cepheid.policies.slack.baselines import Baseline
from cepheid.policies.slack.delays import DelayModel
from cepheid.policies.slack.probabilistic import Fitting, ProbSlack
from cepheid.ports.slack import Closing, Grid, Guard, Kind, SlackPolicy
from cepheid.stats.frequencies import Frequencies

QUICK = Fitting(period=500, warm_up=64)


def learning(budget: float, fitting: Fitting = QUICK, **more: object) -> ProbSlack:
    return ProbSlack(Closing(Kind.LEARNED, guard=Guard.BUDGET, budget=budget, **more), fitting)  # type: ignore[arg-type]


def stream(seed: int, n: int, n_sources: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Events of sources that each keep their order, by reception; some gaps, some tails."""
    rng = np.random.default_rng(seed)
    parts = []
    for source in range(n_sources):
        generated = np.cumsum(rng.choice([8, 10, 13], n)) + 3 * source
        received = np.maximum.accumulate(generated + rng.geometric(0.3, n))
        parts.append(np.stack((np.full(n, source), generated, received)))
    events = np.concatenate(parts, axis=1).astype(np.int64)
    order = np.argsort(events[2], kind="stable")
    sources, generated, received = events[:, order]
    _, numbers = np.unique(sources, return_inverse=True)
    first = np.array([np.flatnonzero(numbers == i)[0] for i in range(n_sources)])
    return np.argsort(np.argsort(first))[numbers], generated, received


@pytest.mark.parametrize("fitting", [QUICK, Fitting(500, 64, n_stretches=5), Fitting(500, 64, estimator="silence")])
@pytest.mark.parametrize("budget", [0.05, 0.4])
@pytest.mark.parametrize(("slide", "size", "drops"), [(7, 7, False), (12, 48, False), (12, 48, True)])
def test_the_budget_holds_in_every_run(fitting: Fitting, budget: float, slide: int, size: int, drops: bool) -> None:
    events = stream(1, 4000)
    closer = Closer(learning(budget, fitting), Grid(slide, size, drops=drops))
    closer.receive(*events)
    late = Closer(Baseline(Closing(Kind.EVENTS)), Grid(slide, size, drops=drops))
    late.receive(*events)
    assert closer.n_missed <= budget * closer.n_closed + 1
    assert late.n_missed == 0
    assert closer.slack_sum / closer.n_closed < late.slack_sum / late.n_closed - 1


def test_several_sources_share_the_budget() -> None:
    events = stream(2, 2000, n_sources=3)
    closers = [Closer(p, Grid(15, 15)) for p in (learning(0.2), Baseline(Closing(Kind.EVENTS)))]
    for closer in closers:
        closer.receive(*events)
    learned, by_event = closers
    assert by_event.n_missed == 0
    assert 0 < learned.n_missed <= 0.2 * learned.n_closed
    assert learned.slack_sum < 0.8 * by_event.slack_sum


@pytest.mark.parametrize(
    "make",
    [
        lambda: learning(0.1),
        lambda: learning(0.1, Fitting(500, 64, n_stretches=5, estimator="silence"), spends=True),
        lambda: learning(0.3, latest=4),
        lambda: Baseline(Closing(Kind.MEAN_DELAY)),
        lambda: Baseline(Closing(Kind.EVENTS)),
    ],
)
@pytest.mark.parametrize("n_sources", [1, 3])
def test_cuts_and_restarts_change_nothing(make: Callable[[], SlackPolicy], n_sources: int) -> None:
    events = stream(3, 900, n_sources)
    whole = Closer(make(), Grid(9, 9), risks=True)
    expected = whole.receive(*events)
    rng = np.random.default_rng(1)
    cuts = np.sort(rng.choice(len(events[0]), 11, replace=False))
    # Events that are received at one time belong together: windows are closed when the last of them is there.
    cuts = np.unique(np.searchsorted(events[2], events[2][cuts], "left"))
    closer = Closer(make(), Grid(9, 9), risks=True)
    found = []
    for number, part in enumerate(np.split(np.arange(len(events[0])), cuts)):
        if number % 3 == 2:
            restored = Closer(make(), Grid(9, 9), risks=True)
            restored.restore(json.loads(json.dumps(closer.said())))
            closer = restored
        if len(part):
            found.append(closer.receive(*(column[part] for column in events)))
    for name in ("windows", "at", "reasons", "sources", "risks"):
        assert np.concatenate([getattr(one, name) for one in found]).tolist() == pytest.approx(
            getattr(expected, name).tolist(), nan_ok=True
        ), name
    assert (closer.n_missed, closer.slack_sum) == (whole.n_missed, whole.slack_sum)


def test_a_change_of_distributions_is_found_out() -> None:
    rng = np.random.default_rng(4)
    n = 6000
    gaps = np.where(np.arange(n) < n // 2, 10, rng.integers(18, 24, n))
    delays = np.where(np.arange(n) < n // 2, rng.integers(1, 4, n), rng.integers(12, 16, n))
    generated = np.cumsum(gaps)
    closer = Closer(learning(0.1), Grid(15, 15))
    half = int(generated[n // 2])
    found = closer.receive(np.zeros(n, np.int64), generated, generated + delays)
    assert closer.n_missed <= 0.1 * closer.n_closed
    windows, slack = found.each(closer.grid)
    by_event = [slack[(windows * 15 > at) & (windows * 15 < at + 1000)].mean() for at in (half + 400, half + 20_000)]
    assert by_event[0] > by_event[1] + 5  # nothing is learned yet; then it is again


def test_a_source_that_falls_silent_is_given_up() -> None:
    generated = np.arange(1, 11) * 10  # one key with ten events: too few to learn from
    closer = Closer(learning(0.1), Grid(20, 20), risks=True)
    found = closer.receive(np.zeros(10, np.int64), generated, generated + 2)
    assert len(found.windows) == 4
    assert len(closer.until(125).windows) == 0
    after = closer.until(10_000)
    # Ten times (10 + 2) after its last event, at 100, it is no longer waited for.
    assert [int(after.at[0]), REASONS[after.reasons[0]]] == [220, "gave up"]
    assert REASONS[after.reasons[-1]] == "silent"  # windows that began when it had been given up
    assert np.isnan(after.risks[0])
    assert closer.closed_to == 10_000 + 20 - 20
    assert int(after.counts.sum()) == 500 - 4


def test_a_source_that_speaks_again_is_waited_for_again() -> None:
    closer = Closer(Baseline(Closing(Kind.EVENTS)), Grid(10, 10))
    first = np.arange(1, 9) * 10
    closer.receive(np.zeros(8, np.int64), first, first + 1)
    closer.until(1000)
    closer.receive(np.zeros(1, np.int64), np.array([1001]), np.array([1002]))
    assert closer.closed_to == 1010  # the window in which it spoke, before it was heard
    assert len(closer.until(1050).windows) == 0


def test_the_greatest_slack_holds_whatever_is_learned() -> None:
    events = stream(5, 1500)
    for policy in (learning(0.01, latest=3), Baseline(Closing(Kind.EVENTS, latest=3))):
        closer = Closer(policy, Grid(25, 25))
        _, slack = closer.receive(*events).each(closer.grid)
        assert slack.max() == 3
        assert closer.n_missed > 0


def test_the_allowance_of_slack_is_never_exceeded() -> None:
    """The dual problem (section 3.3): as few misses as a mean slack allows."""
    events = stream(6, 6000)
    closers = {}
    for allowance in (0, 2, 5):
        policy = ProbSlack(Closing(Kind.LEARNED, allowance=allowance), QUICK)
        closers[allowance] = closer = Closer(policy, Grid(25, 25))
        _, slack = closer.receive(*events).each(closer.grid)
        assert (np.cumsum(slack) <= allowance * np.arange(1, len(slack) + 1)).all()
    fixed = Closer(Baseline(Closing(Kind.DELAY, delay=2)), Grid(25, 25))
    fixed.receive(*events)
    assert closers[0].n_missed > closers[2].n_missed > closers[5].n_missed
    assert closers[2].n_missed < 0.8 * fixed.n_missed


def test_clocks_that_differ_are_learned_like_a_delay() -> None:
    sources, generated, received = stream(7, 3000)
    plain, skewed = Closer(learning(0.1), Grid(9, 9)), Closer(learning(0.1), Grid(9, 9))
    plain.receive(sources, generated, received)
    found = skewed.receive(sources, generated, received - 1000)
    assert skewed.n_missed <= 0.1 * skewed.n_closed
    # A window is not closed before it begins by the clock of the receiver.
    assert found.each(skewed.grid)[1].min() >= -8
    policy = skewed.policy
    assert isinstance(policy, ProbSlack)
    assert policy.sources.known[0].n_skewed == 3000


def test_constant_delays() -> None:
    generated = np.arange(1, 2001) * 10
    closer = Closer(learning(0.1), Grid(10, 10))
    _, slack = closer.receive(np.zeros(2000, np.int64), generated, generated).each(closer.grid)
    assert closer.n_missed == 0
    assert set(slack[-500:].tolist()) == {0}


def test_delays_of_any_length_have_a_bin() -> None:
    rng = np.random.default_rng(8)
    generated = np.cumsum(rng.integers(1, 10**7, 3000))
    received = np.maximum.accumulate(generated + rng.integers(1, 10**9, 3000))
    closer = Closer(learning(0.2), Grid(10**7, 10**7))
    closer.receive(np.zeros(3000, np.int64), generated, received)
    assert closer.n_missed <= 0.2 * closer.n_closed
    policy = closer.policy
    assert isinstance(policy, ProbSlack)
    model = policy.models[0]
    assert model is not None
    assert len(model.gaps.least) <= 256


def test_an_empty_stretch_of_years_is_closed_at_once() -> None:
    closer = Closer(learning(0.1), Grid(1, 1))
    generated = np.arange(1, 501) * 10
    closer.receive(np.zeros(500, np.int64), generated, generated + 1)
    year = 365 * 86_400_000
    found = closer.until(year)
    assert closer.closed_to == year
    assert len(found.windows) < 100


def test_windows_by_reason() -> None:
    events = stream(9, 2000)
    closer = Closer(learning(0.1), Grid(9, 9))
    found = closer.receive(*events)
    reasons = {REASONS[number] for number in found.reasons}
    assert reasons == {"events", "learned"}


def test_events_that_overtake_each_other_are_waited_for_by_their_delays() -> None:
    rng = np.random.default_rng(10)
    generated = np.cumsum(rng.integers(0, 9, 20_000))
    received = generated + rng.geometric(0.05, 20_000)
    order = np.argsort(received, kind="stable")
    closers = {}
    for name, policy in (("learned", learning(0.1)), ("events", Baseline(Closing(Kind.EVENTS)))):
        closers[name] = closer = Closer(policy, Grid(50, 50), risks=True)
        found = closer.receive(np.zeros(20_000, np.int64), generated[order], received[order])
        assert ((found.risks[-200:] <= 0.1 + 1e-9) | np.isnan(found.risks[-200:])).all()
    learned, by_event = closers["learned"], closers["events"]
    assert 0.03 < learned.n_missed / learned.n_closed <= 0.1 + 1 / learned.n_closed
    # A newer event says nothing of those that it overtook.
    assert by_event.n_missed > 0.9 * by_event.n_closed
    # The chance is that of windows which end anywhere: those closed after so long, so many miss an event.
    model = learned.policy.fitted(0)
    assert model is not None
    assert model[1].greatest[-1] > learned.slack_sum / learned.n_closed > 20


def test_the_chance_of_a_miss_where_events_overtake_each_other() -> None:
    model = DelayModel.of(Frequencies(np.array([10]), np.array([1])), Frequencies(np.array([5, 25]), np.array([3, 1])))
    # Of windows of 20, half an event on average is generated within 5 before the end, and one in four takes 25.
    assert float(model.p_miss_after(0, 20, 10.0)) == pytest.approx(1 - np.exp(-(0.75 * 5 + 0.25 * 20) / 10))
    assert float(model.p_miss_after(15, 20, 10.0)) == pytest.approx(1 - np.exp(-0.25))
    assert model.wait_after(0.0, 20, 10.0) == 25
    assert float(model.p_miss_after(model.wait_after(0.2, 20, 10.0), 20, 10.0)) <= 0.2
