"""The kernel for chains whose events all have one key gives what the oracle gives, in little room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, reject, settings

from cepheid.compiler import keyed_events
from cepheid.engine import keyed, pool
from cepheid.errors import NotSupportedError
from cepheid.testing.harness import engine_matches, oracle_matches
from cepheid.testing.strategies import Example, Features, examples


@pytest.fixture(autouse=True, scope="module")
def always() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyed_events, "FEWEST_EVENTS", 1)
        patch.setattr(keyed, "FIRST_ROOM", 1)
        patch.setattr(pool, "FIRST_MATCHES", 1)
        yield


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(examples(Features.ENGINE_1, shuffled=True))
def test_engine_equals_oracle(example: Example) -> None:
    try:
        found = engine_matches(example.bound, example.events)
    except NotSupportedError:
        reject()  # too many of these fail the test
    assert found == oracle_matches(example.bound, example.events)
