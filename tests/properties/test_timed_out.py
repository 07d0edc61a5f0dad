"""What times out, and the matches beside it, are the same on the compiled engine and on the oracle.

Of the random pairs of `test_pairs`, a third have what times out among their answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from cepheid.errors import NotSupportedError, QueryError
from cepheid.testing.fuzz import same
from cepheid.testing.harness import LEFT, EngineRoad, oracle_answers
from cepheid.testing.steps import engine_steps, oracle_steps
from cepheid.testing.strategies import Example, Features, examples
from tests.conformance.notation import Case, stream
from tests.properties.test_steps import with_watermarks

PAIRS = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def require_equal(example: Example, room: int | None = None) -> None:
    try:
        road = EngineRoad(example.bound, room, timed_out=True)
    except NotSupportedError:
        reject()  # too many of these fail the test
    assert same(road.answers(example.events), oracle_answers(example.bound, example.events, timed_out=True))


@PAIRS
@given(examples(Features.ENGINE_1))
def test_sequences(example: Example) -> None:
    require_equal(example)


@PAIRS
@given(examples(Features.ENGINE | Features.SOURCES, shuffled=True), st.sampled_from((None, 1, 4)))
def test_patterns_of_any_form(example: Example, room: int | None) -> None:
    require_equal(example, room)


@PAIRS
@given(examples(Features.ENGINE))
def test_asking_for_it_changes_no_match(example: Example) -> None:
    try:
        road = EngineRoad(example.bound, timed_out=True)
    except NotSupportedError:
        reject()
    matches = [one for one in road.answers(example.events) if one.returned is not LEFT]
    assert same(matches, EngineRoad(example.bound).answers(example.events))


@settings(PAIRS, max_examples=30)
@given(examples(Features.ENGINE), st.randoms(use_true_random=False))
def test_a_stream_tells_it_when_its_window_has_closed(example: Example, random: Random) -> None:
    items = with_watermarks(list(example.events), random)
    pushes, restored = [random.randint(1, 3) for _ in range(3)], [random.random() < 0.3 for _ in range(5)]
    try:
        found = engine_steps(example.bound, items, pushes, restored, timed_out=True)
    except NotSupportedError:
        reject()
    assert same(found, oracle_steps(example.bound, items, timed_out=True))


# --- patterns in which one event can be taken for several elements of one name -------------------------------------

PATTERNS = (
    "OR(SEQ(A a, B b), SEQ(A a, C c))",
    "SEQ(A a, OR(SEQ(B b, C c), SEQ(B b, D d)))",
    "SEQ((OR(A a, SEQ(A a, B b)))+, C c)",
    "SEQ(((A a)+)+, B b)",
    "SEQ(((SEQ(A a, B? b))+)+, C c)",
    "SEQ(A a, ((SEQ(B b, D d))+)*)",
    "SEQ((SEQ(A a, B? b))+, C c)",
    "OR(A a, SEQ(A a, B b))",
    "SEQ(OR(SEQ(A a, B b), SEQ(A a, A b)), C c)",
    "OR(SEQ(A a, B b, NOT C c), SEQ(A a, B b, D d))",
    "SEQ(OR(SEQ(A a, NOT B n, C c), SEQ(A a, D c)), B b)",
    "SEQ((OR(SEQ(A a, B b), A a))+, D d)",
    "ANY(2, A a, B b, C c)",
)
CONDITIONS = ("a.x <> 2", "a.x < b.x", "b.x > 1", "c.x >= a.x", "sum(a.x) < 4", "d.x > b.x")
WINDOWS = ("WITHIN 4", "WITHIN 5 EVENTS", "WITHIN 5 BETWEEN EACH 3", "WINDOW 6 s SLIDE 3 s")


PREFIXED = (
    "SEQ(A a, strict B b, C c)",
    "SEQ(A a, any B b, C c)",
    "SEQ(A a, B+ b, any C c, strict D d)",
    "SEQ(A a, strict B* b, any C c)",
    "SEQ(A a, any B{2,} b, C? c)",
    "SEQ(A a, B+ b UNTIL b.x = 3, any C+ c UNTIL c.x = 2, D d)",
    "SEQ(A a, B{2,} b UNTIL b.x = 3, strict C? c)",
    "SEQ(A a, OR(any B b, strict C c), NOT B e, D d)",
    "SEQ((SEQ(A a, any B b))+, strict C c)",
)


def compared(patterns: Sequence[str], policies: Sequence[str], n: int) -> int:
    """Compare many pairs; in how many of them something timed out."""
    random = Random(7)
    n_timed_out = 0
    for _ in range(n):
        where = " AND ".join(random.sample(CONDITIONS, random.choice((0, 1))))
        pattern, window, policy = random.choice(patterns), random.choice(WINDOWS), random.choice(policies)
        query = f"{pattern} {'WHERE ' + where if where else ''} {window} POLICY {policy}"
        time, events = 0, []
        for number in range(random.randint(3, 8)):
            time += random.choice((0, 1, 1, 2))
            events.append(f"e{number}:{random.choice('AABBCD')}@{time}(x={random.randint(0, 3)})")
        case = Case("", query, " ".join(events))
        try:
            road = EngineRoad(case.bound(), random.choice((None, 1)), timed_out=True)
        except QueryError:
            continue
        expected = oracle_answers(road.bound, stream(case.events).events, timed_out=True)
        n_timed_out += any(one.returned is LEFT for one in expected)
        assert same(road.answers(stream(case.events).events), expected), (query, case.events)
    return n_timed_out


def test_prefixes_that_bind_the_same() -> None:
    assert compared(PATTERNS, ("any", "any", "next"), 120) > 30


def test_copies_of_a_run() -> None:
    assert compared(PREFIXED, ("any", "next", "strict"), 120) > 30
