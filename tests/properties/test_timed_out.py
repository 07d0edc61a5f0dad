"""What times out, and the matches beside it, are the same on the compiled engine and on the oracle."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from cepheid.errors import NotSupportedError
from cepheid.testing.harness import engine_matches, engine_outputs, oracle_outputs
from cepheid.testing.strategies import Example, Features, examples

PAIRS = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MANY_PAIRS = settings(PAIRS, max_examples=4000)


def require_equal(example: Example, room: int | None = None) -> None:
    try:
        found = engine_outputs(example.bound, example.events, room)
    except NotSupportedError:
        reject()  # too many of these fail the test
    assert found == oracle_outputs(example.bound, example.events)


@PAIRS
@given(examples(Features.ENGINE_1))
def test_sequences(example: Example) -> None:
    require_equal(example)


@PAIRS
@given(examples(Features.ENGINE | Features.SOURCES, shuffled=True), st.sampled_from((None, 1, 4)))
def test_patterns_of_any_form(example: Example, room: int | None) -> None:
    require_equal(example, room)


@pytest.mark.slow
@MANY_PAIRS
@given(examples(Features.ENGINE | Features.SOURCES, shuffled=True), st.sampled_from((None, 1, 4)))
def test_very_many_patterns(example: Example, room: int | None) -> None:
    require_equal(example, room)


@PAIRS
@given(examples(Features.ENGINE))
def test_asking_for_it_changes_no_match(example: Example) -> None:
    try:
        (matches, _), plain = (
            engine_outputs(example.bound, example.events),
            engine_matches(example.bound, example.events),
        )
    except NotSupportedError:
        reject()
    assert [bindings for bindings, _, _ in matches] == plain
