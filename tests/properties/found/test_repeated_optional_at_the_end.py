"""Found at random: a repeated optional part that takes nothing in the last iteration has taken something before."""

import pytest

from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.fuzz import same
from cepheid.testing.harness import EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, DOMAINS, SCHEMA, SECOND_US

USUAL = {name: domain[0] for name, domain in DOMAINS.items()}


@pytest.mark.parametrize("policy", ["any", "next"])
@pytest.mark.parametrize(
    ("query", "types"),
    [
        ("SEQ(C c, A? d)+ WHERE count(d) >= 1", "CAC"),
        ("SEQ(C c, A? d)+ WHERE count(d) < 1", "CAC"),
        ("SEQ(C c, A* d)+ WHERE sum(d.x) >= 1", "CAC"),
        ("SEQ(C c, A? d)+ WHERE avg(d.f) > 1", "CAC"),
        ("SEQ(C c, A? d)+ WHERE first(d).x > last(c).x", "CAC"),
        ("SEQ(C c, A? d)+ WHERE d.x > last(c).x", "CAC"),
        ("SEQ(B b, (SEQ(C c, A? d))+) WHERE d.x > b.x", "BCAC"),
        ("SEQ(NOT B b, (SEQ(C c, A? d))+) WHERE d.x > b.x", "BCAC"),
        ("SEQ((SEQ(C c, A? d))+, NOT B b) WHERE d.x > b.x WITHIN 5 s", "CACB"),
        ("SEQ(C a, OR(B b, A c)*)+ WHERE count(c) = 1", "CACB"),
    ],
)
def test_conditions(query, types, policy):
    text = f"{query} POLICY {policy}"
    check(text, types)


@pytest.mark.parametrize("policy", ["any", "next"])
@pytest.mark.parametrize(
    ("pattern", "types"),
    [
        ("SEQ(C a, OR(B b, A c)*)+", "CCB"),
        ("SEQ(C a, OR(B b, A c)*)+", "CBCA"),
        ("SEQ(C a, OR(B b, A* c))+", "CCB"),
        ("SEQ(C a, (ANY(1, B b, A* c))?)+", "CCBC"),
        ("SEQ(C a, OR(SEQ(B b, A? c), A d)?)+", "CBCCA"),
    ],
)
def test_what_is_returned(pattern, types, policy):
    """A loop that took nothing in one iteration is empty, also where another iteration took another branch."""
    check(f"PATTERN {pattern} POLICY {policy} RETURN count(c) AS n, c.x AS x, count(b) AS m", types)


def check(text, types):
    bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
    events = [
        OracleEvent(at * SECOND_US, (at,), "events", name, {**USUAL, "ts": at * SECOND_US, "kind": name})
        for at, name in enumerate(types)
    ]
    found = EngineRoad(bound).answers(events)
    assert found
    assert same(found, oracle_answers(bound, events)), found
