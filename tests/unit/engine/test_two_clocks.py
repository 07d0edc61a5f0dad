"""Windows and gaps of which one counts events and another measures time (SEMANTICS 5.1, 5.2)."""

from __future__ import annotations

from random import Random

import pytest

from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.harness import END_OF_INPUT_US, EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import SCHEMA

SECOND_US = 1_000_000


def stream(*events):
    """Events as (type, second, k)."""
    values = {"x": None, "f": None, "d": None, "s": None, "l": None}
    return [
        OracleEvent(at * SECOND_US, (number,), "s", kind, {"ts": at * SECOND_US, "kind": kind, "k": k, **values})
        for number, (kind, at, k) in enumerate(events)
    ]


def bound_to(text):
    return bind(parse(text), SCHEMA, text=text)


def answers(text, events):
    """The matches as (seconds of their events, when they are decided)."""
    return [
        (
            tuple(events[number].time // SECOND_US for _, number in one.bindings),
            None if one.decided_us == END_OF_INPUT_US else one.decided_us // SECOND_US,
        )
        for one in EngineRoad(bound_to(text)).answers(events)
    ]


EVENTS = stream(("A", 1, 1), ("D", 2, 1), ("A", 3, 1), ("B", 4, 1), ("D", 5, 1), ("B", 9, 1), ("D", 20, 1))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SEQ(A a, B b) WITHIN 4 EVENTS BETWEEN EACH 2 s POLICY any", [((3, 4), 4)]),
        ("SEQ(A a, B b) WITHIN 4 EVENTS BETWEEN EACH 9 s POLICY any", [((1, 4), 4), ((3, 4), 4), ((3, 9), 9)]),
        ("SEQ(A a, B b) WITHIN 5 s BETWEEN EACH 1 EVENTS POLICY any", [((3, 4), 4)]),
        ("SEQ(A a, B b) WITHIN 6 s BETWEEN EACH 3 EVENTS POLICY any", [((1, 4), 4), ((3, 4), 4), ((3, 9), 9)]),
        ("SEQ(A a, B b) WITHIN 5 s BETWEEN EACH 3 EVENTS", [((1, 4), 4), ((3, 4), 4)]),
        # Places are counted in the partition, before any filter.
        ("SEQ(A a, B b) WHERE SAME[k] WITHIN 5 s BETWEEN EACH 1 EVENTS", [((3, 4), 4)]),
    ],
)
def test_each_bound_has_its_clock(query, expected):
    assert answers(query, EVENTS) == expected


@pytest.mark.parametrize(
    ("window", "decided"),
    [
        ("WITHIN 100 EVENTS BETWEEN EACH 3 s", 7),  # 4 + 3
        ("WITHIN 3 EVENTS BETWEEN EACH 30 s", 5),  # the third event from a on
        ("WITHIN 30 s BETWEEN EACH 2 EVENTS", 9),  # the second event after b
        ("WITHIN 2 s BETWEEN EACH 20 EVENTS", 5),  # 3 + 2
        ("WITHIN 300 s BETWEEN EACH 20 EVENTS", 303),
        ("WITHIN 100 EVENTS BETWEEN EACH 300 s", 304),
    ],
)
def test_what_waits_for_the_window_is_decided_when_the_first_of_them_closes(window, decided):
    assert answers(f"SEQ(A a, B b, NOT C c) {window}", EVENTS)[-1] == ((3, 4), decided)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("WINDOW 6 s SLIDE 6 s BETWEEN EACH 2 EVENTS", [((3, 4), 4)]),
        ("WINDOW 6 EVENTS SLIDE 6 EVENTS BETWEEN EACH 1 s", [((3, 4), 4)]),
        ("WINDOW 6 EVENTS SLIDE 6 EVENTS WITHIN 2 s", [((3, 4), 4)]),
    ],
)
def test_windows_that_slide(window, expected):
    assert answers(f"SEQ(A a, B b) {window} POLICY any", EVENTS) == expected


QUERIES = [
    "SEQ(A a, B b, C c)",
    "SEQ(A a, B+ b)",
    "SEQ(A a, B b, NOT C c)",
    "SEQ(NOT C c, A a, B b)",
    "SEQ(A a, NOT C c, B b)",
    "AND(A a, B+ b)",
    "SEQ(A a, (B b; C c)+)",
]
WINDOWS = [
    "WITHIN 6 EVENTS BETWEEN EACH 3 s",
    "WITHIN 6 s BETWEEN EACH 2 EVENTS",
    "WINDOW 6 s SLIDE 3 s BETWEEN EACH 2 EVENTS",
    "WINDOW 6 s SLIDE 4 s WITHIN 4 EVENTS",
    "WINDOW 6 EVENTS SLIDE 3 EVENTS WITHIN 4 s BETWEEN EACH 2 EVENTS",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("policy", ["next", "any"])
def test_it_is_what_the_oracle_says(query, policy):
    random = Random(f"{query} {policy}")
    n_found = 0
    for window in WINDOWS:
        for same in ("", "WHERE SAME[k]"):
            text = f"{query} {same} {window} POLICY {policy}"
            if random.random() < 0.3:
                text += " AFTER MATCH SKIP TO NEXT"
            bound = bound_to(text)
            for _ in range(2):
                at = 0
                events = []
                for _ in range(9):
                    at += random.randrange(3)
                    events.append((random.choice("AABBCD"), at, random.randrange(2)))
                timed_out = random.random() < 0.5
                oracle = oracle_answers(bound, stream(*events), timed_out=timed_out)
                road = EngineRoad(bound, random.choice((None, 1)), timed_out=timed_out)
                assert road.answers(stream(*events)) == oracle, (text, events)
                n_found += len(oracle)
    assert n_found > 10


@pytest.mark.parametrize(
    "window",
    [
        "WITHIN 5 s BETWEEN EACH 1 EVENTS",
        "WITHIN 5 s BETWEEN EACH 2 EVENTS",
        "WITHIN 5 EVENTS BETWEEN EACH 2 s",
        "WITHIN 4 EVENTS BETWEEN EACH 3 s",
    ],
)
@pytest.mark.parametrize(
    "pattern", ["SEQ(A a, B? b, NOT C c)", "SEQ(A a, *{0,2} b, NOT D c)", "SEQ(A a, B*? b, NOT C c)"]
)
def test_a_match_under_strict_waits_for_those_that_are_preferred_by_either_clock(pattern, window):
    bound = bound_to(f"PATTERN {pattern} {window} POLICY strict")
    road, random, n_found = EngineRoad(bound), Random(pattern + window), 0
    for _ in range(40):
        events, at = [], 0
        for _ in range(random.randint(3, 8)):
            at += random.choice((0, 1, 1, 2))
            events.append((random.choice("ABCD"), at, 1))
        expected = oracle_answers(bound, stream(*events))
        assert road.answers(stream(*events)) == expected, events
        n_found += len(expected)
    assert n_found > 5
