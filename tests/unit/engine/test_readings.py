"""Events that can be read as a match in several ways, of which conditions tell one from another."""

from __future__ import annotations

import pytest

from cepheid.testing.fuzz import same
from cepheid.testing.harness import EngineRoad, oracle_answers
from tests.unit.engine.test_until import bound_to, stream

EVENTS = stream(("A", 1, 1), ("B", 2, 1), ("D", 3, 0), ("A", 4, 0))


@pytest.mark.parametrize(
    ("query", "n"),
    [
        # Of the two loops that took nothing, ANY has one; the other is absent, and with it the condition.
        ("SEQ(A a, ANY(3, C* d, C* e, B b, D f)) WHERE count(d) > a.x POLICY any", 1),
        ("SEQ(A a, ANY(3, C* d, C* e, B b, D f)) WHERE count(d) > a.x AND count(e) > a.x POLICY any", 0),
        ("SEQ(A a, ANY(3, C* d, C* e, B b, D f)) WHERE count(d) > a.x", 0),
        # A loop that was closed before it took anything is empty, once it is known to be chosen.
        ("SEQ(A a, ANY(3, C* d, D* e UNTIL e.x = 1, B b, A f)) WHERE count(e) + a.x > 0 OR b.x > 1 POLICY any", 3),
        # Under NOT, each reading counts.
        ("SEQ(A a, NOT OR(SEQ(C* d, B b), B b), A c) WHERE count(d) > a.x", 0),
        ("SEQ(A a, NOT OR(B b, SEQ(C* d, B b)), A c) WHERE count(d) > a.x", 0),
        ("SEQ(A a, NOT SEQ(C* d, B b), A c) WHERE count(d) > a.x", 1),
        ("SEQ(A a, NOT (OR(SEQ(C* d, B b), B b))+, A c) WHERE count(d) > a.x", 0),
        ("SEQ(A a, NOT ANY(3, C* d, C* e, B b, D f), A c) WHERE count(d) > a.x", 0),
    ],
)
def test_each_reading_is_tried(query, n):
    bound = bound_to(query)
    found = EngineRoad(bound).answers(EVENTS)
    assert same(found, oracle_answers(bound, EVENTS))
    assert len(found) == n


@pytest.mark.parametrize(
    ("query", "n"),
    [
        # What is read as empty loop must be so within and outside.
        ("SEQ(A a, NOT OR(SEQ(C* d, B b), B b), A c) WHERE count(d) > a.x AND count(d) < 2", 0),
        ("SEQ(A a, NOT OR(SEQ(C* d, B b), B b), A c) WHERE count(d) >= a.x AND count(d) > 0", 0),
        ("SEQ(A a, NOT SEQ(C* d, B b), A c) WHERE count(d) >= a.x AND count(d) > 0", 1),
        ("SEQ(A a, NOT OR(SEQ(C* d, B+ b UNTIL b.x > 1), B+ b UNTIL b.x > 1), A c) WHERE count(d) >= a.x", 0),
        ("SEQ(A a, NOT OR(SEQ(C* d, B+ b UNTIL b.x = 1), B+ b UNTIL b.x = 1), A c) WHERE count(d) >= a.x", 1),
        ("SEQ(A a, NOT (OR(SEQ(C* d, B b), SEQ(B b, D* e)))+, A c) WHERE count(d) >= a.x AND sum(d.x) IS NULL", 0),
    ],
)
def test_conditions_within_and_outside_of_a_not_hold_in_the_same_reading(query, n):
    bound = bound_to(query)
    found = EngineRoad(bound).answers(EVENTS)
    assert same(found, oracle_answers(bound, EVENTS))
    assert len(found) == n
