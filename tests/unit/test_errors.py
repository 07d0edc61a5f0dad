"""What an error says, and that it survives the way from a worker to the driver."""

from __future__ import annotations

import pickle

import pytest

from cepheid import errors
from cepheid.errors import CepheidError, NotSupportedError, QueryError, Span, underline

TEXT = "PATTERN SEQ(A a, B b)\nWHERE a.x > b.y\nWITHIN 5 minutes"
PLACE = Span(TEXT.index("b.y"), TEXT.index("b.y") + 3)


def test_an_error_shows_line_column_carets_and_remedy():
    error = QueryError("B has no attribute 'y'", remedy="did you mean b.x?", text=TEXT, span=PLACE)
    assert str(error) == (
        "2:13: B has no attribute 'y'\n   2 | WHERE a.x > b.y\n     |             ^^^\n  -> did you mean b.x?"
    )
    assert (error.line, error.column) == (2, 13)


def test_the_origin_stands_before_the_place():
    error = QueryError("wrong", text=TEXT, span=PLACE, origin="rules/fraud.cep")
    assert str(error).startswith("rules/fraud.cep:2:13: wrong\n")
    assert str(QueryError("wrong", origin="rules/fraud.cep")) == "rules/fraud.cep: wrong"


def test_without_a_place_only_message_and_remedy_are_shown():
    assert str(CepheidError("no Java", remedy="install one")) == "no Java\n  -> install one"
    assert str(CepheidError("no Java")) == "no Java"
    assert CepheidError("no Java").line is None
    assert CepheidError("no Java").column is None


def test_located_fills_in_what_is_missing_and_keeps_what_is_there():
    error = QueryError("wrong", span=PLACE).located(TEXT, "a.cep")
    assert (error.text, error.origin, error.line) == (TEXT, "a.cep", 2)
    again = error.located("another text", "b.cep")
    assert again is error
    assert (error.text, error.origin) == (TEXT, "a.cep")


def test_tabs_keep_their_width():
    text = "\tWHERE\tx"
    assert underline(text, Span(7, 8)).splitlines()[1] == "     | \t     \t^"


def test_carets_stop_at_the_end_of_the_line():
    shown = underline("ab\ncdef\ngh", Span(4, 10)).splitlines()
    assert shown == ["   2 | cdef", "     |  ^^^"]


@pytest.mark.parametrize("span", [Span(2, 2), Span(99, 120), Span(-5, 1)])
def test_a_place_at_or_beyond_the_ends_still_gets_a_caret(span: Span):
    shown = underline("ab", span)
    assert "^" in shown
    assert "ab" in shown


def test_a_windows_line_end_is_not_shown():
    assert underline("ab\r\ncd", Span(0, 2)) == "   1 | ab\n     | ^^"


def test_spans_join():
    assert Span(3, 5).join(Span(1, 4)) == Span(1, 5)
    assert Span(3, 5).join(None) == Span(3, 5)


ALL_ERRORS = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.CepheidError)
]


@pytest.mark.parametrize("kind", ALL_ERRORS)
def test_every_error_comes_back_whole_from_a_worker(kind: type[CepheidError]):
    error = kind("wrong", remedy="do this", text=TEXT, span=PLACE, origin="a.cep")
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is kind
    assert str(back) == str(error)
    assert (back.message, back.remedy, back.text, back.span, back.origin) == (
        "wrong",
        "do this",
        TEXT,
        PLACE,
        "a.cep",
    )


def test_what_is_not_supported_is_an_error_of_the_query():
    assert issubclass(NotSupportedError, QueryError)


def test_of_a_long_line_the_part_around_the_place_is_shown():
    text = "first\n" + "x" * 5000 + "HERE" + "y" * 5000
    source, carets = underline(text, Span(5006, 5010)).splitlines()
    assert "xxHEREyy" in source
    assert source.startswith("   2 | …x")
    assert source.endswith("y…")
    assert carets.index("^") == source.index("HERE")
    assert carets.count("^") == 4
    assert len(source) < 250


@pytest.mark.parametrize(("begin", "end"), [(0, 3), (0, 3000), (2000, 3000), (2999, 3000), (3000, 3000)])
def test_carets_stay_within_a_long_line(begin: int, end: int):
    source, carets = underline("z" * 3000, Span(begin, end)).splitlines()
    assert "^" in carets
    assert len(carets) <= len(source) + 1
    assert source.startswith("   1 | z") == (begin == 0)
