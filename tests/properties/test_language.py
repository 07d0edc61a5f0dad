"""Any tree comes back from its text; any text gives a tree or says what is wrong with it."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from cepheid.errors import QueryError
from cepheid.language import canonical
from cepheid.language.lexer import PATTERN_WORDS, RESERVED, UNITS
from cepheid.language.parser import parse, parse_expression, parse_pattern
from cepheid.language.printer import print_expression, print_pattern, print_query
from cepheid.language.tree import Node, Query, walk
from tests.properties import trees

_FRAGMENTS = [
    *sorted(RESERVED | PATTERN_WORDS | set(UNITS)),
    *"SAME TIMESTAMP EACH SLIDE CLOSED EXCLUSIVE ONE MATCH PER NO SKIP PAST LAST TO FIRST ROW EVENTS".split(),
    *"( ) [ ] { } , ; . | ! + - * / % ? = == <> != < <= > >= => && : :x ' \" ` -- # \n \\ ° 6:00".split(" "),
    *"a b A B a.x b.x count( first(b).x 5 10k 50K 1.5 1e5 5min 'text' \"quoted name\"".split(),
    *"REMOTE[ SAME[ {2,3} +? b[]".split(),
    "SEQ(A a, B b)",
    "WHERE a.x > 5",
    "BETWEEN EACH 5 s",
    "TIMESTAMP '2024-01-31'",
]


@given(trees.queries)
def test_a_query_comes_back_from_its_text(query):
    text = print_query(query)
    assert parse(text) == query, text


@given(trees.expressions)
def test_an_expression_comes_back_from_its_text(expression):
    text = print_expression(expression)
    assert parse_expression(text) == expression, text


@given(trees.patterns)
def test_a_pattern_comes_back_from_its_text(pattern):
    text = print_pattern(pattern)
    assert parse_pattern(text) == canonical.name_by_type(Query(pattern)).pattern, text


@given(trees.queries)
def test_every_node_has_its_place(query):
    text = print_query(query)
    for node in walk(parse(text)):
        if type(node).__name__ in ("Window", "Skip") and node == type(node)():
            continue  # What the text does not say has no place in it.
        assert node.span is not None, node
        assert 0 <= node.span.start < node.span.end <= len(text)


@given(st.text(max_size=60))
@example("\x00")
@example("'")
@example("SEQ(A a, B b) WHERE a.x > \ud800")
def test_any_text_gives_a_tree_or_says_what_is_wrong(text):
    _read(text)


@given(st.lists(st.sampled_from(_FRAGMENTS), max_size=25).map(" ".join))
def test_any_words_give_a_tree_or_say_what_is_wrong(text):
    _read(text)


@given(st.data())
def test_a_query_with_slips_gives_a_tree_or_says_what_is_wrong(data):
    text = print_query(data.draw(trees.queries))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 8)))
        put = data.draw(st.sampled_from(_FRAGMENTS) | st.text(max_size=2) | st.just(""))
        text = text[:start] + put + text[end:]
    _read(text)


def _read(text: str) -> None:
    """Read ``text``: as a query, a condition, a pattern."""
    for read, write in ((parse, print_query), (parse_expression, print_expression), (parse_pattern, print_pattern)):
        try:
            tree: Node = read(text)
        except QueryError as caught:
            error = caught
        else:
            assert read(write(tree)) == tree
            continue
        assert error.remedy, error
        assert error.span is not None, error
        assert str(error)
