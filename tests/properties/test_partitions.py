"""However the keys of SAME are dealt out to workers, their matches together are those of one run over all events."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from random import Random

import pytest

from cepheid.language.bound import BoundQuery
from cepheid.language.partition import inferred_partition
from cepheid.testing.fuzz import Search
from cepheid.testing.harness import LEFT, EngineRoad
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.oracle_expressions import Evaluator, OneEvent
from cepheid.testing.strategies_features import OPERATORS, Features, operators_of
from tests.properties.test_same_matches import named

N_STREAMS = 3


def by_key(bound: BoundQuery, events: Sequence[OracleEvent]) -> dict[str, list[OracleEvent]]:
    """The events of each key of SAME; those without a key are in none."""
    evaluator = Evaluator(bound.types, bound.catalog, {})
    of_key: dict[str, list[OracleEvent]] = defaultdict(list)
    for event in events:
        key = [evaluator.value(part, OneEvent(event)) for part in bound.partition]
        if None not in key:
            of_key[repr([0.0 if value == 0 else value for value in key])].append(event)
    return of_key


def dealt(random: Random, of_key: dict[str, list[OracleEvent]]) -> list[list[OracleEvent]]:
    """The keys dealt out to one to four workers, whose events arrive in any order."""
    workers: list[list[OracleEvent]] = [[] for _ in range(random.randint(1, 4))]
    for events in of_key.values():
        random.choice(workers).extend(events)
    return [random.sample(events, len(events)) for events in workers]


def together(road: EngineRoad, parts: Sequence[Sequence[OracleEvent]], *, timed_out: bool = True) -> Counter[object]:
    """What the workers find, as one set.

    Args:
        road: the engine.
        parts: the events of each worker.
        timed_out: what timed out is told, too, where the road tells it.
    """
    found: Counter[object] = Counter()
    for events in parts:
        found.update(named((one for one in road.answers(events) if timed_out or one.returned != LEFT), events))
    return found


@pytest.mark.parametrize("n", [60, pytest.param(700, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_any_way_to_deal_out_the_keys_gives_the_same_matches(n: int):
    seed = n
    random, search, compared = Random(seed), Search(seed, always=Features.SAME | Features.SOURCES), Counter[str]()
    n_queries = n_several = 0
    while n_queries < n:
        road = search.query()
        if road is None or not road.bound.partition:
            continue
        n_queries += 1
        for _ in range(N_STREAMS):
            events = search.stream(road)
            of_key = by_key(road.bound, events)
            whole = together(road, [events])
            for parts in (list(of_key.values()), dealt(random, of_key)):
                assert together(road, parts) == whole, (road.bound.text, events)
            if whole:
                compared.update(operators_of(road.bound))
                n_several += len(of_key) > 1
    assert n_several > n / 10
    if n >= 700:  # then every operator that runs has been there, with a match
        refused = {operator for operator, _, _ in search.coverage.refused}
        assert not [one for one in OPERATORS if not compared[one] and one not in refused]


@pytest.mark.parametrize("seed", [33, pytest.param(34, marks=pytest.mark.slow)])
def test_a_partition_that_equalities_imply_changes_no_match_of_the_engine(seed: int):
    """What `cep.detect` does with queries that have no SAME: events are dealt out by the key that they imply."""
    random, search = Random(seed), Search(seed, always=Features.CROSS | Features.WITHIN | Features.ANY | Features.NEXT)
    n_inferred = n_matches = 0
    while n_inferred < 3:  # few queries imply one
        road = search.query()
        if road is None or road.bound.partition:
            continue
        inferred = inferred_partition(road.bound)
        paths = [set(part.values()) for part in inferred.keys] if inferred is not None else []
        if not paths or any(len(several) > 1 for several in paths):
            continue  # an event may then be in two partitions
        n_inferred += 1
        for _ in range(4 * N_STREAMS):
            events = search.stream(road)
            of_key: dict[str, list[OracleEvent]] = defaultdict(list)
            for event in events:
                values = [event.values[name] for ((name,),) in paths]
                if None not in values:
                    of_key[repr([0.0 if value == 0 else value for value in values])].append(event)
            # An event without a key is in no match; it may start a run that times out.
            whole = together(road, [events], timed_out=False)
            for parts in (list(of_key.values()), dealt(random, of_key)):
                assert together(road, parts, timed_out=False) == whole, (road.bound.text, events)
            n_matches += whole.total()
    assert n_matches > 1
