"""What changes no match: keys apart, the order of arrival, names of sources, another epoch, batches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

import cepheid
from cepheid.testing.fuzz import Search
from cepheid.testing.harness import END_OF_INPUT_US, Answer, EngineRoad
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.oracle_expressions import Evaluator, OneEvent
from cepheid.testing.strategies import SECOND_US
from cepheid.testing.strategies_features import Features

N_QUERIES = 60
N_STREAMS = 5


def pairs(seed: int, always: Features = Features.NONE) -> Iterator[tuple[EngineRoad, tuple[OracleEvent, ...]]]:
    """Queries that the engine runs, each with some streams."""
    search, n_queries = Search(seed, always=always), 0
    while n_queries < N_QUERIES:
        road = search.query()
        if road is None:
            continue
        n_queries += 1
        for _ in range(N_STREAMS):
            yield road, search.stream(road)


def named(answers: Iterable[Answer], events: Sequence[OracleEvent]) -> list[object]:
    """Answers that name events by their identity, not by their place in the table."""
    return [
        (
            tuple((name, events[number].identity) for name, number in one.bindings),
            one.window,
            one.decided_us,
            repr(one.returned),
        )
        for one in answers
    ]


def test_events_of_each_key_apart_give_the_same_matches():
    n_matches = n_keys = 0
    for road, events in pairs(1, Features.SAME):
        if not road.bound.partition:
            continue
        evaluator = Evaluator(road.bound.types, road.bound.catalog, {})
        of_key: dict[str, list[OracleEvent]] = defaultdict(list)
        for event in events:
            key = [evaluator.value(part, OneEvent(event)) for part in road.bound.partition]
            if None not in key:
                of_key[repr([0.0 if value == 0 else value for value in key])].append(event)
        apart: Counter[object] = Counter()
        for those in of_key.values():
            apart.update(named(road.answers(those), those))
        together = named(road.answers(events), events)
        assert Counter(together) == apart, (road.bound.text, events)
        n_matches += len(together)
        n_keys += len(of_key) > 1
    assert n_matches
    assert n_keys


def test_events_may_arrive_in_any_order():
    random, n_matches = Random(2), 0
    for road, events in pairs(2, Features.SOURCES):
        arrived = random.sample(events, len(events))
        found = named(road.answers(events), events)
        assert named(road.answers(arrived), arrived) == found, (road.bound.text, events, arrived)
        n_matches += len(found)
    assert n_matches


def test_names_of_sources_do_not_matter():
    n_matches = 0
    names = {"left": "a", "right": "ö"}  # in the same order: it decides ties
    for road, events in pairs(3, Features.SOURCES):
        renamed = [replace(event, source=names.get(event.source, event.source)) for event in events]
        found = road.answers(events)
        assert list(map(repr, road.answers(renamed))) == list(map(repr, found)), (road.bound.text, events)
        n_matches += len(found)
    assert n_matches


@pytest.mark.parametrize("shift_us", [840_000 * SECOND_US, -840_000 * SECOND_US])
def test_the_epoch_does_not_matter(shift_us: int):
    """A multiple of every slide that is drawn; before 1970 times are negative."""
    n_matches = 0
    for road, events in pairs(4, Features.WITHIN):
        if "year(" in road.bound.text:
            continue
        window = road.bound.window
        moved = [replace(e, time=e.time + shift_us, values={**e.values, "ts": e.time + shift_us}) for e in events]
        found = road.answers(events)
        expected = [
            one._replace(
                window=None
                if one.window is None
                else one.window
                if window.size_us is None
                else (one.window[0] + shift_us, one.window[1] + shift_us),
                decided_us=END_OF_INPUT_US if one.decided_us == END_OF_INPUT_US else one.decided_us + shift_us,
            )
            for one in found
        ]
        assert list(map(repr, road.answers(moved))) == list(map(repr, expected)), (road.bound.text, events)
        n_matches += len(found)
    assert n_matches


def test_batches_do_not_matter():
    if not hasattr(cepheid, "Matcher"):
        pytest.skip("cepheid has no Matcher yet: a table is searched as a whole, so there is no batch to cut it into")
    pytest.fail("cepheid.Matcher exists: compare any split into batches, and any snapshot, with the whole here")
