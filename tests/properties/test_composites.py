"""A query over the matches of another: the engine gives what the oracle gives, and what two runs give."""

from __future__ import annotations

from hypothesis import HealthCheck, given, reject, settings

from cepheid.errors import NotSupportedError
from cepheid.testing.harness import engine_matches, oracle_matches
from cepheid.testing.strategies import Example, Features
from cepheid.testing.strategies_composites import composites

PAIRS = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@PAIRS
@given(composites(Features.ENGINE_1))
def test_engine_equals_oracle(example: Example) -> None:
    try:
        found = engine_matches(example.bound, example.events)
    except NotSupportedError:
        reject()
    assert found == oracle_matches(example.bound, example.events)


@PAIRS
@given(composites(Features.ENGINE_1 | Features.SOURCES, shuffled=True))
def test_engine_equals_oracle_on_events_out_of_order(example: Example) -> None:
    try:
        found = engine_matches(example.bound, example.events)
    except NotSupportedError:
        reject()
    assert found == oracle_matches(example.bound, example.events)
