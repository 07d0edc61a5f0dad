"""Loops that an event closes (SEMANTICS 3.5), in the compiled engine."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.fuzz import same
from cepheid.testing.harness import END_OF_INPUT_US, EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, SCHEMA

SECOND_US = 1_000_000


def stream(*events):
    """Events as (type, second, x, s, k), of which the last two may lack."""
    values = {"f": None, "d": None, "l": None}
    made = []
    for number, event in enumerate(events):
        kind, at, x, s, k = (*event, None, 1) if len(event) == 3 else (*event, 1) if len(event) == 4 else event
        columns = {"ts": at * SECOND_US, "kind": kind, "x": x, "s": s, "k": k, **values}
        made.append(OracleEvent(at * SECOND_US, (number,), "s", kind, columns))
    return made


def bound_to(text):
    return bind(parse(text), SCHEMA, catalog=CATALOG, text=text)


def answers(text, events):
    """The matches as (seconds of their events, when they are decided)."""
    return [
        (
            tuple(events[number].time // SECOND_US for _, number in one.bindings),
            None if one.decided_us == END_OF_INPUT_US else one.decided_us // SECOND_US,
        )
        for one in EngineRoad(bound_to(text)).answers(events)
    ]


EVENTS = stream(("A", 1, 0), ("B", 2, 1), ("B", 3, 2), ("D", 4, 9), ("B", 5, 3), ("C", 6, 0))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # An event of a type that the pattern does not name closes the loop, and decides the match.
        ("SEQ(A a, B+ b UNTIL b.x > 5) WITHIN 60 s", [((1, 2, 3), 4)]),
        ("SEQ(A a, B+ b UNTIL b.x > 5)", [((1, 2, 3), 4)]),
        ("SEQ(A a, B+ b UNTIL b.x > 50)", [((1, 2, 3, 5), None)]),
        ("SEQ(A a, B+ b UNTIL b.x > 5, C c)", [((1, 2, 3, 6), 6)]),
        # Only one that comes while the window is open decides.
        ("SEQ(A a, B+ b UNTIL b.x > 5) WITHIN 2 s", [((1, 2, 3), 3)]),
        ("SEQ(A a, B+ b UNTIL b.x > 5) WITHIN 3 s", [((1, 2, 3), 4)]),
        ("SEQ(A a, B+ b UNTIL b.x > 5) WITHIN 3 s EXCLUSIVE", [((1, 2, 3), 3)]),
        # Something else can still come.
        ("SEQ(A a, B+ b UNTIL b.x > 5, A? e) WITHIN 60 s", [((1, 2, 3), 61)]),
        ("SEQ(A a, B+ b UNTIL b.x > 5, NOT A e) WITHIN 60 s", [((1, 2, 3), 61)]),
        # Below the bound nothing is left.
        ("SEQ(A a, B{3,} b UNTIL b.x > 5)", []),
        ("SEQ(A a, B* b UNTIL b.x > 0, B c)", [((1, 2), 2)]),
        # Of two loops, the one that closes last decides.
        ("SEQ(A a, B+ b UNTIL b.x = 9, B* c UNTIL c.x = 3)", [((1, 2, 3), 5)]),
        # Each element counts the ones before it.
        ("SEQ(A a, B+ b UNTIL count(b) = 1)", [((1, 2), 3)]),
        ("SEQ(A a, B+ b UNTIL b.x < prev(b).x)", [((1, 2, 3, 5), 6)]),
        ("SEQ(A a, B+ b UNTIL b.x > a.x + 1)", [((1, 2), 3)]),
        ("SEQ(A a, B+ b UNTIL b.x > 5, C c) POLICY any", [((1, 2, 6), 6), ((1, 2, 3, 6), 6), ((1, 3, 6), 6)]),
        ("SEQ(A a, B+ b UNTIL b.x = 2, B c) POLICY strict", [((1, 2, 3), 3)]),
        # A start closes the loop that it would begin.
        ("SEQ(B+ b UNTIL b.x = 1, C c)", [((3, 5, 6), 6), ((5, 6), 6)]),
    ],
)
def test_what_closes_a_loop(query, expected):
    assert sorted(answers(query, EVENTS)) == sorted(expected)


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("SEQ(A a, B{4,} b UNTIL b.x > 5) WITHIN 60 s", []),  # it has ended
        ("SEQ(A a, B{4,} b UNTIL b.x > 50) WITHIN 60 s", [(1, 2, 3, 5)]),
        ("SEQ(A a, B{4,} b UNTIL b.x > 5) WITHIN 2 s", [(1, 2, 3)]),  # the window has closed before
        ("SEQ(A a, B+ b UNTIL b.x > 5, A c) WITHIN 60 s", [(1, 2, 3)]),
    ],
)
def test_what_is_closed_below_its_bound_does_not_time_out(query, left):
    found = EngineRoad(bound_to(query), timed_out=True).answers(EVENTS)
    assert [tuple(EVENTS[n].time // SECOND_US for _, n in one.bindings) for one in found] == left


def test_only_events_of_the_partition_close_a_loop():
    events = stream(
        ("A", 1, 0, "a", 1), ("A", 2, 0, "a", 2), ("D", 3, 9, "a", 2), ("B", 4, 1, "a", 1), ("B", 5, 1, "a", 2)
    )
    assert answers("SEQ(A a, B+ b UNTIL b.x > 5) WHERE SAME[k]", events) == [((1, 4), None)]


def test_what_is_absent_or_null_closes_nothing():
    events = stream(("A", 1, None), ("B", 2, None), ("B", 3, 4), ("B", 4, 3), ("B", 5, 4))
    assert answers("SEQ(A a, B+ b UNTIL b.x > 4)", events) == [((1, 2, 3, 4, 5), None)]
    assert answers("SEQ(A a, B+ b UNTIL prev(b).x > 3)", events) == [((1, 2, 3), 4)]
    # An optional element that is absent: the rest of the condition counts alone.
    assert answers("SEQ(A a, C? c, B+ b UNTIL b.x = 3 OR b.x < c.x)", events) == [((1, 2, 3), 4)]
    assert answers("SEQ(A a, C? c, B+ b UNTIL b.x < c.x)", events) == [((1, 2, 3, 4, 5), None)]


CONDITIONS = (
    "{0}.x = 2",
    "{0}.s = 'b'",
    "{0}.x > count({0})",
    "{0}.x < prev({0}).x",
    "{0}.x = last({0}).x",
    "first({0}).x <= {0}.x",
    "sum({0}.x) >= 3",
    "max({0}.x) = 2 OR {0}.s = 'a'",
    "{0}.x > 1 AND count({0}) >= 1",
    "NOT ({0}.x < 2 OR prev({0}).x = 1)",
    "{0}.x = a.x",
    "{0}.x < a.x OR {0}.s = 'b'",
    "{0}.x > a.x AND {0}.x > count({0})",
    "{0}.s = a.s OR {0}.x = 2 AND prev({0}).x < a.x",
    "{0}.x IN (1, a.x)",
    "1 = 1",
)
PATTERNS = (
    "SEQ(A a, B+ b UNTIL {b}, C c)",
    "SEQ(A a, B+ b UNTIL {b})",
    "SEQ(A a, B{{2,}} b UNTIL {b}, D? d)",
    "SEQ(A a, B* b UNTIL {b}, B c)",
    "SEQ(A a, NOT D d, B+ b UNTIL {b}, B* c UNTIL {c})",
    "SEQ(A a, OR(B+ b UNTIL {b}, SEQ(C d, B+ b UNTIL b.x > 1)))",
    "SEQ(A a, (SEQ(C d, B+ b UNTIL {b}))+)",
    "SEQ(A a, (SEQ(B+ b UNTIL {b}, C{{1,2}} c UNTIL {c}))+, D d)",
    "SEQ(A a, B+ b UNTIL {b}, NOT C d)",
)

OF_SEVERAL = (
    "{0}.x > a.x",
    "{0}.x > d.x + a.x",
    "{0}.x = d.x OR {0}.s = 'b'",
    "{0}.x >= count(a)",
    "{0}.x < avg(a.x)",
    "{0}.x = sum(d.x) OR {0}.x < prev({0}).x",
    "{0}.x < last(a).x AND {0}.x >= first(d).x",
    "{0}.x > prev(a).x",
    "{0}.x = max(a.x) OR count({0}) = 2",
    "{0}.x <= count(d) AND count({0}) >= 0",
    "{0}.x > count(d) OR {0}.x < a.x",
)
WITH_SEVERAL = (
    "SEQ(A e, A* a, C* d, B+ b UNTIL {b})",
    "SEQ(A+ a, OR(C d, D d), B* b UNTIL {b}, C e)",
    "SEQ(A{{1,2}} a, (SEQ(C{{1,2}} d, B+ b UNTIL {b}))+)",
    "SEQ((SEQ(A a, C* d, B* b UNTIL {b}))+, D e)",
    "SEQ((SEQ(A* a, (C | D) d, B* b UNTIL {b}))+)",
    "SEQ((SEQ(A+ a, (SEQ((C | D) d, B+ b UNTIL {b}))+))+)",
    "SEQ(A* a, B? d, B+ b UNTIL {b}, B* c UNTIL {c})",
)
WITH_PREFIXES = (
    "SEQ(A a, B+ b UNTIL {b}, any B c)",
    "SEQ(A a, B+ b UNTIL {b}, any B* c UNTIL {c}, any C d)",
    "SEQ(A a, (SEQ(C d, B+ b UNTIL {b})){{1,3}}, any B c)",
    "SEQ(A a, strict B+ b UNTIL {b}, next C? c, any B e)",
    "SEQ(A a, any B+ b UNTIL {b}, strict C? c)",
    "SEQ(A a, B+ b UNTIL {b}, strict C? c)",
)
UNDER_NOT = (
    "SEQ(A a, NOT SEQ(C d, B{{2,}} b UNTIL {b}), D e)",
    "SEQ(A a, NOT SEQ((SEQ(C d, B{{2}} b UNTIL {b}))+, D c), A e)",
    "SEQ(A a, NOT SEQ(C d, AND(B+ b UNTIL {b}, C c)))",
    "SEQ(NOT SEQ(C d, OR(B{{2,3}} b UNTIL {b}, D c)), A a, B e)",
    "SEQ(A a, NOT (SEQ(B+ b UNTIL {b}, D? c)){{1,2}}, D e)",
    "SEQ(A a, NOT AND(B+ b UNTIL {b}, ANY(1, D c, D+ d UNTIL d.x = 1)))",
)
OF_THE_LOOP = (
    "{0}.x = 2",
    "{0}.s = 'b'",
    "{0}.x > count({0})",
    "{0}.x < prev({0}).x",
    "sum({0}.x) >= 3",
)
BESIDE = (
    "SEQ(A a, AND(B+ b UNTIL {b}, C c))",
    "SEQ(A a, AND(B+ b UNTIL {b}, C+ c), D? d)",
    "SEQ(A a, ANY(1, B{{2,}} b UNTIL {b}, C c, C* d UNTIL d.x > 1))",
    "SEQ(A a, ANY(2, SEQ(C? e, B+ b UNTIL {b}), D+ c UNTIL {c}, A d))",
    "SEQ(A a, (AND(B* b UNTIL {b}, C c))+)",
    "SEQ(A a, AND((SEQ(B+ b UNTIL {b}, C? d)){{1,2}}, D? c))",
    "AND(SEQ(A a, B{{2,}} b UNTIL {b}), C+ c UNTIL {c})",
)
BESIDE_WITH_PREFIXES = (
    "SEQ(A a, AND(B+ b UNTIL {b}, any C c), any D d)",
    "SEQ(A a, AND(SEQ(B+ b UNTIL {b}, any B e), C c), strict D? d)",
)

SKIPS = [f"AFTER MATCH SKIP {where}" for where in ("PAST LAST", "TO NEXT")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # The start at 1 is open until the event at 4 closes its loop: then the match of the next one is known to count.
        ("SEQ((A | B) a, B+? b UNTIL b.x > 5) WHERE sum(b.x) = 2 WITHIN 60 s", [((2, 3), 4)]),
        ("SEQ((A | B) a, B+? b UNTIL b.x > 50) WHERE sum(b.x) = 2 WITHIN 60 s", [((2, 3), 61)]),
        ("SEQ((A | B) a, B+? b UNTIL b.x > 5) WHERE sum(b.x) = 2 WITHIN 2 s", [((2, 3), 3)]),
        ("SEQ((A | B) a, B{2} b UNTIL b.x > 5) WHERE last(b).x = 3 WITHIN 60 s POLICY any", []),
        ("SEQ((A | D) a, (B | C){2,} b UNTIL b.x > 5) WITHIN 60 s POLICY any", [((1, 2, 3), 3), ((4, 5, 6), 6)]),
        ("SEQ((A | B) a, B+ b UNTIL b.x > 5) WHERE a.x = 1 WITHIN 60 s POLICY any", [((2, 3), 3)]),
        ("SEQ((A | B) a, B+ b UNTIL b.x > 5) WHERE a.x + last(b).x = 3 WITHIN 60 s POLICY any", [((2, 3), 4)]),
    ],
)
def test_a_closed_loop_keeps_no_later_match_waiting(query, expected):
    bound = bound_to(f"{query} AFTER MATCH SKIP PAST LAST")
    assert same(EngineRoad(bound).answers(EVENTS), oracle_answers(bound, EVENTS))
    assert answers(bound.text, EVENTS) == expected


@pytest.mark.parametrize(
    ("pattern", "policy"),
    [
        *itertools.product(PATTERNS + WITH_SEVERAL + WITH_PREFIXES, ("any", "next", "strict")),
        *itertools.product(BESIDE, ("any", "next", "strict")),
        *itertools.product(UNDER_NOT, ("any", "next", "strict")),
        *itertools.product(BESIDE_WITH_PREFIXES, ("any", "strict")),
    ],
)
def test_conditions_of_every_form(pattern, policy):
    random = Random(pattern + policy)
    n_matches = 0
    conditions, kinds, n = CONDITIONS, "ABBBCD", 12 if pattern in (*PATTERNS, BESIDE[-1]) else 5
    if pattern in UNDER_NOT:
        conditions = OF_THE_LOOP
    if pattern in WITH_SEVERAL:
        conditions, kinds = OF_SEVERAL, "AABBBCD"
    for _ in range(n):
        b, c = (random.choice(conditions).format(name) for name in ("b", "c"))
        window = random.choice(("WITHIN 6 s", "WITHIN 6 EVENTS", "WINDOW 6 s SLIDE 3 s", "WITHIN 6 s BETWEEN EACH 3 s"))
        skip = random.choice(("", "", *SKIPS))
        bound = bound_to(f"{pattern.format(b=b, c=c)} {window} POLICY {policy} {skip}")
        road = EngineRoad(bound, random.choice((None, 1)))
        for _ in range(3):
            events = stream(
                ("A", 0, 1, "a"),
                *(
                    (
                        random.choice(kinds),
                        second,
                        random.choice((None, 0, 1, 2, 3)),
                        random.choice("abc"),
                    )
                    for second in range(1, 7 if pattern in PATTERNS else 6)
                ),
            )
            found = oracle_answers(bound, events)
            assert same(road.answers(events), found), bound.text
            n_matches += len(found)
    assert n_matches
