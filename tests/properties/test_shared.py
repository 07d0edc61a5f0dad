"""Queries whose matches share their structure: their number is that of the oracle's matches."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings

from cepheid.engine import counting
from cepheid.events.ingest import read_events
from cepheid.kernels.shared import LARGEST, W_COUNT
from cepheid.plan.shared import shared_plan
from cepheid.testing.harness import oracle_matches, table_of
from cepheid.testing.strategies import Example, Features, examples

QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much]

SHARED = (
    Features.ANY
    | Features.NOT_MIDDLE
    | Features.KLEENE
    | Features.GROUPS
    | Features.AND
    | Features.OR
    | Features.ANY_OF
    | Features.LOGIC
    | Features.SAME
    | Features.WITHIN
    | Features.EXCLUSIVE
    | Features.EVENTS
    | Features.SLIDING
    | Features.NULLS
    | Features.SOURCES
)


def require_equal(example: Example) -> None:
    shared = shared_plan(example.bound)
    assume(shared is not None)
    assert shared is not None
    batch = read_events(*table_of(example.events, example.bound.schema))
    found = oracle_matches(example.bound, example.events)
    assert counting.count(example.bound, batch) == len(found)
    positions, numbers = counting.count_by_event(example.bound, batch)
    by_event = dict(zip(batch.rows_of(positions).tolist(), numbers.tolist(), strict=True))
    assert by_event == Counter(match[-1][1] for match in found)
    # As if the numbers were too large for a word.
    large = counting.Counting(counting.prepare(example.bound), shared, batch)
    large.counted(LARGEST)
    assert large.by_primes(len(example.events) + 1, lambda work, _: int(work[W_COUNT])) == len(found)


@settings(max_examples=50, suppress_health_check=QUIET)
@given(examples(SHARED, shuffled=True))
def test_counts_are_those_of_the_oracle(example: Example) -> None:
    require_equal(example)


@pytest.mark.slow
@settings(max_examples=600, suppress_health_check=QUIET)
@given(examples(SHARED, shuffled=True))
def test_counts_are_those_of_the_oracle_in_many_pairs(example: Example) -> None:
    require_equal(example)
