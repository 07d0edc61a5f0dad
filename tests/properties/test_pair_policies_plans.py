"""Guards under evaluation plans: whatever waits for the last event, the same pairs are kept apart."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from cepheid.engine.session import prepare, run_plan
from cepheid.engine.settings import Settings
from cepheid.engine.stream import Stream
from cepheid.engine.watermark import AFTER_ALL_US
from cepheid.events.ingest import read_events
from cepheid.kernels.jit import ENABLED
from cepheid.language.bound import BoundQuery
from cepheid.plan.evaluation import parse_evaluation
from cepheid.plan.sequence import positive_variables
from cepheid.ports.pairs import Wanted
from cepheid.testing.harness import answers_of, little_room, table_of
from cepheid.testing.oracle_events import OracleEvent
from tests.properties.stub_policies import DropsCells, WatchesCells
from tests.properties.test_pair_policies import BINS, bound_to, drawn_events, expected, some_cells, types_of

pytestmark = [pytest.mark.compiled, pytest.mark.slow] if ENABLED else []

QUERIES = (
    "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x <= c.x WITHIN 12 s",
    "SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k WITHIN 12 s",
    "SEQ(A a, A b, A c) WHERE SAME[k] WITHIN 12 s",
    "SEQ(A a, B+ b, C c) WHERE a.x <= b.x WITHIN 12 s",
    "SEQ(A a, B b, (C | D)+ c) WHERE a.x <= c.x WITHIN 12 s",
    "SEQ(A a, NOT D n, B b, C c) WHERE n.x = c.x WITHIN 12 s",
    "SEQ(A a, B b, * c) WHERE a.k = c.k WITHIN 9 EVENTS",
)


def plans_of(bound: BoundQuery) -> list[str]:
    names = positive_variables(bound)[:-1]
    return sorted({f"{' '.join(o[:n])}/{' '.join(o[n:])}" for o in permutations(names) for n in range(len(names) + 1)})


def found(bound: BoundQuery, events: tuple[OracleEvent, ...], policy: DropsCells, plan: str, room: int) -> list[object]:
    """The matches of the engine under a plan, by numbers of events."""
    table, schema = table_of(events, bound.schema)
    batch = read_events(table, schema)
    compiled = prepare(bound, evaluation=parse_evaluation(bound, plan), wanted=policy.wanted)
    with little_room(room):
        matches = run_plan(compiled, batch, policy=policy)
    return [list(answer.bindings) for answer in answers_of(bound, batch, matches, None)]


@pytest.mark.parametrize("pattern", QUERIES)
def test_every_plan_drops_what_the_oracle_misses(pattern: str):
    bound, random = bound_to(f"PATTERN {pattern} POLICY any"), Random(pattern)
    n_missed = n_found = 0
    for number in range(9):
        n_bins, bin_events = random.choice(BINS)
        wanted = Wanted(guard=True, work=number % 2 == 0, n_bins=n_bins, bin_events=bin_events)
        dropped = some_cells(random, bound, n_bins, (0.05, 0.15, 0.3)[number % 3])
        events = drawn_events(random, 24)
        right = expected(bound, events, WatchesCells(dropped, wanted, types_of(bound)))
        for plan in plans_of(bound):
            policy = DropsCells(dropped, wanted, random.choice((1, 7)) if wanted.work else None)
            assert found(bound, events, policy, plan, random.choice((1, 4))) == right, plan
            if wanted.work:
                assert policy.seen.work >= policy.n_looks - 1
        n_missed += right != expected(bound, events, WatchesCells(frozenset(), wanted, types_of(bound)))
        n_found += len(right)
    assert n_missed
    assert n_found


@pytest.mark.parametrize("pattern", [q for q in QUERIES if "EVENTS" not in q])
def test_a_stream_that_switches_plans_keeps_the_same_pairs_apart(pattern: str):
    bound, random = bound_to(f"PATTERN {pattern} POLICY any"), Random(pattern)
    n_found = 0
    for _ in range(6):
        n_bins, bin_events = random.choice(BINS)
        wanted = Wanted(guard=True, work=True, n_bins=n_bins, bin_events=bin_events)
        dropped = some_cells(random, bound, n_bins, 0.15)
        events = drawn_events(random, 24)
        table, schema = table_of(events, bound.schema)
        policy = DropsCells(dropped, wanted, random.choice((None, 3)))
        stream = Stream(bound, table.schema, Settings(), policy)
        told: list[object] = []
        for number, event in enumerate(events):
            stream.push(read_events(table.slice(number, 1), schema))
            step = stream.found(event.time - 1)
            told += [] if step is None else [list(answer.bindings) for answer in answers_of(bound, *step, None)]
            if random.random() < 0.4:
                plan = random.choice(plans_of(bound))
                stream.switch(stream.plan_for(plan), Settings(evaluation=plan))
        step = stream.found(AFTER_ALL_US)
        told += [] if step is None else [list(answer.bindings) for answer in answers_of(bound, *step, None)]
        assert told == expected(bound, events, WatchesCells(dropped, wanted, types_of(bound)))
        assert policy.seen.ended
        n_found += len(told)
    assert n_found
