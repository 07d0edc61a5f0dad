"""Every slip that the parser knows, with the message that a user reads: golden files."""

from pathlib import Path

import pytest

from cepheid.errors import QueryError
from cepheid.language.parser import parse, parse_expression, parse_pattern

GOLDEN = Path(__file__).parents[2] / "golden" / "syntax_errors"
QUERIES = sorted(GOLDEN.glob("*.cep"))


def test_the_golden_files_are_there():
    assert len(QUERIES) >= 60
    assert {path.stem for path in QUERIES} == {path.stem for path in GOLDEN.glob("*.txt")}


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_a_slip_says_what_is_wrong_where_and_what_to_do(path):
    with pytest.raises(QueryError) as caught:
        parse(path.read_text(encoding="utf-8"))
    assert f"{caught.value}\n" == path.with_suffix(".txt").read_text(encoding="utf-8")
    assert caught.value.span is not None
    assert caught.value.remedy


def test_an_error_names_its_file():
    with pytest.raises(QueryError, match=r"^rules/fraud\.cep:2:9: ") as caught:
        parse("PATTERN Txn a\nWHERE   ,", "rules/fraud.cep")
    assert (caught.value.line, caught.value.column) == (2, 9)


@pytest.mark.parametrize(
    "deep",
    [
        "SEQ(A a) WHERE a.x = " + "(" * 10_000,
        "SEQ(A a) WHERE " + "NOT " * 5_000 + "a.x = 1",
        "SEQ(A a) WHERE a.x = " + "- " * 5_000 + "a.x",
        "SEQ(A a) WHERE a.x = " + "f(" * 5_000 + "a.x" + ")" * 5_000,
        "SEQ(A a) WHERE a.x = " + "sum(" * 5_000 + "a.x" + ")" * 5_000,
        "SEQ(A a) WHERE a.x = " + " + ".join(["a.x"] * 5_000),
        "SEQ(A a) WHERE a.x = " + "REMOTE s[" * 5_000 + "a.x" + "]" * 5_000,
        "SEQ(A a) WHERE SAME[" + "f(" * 5_000 + "x" + ")" * 5_000 + "]",
        "SEQ(" * 5_000,
        "SEQ(A a, " * 5_000 + "B b" + ")" * 5_000,
        "(" * 5_000 + "A a" + ")+" * 5_000,
        "SEQ(A a, " + "NOT " * 5_000 + "B b)",
        "B+ b UNTIL " + "NOT " * 5_000 + "b.x = 1",
    ],
    ids=lambda text: f"{text[:24]}...",
)
def test_deep_nesting_is_refused_and_does_not_overflow(deep):
    with pytest.raises(QueryError):
        parse(deep)


def test_nesting_that_doubles_the_tree_is_refused():
    text = "a.x"
    for _ in range(40):
        text = f"({text} BETWEEN 1 AND 2)"
    with pytest.raises(QueryError, match="more than 100000 parts"):
        parse(f"SEQ(A a) WHERE {text}")


def test_brackets_alone_make_nothing_deep():
    brackets = 5_000
    assert parse_expression("(" * brackets + "a.x" + ")" * brackets) == parse_expression("a.x")
    assert parse_pattern("(" * brackets + "A a" + ")" * brackets) == parse_pattern("A a")


def test_long_lists_are_not_deep():
    alternatives = " OR ".join(f"a.x = {n}" for n in range(2000))
    assert len(parse(f"SEQ(A a) WHERE {alternatives}").where.operands) == 2000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1" * 500, "too many digits"),
        ("1e999", "too large"),
        ("9223372036854775808", "64 bits"),
        ("-9223372036854775809", "64 bits"),
        ("300000 weeks * 1000000000000000 weeks", "64 bits"),
        ("1e308 weeks", "64 bits"),
        ("0.5 us", "whole number of microseconds"),
        ("5 events", "no length of time"),
        ("TIMESTAMP '0001-01-01 00:00:00+05:00'", "no timestamp"),
        ("SAME[x]", "SAME stands inside"),
        ("a", "stands alone"),
        ('"#0".x', "does not begin with `#`"),
        ('count("#0")', "does not begin with `#`"),
        ("abs(a.x).y", "has no attributes"),
    ],
)
def test_values_that_no_literal_has(text, message):
    with pytest.raises(QueryError, match=message):
        parse_expression(text)
