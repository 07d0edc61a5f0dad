"""What trials of plans add up to: as long as the stream stays alike, each says more of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from cepheid.policies.evaluation.cost_model import Estimate
from cepheid.policies.evaluation.plans import Plan
from cepheid.policies.evaluation.trying import (
    ALIKE,
    FAR,
    FEWEST_ENDS,
    LEADS,
    MOST_KEPT,
    MOST_TRIED,
    Evidence,
    in_turns,
    played,
    shortlist,
    tried,
)
from cepheid.ports.evaluation import Trial

N, RATE = 2_000, 1_000.0
NAMES = "eager", "/b a"


def estimates(rate: float = RATE) -> dict[str, Estimate]:
    return {
        text: Estimate(Plan(("a", "b"), ()) if text == "eager" else Plan((), ("b", "a")), {}, rate, 1.0, 0.0, 0.0, 1.0)
        for text in NAMES
    }


def trial(service_s: float, burst_s: float = 0.0, every: int = 10) -> Trial:
    services_s = np.full(N, service_s)
    services_s[N // 2 : N // 2 + 200] += burst_s
    ends = np.arange(N) % every == 0
    return Trial(services_s, ends, np.arange(N) % 5 == 0)


def test_a_burst_in_one_trial_of_many_is_in_what_all_of_them_say():
    known = Evidence()
    for number in range(5):
        found = known.add(estimates(), {"eager": trial(1e-4, 2e-3 * (number == 1)), "/b a": trial(2e-4)}, 0)
        assert known.goes_on(RATE, "eager")
        # The last trials have no burst of their own.
        assert (found["eager"].latency_s > found["/b a"].latency_s) == (number >= 1), number
    assert found["eager"].mean_service_s == pytest.approx((5 * N * 1e-4 + 200 * 2e-3) / (5 * N))
    assert found["eager"].deviation_s > found["/b a"].deviation_s == pytest.approx(0.0, abs=1e-9)
    assert known.names([], "eager") == list(NAMES)


def test_another_rate_another_plan_or_other_services_begin_anew():
    for rate, current in ((RATE * ALIKE * 1.01, "eager"), (RATE / ALIKE / 1.01, "eager"), (RATE, "a/b")):
        known = Evidence()
        known.add(estimates(), dict.fromkeys(NAMES, trial(1e-4)), 0)
        assert known.goes_on(RATE * ALIKE, "eager")
        assert not known.goes_on(rate, current)
        assert known.names([], current) == []
        assert not known.goes_on(RATE, "eager")
    known = Evidence()
    for _ in range(3):
        known.add(estimates(), dict.fromkeys(NAMES, trial(1e-4)), 0)
    found = known.add(estimates(), {"eager": trial(1e-4), "/b a": trial(4.5e-4)}, 0)
    assert found["/b a"].mean_service_s == pytest.approx(4.5e-4)
    assert known.goes_on(RATE, "eager")


def test_so_many_trials_are_kept():
    known = Evidence()
    known.add(estimates(), dict.fromkeys(NAMES, trial(1.5e-4)), 0)
    for number in range(1, MOST_KEPT + 1):
        found = known.add(estimates(), dict.fromkeys(NAMES, trial(1e-4)), 0)
        assert (found["eager"].mean_service_s > 1.01e-4) == (number < MOST_KEPT)


def test_a_plan_that_the_model_no_longer_knows_is_tried_as_it_was():
    known = Evidence()
    known.add(estimates(), dict.fromkeys(NAMES, trial(1e-4)), 0)
    now = {"eager": estimates(1.1 * RATE)["eager"]}
    found = known.add(now, dict.fromkeys(NAMES, trial(1e-4)), 0)
    assert found["/b a"].plan == Plan((), ("b", "a"))
    assert found["/b a"].arrival_rate_per_s == 1.1 * RATE


def test_few_matches_in_a_trial_are_enough_when_there_are_some_trials():
    few = replace(trial(1e-4, every=N // 10), services_s=np.where(np.arange(N) % (N // 10) == 0, 9e-4, 1e-4))
    one = played(few, 1.0, 0, 0)
    assert one.ends.n == 10 < FEWEST_ENDS
    assert tried(estimates()["eager"], [one]).final_service_s < 2e-4  # of all that might have ended one
    assert tried(estimates()["eager"], [one, one]).final_service_s == pytest.approx(9e-4)


def test_events_that_come_faster_than_they_are_done_in_all_trials_wait_without_end():
    slow, quick = played(trial(2e-3), RATE, 0, 0), played(trial(1e-4), RATE, 0, 0)
    estimate = estimates()["eager"]
    assert math.isinf(tried(estimate, [slow]).waiting_s)
    assert math.isfinite(tried(estimate, [slow, quick, quick]).waiting_s)
    never = played(trial(math.inf), RATE, 0, 0)
    assert math.isinf(tried(estimate, [never, quick]).waiting_s)


def test_after_a_jump_only_what_came_since_counts():
    """Times stay where they are when events are tried in another order, so the last of each run found new windows."""
    run = np.concatenate([np.full(1_000, 5e-4), np.full(50, 3e-4), np.full(150, 1e-4)])
    services_s, ends = np.tile(run, 3), np.ones(3 * len(run), np.bool_)
    trial_of = Trial(services_s, ends, ends, n_runs=3)
    assert played(trial_of, 1.0, 50, 0, alike=200 / 1_200).served_s == pytest.approx(3 * 150 * 1e-4)
    assert played(trial_of, 1.0, 500, 0, alike=200 / 1_200).n == 3 * 100
    assert played(trial_of, 1.0, 0, 0).served_s == pytest.approx(services_s.sum())
    assert played(trial_of, 1.0, 0, 0, alike=1e-9).n == 3


def test_a_trial_in_a_slow_while_is_made_again():
    """Both runs of a plan agree, and are slow: that its usual events took less before tells so. Bursts do not."""
    known = Evidence()
    assert known.usual_s() == {}
    known.add(estimates(), dict.fromkeys(NAMES, trial(1e-4)), 0)
    known.add(estimates(), {"eager": trial(1e-4), "/b a": trial(1.6e-4)}, 0)
    assert known.usual_s() == pytest.approx(dict.fromkeys(NAMES, 1e-4))
    runs = {"eager": [trial(1e-4, 2e-3)] * 4, "/b a": [trial(1.6e-4), trial(1.6e-4), trial(1.05e-4), trial(1e-4)]}
    asked = {name: iter(of) for name, of in runs.items()}
    found = in_turns(lambda plan: next(asked[plan]), NAMES, known.usual_s())
    assert found is not None
    assert found["/b a"].usual_s == pytest.approx(1.05e-4)
    assert [len(list(of)) for of in asked.values()] == [1, 1]  # the burst asked for no other round
    asked = {name: iter(of) for name, of in runs.items()}
    found = in_turns(lambda plan: next(asked[plan]), NAMES)
    assert found is not None
    assert found["/b a"].usual_s == pytest.approx(1.6e-4)


def test_what_is_out_of_the_question_is_tried_once():
    """In the mean of all events and of those that end a match; what is better in one of these is tried again."""
    ends = np.arange(N) % 5 == 0
    late = Trial(np.where(ends, 9e-4, 1e-5), ends, ends)  # little for an event, much for one that ends a match
    runs = {"eager": trial(1e-4), "/b a": late, "/a b": trial(9.1e-4), "a/b": trial(math.inf)}
    asked: list[str] = []

    def one(plan: str) -> Trial:
        asked.append(plan)
        return runs[plan]

    found = in_turns(one, list(runs))
    assert found is not None
    assert list(found) == list(runs)
    assert asked == [*runs, "eager", "/b a"]


def estimated(text: str, service_s: float, final_s: float) -> Estimate:
    eager = tuple(text.split("/")[0].split()) if "/" in text else ("a", "b", "c")
    plan = Plan(eager, tuple(text.split("/")[1].split()) if "/" in text else ())
    return Estimate(plan, {}, RATE, service_s, 0.0, 0.0, final_s)


def test_the_eager_and_the_lazy_plan_are_tried_wherever_they_are_not_far_slower():
    # A window without values for which one condition holds: the model takes the plan that begins with it for the best.
    found = {"a b/c": estimated("a b/c", 4e-7, 4e-9), "a/b c": estimated("a/b c", 3e-5, 3e-4)}
    near = {"eager": estimated("eager", 9e-7, 2e-8), "/a b c": estimated("/a b c", 8e-7, 4e-6)}
    assert shortlist({**found, **near}, "/a b c") == ["a b/c", "/a b c", "eager"]
    assert shortlist({**found, **near}, "eager") == ["a b/c", "eager", "/a b c"]
    far = {text: replace(one, mean_service_s=4e-7 * FAR * 1.01) for text, one in near.items()}
    assert shortlist({**found, **far}, "/a b c") == ["a b/c"]


def test_a_plan_that_is_often_the_best_by_the_model_joins_those_that_are_tried():
    texts = ["eager", "/a b c", "a b/c", "/b a c", "/c a b"]
    of = {text: estimated(text, 1.0, 1.0) for text in texts}
    known = Evidence()
    for _ in range(3):
        found = known.add(of, {"eager": trial(1e-4), "/a b c": trial(2e-4)}, 0)
    assert found["eager"].mean_service_s == pytest.approx(1e-4)
    for n in range(1, LEADS + 1):
        assert ("a b/c" in known.names(["a b/c", "eager"], "eager")) == (n == LEADS)
    trials = {"eager": trial(1.1e-4), "/a b c": trial(2e-4), "a b/c": trial(5e-5)}
    found = known.add(of, trials, 0)
    assert found["eager"].mean_service_s == pytest.approx(1.025e-4)
    # Eager took 1.1 for 1.025 in the trial that they have in common: so would the new one have.
    assert found["a b/c"].mean_service_s == pytest.approx(5e-5 * 1.025 / 1.1)
    assert found["a b/c"].final_service_s == pytest.approx(5e-5 * found["eager"].latency_s / 1.1e-4, rel=0.2)
    assert known.names(["a b/c"], "eager") == list(trials)


def test_a_plan_that_joins_is_compared_where_a_clock_tells_nothing():
    of = {text: estimated(text, 1.0, 1.0) for text in ("eager", "/a b c", "a b/c")}
    known = Evidence()
    for _ in range(2):
        known.add(of, {"eager": trial(0.0), "/a b c": trial(2e-4)}, 0)
    found = known.add(of, {"eager": trial(0.0), "/a b c": trial(2e-4), "a b/c": trial(5e-5)}, 0)
    assert found["eager"].latency_s == 0.0
    assert found["a b/c"].mean_service_s == pytest.approx(5e-5)
    assert found["a b/c"].final_service_s == pytest.approx(5e-5)


def test_where_many_plans_were_the_best_those_that_did_worst_are_no_longer_tried():
    texts = ["eager", "/a b c", "a b/c", "/b a c", "/c a b"]
    of = {text: estimated(text, 1.0, 1.0) for text in texts}
    known = Evidence()
    known.add(of, {text: trial(1e-4 * number) for number, text in enumerate(texts[:MOST_TRIED], 1)}, 0)
    for _ in range(LEADS):
        names = known.names([texts[-1]], texts[MOST_TRIED - 1])
    # The slowest of all runs, and stays.
    assert names == [*texts[: MOST_TRIED - 2], *texts[MOST_TRIED - 1 :]]
    known.add(of, {text: trial(1e-4) for text in names}, 0)
    assert known.names([texts[MOST_TRIED - 2]], texts[0]) == names
