"""`cepheid.Slack`: what it takes and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from cepheid.errors import CepheidError
from cepheid.policies.slack.settings import Slack
from cepheid.ports.slack import Guard, Kind


def test_lengths_become_ticks() -> None:
    slack = Slack.probabilistic(miss_ratio=0.01, max_latency="30 s", every=timedelta(seconds=2))
    closing = slack.policy(1000).closing
    assert (closing.kind, closing.latest, closing.guard, closing.budget) == (Kind.LEARNED, 30_000, Guard.BUDGET, 0.01)
    assert slack.every_us == 2_000_000
    assert Slack.latency_budget("1.5 s").policy(1000).closing.allowance == 1500
    assert Slack.fixed_delay("5 s").policy(1000).closing.delay == 5000
    assert Slack.ignore().policy(1000).closing.delay == 0
    assert Slack.event_driven().policy(1000).closing.kind is Kind.EVENTS
    assert Slack.average_delay().policy(1000).closing.kind is Kind.MEAN_DELAY


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Slack.probabilistic(1.0), "from 0 to below 1"),
        (lambda: Slack.probabilistic("0.1"), "from 0 to below 1"),  # type: ignore[arg-type]
        (lambda: Slack.probabilistic(0.1, max_latency=5), "which unit"),
        (lambda: Slack.probabilistic(0.1, max_latency="soon"), "length of time"),
        (lambda: Slack.probabilistic(0.1, every="0 s"), "above 0"),
        (lambda: Slack.probabilistic(0.1, period=1), "number of events"),
        (lambda: Slack.probabilistic(0.1, fit="spline"), "way of fitting"),  # type: ignore[arg-type]
        (lambda: Slack.probabilistic(0.1, estimator="oracle"), "estimator"),  # type: ignore[arg-type]
        (lambda: Slack.latency_budget("-1 s"), "length of time"),
    ],
)
def test_what_does_not_do_is_refused(make: Callable[[], Slack], words: str) -> None:
    with pytest.raises(CepheidError) as raised:
        make()
    assert words in f"{raised.value} {raised.value.remedy}"
