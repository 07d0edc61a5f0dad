"""RETURN where one set of bindings can be read in several ways: the preferred way counts, whatever found the match."""

from __future__ import annotations

import pytest

from cepheid.engine.branches import taken_in_order
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.harness import EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import SCHEMA

SECOND_US = 1_000_000


def returned(text, kinds):
    """What RETURN gives for each match, by the letters of its variables; the oracle must say the same."""
    values = {"k": 1, "x": 1, "f": None, "d": None, "s": None, "l": None}
    events = [
        OracleEvent(at * SECOND_US, (at,), "s", kind, {"ts": at * SECOND_US, "kind": kind, **values})
        for at, kind in enumerate(kinds)
    ]
    bound = bind(parse(text), SCHEMA, text=text)
    answers = EngineRoad(bound).answers(events)
    assert answers == oracle_answers(bound, events)
    return {"".join(name for name, _ in one.bindings): one.returned for one in answers}


@pytest.mark.parametrize("policy", ["any", "next", "strict"])
def test_one_iteration_with_two_branches_comes_before_two_with_one_each(policy):
    loop = "+" if policy == "any" else "+?"
    pattern = f"SEQ((A | B){loop} a, (ANY(2, A* b, B c, C d))*)"
    text = f"{pattern} WITHIN 9 s POLICY {policy} RETURN count(a) AS n, count(b) AS m"
    # One iteration takes c and d, and leaves the branch of b out; in two, b would be empty.
    found = returned(text, "ABC")
    assert found.get("acd", (1, None)) == (1, None)
    assert policy != "any" or found["ad"] == (1, 0)


@pytest.mark.parametrize("policy", ["any", "next", "strict"])
def test_types_tell_branches_of_one_name_apart(policy):
    text = f"SEQ(A a, OR(SEQ((SEQ(B c, B d))*, C e), A e)) WITHIN 9 s POLICY {policy} RETURN count(c) AS c, d.x AS d"
    assert returned(text, "AA") == {"ae": (None, None)}
    assert returned(text, "AC") == {"ae": (0, [])}


def test_long_matches_are_read_without_recursion():
    text = "SEQ((OR(A a, B b))+, C c) RETURN count(a) AS a"
    bound = bind(parse(text), SCHEMA, text=text)
    taken = taken_in_order(bound.pattern, (*((("a", "A"), ("b", "B")) * 5000), ("c", "C")))
    assert taken == {"a", "b", "c"}
