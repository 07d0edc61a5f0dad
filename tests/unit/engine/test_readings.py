"""Events that can be read as a match in several ways, of which conditions tell one from another."""

from __future__ import annotations

import pytest

from cepheid.errors import NotSupportedError
from cepheid.plan.build import build
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


def test_what_two_readings_would_have_to_settle_together_is_refused():
    query = "SEQ(A a, NOT OR(SEQ(C* d, B b), B b), A c) WHERE count(d) > a.x AND count(d) < 2"
    with pytest.raises(NotSupportedError, match="an aggregate over d both under NOT and outside") as caught:
        build(bound_to(query))
    assert caught.value.remedy
