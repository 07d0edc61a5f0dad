"""Streams that no average describes: a plan is chosen all the same, its numbers are finite, and no match is lost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.policies.evaluation.adaptive import AdaptiveEvaluation, Options
from cepheid.ports.evaluation import Measure, Pattern
from tests.unit.policies.test_adaptive_evaluation import measured

N = 700
RANDOM = np.random.default_rng(8)
KINDS = RANDOM.choice(list("ABC"), N)
STEADY = np.arange(N) * 1_000
X = RANDOM.integers(0, 100, N)

STREAMS: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {
    "a type that never comes": (STEADY, np.where(KINDS == "B", "A", KINDS), X),
    "nothing that any variable takes": (STEADY, np.full(N, "Z"), X),
    "no event that may end a match": (STEADY, np.where(KINDS == "C", "A", KINDS), X),
    "conditions that never hold": (STEADY, KINDS, np.zeros(N, np.int64)),
    "conditions that always hold": (STEADY, KINDS, np.select([KINDS == "A", KINDS == "B"], [0, 1], 2)),
    "all at one time": (np.zeros(N, np.int64), KINDS, X),
    "a clock that jumps ahead": (STEADY + np.where(np.arange(N) > 400, 10**15, 0), KINDS, X),
    "years of silence between events": (STEADY * 10**9, KINDS, X),
    "a rate that falls to next to nothing": (np.cumsum(np.where(np.arange(N) < 400, 1, 10**9)), KINDS, X),
}
WINDOWS = ("30 ms", *(pytest.param(window, marks=pytest.mark.slow) for window in ("1 us", "20 EVENTS")))


def chooser(pattern: Pattern, measure: Measure) -> AdaptiveEvaluation:
    return AdaptiveEvaluation(pattern, measured, Options(sampling_period_us=5_000, clock=lambda: 0.0))


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("window", WINDOWS)  # that of 1 us is shorter than a sampling period
def test_a_plan_is_chosen_and_no_match_is_lost(name: str, window: str):
    times, kinds, x = STREAMS[name]
    table = pa.table({"ts": times, "kind": kinds, "x": x})
    query = (
        f"PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN {window} POLICY any RETURN a.x AS a, c.x AS c"
    )
    columns: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "us"}
    settings = cep.Settings(evaluation="adaptive", chooser=chooser)
    one = cep.Matcher(query, **columns, slack=0, settings=settings)
    found = [one.push(table.slice(at, 50)) for at in range(0, N, 50)]
    assert pa.concat_tables([*found, one.close()]).equals(cep.match(table, query, **columns))
    assert one.decisions
    for decision in one.decisions:
        assert all(math.isfinite(rate) for rate in decision.rates_per_s.values())
        for estimate in decision.estimates:
            assert math.isfinite(estimate.service_s)
            assert not math.isnan(estimate.waiting_s)
    assert cep.match(table, query, **columns, settings=settings).equals(cep.match(table, query, **columns))
