"""The shape of patterns."""

import pytest

from cepheid.language.parser import parse_pattern
from cepheid.language.structure import (
    always_before,
    always_bound,
    can_be_preceded,
    exclusive,
    first_names,
    may_be_trailing,
    n_events_least,
    name_elements,
    nodes_with_paths,
    nullable,
    places,
)
from cepheid.language.tree import Not


def place(pattern: str, name: str):
    return next(p for p in places(name_elements(parse_pattern(pattern))) if p.name == name)


@pytest.mark.parametrize(
    ("pattern", "empty", "n_least", "bound", "first"),
    [
        ("A a", False, 1, "a", "a"),
        ("A? a", True, 0, "", "a"),
        ("A{2,} a", False, 2, "a", "a"),
        ("SEQ(A? a, B* b, C c)", False, 1, "c", "abc"),
        ("SEQ(A? a, B+ b, C c)", False, 2, "bc", "ab"),
        ("SEQ(NOT A a, B b)", False, 1, "b", "b"),
        ("AND(A a, B? b)", False, 1, "a", "ab"),
        ("OR(A a, SEQ(A a, B b))", False, 1, "a", "a"),
        ("OR(A? a, B b)", True, 0, "", "ab"),
        ("ANY(2, A a, B b, SEQ(C c, D d))", False, 2, "", "abc"),
        ("ANY(2, A? a, B? b, C c)", True, 0, "", "abc"),
        ("ANY(1, A a, SEQ(A a, B b))", False, 1, "a", "a"),
        ("(SEQ(A a, B b)){3}", False, 6, "ab", "a"),
    ],
)
def test_what_can_be_empty_bound_and_first(pattern, empty, n_least, bound, first):
    tree = name_elements(parse_pattern(pattern))
    assert nullable(tree) is empty
    assert n_events_least(tree) == n_least
    assert always_bound(tree) == set(bound)
    assert first_names(tree) == set(first)


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("SEQ(A a, B b)", "a", False),
        ("SEQ(A a, B b)", "b", True),
        ("SEQ(A? a, B b)", "b", True),
        ("SEQ(NOT A a, B b)", "b", False),
        ("AND(A a, B b)", "a", True),
        ("OR(A a, B b)", "b", False),
        ("ANY(1, A a, B b)", "b", False),
        ("ANY(2, A a, B b)", "b", True),
        ("A+ a", "a", False),
        ("(SEQ(A a, B b))+", "a", True),
        ("(SEQ(A a, B b))?", "a", False),
    ],
)
def test_what_can_have_an_event_before_it(pattern, name, expected):
    assert can_be_preceded(place(pattern, name)) is expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("SEQ(A a, NOT B b)", True),
        ("SEQ(A a, NOT B b, C c)", False),
        ("SEQ(A a, NOT B b, C? c)", True),
        ("SEQ(A a, NOT B b, NOT C c)", True),
        ("SEQ(OR(SEQ(A a, NOT B b), C c), D d)", False),
        ("OR(SEQ(A a, NOT B b), C c)", True),
    ],
)
def test_what_may_end_a_match(pattern, expected):
    tree = name_elements(parse_pattern(pattern))
    _, path, ancestors = next(item for item in nodes_with_paths(tree) if isinstance(item[0], Not))
    assert may_be_trailing(path, ancestors) is expected


def test_relations_of_two_elements():
    a, b, c, d = (place("SEQ(A a, OR(B b, C c), AND(D d, E e))", name) for name in "abcd")
    assert always_before(a, b)
    assert not always_before(b, a)
    assert exclusive(b, c)
    assert not exclusive(b, d)
    e = place("SEQ(A a, OR(B b, C c), AND(D d, E e))", "e")
    assert not always_before(d, e)
    assert not exclusive(d, e)
    assert not exclusive(a, a)


def test_equal_elements_in_two_places_are_two_elements():
    tree = name_elements(parse_pattern("SEQ(A, B, A, A x)"))
    assert [p.name for p in places(tree)] == ["#0", "#1", "#2", "x"]
