"""The engine gives the same matches however often its pool and its output run full in the middle of an event."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, reject, settings

from cepheid.engine import pool
from cepheid.errors import NotSupportedError
from cepheid.testing.harness import engine_matches, oracle_matches
from cepheid.testing.strategies import Example, Features, examples

ROOM = [pytest.param(1, id="room for one"), pytest.param(4, id="room for four", marks=pytest.mark.slow)]


@pytest.fixture(autouse=True, scope="module", params=ROOM)
def little_room(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "FIRST_ROWS", request.param)
        patch.setattr(pool, "FIRST_MATCHES", request.param)
        yield


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(examples(Features.ENGINE))
def test_engine_equals_oracle_in_little_room(example: Example) -> None:
    try:
        found = engine_matches(example.bound, example.events)
    except NotSupportedError:
        reject()  # too many of these fail the test
    assert found == oracle_matches(example.bound, example.events)
