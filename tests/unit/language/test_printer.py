"""How trees look as text."""

from decimal import Decimal

import pytest

from cepheid.errors import QueryError
from cepheid.language.parser import parse, parse_expression, parse_pattern
from cepheid.language.printer import print_expression, print_extent, print_pattern, print_query
from cepheid.language.tree import Attribute, Event, Extent, Literal, LiteralKind, Seq


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("a.x+b.x*2", "a.x + b.x * 2"),
        ("(a.x+b.x)*2", "(a.x + b.x) * 2"),
        ("a.x-(b.x-1)", "a.x - (b.x - 1)"),
        ("a.x/(b.x*2)", "a.x / (b.x * 2)"),
        ("-(-a.x)", "-(-a.x)"),
        ("-(a.x+1)", "-(a.x + 1)"),
        ("a.x - -5", "a.x - -5"),
        ("not (a.x and b.x) or not a.x", "NOT (a.x AND b.x) OR NOT a.x"),
        ("(a.x or b.x) and a.x", "(a.x OR b.x) AND a.x"),
        ("(a.x = 1) = true", "(a.x = 1) = TRUE"),
        ("a.x != 'it''s'", "a.x <> 'it''s'"),
        ("a.x not in (1,2)", "a.x NOT IN (1, 2)"),
        ("a.x in remote s[a.y].f", "a.x IN REMOTE s[a.y].f"),
        ("a.x is not null", "a.x IS NOT NULL"),
        ("a.x not like '%'", "a.x NOT LIKE '%'"),
        ("a.x between 1 and 2", "a.x >= 1 AND a.x <= 2"),
        ("Count(b)", "count(b)"),
        ("first(b).x", "first(b).x"),
        ('"from".x', '"from".x'),
        ("a.from", "a.from"),
        ('a."first seen"', 'a."first seen"'),
        ('"a""b".x', '"a""b".x'),
        ("90 s", "90 s"),
        ("120 s", "2 min"),
        ("1.5 h", "90 min"),
        ("0 h", "0 s"),
        ("-48h", "-2 d"),
        ("1e20", "1e+20"),
        ("TIMESTAMP '2024-01-31T10:00:00+02:00'", "TIMESTAMP '2024-01-31 08:00:00'"),
        ("TIMESTAMP '2024-01-31 10:00:00.5'", "TIMESTAMP '2024-01-31 10:00:00.500000'"),
        (":limit", ":limit"),
    ],
)
def test_expressions(text, printed):
    tree = parse_expression(text)
    assert print_expression(tree) == printed
    assert parse_expression(printed) == tree


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("A;B", "SEQ(A, B)"),
        ("A OR B AND C", "OR(A, AND(B, C))"),
        ("nseq(A, B, C)", "SEQ(A, NOT B, C)"),
        ("kl(A a)", "A+ a"),
        ("((A a)+)+", "(A+ a)+"),
        ("(A a; B b){2,3}?", "SEQ(A a, B b){2,3}?"),
        ("(NOT A)+", "(NOT A)+"),
        ("any(2; A; B; C)", "ANY(2, A, B, C)"),
        ("(A|B)* x", "(A | B)* x"),
        ("strict *{2,} x", "strict *{2,} x"),
        ('"any" "next"', '"any" "next"'),
        ("first last", "first last"),
        ("B b* UNTIL b.x = 5", "B* b UNTIL b.x = 5"),
        ("B{1} b UNTIL b.x = 5", "B{1} b UNTIL b.x = 5"),
    ],
)
def test_patterns(text, printed):
    tree = parse_pattern(text)
    assert print_pattern(tree) == printed
    assert parse_pattern(printed) == tree


def test_a_query_has_a_line_for_each_clause():
    text = """\
PATTERN  SEQ(Txn a, NOT Refund r, (Denied | Reversed)+ d, any Txn b)
FROM     transactions
WHERE    SAME[card] AND b.amount > 2 * a.amount AND count(d.ts) >= 3
WITHIN   5 min EXCLUSIVE
BETWEEN EACH 1 min
WINDOW   1 h SLIDE 5 min CLOSED ONE MATCH PER WINDOW
POLICY   next
AFTER MATCH SKIP TO LAST d
RETURN   a.card AS card, a.ts AS "from", count(d.ts)"""
    assert print_query(parse(text)) == text


def test_long_lists_are_broken_at_their_joints():
    where = " AND ".join(f"a.attribute_{n} > {n}" for n in range(6))
    returned = ", ".join(f"a.attribute_{n} AS column_{n}" for n in range(6))
    printed = print_query(parse(f"SEQ(A a, B b) WHERE SAME[k] AND {where} RETURN {returned}"))
    assert "\n  AND    a.attribute_5 > 5" in printed
    assert ",\n         a.attribute_5 AS column_5" in printed
    assert max(map(len, printed.splitlines())) <= 120


def test_elements_that_bind_has_named_show_no_name():
    assert print_pattern(Seq((Event(("A",), "#0"), Event(("B",), "b")))) == "SEQ(A, B b)"


def test_decimals_that_bind_makes_print_as_they_are():
    assert print_expression(Literal(Decimal("10.50"), LiteralKind.DECIMAL)) == "10.50"


def test_a_time_that_no_text_writes_is_refused():
    with pytest.raises(QueryError, match="outside of the years 1 to 9999"):
        print_expression(Literal(2**62, LiteralKind.TIMESTAMP))


@pytest.mark.parametrize(
    ("extent", "text"),
    [
        (Extent(5, "min"), "5 min"),
        (Extent(2000, "events"), "2000 EVENTS"),
        (Extent(1.5), "1.5"),
        (Extent(50_000), "50000"),
    ],
)
def test_extents(extent, text):
    assert print_extent(extent) == text
    assert parse(f"A a WITHIN {text}").window.within == extent


def test_keys_of_same_have_no_variable():
    assert print_expression(Attribute(None, ("from", "where"))) == '"from".where'
