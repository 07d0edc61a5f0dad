"""AND and ANY with a repeated group at the end, under `next`: an unfinished iteration gives its events back, though
other events of the match lie among them (SEMANTICS 3.2)."""

from __future__ import annotations

from random import Random

import pytest

from cepheid.errors import QueryError
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.harness import EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import SCHEMA

SECOND_US = 1_000_000


def stream(*events):
    """Events as (type, second, k, x)."""
    values = {"f": None, "d": None, "s": None, "l": None}
    return [
        OracleEvent(
            at * SECOND_US, (number,), "s", kind, {"ts": at * SECOND_US, "kind": kind, "k": k, "x": x, **values}
        )
        for number, (kind, at, k, x) in enumerate(events)
    ]


def bound_to(text):
    return bind(parse(text), SCHEMA, text=text)


def found(text, types):
    """The matches as variables with the numbers of their events."""
    events = stream(*((kind, at, 1, at) for at, kind in enumerate(types)))
    return [
        " ".join(f"{name}{number}" for name, number in one.bindings)
        for one in EngineRoad(bound_to(text)).answers(events)
    ]


@pytest.mark.parametrize(
    ("query", "types", "expected"),
    [
        ("AND((A a; B b)+, C c) WITHIN 9 s", "ABAC", ["a0 b1 c3"]),
        ("AND((A a; B b)+, C c) WITHIN 9 s", "ABACB", ["a0 b1 a2 c3 b4", "a2 c3 b4"]),
        ("SEQ(D s, AND((A a; B b)+, (C c; D d)+)) WITHIN 9 s", "DABCDCA", ["s0 a1 b2 c3 d4"]),
        # What is given back does not count.
        ("AND((A a; B b)+, C c) WHERE count(a) = 1 WITHIN 9 s", "ABAC", ["a0 b1 c3"]),
        ("AND((A a; B b)+, C c) WHERE last(a).x > 1 WITHIN 9 s", "ABAC", []),
        # Without the event between them, two neighbours are too far apart.
        ("SEQ(D s, AND((A a; B b)+, C c)) WITHIN 9 s BETWEEN EACH 1 s", "DABAC", []),
        # Two runs that come to the same: it is one match.
        ("AND((A a; B b)*, C c) WITHIN 9 s", "AC", ["c1"]),
    ],
)
def test_events_are_given_back(query, types, expected):
    assert found(query, types) == expected


PATTERNS = [
    "AND((A a; B b)+, C c)",
    "AND((A a; B b)+, (C c; D d)+)",
    "ANY(1, (A a; B b)+, (C c; D d)+)",
    "SEQ(D s, NOT D n, AND((A a; B b)+, C c))",
    "SEQ(D s, AND((A a; B b)+, C c), NOT D n)",
    "SEQ(C s, AND((A a; (B b; C c)+)+, D d))",
    "SEQ(A s, NOT D n, AND((A a; B b)*, (C c; A d)*))",
]
CONDITIONS = ["", "a.k = b.k", "sum(a.x) > 3", "c.k = a.k", "last(a).x > first(b).x", "a.x > prev(a).x", "SAME[k]"]
WINDOWS = ["WITHIN 9 s", "WITHIN 8 EVENTS", "WITHIN 12 s BETWEEN EACH 3 s", "WINDOW 9 s SLIDE 4 s"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_is_what_the_oracle_says(pattern):
    random = Random(pattern)
    n_found = 0
    for condition in CONDITIONS:
        for window in WINDOWS:
            where = f"WHERE {condition}" if condition else ""
            bound = bound_to(f"{pattern} {where} {window}")
            at = 0
            events = []
            for _ in range(10):
                at += random.randrange(3)
                events.append((random.choice("AABBCCD"), at, random.choice((1, 1, 2)), random.randrange(5)))
            oracle = oracle_answers(bound, stream(*events))
            road = EngineRoad(bound, random.choice((None, 1)))
            assert road.answers(stream(*events)) == oracle, (bound.text, events)
            n_found += len(oracle)
    assert n_found >= 3


@pytest.mark.parametrize(
    ("text", "events", "expected"),
    [
        # The a of an unfinished iteration is given back, and with it the first event.
        ("AND((A a; B b)+, C c) WITHIN 9 s", "ABAC", ["abc"]),
        ("AND((A a; B b)+, C c) WITHIN 9 s AFTER MATCH SKIP PAST LAST", "ABACABC", ["abacb"]),
        ("AND((A a; B b)+, C c) WITHIN 9 s BETWEEN EACH 2 EVENTS", "ABAC", ["abc"]),
        ("AND((A a; B b)+, C c) WITHIN 9 s BETWEEN EACH 1 EVENTS", "ABAC", []),
        ("AND((A a; B b)+, OR(C c, D d)) WITHIN 9 s", "ABAD", ["abd"]),
        ("AND((((A a)+; B? b)+; C c)+, D d) WITHIN 9 s AFTER MATCH SKIP PAST LAST", "AACAD", ["aacd"]),
        ("AND((A a; strict B b)+, strict C c) WITHIN 9 s AFTER MATCH SKIP PAST LAST", "ABAC", ["abc"]),
        ("AND((A a; B b)+, any C c) WITHIN 9 s AFTER MATCH SKIP PAST LAST", "ABAC", ["abc"]),
    ],
)
def test_with_what_else_there_may_be(text, events, expected):
    bound = bound_to(text)
    given = stream(*((kind, at, 1, 0) for at, kind in enumerate(events)))
    found = EngineRoad(bound).answers(given)
    assert found == oracle_answers(bound, given)
    assert ["".join(name for name, _ in one.bindings) for one in found][: len(expected)] == expected


@pytest.mark.parametrize("timed_out", [False, True])
def test_random_pairs_with_what_else_there_may_be(timed_out):
    random = Random(20_240_501)
    groups = ("(A a; B b)+", "(A a; B? b){1,2}", "(AND(A a, B b))+", "((A+ a; B? b)+; C c)+", "(OR(A a, B b); C c)*")
    others = ("D d", "OR(C d, D e)", "(C d; D e)", "D+ d", "(C d; D e)+")
    n_found = n_pairs = 0
    while n_pairs < 60:
        pattern = random.choice(
            ("AND({}, {})", "AND({1}, {0})", "ANY(2, {}, {}, B f)", "OR(AND({}, {}), SEQ(A s, B t))")
        )
        pattern = pattern.format(random.choice(groups), random.choice(others))
        if not timed_out and random.random() < 0.4:
            prefix = random.choice(("strict", "any"))
            pattern = pattern.replace("D d", f"{prefix} D d").replace("; B b", f"; {prefix} B b")
        window = random.choice(
            ("WITHIN 8 s", "WITHIN 7 EVENTS", "WITHIN 9 s BETWEEN EACH 3 EVENTS", "WINDOW 8 s SLIDE 4 s")
        )
        skip = random.choice(("", "AFTER MATCH SKIP PAST LAST", "AFTER MATCH SKIP TO NEXT"))
        try:
            bound = bound_to(f"{pattern} {window} {skip}")
        except QueryError:
            continue
        road = EngineRoad(bound, random.choice((None, 1)), timed_out=timed_out)
        for _ in range(4):
            at, events = 0, []
            for _ in range(7):
                at += random.randrange(3)
                events.append((random.choice("AABBCD"), at, 1, random.randrange(5)))
            oracle = oracle_answers(bound, stream(*events), timed_out=timed_out)
            assert road.answers(stream(*events)) == oracle, (bound.text, events)
            n_pairs += 1
            n_found += bool(oracle)
    assert n_found > 10
