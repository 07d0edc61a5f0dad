"""UNTIL under NOT whose condition reads what stands before the NOT: whether a loop is closed is told in each gap."""

from __future__ import annotations

import itertools
from random import Random

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.testing.fuzz import same
from cepheid.testing.harness import EngineRoad, oracle_answers, table_of
from tests.unit.engine.test_until import bound_to, stream

EVENTS = stream(("A", 1, 2), ("B", 2, 1), ("C", 3, 2), ("A", 4, 1), ("C", 5, 3), ("C", 6, 1), ("D", 7, 1))


@pytest.mark.parametrize(
    ("query", "firsts"),
    [
        # The C of 3 begins a loop that is open for the first A; the next ones would close that of the second.
        ("SEQ(A a, NOT C+ c UNTIL c.x > a.x, D d)", [4]),
        # What stands before the group's first event closes the loop, too, if it lies in the gap.
        ("SEQ(A a, NOT C+ c UNTIL c.x < a.x, D d)", [1]),
        # A loop behind another event opens with that one.
        ("SEQ(A a, NOT (B b; C+ c UNTIL c.x > a.x), D d)", [4]),
        ("SEQ(A a, NOT (B b; C+ c UNTIL c.x >= a.x), D d)", [1, 4]),
        # The elements so far count, and what the match has bound before the NOT.
        ("SEQ(A+ a, NOT C{2,} c UNTIL c.x > count(a) + count(c), D d)", []),
        ("SEQ(A+ a, NOT C{2,} c UNTIL prev(c).x > last(a).x, D d)", [1, 4]),
        # A NOT at the end is decided by the window.
        ("SEQ(A a, NOT C+ c UNTIL c.x > a.x) WITHIN 60 s", [4]),
        # What is absent closes nothing, what is empty counts.
        ("SEQ(B? b, A a, NOT C+ c UNTIL c.x > b.x, D d) WHERE a.x > 1", []),
        ("SEQ(B* b, A a, NOT C+ c UNTIL count(b) = 0 OR c.x > 5, D d) WHERE a.x > 1", [1]),
    ],
)
def test_each_gap_has_closed_loops_of_its_own(query, firsts):
    bound = bound_to(query if "WITHIN" in query else f"{query} WITHIN 60 s")
    bound_any = bound_to(f"{bound.text} POLICY any")
    found = EngineRoad(bound_any).answers(EVENTS)
    assert same(found, oracle_answers(bound_any, EVENTS))
    assert [EVENTS[one.bindings[0][1]].time // 1_000_000 for one in found] == firsts
    for policy in ("next", "strict"):
        other = bound_to(f"{bound.text} POLICY {policy}")
        assert same(EngineRoad(other).answers(EVENTS), oracle_answers(other, EVENTS))


def test_what_stands_behind_the_not_in_one_branch_is_absent_there():
    # The name stands before the NOT in the first branch only.
    loop = "NOT C+ c UNTIL c.x >= a.x"
    bound = bound_to(f"OR(SEQ(A a, {loop}, D d), SEQ(B b, {loop}, A a)) WITHIN 60 s POLICY any")
    found = EngineRoad(bound).answers(EVENTS)
    assert same(found, oracle_answers(bound, EVENTS))
    assert [tuple(name for name, _ in one.bindings) for one in found] == [("a", "d"), ("a", "d")]


GROUPS = ("C+ c UNTIL {c}", "SEQ(B b, C+ c UNTIL {c})", "SEQ(C* c UNTIL {c}, B b)", "AND(C+ c UNTIL {c}, B b)")
CONDITIONS = ("c.x > a.x", "c.x = a.x OR c.x = 2", "c.x > 0 AND c.x < count(a)", "sum(c.x) > a.x", "prev(c).x < a.x")


@pytest.mark.parametrize("policy", ["any", "next", "strict"])
def test_pairs_of_every_form(policy):
    random, n_matches = Random(policy), 0
    around = ("SEQ(A{q} a, NOT {g}, D d)", "SEQ(A{q} a, NOT {g})", "SEQ(OR(A{q} a, B e), NOT {g}, D d)")
    for group, pattern in itertools.product(GROUPS, around):
        inner = group.format(c=random.choice(CONDITIONS))
        window = random.choice(("WITHIN 6 s", "WITHIN 6 EVENTS", "WINDOW 6 s SLIDE 3 s", "WITHIN 6 s BETWEEN EACH 3 s"))
        bound = bound_to(f"{pattern.format(q=random.choice(('', '+')), g=inner)} {window} POLICY {policy}")
        road = EngineRoad(bound, random.choice((None, 1)))
        for _ in range(3):
            kinds = ["A", *random.choices("AABCCD", k=6)]
            events = stream(*((kind, at, random.choice((None, 0, 1, 2, 3))) for at, kind in enumerate(kinds)))
            found = oracle_answers(bound, events)
            assert same(road.answers(events), found), bound.text
            n_matches += len(found)
    assert n_matches


@pytest.mark.parametrize("cut", range(1, len(EVENTS)))
def test_streams_in_parts_and_snapshots_find_the_same(cut):
    bound = bound_to("SEQ(A a, NOT (B b; C+ c UNTIL c.x > a.x), D d) WITHIN 60 s POLICY any RETURN a.ts AS first")
    table, _ = table_of(EVENTS, bound.schema)
    query = cep.Query.parse(bound.text)
    whole = cep.match(table, query, time="ts", type="kind")
    matcher, again = (cep.Matcher(query, time="ts", type="kind", schema=table.schema) for _ in range(2))
    parts = [matcher.push(table.slice(0, cut))]
    again.restore(matcher.snapshot())
    parts += [again.push(table.slice(cut)), again.close()]
    assert len(whole) == 1
    assert pa.concat_tables(part for part in parts if part is not None).equals(whole)
