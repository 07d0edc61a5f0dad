"""Open predicates: whenever a store answers, the matches are those of a store that answers at once, in their order."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest

from cepheid.engine import open_predicates
from cepheid.engine.session import Work, prepare, run_plan
from cepheid.engine.settings import Settings
from cepheid.errors import CepheidError, DataError
from cepheid.events.ingest import read_events
from cepheid.kernels.jit import ENABLED
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.ports.postponing import PostponingPolicy, Question
from cepheid.ports.stores import Key
from cepheid.testing.harness import Answer, answers_of, little_room, oracle_answers, table_of
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, SCHEMA, STORES, Features
from cepheid.testing.strategies_choices import Seeded
from cepheid.testing.strategies_queries import query_text
from tests.properties.stub_stores import Delay, LateStore, after, at_random, late_catalog, never

# A variant of the kernels takes seconds to compile: `make test` runs this in plain Python.
pytestmark = [pytest.mark.compiled, pytest.mark.slow] if ENABLED else []

FEATURES = Features.ALL & ~Features.STRICT

SECOND_US = 1_000_000


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are looked for after every event."""
    monkeypatch.setattr(open_predicates, "POLL_EVENTS", 1)


def bound_to(text: str, delay: Delay) -> BoundQuery:
    return bind(parse(text), SCHEMA, catalog=late_catalog(delay), text=text)


def found(
    bound: BoundQuery,
    events: tuple[OracleEvent, ...],
    *,
    most: int = 10_000,
    room: int = 16,
    policy: PostponingPolicy | None = None,
) -> tuple[list[Answer], Work]:
    """What the engine finds, and what it did."""
    compiled, work = prepare(bound, postpones=True), Work()
    table, schema = table_of(events, bound.schema)
    batch = read_events(table, schema)
    with little_room(room):
        matches = run_plan(compiled, batch, work=work, settings=Settings(max_open_predicates=most), postponing=policy)
    return answers_of(bound, batch, matches, None), work


def expected(text: str, events: tuple[OracleEvent, ...]) -> list[Answer]:
    bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
    return [answer._replace(returned=()) for answer in oracle_answers(bound, events, STORES)]


@dataclass(frozen=True)
class Drawn:
    """A query that reads remote data, with a stream, both drawn at random.

    Attributes:
        text: the query.
        events: in the order of arrival.
    """

    text: str
    events: tuple[OracleEvent, ...]


def drawn(seed: int, features: Features) -> Drawn | None:
    """A query with some of some features; None where the first that is drawn cannot be bound or run."""
    random = Random(seed)
    chosen = Features.REMOTE
    for feature in Features:
        if feature in features and (feature in Features.WITHIN | Features.CROSS or random.random() < 0.5):
            chosen |= feature
    text = query_text(Seeded(random), chosen)
    if "REMOTE" not in text:
        return None
    try:
        bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
        prepare(bound)
    except CepheidError:
        return None
    return None if bound.inner is not None else Drawn(text, drawn_events(random))


def drawn_events(random: Random, n_least: int = 3, n_most: int = 9) -> tuple[OracleEvent, ...]:
    time, events = 0, []
    for i in range(random.randint(n_least, n_most)):
        time += SECOND_US * random.choice((0, 1, 1, 2))
        values = {"ts": time, "k": random.choice((1, 1, 2, 3, None)), "x": random.randint(0, 3), "f": 1.0, "s": "a"}
        events.append(OracleEvent(time, (i,), "events", random.choice("AABBCCD"), values))
    return tuple(events)


def same_as_at_once(text: str, events: tuple[OracleEvent, ...], random: Random) -> Work:
    """Hold a query on a store that answers late against the oracle; what was done."""
    delay = random.choice((after(0), after(3), after(1_000), at_random(random)))
    most, room = random.choice((1, 2, 10_000)), random.choice((1, 16))
    engine, work = found(bound_to(text, delay), events, most=most, room=room)
    assert engine == expected(text, events), (text, events)
    return work


def held_against_the_oracle(seeds: range, features: Features) -> int:
    """The same for random pairs; how many predicates were open."""
    n_postponed = 0
    for seed in seeds:
        pair = drawn(seed, features)
        if pair is not None:
            n_postponed += same_as_at_once(pair.text, pair.events, Random(seed)).n_postponed
    return n_postponed


def test_random_queries():
    assert held_against_the_oracle(range(30), FEATURES) > 0


@pytest.mark.slow
@pytest.mark.parametrize("policy", [Features.ANY, Features.NEXT, Features.ANY | Features.NEXT | Features.PREFIXES])
def test_more_random_queries(policy: Features):
    others = FEATURES & ~(Features.ANY | Features.NEXT | Features.PREFIXES)
    assert held_against_the_oracle(range(1_000, 1_350), others | policy) > 10


CASES = {
    "under any, each answer is of one match": "SEQ(A a, B b) WHERE b.x <= REMOTE levels[a.k].top WITHIN 5 s POLICY any",
    "under next, a run forks": "SEQ(A a, B b, C c) WHERE b.x <= REMOTE levels[a.k].top AND c.x >= b.x WITHIN 9 s",
    "of several conditions of one step": "SEQ(A a, B b) WHERE b.x IN REMOTE levels[a.k].known "
    "AND b.x <= REMOTE levels[b.k].top AND REMOTE pairs[a.k, b.k] >= 1 WITHIN 9 s",
    "a start waits": "SEQ(A a, B b) WHERE a.x <= REMOTE levels[a.k].top WITHIN 5 s",
    "alternatives for one event": "SEQ(A a, OR(B b, (B | C) c), D d) WHERE b.x <= REMOTE levels[a.k].top WITHIN 9 s",
    "a loop takes what may qualify": "SEQ(A a, B+ b, C c) WHERE b.x <= REMOTE levels[a.k].top WITHIN 9 s",
    "a loop under any": "SEQ(A a, B+ b, C c) WHERE b.x <= REMOTE levels[b.k].top WITHIN 9 s POLICY any",
    "a loop at the end, whose window closes": "SEQ(A a, B+ b) WHERE b.x <= REMOTE levels[a.k].top WITHIN 4 s",
    "a full loop": "SEQ(A a, B{2,3} b, C c) WHERE b.x IN REMOTE levels[a.k].known WITHIN 9 s",
    "an aggregate of a loop": "SEQ(A a, B+ b, C c) WHERE sum(b.x) <= REMOTE levels[a.k].top WITHIN 9 s",
    "the element before": "SEQ(A a, B+ b) WHERE prev(b).x <= REMOTE levels[b.k].top WITHIN 4 s",
    "a NOT that may be broken": "SEQ(A a, NOT C c, B b) WHERE c.x <= REMOTE levels[a.k].top WITHIN 9 s",
    "a NOT under any": "SEQ(A a, NOT C c, B b) WHERE c.x IN REMOTE levels[c.k].known WITHIN 9 s POLICY any",
    "a NOT at the end": "SEQ(A a, B b, NOT C c) WHERE c.x <= REMOTE levels[a.k].top WITHIN 4 s",
    "a NOT at the start": "SEQ(NOT C c, A a, B b) WHERE c.x <= REMOTE levels[a.k].top WITHIN 4 s",
    "a NOT of a group": "SEQ(A a, NOT SEQ(C c, D d), B b) WHERE d.x <= REMOTE levels[a.k].top WITHIN 9 s",
    "any order": "AND(A a, B b, C c) WHERE b.x <= REMOTE levels[a.k].top WITHIN 9 s",
    "a prefix": "SEQ(A a, any B b, C c) WHERE c.x <= REMOTE levels[b.k].top WITHIN 9 s",
    "a group that repeats": "SEQ(A a, (B b; C c)+, D d) WHERE c.x <= REMOTE levels[b.k].top WITHIN 20 s",
    "keys": "SEQ(A a, B b, A c) WHERE SAME[k] AND b.x <= REMOTE levels[a.k].top WITHIN 9 s",
    "windows that slide": "SEQ(A a, B b) WHERE b.x <= REMOTE levels[a.k].top WINDOW 4 s SLIDE 2 s",
    "one match of a window": "SEQ(A a, B b) WHERE b.x <= REMOTE levels[a.k].top WINDOW 6 s SLIDE 6 s "
    "ONE MATCH PER WINDOW",
    "what follows a match": "SEQ(A a, B b, C c) WHERE b.x <= REMOTE levels[a.k].top WITHIN 9 s "
    "AFTER MATCH SKIP PAST LAST",
    "what follows a match of a loop": "SEQ(A a, B+ b) WHERE b.x <= REMOTE levels[a.k].top WITHIN 4 s "
    "AFTER MATCH SKIP TO LAST b",
    "one match of a start": "SEQ(A a, B b) WHERE b.x <= REMOTE levels[a.k].top WITHIN 5 s POLICY any "
    "AFTER MATCH SKIP TO NEXT",
    "windows that count events": "SEQ(A a, B b) WHERE b.x <= REMOTE levels[a.k].top WITHIN 5 EVENTS",
}


def held_open_to_the_end(text: str, seeds: range) -> tuple[int, int]:
    """Hold a query against the oracle where no answer comes before the end of the input; predicates, and matches."""
    n_postponed = n_matches = 0
    for seed in seeds:
        events = drawn_events(Random(seed), 24, 30)
        engine, work = found(bound_to(text, after(1_000_000)), events)
        assert engine == expected(text, events)
        assert work.n_waited == 0
        n_postponed, n_matches = n_postponed + work.n_postponed, n_matches + len(engine)
        same_as_at_once(text, events, Random(seed))
    return n_postponed, n_matches


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_what_makes_it_hard(text: str):
    held_open_to_the_end(text, range(1))


@pytest.mark.slow
@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_more_of_what_makes_it_hard(text: str):
    n_postponed, n_matches = held_open_to_the_end(text, range(2, 10))
    assert n_postponed >= 2
    assert n_matches >= 1


WAITS = {
    "strict": "SEQ(A a, B b) WHERE b.x <= REMOTE levels[a.k].top WITHIN 9 s POLICY strict",
    "strict, with a loop": "SEQ(A a, B+ b, C c) WHERE b.x <= REMOTE levels[a.k].top WITHIN 9 s POLICY strict",
}


@pytest.mark.parametrize("text", WAITS.values(), ids=WAITS)
def test_where_the_engine_cannot_go_on_it_waits(text: str):
    for seed in range(3):
        events = drawn_events(Random(seed), 12, 12)
        assert same_as_at_once(text, events, Random(seed)).n_postponed == 0


def test_the_cap_on_open_predicates_is_held():
    text = "SEQ(A a, B b) WHERE b.x <= REMOTE levels[a.k].top WITHIN 1 h POLICY any"
    values = [{"ts": i * SECOND_US, "k": i, "x": 1, "f": 1.0, "s": "a"} for i in range(40)]
    events = tuple(
        OracleEvent(i * SECOND_US, (i,), "events", "A" if i < 20 else "B", one) for i, one in enumerate(values)
    )
    policy = Watches()
    engine, work = found(bound_to(text, after(1_000_000)), events, most=5, policy=policy)
    assert engine == expected(text, events)
    assert max(policy.n_open) <= 5
    assert work.n_waited > 0


@dataclass
class Watches:
    """Lets all go on, and counts.

    Attributes:
        n_open: as it was told.
        keys: of the last question.
    """

    n_open: list[int] = field(default_factory=list)
    keys: list[tuple[str, Key]] = field(default_factory=list)

    def postpones(self, question: Question) -> bool:
        self.n_open.append(question.n_open)
        self.keys += question.missing
        return True


@dataclass
class WaitsForOdd:
    """Waits where a key is odd."""

    n_waited: int = 0

    def postpones(self, question: Question) -> bool:
        (_, key), *_ = question.missing
        assert isinstance(key[0], int)
        self.n_waited += key[0] % 2
        return key[0] % 2 == 0


def test_a_policy_chooses_what_waits():
    text, events = CASES["under next, a run forks"], drawn_events(Random(3), 30, 30)
    policy = WaitsForOdd()
    engine, work = found(bound_to(text, at_random(Random(1))), events, policy=policy)
    assert engine == expected(text, events)
    assert work.n_waited == policy.n_waited > 0


def test_a_store_that_never_answers_ends_a_bounded_input_with_its_name():
    """What hangs on no answer would be told; but what a table holds is told as a whole or not at all."""
    text, events = CASES["under any, each answer is of one match"], drawn_events(Random(3), 30, 30)
    with pytest.raises(DataError, match="the store levels gives no answer for"):
        found(bound_to(text, never), events)


def test_an_answer_that_nothing_waits_for_any_more_is_not_waited_for():
    """The partial match of the answer leads to no match: the store may keep it for ever."""
    text = "SEQ(A a, B b, C c) WHERE b.x <= REMOTE levels[a.k].top WITHIN 5 s"
    values = [{"ts": i * SECOND_US, "k": 1, "x": 1, "f": 1.0, "s": "a"} for i in range(2)]
    events = tuple(OracleEvent(i * SECOND_US, (i,), "events", "AB"[i], one) for i, one in enumerate(values))
    bound = bound_to(text, never)
    assert found(bound, events)[0] == []
    store = bound.catalog.stores["levels"].source
    assert isinstance(store, LateStore)
    assert (store.asked, store.n_waits) == ([(1,)], 0)


def test_with_no_condition_that_waits_the_plan_and_its_kernels_are_the_usual_ones():
    for text in ("SEQ(A a, B b) WITHIN 5 s", "SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 s POLICY any"):
        bound = bound_to(text, never)
        assert prepare(bound, postpones=True) is prepare(bound)
        assert prepare(bound).automaton.kernel_flags == ()
