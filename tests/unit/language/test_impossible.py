"""Conditions that exclude each other across events: what is reported is certain, and what users hit is reported."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import pytest

from cepheid.errors import QueryError
from cepheid.events.schema import Schema
from cepheid.events.types import BOOL, FLOAT, INT, TEXT, TIMESTAMP, DataType, Kind
from cepheid.language.bind import bind
from cepheid.language.check import check
from cepheid.language.hopeless import missing_type, reasons, told
from cepheid.language.impossible import impossible
from cepheid.language.parameters import with_parameters
from cepheid.language.parser import parse
from cepheid.language.printer import print_expression
from cepheid.testing.oracle import match
from cepheid.testing.oracle_events import OracleEvent

SCHEMA = Schema(
    {
        "ts": TIMESTAMP,
        "kind": TEXT,
        "k": INT,
        "x": INT,
        "y": INT,
        "f": FLOAT,
        "g": FLOAT,
        "s": TEXT,
        "b": BOOL,
        "d": DataType(Kind.DECIMAL, precision=9, scale=2),
    },
    time="ts",
    type="kind",
)


def bound(where, pattern="SEQ(A a, B b, C c)", rest="WITHIN 1 h"):
    text = f"PATTERN {pattern} WHERE {where} {rest}"
    return bind(parse(text), SCHEMA, text=text)


@pytest.mark.parametrize(
    ("where", "conditions", "clauses"),
    [
        ("a.x < b.x AND b.x < c.x AND c.x < a.x", 3, ()),
        ("a.x <= b.x AND b.x <= c.x AND c.x < a.x", 3, ()),
        ("a.x < b.x AND b.x < 3 AND a.x > 5", 3, ()),
        ("a.x < b.x AND b.x < 3 AND a.x > 1", 3, ()),
        ("a.x > b.x + 1 AND b.x > a.x", 2, ()),
        ("a.x = b.x AND a.x = 1 AND b.x = 2", 3, ()),
        ("a.x = b.x AND b.x = c.x AND a.x <> c.x", 3, ()),
        ("a.x IN (1, 2) AND b.x = a.x AND b.x IN (4, 5)", 3, ()),
        ("a.x BETWEEN 1 AND 3 AND b.x - a.x > 5 AND b.x < 7 AND c.x = 1", 3, ()),
        ("a.s = 'x' AND b.s = 'y' AND a.s = b.s", 3, ()),
        ("a.s < b.s AND b.s < 'm' AND a.s > 'n'", 3, ()),
        ("a.f < b.f AND b.f < c.f AND c.f <= a.f", 3, ()),
        ("a.f > 1.5 AND b.f >= a.f AND b.f < 1.5", 3, ()),
        ("a.d < b.d AND b.d < 0.10 AND a.d > 0.11", 3, ()),
        ("a.d - b.d > 0.10 AND a.d - b.d < 0.05", 2, ()),
        ("b.ts < a.ts", 1, ("the order of the pattern",)),
        ("c.ts < a.ts", 1, ("the order of the pattern",)),
        ("c.ts - a.ts > 2 hours", 1, ("the window",)),
        ("a.ts + 2 hours < b.ts", 1, ("the window",)),
        ("SAME[s] AND a.s <> c.s", 1, ("SAME",)),
        ("SAME[k] AND a.k = 1 AND c.k > 1", 2, ("SAME",)),
        ("count(a) > 1", 1, ("the quantifier",)),
    ],
)
def test_conditions_that_exclude_each_other(where, conditions, clauses):
    found = impossible(bound(where))
    assert found is not None
    assert len(found.conditions) == conditions
    assert found.clauses == clauses


@pytest.mark.parametrize(
    ("where", "pattern"),
    [
        ("count(b) > 3", "SEQ(A a, B{1,3} b, C c)"),
        ("count(b) < 2", "SEQ(A a, B{2,} b, C c)"),
        ("count(b) > 3 AND count(b) < 2", "SEQ(A a, B+ b, C c)"),
        ("first(b).ts > last(b).ts + 2 hours", "SEQ(A a, B+ b, C c)"),
        ("last(b).x < a.x AND last(b).x > c.x AND a.x <= c.x", "SEQ(A a, B+ b, C c)"),
        ("last(b).ts > c.ts", "SEQ(A a, B+ b, C c)"),
    ],
)
def test_loops(where, pattern):
    assert impossible(bound(where, pattern)) is not None


@pytest.mark.parametrize(
    ("where", "pattern", "rest"),
    [
        ("a.x < b.x AND b.x < c.x", "SEQ(A a, B b, C c)", "WITHIN 1 h"),
        ("a.x < b.x AND b.x < 3 AND a.x > 0", "SEQ(A a, B b, C c)", "WITHIN 1 h"),
        ("a.f < b.f AND b.f < 3 AND a.f > 2.5", "SEQ(A a, B b, C c)", "WITHIN 1 h"),
        ("b.ts < a.ts", "AND(A a, B b)", "WITHIN 1 h"),
        ("b.ts - a.ts >= 1 h", "SEQ(A a, B b)", "WITHIN 1 h"),
        ("b.ts <= a.ts", "SEQ(A a, B b)", "WITHIN 1 h"),
        ("b.ts - a.ts > 2 h", "SEQ(A a, B b)", ""),
        ("b.ts - a.ts > 2 h", "SEQ(A a, B b)", "WITHIN 5 EVENTS"),
        ("b.x < a.x AND c.x < b.x AND a.x < c.x", "SEQ(A a, B? b, C c)", "WITHIN 1 h"),
        ("b.x < a.x AND c.x < b.x AND a.x < c.x", "OR(SEQ(A a, C c), B b)", "WITHIN 1 h"),
        ("b.x < a.x AND c.x < b.x AND a.x < c.x", "SEQ(A a, NOT B b, C c)", "WITHIN 1 h"),
        ("b.x < prev(b).x AND first(b).x < last(b).x", "SEQ(A a, B+ b, C c)", "WITHIN 1 h"),
        ("b.x > first(b).x AND last(b).x < first(b).x", "SEQ(A a, B+ b)", "WITHIN 1 h"),
        ("b.x > count(b) AND last(b).x < 3", "SEQ(A a, B+ b)", "WITHIN 1 h"),
        ("count(b) > 3", "SEQ(A a, (SEQ(B b, C c)){2,5})", "WITHIN 1 h"),
        ("a.x < 1.5 AND a.x > 0.5 AND b.x = a.x", "SEQ(A a, B b)", "WITHIN 1 h"),
        ("a.x + b.x < 3 AND a.x > 2 AND b.x > 2", "SEQ(A a, B b)", "WITHIN 1 h"),
        ("a.f = a.x AND a.x <> b.f AND a.f = b.f", "SEQ(A a, B b)", "WITHIN 1 h"),
    ],
)
def test_what_can_hold_or_is_not_known_passes(where, pattern, rest):
    assert impossible(bound(where, pattern, rest)) is None


# --- certain ------------------------------------------------------------------------------------------

TEMPLATES = (
    "{v}.x {o} {w}.x",
    "{v}.x {o} {w}.x + {n}",
    "{v}.x - {w}.y {o} {n}",
    "{v}.x {o} {n}",
    "{v}.y {o} {n}.5",
    "{v}.x IN ({n}, {m})",
    "{v}.f {o} {w}.f",
    "{v}.f {o} {n}.5",
    "{v}.f {o} {w}.g",
    "{v}.d {o} {w}.d",
    "{v}.d - {w}.d {o} 0.{n}",
    "{v}.s {o} {w}.s",
    "{v}.s {o} '{t}'",
    "{v}.ts {o} {w}.ts",
    "{v}.ts - {w}.ts {o} {n} s",
    "{v}.b {o} {w}.b",
    "count({v}) {o} {n}",
    "first({v}).x {o} {w}.x",
    "last({v}).x {o} last({w}).x + {n}",
)
PATTERNS = (
    "SEQ(A a, B b)",
    "SEQ(A a, B b, C c)",
    "SEQ(A a, B+ b, C c)",
    "SEQ(A a, B? b, C c)",
    "AND(A a, B b)",
    "SEQ(A a, OR(B b, C c))",
    "SEQ(A a, AND(B b, C+ c))",
)
ENDS = ("WITHIN 3 s", "WITHIN 2 s EXCLUSIVE", "", "WINDOW 3 s SLIDE 1 s")


def drawn(random):
    pattern = random.choice(PATTERNS)
    names = [name for name in "abc" if f" {name}" in pattern]
    conditions = ["SAME[k]"] if random.random() < 0.2 else []
    for _ in range(random.randint(1, 4)):
        v, w = random.choice(names), random.choice(names)
        conditions.append(
            random.choice(TEMPLATES).format(
                v=v,
                w=w,
                o=random.choice(("<", "<=", "=", ">=", ">", "<>")),
                n=random.randint(0, 3),
                m=random.randint(0, 3),
                t=random.choice("xy"),
            )
        )
    return f"PATTERN {pattern} WHERE {' AND '.join(conditions)} {random.choice(ENDS)} POLICY any"


def stream(random):
    time, made = 0, []
    for number in range(9):
        time += random.choice((0, 500_000, 1_000_000))
        kind = "ABC"[number % 3] if random.random() < 0.7 else random.choice("ABC")
        values = {
            "k": random.choice((1, 1, 2)),
            "x": random.choice((0, 1, 2, 3, None)),
            "y": random.randint(0, 3),
            "f": random.choice((0.0, -0.0, 0.5, 1.5, 2.5, float("nan"), float("inf"))),
            "g": random.choice((0.0, 1.0, float("nan"))),
            "s": random.choice(("x", "xa", "y", "z", "")),
            "b": random.choice((True, False)),
            "d": Decimal(random.randint(0, 30)).scaleb(-2),
        }
        made.append(OracleEvent(time, (number,), "events", kind, {"ts": time, "kind": kind, **values}))
    return made


def test_what_is_called_impossible_is_in_no_match():
    random = Random(11)
    n_impossible = n_matched = 0
    while n_impossible < 60 or n_matched < 60:
        text = drawn(random)
        try:
            query = bind(parse(text), SCHEMA, text=text)
        except QueryError:
            continue
        found = impossible(query)
        n_impossible += found is not None
        for _ in range(3):
            if match(query, stream(random), timed_out=False).matches:
                n_matched += 1
                assert found is None, text


# --- what is told -------------------------------------------------------------------------------------


def test_a_warning_names_the_conditions_and_the_place():
    query = bound("a.x < b.x AND b.x < 3 AND a.x > 5", "SEQ(A a, B b)")
    (warning,) = check(query)
    assert warning.message == "a.x > 5 can never hold together with a.x < b.x and b.x < 3, so there are no matches"
    assert query.text[warning.span.start : warning.span.end] == "a.x > 5"
    assert warning.remedy == "correct one of the conditions, or the clause that it does not fit"
    assert told(query)[0].startswith("1:55: a.x > 5 can never hold together with")


def test_values_of_parameters_may_exclude_each_other():
    query = bound("a.x > 5 AND a.x < :n AND b.x > :m AND a.x > b.x", "SEQ(A a, B b)")
    assert list(reasons(with_parameters(query, {"n": 9, "m": 1}))) == []
    ((message, _, _),) = reasons(with_parameters(query, {"n": 3, "m": 1}))
    assert message == "a.x < 3 can never hold together with a.x > 5, so there are no matches"
    ((message, _, _),) = reasons(with_parameters(query, {"n": 9, "m": 8}))
    assert "can never hold together with" in message


def test_many_conditions_are_not_looked_at_for_long():
    where = " AND ".join(f"a.x < b.x + {number}" for number in range(2000)) + " AND b.x < a.x - 3000"
    assert impossible(bound(where, "SEQ(A a, B b)")) is None


def test_conditions_are_told_in_the_order_of_the_text():
    found = impossible(bound("c.x < a.x AND b.x < c.x AND a.x < b.x"))
    assert [print_expression(c) for c in found.conditions] == ["c.x < a.x", "b.x < c.x", "a.x < b.x"]


@pytest.mark.parametrize(
    ("pattern", "present", "said"),
    [
        (
            "SEQ(Txn a, Denied b)",
            ["Txn", "Denyed"],
            "no event has the type Denied, which every match needs (did",
        ),
        ("SEQ(Txn a, Denied b)", ["Txn"], "no event has the type Denied, which every match needs (the types are: Txn)"),
        ("SEQ((Txn | Refund) a, Denied b)", ["Denied"], "no event has the type Txn or Refund"),
        ("SEQ(Txn a, Denied b)", ["Txn", "Denied"], None),
        ("SEQ(Txn a, Denied? b)", ["Txn"], None),
        ("SEQ(Txn a, NOT Denied b)", ["Txn"], None),
        ("OR(Txn a, Denied b)", ["Txn"], None),
        ("SEQ(* a, Txn b)", ["Txn"], None),
    ],
)
def test_a_type_that_no_event_has(pattern, present, said):
    text = f"PATTERN {pattern} WITHIN 1 h"
    found = missing_type(bind(parse(text), SCHEMA, text=text), present)
    assert (found is None) == (said is None)
    if said is not None:
        assert found[0].startswith(said)
