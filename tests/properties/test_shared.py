"""Queries whose matches share their structure: as many matches as the oracle finds, and the same first ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, given, settings

from cepheid.engine import counting, first
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
    names = list(example.bound.variables)
    for limit in (1, 3, 20):
        begun = first.first_matches(example.bound, batch, limit)
        entries = list(zip([names[v] for v in begun.variables], batch.rows_of(begun.positions).tolist(), strict=True))
        told = [tuple(entries[begin:end]) for begin, end in pairwise(begun.offsets.tolist())]
        assert told == found[:limit]


@pytest.fixture(autouse=True, scope="module")
def little_room() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "FIRST_ROOM", 1)
        patch.setattr(first, "FIRST_ROOM", 4)
        patch.setattr(first, "FIRST_EVENTS", 2)
        yield


@settings(max_examples=50, suppress_health_check=QUIET)
@given(examples(SHARED, shuffled=True))
def test_counts_are_those_of_the_oracle(example: Example) -> None:
    require_equal(example)


@pytest.mark.slow
@settings(max_examples=70, suppress_health_check=QUIET)
@given(examples(SHARED, shuffled=True))
def test_counts_are_those_of_the_oracle_in_many_pairs(example: Example) -> None:
    require_equal(example)
