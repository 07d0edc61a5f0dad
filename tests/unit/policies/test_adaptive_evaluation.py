"""What chooses evaluation plans: what it knows, when it chooses, and that bad numbers do it no harm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from cepheid.errors import SetupError
from cepheid.policies.evaluation import adaptive
from cepheid.policies.evaluation.adaptive import AdaptiveEvaluation, Options, estimates_of
from cepheid.policies.evaluation.cost_model import Estimate
from cepheid.policies.evaluation.fitting import fitted, least_squares_from_zero, plan_of, workload_of
from cepheid.policies.evaluation.indexed_joins import (
    EAGER_PARTS,
    LAZY_PARTS,
    IndexedJoins,
    MachineCosts,
    n_alive,
    work_of,
)
from cepheid.policies.evaluation.plans import Plan
from cepheid.policies.evaluation.trying import (
    FEWEST_ROUNDS,
    MOST_ROUNDS,
    in_turns,
    played,
    shortlist,
    tried,
)
from cepheid.policies.evaluation.workload import Condition, Workload
from cepheid.ports.calibration import Measured
from cepheid.ports.evaluation import Decision, Form, Pattern, PlanEstimate, Sampled, Trial

NS = 1e-9
EAGER_COSTS = dict(zip(EAGER_PARTS, (30 * NS, 4 * NS, 5 * NS, 50 * NS), strict=True))
LAZY_COSTS = dict(
    zip(LAZY_PARTS, [c * NS for c in (40, 5, 6, 50, 40, 60, 80, 60, 5, 6, 60)], strict=True)  # in their order
)
MODEL = IndexedJoins(MachineCosts({"chain": tuple(EAGER_COSTS.values())}, tuple(LAZY_COSTS.values())))

SHAPES: list[tuple[str, str, dict[tuple[str, str], float], dict[tuple[str, str], float], float]] = [
    ("A B/", "ABC", {("A", "B"): 0.02}, {("B", "C"): 0.1}, 90.0),
    ("A B/", "ABC", {("A", "B"): 0.001, ("B", "C"): 0.001}, {}, 600.0),
    ("A/", "AB", {("A", "B"): 0.5}, {}, 20.0),
    ("A/", "AB", {("A", "B"): 0.0}, {}, 2.0),
    ("A/", "AB", {("A", "B"): 0.1}, {("A", "B"): 0.1}, 300.0),
    ("A B/", "ABC", {("A", "B"): 0.2, ("A", "C"): 0.3, ("B", "C"): 0.01}, {}, 50.0),
]


def lazy_plans(names: str) -> list[str]:
    first, last = names[:-1], names[-2::-1]
    return [f"/{' '.join(last)}", f"/{' '.join(first)}", f"{names[0]}/{' '.join(names[1:-1])}"]


LAZY_SHAPES = [(plan, *shape[1:]) for shape in SHAPES for plan in lazy_plans(shape[1]) if plan != "A/"]


def measured(kernel: str) -> Sequence[Measured]:
    """What a machine of known costs would take."""
    found = []
    for plan, names, less, equal, n in LAZY_SHAPES if kernel == "lazy" else SHAPES:
        one = Measured(
            kernel, plan, tuple(names), {name: n * (1 + i) for i, name in enumerate(names)}, equal, less, 1.0
        )
        workload = workload_of(one)
        services = MODEL.services_s(workload, plan_of(one))
        rates = [workload.rates_per_s[name] for name in names]
        mean = sum(r * services[name] for r, name in zip(rates, names, strict=True)) / sum(rates)
        found.append(replace(one, service_s=mean))
    return found


def test_costs_are_found_again_from_what_streams_took():
    found = dict(zip(EAGER_PARTS, fitted(measured("chain")), strict=True))
    assert found == pytest.approx(EAGER_COSTS, rel=1e-6)
    lazy = IndexedJoins(MachineCosts({}, fitted(measured("lazy"))))
    for one in measured("lazy"):
        workload, plan = workload_of(one), plan_of(one)
        rates = np.array([workload.rates_per_s[name] for name in workload.variables])
        services = lazy.services_s(workload, plan)
        mean = rates @ np.array([services[name] for name in workload.variables]) / rates.sum()
        assert mean == pytest.approx(one.service_s, rel=1e-3)


def test_least_squares_give_nothing_below_zero():
    random = np.random.default_rng(5)
    for _ in range(20):
        rows, wanted = random.normal(size=(9, 4)), random.normal(size=9)
        x = least_squares_from_zero(rows, wanted)
        assert (x >= 0).all()
        # Where x is inside, the gradient is none; where it is 0, going up makes it worse.
        gradient = rows.T @ (rows @ x - wanted)
        assert np.abs(gradient[x > 0]).max(initial=0) < 1e-8
        assert gradient[x == 0].min(initial=0) > -1e-8


ABC = Workload(
    tuple("ABC"),
    dict.fromkeys("ABC", 10.0),
    10.0,
    (
        Condition(frozenset("AB"), 0.02, Form.RANGE),
        Condition(frozenset("BC"), 0.05, Form.EQUALITY),
        Condition(frozenset("AC"), 0.5),
    ),
)


def counted(plan: Plan, name: str) -> dict[str, float]:
    work = work_of(ABC, plan)
    counts = work.counts[name].tolist()
    return {part: n for part, n in zip(LAZY_PARTS if work.lazy else EAGER_PARTS, counts, strict=True) if n}


def test_the_work_of_each_event():
    eager = Plan(("A", "B"), ())
    assert counted(eager, "A") == {"event": 1, "made": 1}
    assert counted(eager, "B") == pytest.approx({"event": 1, "walked": 100, "made": 2})  # the range is a filter
    # 100 x 100 x 0.02 / 2 partial matches; the hash leaves 1 in 20 of them, each is tested, and half pass
    assert counted(eager, "C") == pytest.approx({"event": 1, "walked": 5, "tested": 5, "made": 2.5})
    lazy = Plan((), ("B", "A"))
    assert counted(lazy, "A") == {"event": 1, "kept": 1, "sorted": 1}  # by B, which comes before
    assert counted(lazy, "B") == {"event": 1, "kept": 1}  # under a hash
    found = counted(lazy, "C")
    # B by its hash: 5 of 100; for each A by its range: 2 of 100, and 8 that are in no order yet; half come before B
    assert found == pytest.approx(
        {"event": 1, "joined": 1, "looked up": 6, "visited": 5, "entries": 50, "tested": 5, "taken": 10}
    )
    mixed = Plan(("A",), ("B",))
    assert counted(mixed, "C")["walked"] == 100
    assert counted(mixed, "C")["joined"] == 50


def test_partial_matches_of_one_partition():
    same = replace(ABC, same=0.1, conditions=())
    assert n_alive(same, "AB") == pytest.approx(100 * 100 * 0.1 / 2)
    assert work_of(same, Plan(("A", "B"), ())).counts["C"][1] == pytest.approx(100 * 100 * 0.1 / 2 * 0.1)


PATTERN = Pattern(
    variables=("a", "b", "c"),
    conditions=((frozenset("ab"), Form.RANGE), (frozenset("bc"), Form.RANGE)),
    within_us=10_000_000,
)


def sampled(
    until_s: float,
    elapsed_s: float,
    rate: float,
    shares: tuple[float, ...] = (0.4, 0.4, 0.2),
    held: tuple[tuple[float, float], ...] = ((160.0, 16_000.0), (160.0, 16_000.0)),
) -> Sampled:
    n = max(int(elapsed_s * rate), 1)
    return Sampled(int(until_s * 1e6), int(elapsed_s * 1e6), n, shares, held)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def policy(pattern: Pattern = PATTERN, clock: Callable[[], float] | None = None) -> AdaptiveEvaluation:
    return AdaptiveEvaluation(pattern, measured, Options(clock=clock or Clock()))


def test_it_chooses_no_more_often_than_the_window_and_ten_periods():
    one = policy()
    assert one.decide(sampled(1, 1, 500), "eager") is not None  # the first time, when enough was seen
    decided = [one.decide(sampled(t, 1, 500), "eager") is not None for t in range(2, 32)]
    assert [t for t, done in enumerate(decided, 2) if done] == [11, 21, 31]
    one = AdaptiveEvaluation(PATTERN, measured, Options(sampling_period_us=3_000_000, clock=Clock()))
    assert one.between == 30_000_000


def test_a_window_shorter_than_the_sampling_period():
    short = replace(PATTERN, within_us=1000)
    one = AdaptiveEvaluation(short, measured, Options(sampling_period_us=2_000_000, clock=Clock()))
    assert (one.period, one.between) == (2_000_000, 20_000_000)
    decision = one.decide(sampled(1, 1, 500), "eager")
    assert decision is not None
    assert decision.plan
    assert all(math.isfinite(estimate.service_s) for estimate in decision.estimates)
    tiny = AdaptiveEvaluation(replace(PATTERN, within_us=3), measured)
    assert tiny.period == 1


def test_samples_are_wanted_when_a_period_has_passed():
    one = policy()
    assert not one.wants(5_000_000, 0)
    assert not one.wants(5_000_000, 10)  # where it begins
    assert not one.wants(5_900_000, 100)
    assert one.wants(6_000_000, 100)
    assert one.wants(5_000_001, 200)  # for the first choice, so many events will do


def test_choosing_is_given_half_a_hundredth_of_the_time():
    clock = Clock()
    one = policy(clock=clock)
    assert not one.wants(0, 1)
    assert one.wants(1_000_000, 1000)
    clock.now += 0.5
    one.decide(sampled(1, 1, 1000), "eager")
    clock.now = 90.0
    assert not one.wants(3_000_000, 1000)
    clock.now = 101.0
    assert one.wants(3_000_000, 1000)


def test_estimates_are_averages_over_the_window():
    one = policy()
    for t in range(1, 11):
        one.decide(sampled(t, 1, 100), "eager")
    for t in range(11, 21):
        one.decide(sampled(t, 1, 300), "eager")
    workload = one.workload()
    assert workload.rates_per_s["a"] == pytest.approx(0.4 * 300)
    assert workload.window_s == 10
    assert workload.conditions[0].selectivity == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize(
    "bad",
    {
        "nothing fits": sampled(2, 1, 100, (0.0, 0.0, 0.0), ((0.0, 0.0), (0.0, 0.0))),
        "a type that never comes": sampled(2, 1, 100, (0.5, 0.0, 0.5), ((0.0, 0.0), (0.0, 0.0))),
        "no final event": sampled(2, 1, 100, (0.5, 0.5, 0.0)),
        "conditions never hold": sampled(2, 1, 100, held=((0.0, 16_000.0), (0.0, 16_000.0))),
        "conditions always hold": sampled(2, 1, 100, held=((16_000.0, 16_000.0), (16_000.0, 16_000.0))),
        "all at one time": Sampled(2_000_000, 0, 10_000, (0.4, 0.4, 0.2), ((1.0, 10.0), (1.0, 10.0))),
        "the clock jumps back": Sampled(-(10**15), -(10**15), 1000, (0.4, 0.4, 0.2), ((1.0, 10.0), (1.0, 10.0))),
        "the clock jumps ahead": Sampled(10**17, 10**17, 1000, (0.4, 0.4, 0.2), ((1.0, 10.0), (1.0, 10.0))),
        "a flood": sampled(2, 1, 1e12),
    }.items(),
    ids=lambda item: item[0],
)
@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("window", [(10_000_000, None), (None, 500), (None, None)], ids=str)
def test_bad_numbers_give_a_plan(bad: tuple[str, Sampled], window: tuple[int | None, int | None], at_once: bool):
    for same in (False, True):
        one = policy(replace(PATTERN, within_us=window[0], within_events=window[1], same=same, at_once=at_once))
        for seen in (sampled(1, 1, 500), bad[1], bad[1], sampled(3, 1, 500)):
            pair = (0.0, 0.0) if seen is bad[1] else (3.0, 100.0)
            one.decide(replace(seen, same=pair if same else None), "eager")
            workload = one.workload()
            assert all(math.isfinite(rate) and rate >= 0 for rate in workload.rates_per_s.values())
            assert all(0 < condition.selectivity < 1 for condition in workload.conditions)
            decision = one._choose(seen, "eager", MODEL)
            assert decision.plan in {estimate.plan for estimate in decision.estimates}
            for estimate in decision.estimates:
                assert math.isfinite(estimate.service_s)
                assert not math.isnan(estimate.waiting_s)
            assert str(decision)


def test_little_noise_does_not_make_plans_flap():
    random, one, plan, plans = np.random.default_rng(2), policy(), "eager", []
    for t in range(1, 400):
        noise = 1 + 0.1 * random.standard_normal(2)
        decision = one.decide(sampled(t, 1, 500, held=tuple((160.0 * x, 16_000.0) for x in noise)), plan)
        if decision is not None:
            plan = decision.plan
            plans.append(plan)
    assert len(plans) == 40
    assert len(set(plans[1:])) == 1


def test_what_runs_is_compared_though_the_stream_names_another_order():
    plans = set()
    for current in ("/a b", "/b a", "a/b", "b/a", "eager"):
        decision = policy().decide(sampled(1, 1, 500, held=((5.0, 100.0), (1.0, 100.0))), current)
        assert decision is not None
        assert decision.of(current) is not None
        assert f"before {current}: waits" in str(decision)
        plans.add(tuple(one.plan for one in decision.estimates))
    assert len(plans) > 1  # some of them are no candidates


def test_a_loop_and_conditions_on_three():
    pattern = Pattern(
        variables=("a", "b", "c"),
        conditions=((frozenset("abc"), Form.OTHER),),
        loops={"b": (1, None)},
        within_us=10_000_000,
    )
    one = policy(pattern)
    decision = one.decide(sampled(1, 1, 300, held=((5.0, 100.0),)), "eager")
    assert decision is not None
    assert all(math.isfinite(estimate.service_s) for estimate in decision.estimates)


def test_options_are_checked():
    with pytest.raises(SetupError, match="no period"):
        Options(sampling_period_us=0)
    with pytest.raises(SetupError, match="nothing be chosen"):
        Options(most_cost_ratio=0.0)


def trial_of(services_s: np.ndarray) -> Trial:
    n = len(services_s)
    final = np.arange(n) % 5 == 4
    return Trial(services_s, final & (np.arange(n) % 10 == 4), final)


def test_trials_show_what_a_formula_for_independent_services_does_not():
    """The eager plan is fast on average, but slow for whole windows: its queue grows there."""
    n = 40_000
    bursts = np.where(np.arange(n) // 2000 % 5 == 4, 2.4e-3, 0.15e-3)  # 0.6 ms on average
    steady = np.full(n, 0.7e-3)
    asked: list[str] = []

    def trial(plan: str) -> Trial | None:
        asked.append(plan)
        return trial_of(bursts if plan == "eager" else steady)

    one = policy()
    seen = replace(sampled(60, 60, 700), n_recent=n, trial=trial)
    decision = one.decide(seen, "eager")
    assert decision is not None
    assert "eager" in asked
    assert len(set(asked)) <= 4
    assert asked == list(dict.fromkeys(asked)) * FEWEST_ROUNDS  # plans take turns
    estimate = decision.of("eager")
    assert estimate is not None
    assert estimate.tried
    assert estimate.waiting_s > 0.1
    assert decision.plan != "eager"
    model = policy().decide(sampled(1, 1, 700), "eager")
    assert model is not None
    assert not any(estimate.tried for estimate in model.estimates)


def test_of_rounds_the_least_time_of_each_event_counts_and_a_run_that_was_slow_is_made_once_more():
    slow = [np.full(40, 1.6), np.r_[0.9, np.full(39, 1.0)], np.full(40, 1.0)]
    quick = [np.full(40, 2.0)] * 3
    runs = {"eager": iter(slow), "/a": iter(quick)}
    found = in_turns(lambda plan: trial_of(next(runs[plan])), ("eager", "/a"))
    assert found is not None
    assert not list(runs["eager"])  # the second run differed from the first by too much
    np.testing.assert_array_equal(found["eager"].services_s, slow[1])
    np.testing.assert_array_equal(found["/a"].services_s, quick[0])

    asked: list[str] = []

    def restless(plan: str) -> Trial | None:
        asked.append(plan)
        return trial_of(np.full(40, 2.0 ** -len(asked)))

    assert in_turns(restless, ("eager",)) is not None
    assert len(asked) == MOST_ROUNDS
    assert in_turns(lambda plan: None, ("eager",)) is None


def test_without_enough_events_or_a_kernel_there_are_no_trials():
    def none(plan: str) -> Trial | None:
        return None

    def never(plan: str) -> Trial | None:
        raise AssertionError("it is not asked")

    for seen in (
        replace(sampled(60, 60, 700), n_recent=40_000, trial=none),
        replace(sampled(60, 60, 700), n_recent=100, trial=never),
    ):
        decision = policy().decide(seen, "eager")
        assert decision is not None
        assert not any(estimate.tried for estimate in decision.estimates)


def test_a_trial_on_which_events_come_faster_than_they_are_done_waits_without_end():
    slow = np.full(40_000, 1e-2)
    decision = policy().decide(
        replace(sampled(60, 60, 700), n_recent=40_000, trial=lambda plan: trial_of(slow)), "eager"
    )
    assert decision is not None
    assert all(math.isinf(estimate.waiting_s) for estimate in decision.estimates if estimate.tried)
    assert "waits without end" in str(decision)


def test_a_rate_that_jumps_is_known_at_once():
    one = policy()
    for t in range(1, 11):
        one.decide(sampled(t, 1, 100), "eager")
    one.decide(sampled(10.1, 0.1, 5000), "eager")
    assert one.workload().rates_per_s["a"] == pytest.approx(0.4 * 5000)
    assert one.workload().conditions[0].selectivity == pytest.approx(0.01, rel=0.01)  # the conditions are as they were
    one.decide(sampled(11.1, 1, 5), "eager")  # too few to tell
    assert one.workload().rates_per_s["a"] > 0.4 * 400


def test_each_run_of_a_trial_begins_with_an_empty_window():
    """The first events of each run find little to do; those of the second run do not follow on those of the first."""
    one = estimates_of(policy_after(sampled(1, 1, 500)).workload(), MODEL)[0]
    run = np.concatenate([np.full(100, 1e-6), np.full(300, 5e-4)])
    found = tried(one, [played(replace(trial_of(np.tile(run, 3)), n_runs=3), 1.0, 100, 0)])
    assert found.mean_service_s == pytest.approx(5e-4)
    assert found.deviation_s == pytest.approx(0.0, abs=1e-12)
    short = tried(
        one, [played(replace(trial_of(np.tile(run[:150], 2)), n_runs=2), 1.0, 10_000, 0)]
    )  # half of each is warm at most
    assert short.mean_service_s == pytest.approx((25 * 1e-6 + 50 * 5e-4) / 75)


def policy_after(seen: Sampled) -> AdaptiveEvaluation:
    one = policy()
    one.decide(seen, "eager")
    return one


def test_what_runs_is_not_tried_where_nothing_comes_near_it(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def trial(plan: str) -> Trial | None:
        asked.append(plan)
        return trial_of(np.full(40_000, 1e-4))

    seen = replace(sampled(60, 60, 700), n_recent=40_000, trial=trial)
    for near in (["eager"], ["eager", "/b a"]):
        monkeypatch.setattr(adaptive, "shortlist", lambda estimates, current, near=near: near)
        decision = policy().decide(seen, "eager")
        assert decision is not None
        assert asked == (near * FEWEST_ROUNDS if len(near) > 1 else [])


def test_where_events_wait_what_is_served_nearly_as_fast_is_tried_though_its_last_events_take_longer():
    """How long events wait is what the model knows least: in bursts, a plan it takes for the best is the worst."""
    one = estimates_of(policy_after(sampled(1, 1, 500)).workload(), MODEL)[0]

    def estimates(rate: float) -> dict[str, Estimate]:
        found = {}
        for text, mean, final in (("eager", 5e-7, 2e-7), ("/b a", 7e-7, 3e-6), ("b/a", 2e-5, 1e-4)):
            found[text] = replace(
                one, mean_service_s=mean, final_service_s=final, waiting_s=0.0, arrival_rate_per_s=rate
            )
        return found

    assert shortlist(estimates(600_000.0), "eager") == ["eager", "/b a"]
    assert shortlist(estimates(60_000.0), "eager") == ["eager"]


def test_trials_have_half_a_hundredth_of_the_time_for_themselves_unless_the_rate_jumps():
    clock = Clock()

    def trial(plan: str) -> Trial | None:
        clock.now += 0.5
        return trial_of(np.full(40_000, 1e-4))

    one = policy(clock=clock)
    assert one.wants(0, 1) is False
    clock.now = 1.0
    assert one.wants(60_000_000, 42_000)
    assert one.decide(replace(sampled(60, 60, 700), n_recent=40_000, trial=trial), "eager") is not None
    spent = clock.now - 1.0
    assert spent >= 0.5
    for now, rate, decides in ((150.0 * spent, 700, False), (150.0 * spent, 7_000, True), (401.0 * spent, 7_000, True)):
        clock.now = max(now, clock.now)
        assert one.wants(10**9, 42_000)  # samples are taken all the same
        seen = replace(sampled(120, 60, rate), n_recent=40_000, trial=trial)
        assert (one.decide(seen, "eager") is not None) == decides


def test_a_decision_tells_trials_from_what_the_model_says():
    eager, lazy = (PlanEstimate(plan, 1e-3, 2e-6, 1e6, 0.5) for plan in ("eager", "/b a"))
    said = Decision(0, "eager", "/b a", (eager, lazy), {}, ())
    assert "before eager: waits 1 ms, is served in 2 us, 50% busy; now /b a: waits" in str(said)
    said = replace(said, estimates=(eager, replace(lazy, tried=True)))
    assert "before eager (not tried): waits 1 ms" in str(said)
    assert "now /b a: waits" in str(said)
    said = replace(said, estimates=(replace(eager, tried=True), replace(lazy, tried=True)))
    assert "(not tried)" not in str(said)
