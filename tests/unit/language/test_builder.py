"""Queries built in Python: equal to those of the text, and misuse that says what to do."""

import copy
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest

from cepheid.errors import QueryError
from cepheid.language import builder as build
from cepheid.language.parser import parse, parse_expression, parse_pattern
from cepheid.language.tree import Policy

a = build.event("A", "a")
b = build.event("B", "b")
c = build.event("C", "c")


def test_a_query_with_every_clause_equals_its_text():
    first_txn, denied, second = (
        build.event("Txn", "a"),
        build.event(("Denied", "Reversed"), "d"),
        build.event("Txn", "b"),
    )
    built = (
        build.seq(first_txn, ~build.event("Refund", "r"), denied.plus(), second)
        .where(second.amount > 2 * first_txn.amount, build.count(denied.ts) >= 3)
        .where(second.place.not_in(build.remote("places")[first_txn.customer].known))
        .same("card")
        .within("5 minutes")
        .between_each("1 min")
        .policy("next")
        .skip_past_last()
        .returns(first_txn.card.as_("card"), first_txn.ts.as_("first seen"), n_denied=build.count(denied.ts))
    )
    text = """
        PATTERN  SEQ(Txn a, NOT Refund r, (Denied | Reversed)+ d, Txn b)
        WHERE    SAME[card] AND b.amount > 2 * a.amount AND count(d.ts) >= 3
                 AND b.place NOT IN REMOTE places[a.customer].known
        WITHIN   5 minutes
        BETWEEN EACH 1 min
        POLICY   next
        AFTER MATCH SKIP PAST LAST
        RETURN   a.card AS card, a.ts AS "first seen", count(d.ts) AS n_denied
    """
    assert built.tree == parse(text)
    assert parse(str(built)) == built.tree
    assert str(built) in repr(built)


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (build.seq(a, b), "SEQ(A a, B b)"),
        (build.seq(a), "A a"),
        (build.seq(a, build.all_of(b, c)), "SEQ(A a, AND(B b, C c))"),
        (build.seq(a, build.one_of(b, build.seq(c, c))), "SEQ(A a, OR(B b, SEQ(C c, C c)))"),
        (build.any_of(2, a, b, c), "ANY(2, A a, B b, C c)"),
        (build.any_of(1, a), "A a"),
        (build.seq(a, ~build.seq(b, c)), "SEQ(A a, NOT SEQ(B b, C c))"),
        (build.event("A"), "A"),
        (build.event(["A", "B", "A"], "x"), "(A | B) x"),
        (build.any_event("x"), "* x"),
        (build.event("B", "b", policy="strict"), "strict B b"),
        (build.any_event(policy=Policy.ANY), "any *"),
        (b.plus(), "B+ b"),
        (b.star(), "B* b"),
        (b.optional(), "B? b"),
        (b.optional(greedy=False), "B?? b"),
        (b.times(2, 3), "B{2,3} b"),
        (b.times(2, None, greedy=False), "B{2,}? b"),
        (b.times(1, 1), "B b"),
        (b.plus(until=b.x == 5), "B+ b UNTIL b.x = 5"),
        (b.plus().plus(), "(B+ b)+"),
        (build.seq(a, b).plus(), "(SEQ(A a, B b))+"),
        (build.seq(a, b).times(0, 2, greedy=False), "(SEQ(A a, B b)){0,2}?"),
        (build.seq(a, b).star(), "(SEQ(A a, B b))*"),
        (build.seq(a, b).optional(), "(SEQ(A a, B b))?"),
    ],
)
def test_patterns(built, text):
    assert build.query(built).tree.pattern == parse_pattern(text)
    assert parse_pattern(repr(built)) == parse_pattern(text)


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (a.x + 1 - b.y, "a.x + 1 - b.y"),
        (1 + a.x * 2, "1 + a.x * 2"),
        (1 - a.x, "1 - a.x"),
        (2 / a.x % 3, "2 / a.x % 3"),
        (7 % a.x / 2, "7 % a.x / 2"),
        (2 * -a.x, "2 * -a.x"),
        (-build.literal(5), "-5"),
        (abs(a.x - b.x), "abs(a.x - b.x)"),
        (a.x == 1, "a.x = 1"),
        (a.x != b.x, "a.x <> b.x"),
        (a.x < 1, "a.x < 1"),
        (1 < a.x, "a.x > 1"),  # noqa: SIM300
        (a.x <= 1.5, "a.x <= 1.5"),
        (a.x >= "it's", "a.x >= 'it''s'"),
        ((a.x > 1) & (b.x > 1) & (c.x > 1), "a.x > 1 AND b.x > 1 AND c.x > 1"),
        ((a.x > 1) | (b.x > 1) & ~(c.x > 1), "a.x > 1 OR b.x > 1 AND NOT c.x > 1"),
        (a.x.between(1, 2), "a.x BETWEEN 1 AND 2"),
        (a.x.is_in([1, b.y]), "a.x IN (1, b.y)"),
        (a.x.is_in({1}), "a.x IN (1)"),
        (a.x.not_in((1, 2)), "a.x NOT IN (1, 2)"),
        (a.x.is_in(b.tags), "a.x IN b.tags"),
        (a.x.not_in(build.param("known")), "a.x NOT IN :known"),
        (a.x.like("A%"), "a.x LIKE 'A%'"),
        (a.x.not_like("A%"), "a.x NOT LIKE 'A%'"),
        (a.x.is_null(), "a.x IS NULL"),
        (a.x.is_not_null(), "a.x IS NOT NULL"),
        (a["first seen"] == None, 'a."first seen" = NULL'),  # noqa: E711
        (a.address.city == True, "a.address.city = TRUE"),  # noqa: E712
        (a["plus"]["x y"], 'a.plus."x y"'),
        (build.first(b).x.y, "first(b).x.y"),
        (build.last(b)["x"], "last(b).x"),
        (build.prev(b).x < b.x, "prev(b).x < b.x"),
        (build.count(b), "count(b)"),
        (build.count(b.x), "count(b.x)"),
        (build.sum(b.x * b.n), "sum(b.x * b.n)"),
        (build.avg(b.x), "avg(b.x)"),
        (build.min(b.x), "min(b.x)"),
        (build.max(b.x) - 1, "max(b.x) - 1"),
        (build.call("Distance", a.x, 1), "Distance(a.x, 1)"),
        (build.call("SUM", b.x), "sum(b.x)"),
        (build.remote("places")[a.x], "REMOTE places[a.x]"),
        (build.remote("my places")[a.x, 5].known["at"], 'REMOTE "my places"[a.x, 5].known.at'),
        (a.ts > datetime(2024, 1, 31, 10), "a.ts > TIMESTAMP '2024-01-31 10:00:00'"),
        (a.ts > datetime(2024, 1, 31, 10, tzinfo=UTC), "a.ts > TIMESTAMP '2024-01-31 10:00:00'"),
        (
            a.ts > datetime(2024, 1, 31, 10, tzinfo=timezone(timedelta(hours=2))),
            "a.ts > TIMESTAMP '2024-01-31 08:00:00'",
        ),
        (a.ts > date(2024, 1, 31), "a.ts > TIMESTAMP '2024-01-31'"),
        (a.ts - b.ts > timedelta(minutes=5), "a.ts - b.ts > 5 minutes"),
        (a.ts - b.ts > timedelta(microseconds=-1), "a.ts - b.ts > -1 us"),
        (a.x > Decimal("1.5"), "a.x > 1.5"),
        (a.x > Decimal("1E+2"), "a.x > 100"),
        (a.x > np.int64(3), "a.x > 3"),
        (a.x > np.float64(3.5), "a.x > 3.5"),
    ],
)
def test_expressions(built, text):
    assert build.seq(a).where(built).tree.where == parse_expression(text)
    assert parse_expression(repr(built)) == parse_expression(text)


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (build.seq(a).within("5 minutes"), "WITHIN 5 min"),
        (build.seq(a).within("50K"), "WITHIN 50000"),
        (build.seq(a).within(10), "WITHIN 10"),
        (build.seq(a).within(1.5, "hours", exclusive=True), "WITHIN 1.5 h EXCLUSIVE"),
        (build.seq(a).within(2000, "events"), "WITHIN 2000 EVENTS"),
        (build.seq(a).within(timedelta(minutes=90)), "WITHIN 90 min"),
        (build.seq(a).within(timedelta(0)), "WITHIN 0 s"),
        (build.seq(a).between_each("5 s"), "BETWEEN EACH 5 s"),
        (
            build.seq(a).window("10 s", timedelta(seconds=1), closed=True, one_match=True),
            "WINDOW 10 s SLIDE 1 s CLOSED ONE MATCH PER WINDOW",
        ),
        (build.seq(a).policy(Policy.ANY), "POLICY any"),
        (build.query(a).no_skip(), "AFTER MATCH NO SKIP"),
        (build.query(a).skip_to_next(), "AFTER MATCH SKIP TO NEXT"),
        (build.query(a).skip_to_first(a), "AFTER MATCH SKIP TO FIRST a"),
        (build.query(a).skip_to_last("a"), "AFTER MATCH SKIP TO LAST a"),
        (build.seq(a).returns(a.x), "RETURN a.x"),
        (build.query(a).source("trades"), "FROM trades"),
        (
            build.seq(a).same("card", build.call("lower", build.field("address", "city"))),
            "WHERE SAME[card, lower(address.city)]",
        ),
        (build.seq(a).same("x").same("y").where(a.x > 1), "WHERE SAME[x, y] AND a.x > 1"),
    ],
)
def test_clauses(built, text):
    assert built.tree == parse(f"A a {text}")
    assert parse(str(built)) == built.tree


def test_nothing_is_changed_in_place():
    pattern = build.seq(a, b)
    narrow, wide = pattern.within("1 s"), pattern.within("1 h")
    assert narrow.tree != wide.tree
    loop = b.plus()
    assert repr(b) == "B b"
    assert repr(loop) == "B+ b"
    assert repr(loop.x) == "b.x", "a loop reads attributes as its variable does"


def test_elements_can_be_copied_and_asked_for_hidden_names():
    assert repr(copy.copy(a)) == repr(copy.deepcopy(a)) == repr(pickle.loads(pickle.dumps(a))) == "A a"
    assert repr(pickle.loads(pickle.dumps(a.x > 1))) == "a.x > 1"
    for thing in (a, a.x, build.first(b)):
        assert not hasattr(thing, "_repr_html_")
    assert repr(a["_x"]) == "a._x"


MISUSES = {
    "and": (lambda: (a.x > 1) and (b.x > 1), "neither true nor false", "& for and"),
    "if": (lambda: 1 if a.x > 1 else 2, "neither true nor false", "& for and"),
    "chain": (lambda: 1 < a.x < 5, "neither true nor false", "between"),
    "in a list": (lambda: a.x in [1, 2], "neither true nor false", "is_in"),
    "in an expression": (lambda: 1 in a.tags, "`in` cannot be part", "is_in"),
    "iteration": (lambda: list(a.x), "no elements to go through", "is_in"),
    "iteration of an element": (lambda: list(a), "no parts to go through", "count"),
    "pattern as a truth value": (lambda: a or b, "neither true nor false", "one_of"),
    "event compared": (lambda: a == 5, "is an event, not a value", 'a["amount"]'),
    "event in arithmetic": (lambda: 1 + a, "is an event, not a value", 'a["amount"]'),
    "event as a value": (lambda: a.x == b, "no value of a query", "name an attribute"),
    "list as a value": (lambda: a.x == [1, 2], "no value of a query", "is_in"),
    "object as a value": (lambda: a.x == object(), "no value of a query", "use a number"),
    "nan": (lambda: a.x == float("nan"), "no number of a query", "finite"),
    "digits": (lambda: a.x == Decimal("0.1234567890123456789"), "more digits", "at most 18"),
    "number beyond 64 bits": (lambda: build.seq(a).where(a.x > 2**63), "64 bits", "decimal point"),
    "time out of range": (
        lambda: a.x > datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        "years 1 to 9999",
        "within",
    ),
    "no name": (lambda: build.event("A").x, "has no name", 'event("Txn", "a")'),
    "hidden name": (lambda: build.event("A", "#0"), "does not begin with `#`", "choose another"),
    "hidden variable": (lambda: build.query(a).skip_to_first("#0"), "does not begin with `#`", "choose another"),
    "empty name": (lambda: build.event("A", ""), "cannot be the name of a variable", "one character"),
    "type of no text": (lambda: build.event(5), "cannot be the name of an event type", "text"),
    "no type": (lambda: build.event([]), "needs a type", "any_event"),
    "attribute of no text": (lambda: a[0], "cannot be the name of an attribute", "text"),
    "attribute of a sum": (lambda: (a.x + 1).y, "has no attribute", "variable"),
    "attribute beyond a variable": (lambda: build.seq(a).where(build.field("x") > 1), "stands alone", "a.x"),
    "no parts": (lambda: build.seq(), "at least one pattern", "event"),
    "text as a part": (lambda: build.seq("A"), "takes patterns", "event"),
    "count of no number": (lambda: build.any_of("2", a), "no number of parts", "any_of(2"),
    "count below one": (lambda: build.any_of(0, a), "at least 1", "ANY(1"),
    "bounds": (lambda: a.times(3, 2), "no range of repetitions", "upper bound"),
    "bound of no number": (lambda: a.times(1.5, None), "no number of repetitions", "whole number"),
    "until of no condition": (lambda: a.plus(until=True), "no condition", "compare"),
    "policy": (lambda: build.seq(a).policy("greedy"), "no selection policy", "any, next or strict"),
    "condition of no expression": (lambda: build.seq(a).where(True), "no condition", "compare"),
    "no condition": (lambda: build.seq(a).where(), "at least one condition", "compare"),
    "and with a value": (lambda: (a.x > 1) & True, "no condition", "compare"),
    "no key": (lambda: build.seq(a).same(), "at least one attribute", "same("),
    "key of a variable": (lambda: build.seq(b).same(build.count(b)), "one event at a time", "SAME[card"),
    "no column": (lambda: build.seq(a).returns(), "at least one column", "leave it out"),
    "column of no name": (lambda: a.x.as_(""), "cannot be the name of an output column", "text"),
    "clause twice": (lambda: build.seq(a).within(5).within(6), "WITHIN is given twice", "keep one"),
    "length": (lambda: build.seq(a).within("5 parsecs"), "no length of a window", "5 minutes"),
    "length below zero": (lambda: build.seq(a).within(timedelta(seconds=-1)), "no length of a window", "timedelta"),
    "length of no number": (lambda: build.seq(a).within(True), "no length of a window", "5 minutes"),
    "unit": (lambda: build.seq(a).within(5, "parsecs"), "no length of a window", "5 minutes"),
    "aggregate over two": (lambda: build.sum(a.x + b.x), "works on one variable", "greatest"),
    "aggregate of an element": (lambda: build.sum(b), "takes an expression", "sum(b.x)"),
    "call of first": (lambda: build.call("first", b.x), "picks an element", "build.first(b).x"),
    "parameter": (lambda: build.param("a b"), "cannot be the name of a parameter", "letters"),
    "empty list": (lambda: a.x.is_in([]), "is empty", "at least one"),
    "text as a list": (lambda: a.x.is_in("abc"), "no list of values", "is_in([1"),
    "number as a container": (lambda: a.x.is_in(a.x + 1), "holds no elements", "give a list"),
    "like of no text": (lambda: a.x.like(5), "LIKE takes a text", "pattern"),
    "store gone through": (lambda: list(build.remote("s")), "cannot be gone through", "look an element up"),
    "look-up without a key": (lambda: build.remote("s")[()], "needs a key", "remote(store)"),
    "variable of no element": (lambda: build.first(a.x), "no variable", "event"),
    "skip to nothing": (lambda: build.query(a).skip_to_first(build.event("B")), "has no name", "event"),
    "field of nothing": (lambda: build.field(), "needs the name", "field("),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_says_what_to_do(name):
    misuse, message, remedy = MISUSES[name]
    with pytest.raises(QueryError) as caught:
        misuse()
    assert message in caught.value.message
    assert caught.value.remedy
    assert remedy in caught.value.remedy


def test_deep_trees_are_refused():
    value = a.x
    for _ in range(3000):
        value = value + 1
    for use in (lambda: build.seq(a).where(value > 1), lambda: build.sum(value), lambda: repr(value)):
        with pytest.raises(QueryError, match="levels deep"):
            use()
    pattern = a
    for _ in range(3000):
        pattern = build.seq(pattern, b)
    with pytest.raises(QueryError, match="levels deep"):
        build.query(pattern)


def test_an_element_without_a_name_is_called_by_its_type_as_in_the_text():
    named = build.event("A", "A")
    built = build.seq(build.event("A"), b).where(named.x > b.x)
    assert built.tree == parse("SEQ(A, B b) WHERE A.x > b.x") == parse(str(built))
