"""The compiled engine gives what the oracle gives, in the same order."""

from __future__ import annotations

from hypothesis import HealthCheck, given, reject, settings

from cepheid.errors import NotSupportedError
from cepheid.testing.harness import engine_matches, oracle_matches
from cepheid.testing.strategies import Example, Features, examples

PAIRS = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def require_equal(example: Example) -> None:
    try:
        found = engine_matches(example.bound, example.events)
    except NotSupportedError:
        reject()  # too many of these fail the test
    assert found == oracle_matches(example.bound, example.events)


@PAIRS
@given(examples(Features.ENGINE_1))
def test_engine_equals_oracle(example: Example) -> None:
    require_equal(example)


@PAIRS
@given(examples(Features.ENGINE_1 | Features.SOURCES, shuffled=True))
def test_engine_equals_oracle_on_events_out_of_order(example: Example) -> None:
    require_equal(example)


@PAIRS
@given(examples(Features.ENGINE | Features.SOURCES, shuffled=True))
def test_engine_equals_oracle_on_patterns_of_any_form(example: Example) -> None:
    require_equal(example)
