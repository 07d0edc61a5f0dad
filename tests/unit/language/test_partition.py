"""When equalities may stand for SAME: SEMANTICS 1.4, and the counterexamples that made the rule."""

import pytest

from cepheid.events.schema import Schema
from cepheid.events.types import FLOAT, INT, TEXT
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.language.partition import inferred_partition

SCHEMA = Schema(fields={"t": INT, "type": TEXT, "k": INT, "j": INT, "x": FLOAT}, time="t", time_unit="s", type="type")


def keys(pattern: str, where: str, rest: str = "WITHIN 10"):
    found = inferred_partition(bind(parse(f"PATTERN {pattern} WHERE {where} {rest}"), SCHEMA))
    if found is None:
        return None
    return [{name: ".".join(path) for name, path in key.items()} for key in found.keys]


@pytest.mark.parametrize("policy", ["next", "any"])
def test_equalities_that_tie_every_element_to_the_first_partition_the_stream(policy):
    rest = f"WITHIN 10 POLICY {policy}"
    assert keys("SEQ(A a, B b)", "a.k = b.k", rest) == [{"a": "k", "b": "k"}]
    assert keys("SEQ(A a, B b, C c)", "a.k = b.j AND b.j = c.k", rest) == [{"a": "k", "b": "j", "c": "k"}]
    assert keys("SEQ(A a, B+ b, C c)", "b.k = a.k AND c.k = a.k", rest) == [{"a": "k", "b": "k", "c": "k"}]
    assert keys("SEQ(A a, NOT B b, C c)", "a.k = b.k AND a.k = c.k", rest) == [{"a": "k", "b": "k", "c": "k"}]
    assert keys("SEQ(A a, AND(B b, C c))", "a.k = b.k AND a.k = c.k", rest) == [{"a": "k", "b": "k", "c": "k"}]


def test_two_classes_make_a_key_of_two_parts():
    assert keys("SEQ(A a, B b)", "a.k = b.k AND a.j = b.j") == [{"a": "k", "b": "k"}, {"a": "j", "b": "j"}]


def test_a_sliding_window_in_time_is_a_window_in_time():
    assert keys("SEQ(A a, B b)", "a.k = b.k", "WINDOW 10 SLIDE 5") == [{"a": "k", "b": "k"}]


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("SEQ(A a, NOT B b, C c)", "a.k = c.k"),
        ("SEQ(A a, strict B b)", "a.k = b.k"),
        ("SEQ(A a, B? b, C c)", "a.k = b.k AND b.k = c.k"),
        ("SEQ(A a, B b, C c)", "a.k = c.k AND b.k = c.k"),
        ("SEQ(A+ a, C c)", "a.k = c.k"),
    ],
)
def test_counterexamples_of_the_cases(pattern, where):
    assert keys(pattern, where) is None


@pytest.mark.parametrize(
    ("pattern", "where", "rest"),
    [
        ("SEQ(A a, B b)", "a.k = b.k", ""),
        ("SEQ(A a, B b)", "a.k = b.k", "WITHIN 10 EVENTS"),
        ("SEQ(A a, B b)", "a.k = b.k", "WITHIN 10 BETWEEN EACH 5 EVENTS"),
        ("SEQ(A a, B b)", "a.k = b.k", "BETWEEN EACH 5"),
        ("SEQ(A a, B b)", "a.k = b.k", "WINDOW 10 EVENTS SLIDE 5 EVENTS"),
        ("SEQ(A a, B b)", "a.k = b.k", "WINDOW 10 SLIDE 5 ONE MATCH PER WINDOW"),
        ("SEQ(A a, B b)", "a.k = b.k", "WITHIN 10 POLICY strict"),
        ("SEQ(A a, B b)", "a.k = b.k", "WITHIN 10 AFTER MATCH SKIP PAST LAST"),
        ("SEQ(A a, B b)", "a.k = b.k", "WITHIN 10 AFTER MATCH SKIP TO NEXT"),
        ("SEQ(A a, B* b, C c)", "a.k = b.k AND a.k = c.k", "WITHIN 10"),
        ("SEQ(A a, OR(B b, C c))", "a.k = b.k AND a.k = c.k", "WITHIN 10"),
        ("SEQ(A a, ANY(2, B b, C c))", "a.k = b.k AND a.k = c.k", "WITHIN 10"),
        ("(SEQ(A a, B b))+", "a.k = b.k", "WITHIN 10"),
        ("SEQ(A a, B+ b UNTIL b.x > 5)", "a.k = b.k", "WITHIN 10"),
        ("AND(A a, B b)", "a.k = b.k", "WITHIN 10"),
        ("SEQ(A a, B b, C)", "a.k = b.k", "WITHIN 10"),
        ("SEQ(NOT B b, A a, C c)", "a.k = b.k AND a.k = c.k", "WITHIN 10"),
        ("SEQ(A a, B b)", "a.k = b.x", "WITHIN 10"),
        ("SEQ(A a, B b)", "a.k = b.k OR a.x = b.x", "WITHIN 10"),
        ("SEQ(A a, B b)", "a.k >= b.k", "WITHIN 10"),
        ("SEQ(A a, B b)", "a.k + 1 = b.k", "WITHIN 10"),
        ("SEQ(A a, B+ b, C c)", "a.k = b.k AND b.k = c.k", "WITHIN 10"),
        ("SEQ(A a, B+ b)", "a.k = first(b).k", "WITHIN 10"),
        ("SEQ(A a, NOT B b, C c)", "a.k = b.k AND b.k = c.k", "WITHIN 10 POLICY any"),
        ("SEQ(A a, next B b, C c)", "a.k = c.k AND b.k = c.k", "WITHIN 10 POLICY any"),
    ],
)
def test_the_stream_stays_whole_where_a_partition_could_change_a_match(pattern, where, rest):
    assert keys(pattern, where, rest) is None


def test_under_any_the_class_alone_counts():
    rest = "WITHIN 10 POLICY any"
    assert keys("SEQ(A a, B b, C c)", "a.k = c.k AND b.k = c.k", rest) == [{"a": "k", "b": "k", "c": "k"}]
    assert keys("SEQ(A+ a, C c)", "a.k = c.k", rest) == [{"a": "k", "c": "k"}]
    assert keys("AND(A a, B b)", "a.k = b.k", rest) == [{"a": "k", "b": "k"}]
    assert keys("SEQ(NOT B b, A a, C c)", "b.k = c.k AND a.k = c.k", rest) == [{"b": "k", "a": "k", "c": "k"}]
