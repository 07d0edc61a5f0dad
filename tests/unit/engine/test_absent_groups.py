"""NOT of a group with loops: conditions that read them from outside, gaps between neighbours, and what is not tried."""

from __future__ import annotations

from random import Random

import pytest

from cepheid.engine.session import Work, prepare, run_plan
from cepheid.errors import QueryError
from cepheid.events.ingest import read_events
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.harness import EngineRoad, oracle_answers, table_of
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import SCHEMA

SECOND_US = 1_000_000


def stream(*events):
    """Events as (type, second, x)."""
    return [
        OracleEvent(
            at * SECOND_US,
            (number,),
            "s",
            kind,
            {"ts": at * SECOND_US, "kind": kind, "k": 1, "x": x, "f": None, "d": None, "s": "ab"[x % 2], "l": None},
        )
        for number, (kind, at, x) in enumerate(events)
    ]


def bound_to(text):
    return bind(parse(text), SCHEMA, text=text)


def n_matches(text, *events):
    """How many matches there are; the oracle must say the same."""
    found = EngineRoad(bound_to(text)).answers(stream(*events))
    assert found == oracle_answers(bound_to(text), stream(*events))
    return len(found)


BETWEEN = [("A", 1, 2), ("C", 2, 3), ("C", 3, 1), ("C", 4, 4), ("D", 5, 0), ("B", 6, 3)]


@pytest.mark.parametrize(
    ("group", "condition", "n"),
    [
        ("SEQ(C+ c, D d)", "c.x > a.x", 0),
        ("SEQ(C+ c, D d)", "c.x > a.x + 2", 1),
        ("SEQ(C{2} c, D d)", "c.x > a.x", 0),
        ("SEQ(C{3} c, D d)", "c.x > a.x", 1),
        ("SEQ(C+ c, D d)", "count(c) = b.x", 0),
        ("SEQ(C+ c, D d)", "count(c) > b.x", 1),
        ("SEQ(C+ c, D d)", "sum(c.x) = 4 * a.x", 0),
        ("SEQ(C+ c, D d)", "sum(c.x) = 3 * b.x", 1),
        ("SEQ(C+ c, D d)", "first(c).x < last(c).x - a.x", 0),
        ("SEQ(C{2,} c, D d)", "c.x > prev(c).x + b.x", 1),
        ("SEQ(C{2,} c, D d)", "c.x > prev(c).x + a.x", 0),
        ("SEQ(C{3} c, D d)", "prev(c).x < a.x + 2", 0),
        ("SEQ(C{2,} c, D d)", "c.x >= count(c) + b.x", 0),
        ("SEQ(C{3,} c, D d)", "c.x >= count(c) + a.x", 1),
        ("SEQ(C+ c, D d)", "min(c.s) > a.s", 0),
        ("SEQ(C* c, D d)", "count(c) < a.x - 1", 0),
        ("SEQ(C* c, D d)", "c.x > a.x + 2", 0),
        ("OR(C{4} c, D d)", "count(c) = a.x", 0),
    ],
)
@pytest.mark.parametrize("policy", ["any", "next"])
def test_a_condition_reads_a_loop_from_outside(group, condition, n, policy):
    assert n_matches(f"SEQ(A a, NOT ({group}), B b) WHERE {condition} POLICY {policy}", *BETWEEN) == n


@pytest.mark.parametrize(
    ("window", "events", "n"),
    [
        ("WITHIN 20 s BETWEEN EACH 2 s", [("A", 1, 0), ("C", 3, 0), ("D", 5, 0)], 0),
        ("WITHIN 20 s BETWEEN EACH 2 s", [("A", 1, 0), ("C", 4, 0), ("D", 5, 0)], 1),
        ("WITHIN 20 s BETWEEN EACH 2 s", [("A", 1, 0), ("C", 3, 0), ("D", 6, 0)], 1),
        ("WITHIN 3 s BETWEEN EACH 2 s", [("A", 1, 0), ("C", 3, 0), ("D", 5, 0)], 1),
        ("WITHIN 20 s BETWEEN EACH 1 EVENTS", [("A", 1, 0), ("C", 3, 0), ("D", 5, 0)], 0),
        ("WITHIN 20 s BETWEEN EACH 1 EVENTS", [("A", 1, 0), ("C", 3, 0), ("B", 4, 0), ("D", 5, 0)], 1),
        ("WITHIN 9 s BETWEEN EACH 1 EVENTS", [("A", 1, 0), ("C", 3, 0), ("D", 5, 0)], 0),
    ],
)
@pytest.mark.parametrize("policy", ["any", "next", "strict"])
def test_a_group_at_the_end_keeps_to_the_gaps(window, events, n, policy):
    assert n_matches(f"SEQ(A a, NOT (SEQ(C c, D d))) {window} POLICY {policy}", *events) == n


def test_a_group_at_the_end_is_awaited_for_as_many_gaps_as_it_has_events():
    text = "SEQ(A a, NOT (SEQ(C c, D d, D e))) WITHIN 20 s BETWEEN EACH 2 s"
    assert [one.decided_us for one in EngineRoad(bound_to(text)).answers(stream(("A", 1, 0)))] == [7 * SECOND_US]


def test_a_loop_is_no_longer_than_it_must_be():
    events = [("A", 0, 0), *(("C", 1 + i, i) for i in range(60)), ("D", 70, 0), ("B", 71, 0)]
    table, schema = table_of(stream(*events), SCHEMA)
    work = Work()
    for group in ("SEQ(C+ c, D d)", "(SEQ(C c, D d))+", "SEQ(C* c, D d)", "SEQ(A* e, C+ c, D d)"):
        compiled = prepare(bound_to(f"SEQ(A a, NOT ({group}), B b) WHERE c.x >= a.x"))
        assert len(run_plan(compiled, read_events(table, schema), work=work)) == 0
        assert work.n_created < 1000


FORMS = (
    "{n}.x {o} {p}.x",
    "({n}.x = {p}.x OR {p}.x = 1)",
    "count({n}) {o} {p}.x",
    "sum({n}.x) {o} {p}.x",
    "max({n}.s) {o} {p}.s",
    "first({n}).x {o} {p}.x",
    "{n}.x + prev({n}).x {o} {p}.x",
    "last({n}).x <> {n}.x + {p}.x",
    "{n}.x {o} count({n}) + {p}.x",
    "concat({n}.s, {p}.s) <> 'ab'",
)
GROUPS = ("SEQ({}, {})", "AND({}, {})", "OR({}, {})", "(SEQ({}, {})){{1,2}}")
WINDOWS = (
    "WITHIN 5 s",
    "WITHIN 4 EVENTS",
    "WINDOW 6 s SLIDE 3 s",
    "WITHIN 9 s BETWEEN EACH 2 s",
    "WITHIN 6 s BETWEEN EACH 1 EVENTS",
    "WITHIN 8 EVENTS BETWEEN EACH 2 s",
)


@pytest.mark.parametrize("policy", ["any", "next", "strict"])
def test_it_is_what_the_oracle_says(policy):
    random = Random(20_240_401)
    n_pairs = n_found = n_broken = 0
    while n_pairs < 60:
        quantified = [f"{random.choice('ABC')}{random.choice(('', '+', '*', '{2}', '{1,2}'))} {n}" for n in "nm"]
        group = random.choice(GROUPS).format(*quantified)
        parts = [f"A{random.choice(('', '+'))} a", f"B{random.choice(('', '*'))} b"]
        parts.insert(random.randrange(3), f"NOT ({group})")
        conditions = [
            random.choice(FORMS).format(n=random.choice("nm"), p=random.choice("ab"), o=random.choice("=<>"))
            for _ in range(random.randrange(3))
        ]
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        text = f"SEQ({', '.join(parts)}) {where} {random.choice(WINDOWS)} POLICY {policy}"
        try:
            bound = bound_to(text)
        except QueryError:
            continue
        road = EngineRoad(bound, random.choice((None, 1)))
        for _ in range(4):
            events, at = [], 0
            for _ in range(random.randint(3, 7)):
                at += random.randrange(3)
                events.append((random.choice("AABBC"), at, random.randrange(3)))
            oracle = oracle_answers(bound, stream(*events))
            assert road.answers(stream(*events)) == oracle, (text, events)
            n_pairs += 1
            n_found += bool(oracle)
            n_broken += not oracle
    assert n_found > 5
    assert n_broken > 5


@pytest.mark.parametrize("window", ["WINDOW 7 EVENTS SLIDE 2 EVENTS BETWEEN EACH 4 EVENTS", "WINDOW 7 s SLIDE 2 s", ""])
def test_a_condition_that_names_no_event_may_leave_none(window):
    bound = bound_to(f"PATTERN SEQ(C a, NOT *+ c, A d) WHERE abs(3) = 2 {window} POLICY any")
    events = stream(("C", 1, 1), ("B", 2, 1), ("A", 9, 1))
    assert EngineRoad(bound).answers(events) == oracle_answers(bound, events) == []
