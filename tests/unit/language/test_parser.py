"""What each spelling of the language means, as a tree."""

import json
import os
import subprocess
import sys
import time

import pytest

from cepheid.errors import Span
from cepheid.language import lalr
from cepheid.language.parser import parse, parse_expression, parse_pattern
from cepheid.language.tree import (
    Aggregate,
    And,
    AnyOf,
    Arithmetic,
    At,
    Attribute,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    Event,
    Extent,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Negative,
    Not,
    Or,
    Parameter,
    Policy,
    Query,
    Remote,
    Repeat,
    ReturnItem,
    Seq,
    Skip,
    SkipMode,
    Sliding,
    Window,
    walk,
)

A, B, C, D = (Event((name,)) for name in "ABCD")
a, b, c = Event(("A",), "a"), Event(("B",), "b"), Event(("C",), "c")
ax, bx = Attribute("a", ("x",)), Attribute("b", ("x",))


def number(value):
    return Literal(value, LiteralKind.FLOAT if isinstance(value, float) else LiteralKind.INT)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("A", A),
        ("A a", a),
        ("SEQ(A a)", a),
        ("((A a))", a),
        ("SEQ(A a, B b)", Seq((a, b))),
        ("seq ( A a ; B b )", Seq((a, b))),
        ("A a; B b", Seq((a, b))),
        ("A;B;C", Seq((A, B, C))),
        ("(A; B), C", Seq((Seq((A, B)), C))),
        ("SEQ(A, SEQ(B, C))", Seq((A, Seq((B, C))))),
        ("AND(A, B)", And((A, B))),
        ("A AND B AND C", And((A, B, C))),
        ("A AND (B AND C)", And((A, And((B, C))))),
        ("(A OR B)", Or((A, B))),
        ("A OR B AND C", Or((A, And((B, C))))),
        ("OR(A, AND(B, C))", Or((A, And((B, C))))),
        ("A; B OR C; D", Seq((A, Or((B, C)), D))),
        ("any(2, A, B, C)", AnyOf(2, (A, B, C))),
        ("ANY(1, A)", A),
        ("ANY(2; A; B)", AnyOf(2, (A, B))),
        ("SEQ(A, NOT B, C)", Seq((A, Not(B), C))),
        ("seq(A; !B; C)", Seq((A, Not(B), C))),
        ("SEQ(A, NOT (B; C))", Seq((A, Not(Seq((B, C)))))),
        ("NSEQ(A, B, C)", Seq((A, Not(B), C))),
        ("NSEQ(A, SEQ(B, C), D)", Seq((A, Not(Seq((B, C))), D))),
        ("KL(A)", Repeat(A, 1, None)),
        ("KL(A a)+", Repeat(Repeat(a, 1, None), 1, None)),
        ("(A | B) x", Event(("A", "B"), "x")),
        ("(A|B|A)", Event(("A", "B"))),
        ("* x", Event((), "x")),
        ("*", Event(())),
        ('"order placed" o', Event(("order placed",), "o")),
        ('`a"b``c` o', Event(('a"b`c',), "o")),
        ('"say ""hi"""', Event(('say "hi"',))),
        ("SEQ(A, strict B b)", Seq((A, Event(("B",), "b", Policy.STRICT)))),
        ("SEQ(A, next (B | C) x)", Seq((A, Event(("B", "C"), "x", Policy.NEXT)))),
        ("SEQ(A, any * x)", Seq((A, Event((), "x", Policy.ANY)))),
        ("SEQ(A any, B strict, C)", Seq((Event(("A",), "any"), Event(("B",), "strict"), C))),
        ("SEQ(any, next, B)", Seq((Event(("any",)), Event(("next",)), B))),
        ("SEQ(seq, kl s)", Seq((Event(("seq",)), Event(("kl",), "s")))),
        ("any B+ b", Repeat(Event(("B",), "b", Policy.ANY), 1, None)),
    ],
)
def test_patterns(text, tree):
    assert parse_pattern(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("B+ b", Repeat(b, 1, None)),
        ("B+ b[]", Repeat(b, 1, None)),
        ("B b+", Repeat(b, 1, None)),
        ("B b[]+", Repeat(b, 1, None)),
        ("B+", Repeat(B, 1, None)),
        ("B* b", Repeat(b, 0, None)),
        ("B? b", Repeat(b, 0, 1)),
        ("B+? b", Repeat(b, 1, None, greedy=False)),
        ("B*? b", Repeat(b, 0, None, greedy=False)),
        ("B?? b", Repeat(b, 0, 1, greedy=False)),
        ("B{2} b", Repeat(b, 2, 2)),
        ("B{2,} b", Repeat(b, 2, None)),
        ("B{2,3} b", Repeat(b, 2, 3)),
        ("B{,3} b", Repeat(b, 0, 3)),
        ("B{2,3}? b", Repeat(b, 2, 3, greedy=False)),
        ("B{1} b", b),
        ("(A | B)+ x", Repeat(Event(("A", "B"), "x"), 1, None)),
        ("*+ x", Repeat(Event((), "x"), 1, None)),
        ("** x", Repeat(Event((), "x"), 0, None)),
        ("(B b)+", Repeat(b, 1, None)),
        ("(B)+ b", Repeat(b, 1, None)),
        ("((B b)+)+", Repeat(Repeat(b, 1, None), 1, None)),
        ("(SEQ(A a, B b))+", Repeat(Seq((a, b)), 1, None)),
        ("(A a, B b){2}", Repeat(Seq((a, b)), 2, 2)),
        ("NOT B+ b", Not(Repeat(b, 1, None))),
        ("B+ b UNTIL b.x = 5", Repeat(b, 1, None, until=Compare("=", bx, number(5)))),
        (
            "SEQ(B+ b UNTIL b.x = 5 OR b.x = 6, A)",
            Seq(
                (
                    Repeat(
                        b,
                        1,
                        None,
                        until=Disjunction((Compare("=", bx, number(5)), Compare("=", bx, number(6)))),
                    ),
                    A,
                )
            ),
        ),
    ],
)
def test_quantifiers(text, tree):
    assert parse_pattern(text) == tree


def _literal(value, kind):
    return Literal(value, LiteralKind(kind))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("5", number(5)),
        ("5.0", number(5.0)),
        (".5", number(0.5)),
        ("1e3", number(1000.0)),
        ("10_000", number(10_000)),
        ("50K", number(50_000)),
        ("10k", number(10_000)),
        ("2M", number(2_000_000)),
        ("1.5K", number(1500)),
        ("1.0005K", number(1000.5)),
        ("-5", number(-5)),
        ("- -5", number(5)),
        ("-9223372036854775808", number(-(2**63))),
        ("'it''s'", _literal("it's", "text")),
        ("''", _literal("", "text")),
        ("TRUE", _literal(True, "bool")),
        ("false", _literal(False, "bool")),
        ("NULL", _literal(None, "null")),
        ("5 minutes", _literal(300_000_000, "duration")),
        ("5min", _literal(300_000_000, "duration")),
        ("1h", _literal(3_600_000_000, "duration")),
        ("50 ms", _literal(50_000, "duration")),
        ("10 S", _literal(10_000_000, "duration")),
        ("2 days", _literal(172_800_000_000, "duration")),
        ("1 week", _literal(604_800_000_000, "duration")),
        ("7 µs", _literal(7, "duration")),
        ("1.5 h", _literal(5_400_000_000, "duration")),
        ("0.1 s", _literal(100_000, "duration")),
        ("-5 s", _literal(-5_000_000, "duration")),
        ("TIMESTAMP '1970-01-01 00:00:01'", _literal(1_000_000, "timestamp")),
        ("timestamp '1970-01-01T02:00:00+02:00'", _literal(0, "timestamp")),
        ("TIMESTAMP '1970-01-01T00:00:00Z'", _literal(0, "timestamp")),
        ("TIMESTAMP '1970-01-02'", _literal(86_400_000_000, "timestamp")),
        ("TIMESTAMP '1970-01-01 00:00:00.123456789'", _literal(123_456, "timestamp")),
        (":limit", Parameter("limit")),
    ],
)
def test_literals(text, tree):
    found = parse_expression(text)
    assert found == tree
    assert type(found.value if isinstance(found, Literal) else None) is type(
        tree.value if isinstance(tree, Literal) else None
    )


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a.x", ax),
        ("a.address.city", Attribute("a", ("address", "city"))),
        ("a.order", Attribute("a", ("order",))),
        ("a.from.where", Attribute("a", ("from", "where"))),
        ('a."first seen"', Attribute("a", ("first seen",))),
        ('"my a".x', Attribute("my a", ("x",))),
        ("first(b).x", Attribute("b", ("x",), At.FIRST)),
        ("LAST(b).x.y", Attribute("b", ("x", "y"), At.LAST)),
        ("prev(b).x", Attribute("b", ("x",), At.PREV)),
        ("count(b)", Aggregate("count", "b")),
        ("COUNT(b.x)", Aggregate("count", "b", bx)),
        ("sum(b.x * b.x)", Aggregate("sum", "b", Arithmetic("*", bx, bx))),
        ("avg(b.x + 1)", Aggregate("avg", "b", Arithmetic("+", bx, number(1)))),
        ("min(a.x, b.x)", Call("min", (ax, bx))),
        ("max(a.x + b.x)", Call("max", (Arithmetic("+", ax, bx),))),
        ("max(5)", Call("max", (number(5),))),
        ("Distance(a.x, b.x)", Call("Distance", (ax, bx))),
        ("now()", Call("now", ())),
        ("REMOTE places[a.x]", Remote("places", (ax,))),
        ("REMOTE places[a.x, b.x].known.at", Remote("places", (ax, bx), ("known", "at"))),
        ("REMOTE same[a.x]", Remote("same", (ax,))),
        ("a.x + b.x - 1", Arithmetic("-", Arithmetic("+", ax, bx), number(1))),
        ("a.x + b.x * 2", Arithmetic("+", ax, Arithmetic("*", bx, number(2)))),
        ("(a.x + b.x) % 2", Arithmetic("%", Arithmetic("+", ax, bx), number(2))),
        ("a.x - -1", Arithmetic("-", ax, number(-1))),
        ("-a.x / 2", Arithmetic("/", Negative(ax), number(2))),
        ("a.x = b.x", Compare("=", ax, bx)),
        ("a.x == b.x", Compare("=", ax, bx)),
        ("a.x != b.x", Compare("<>", ax, bx)),
        ("a.x <> b.x", Compare("<>", ax, bx)),
        ("a.x <= 5", Compare("<=", ax, number(5))),
        ("NOT a.x = 1", Negation(Compare("=", ax, number(1)))),
        ("NOT NOT a.x", Negation(Negation(ax))),
        ("a.x AND b.x AND a.x", Conjunction((ax, bx, ax))),
        ("a.x AND (b.x AND a.x)", Conjunction((ax, bx, ax))),
        ("a.x OR b.x AND a.x", Disjunction((ax, Conjunction((bx, ax))))),
        ("(a.x OR b.x) OR a.x", Disjunction((ax, bx, ax))),
        ("NOT (a.x OR b.x)", Negation(Disjunction((ax, bx)))),
        ("a.x BETWEEN 1 AND 2", Conjunction((Compare(">=", ax, number(1)), Compare("<=", ax, number(2))))),
        (
            "a.x BETWEEN 1 AND 2 AND b.x",
            Conjunction((Compare(">=", ax, number(1)), Compare("<=", ax, number(2)), bx)),
        ),
        (
            "a.x NOT BETWEEN 1 AND 2",
            Negation(Conjunction((Compare(">=", ax, number(1)), Compare("<=", ax, number(2))))),
        ),
        (
            "a.x BETWEEN each.x AND 2",
            Conjunction((Compare(">=", ax, Attribute("each", ("x",))), Compare("<=", ax, number(2)))),
        ),
        ("a.x IN (1, 2)", In(ax, (number(1), number(2)))),
        ("a.x NOT IN (b.x)", In(ax, (bx,), negated=True)),
        ("a.x IN REMOTE s[b.x].f", InSet(ax, Remote("s", (bx,), ("f",)))),
        ("a.x NOT IN b.x", InSet(ax, bx, negated=True)),
        ("a.x IN :allowed", InSet(ax, Parameter("allowed"))),
        ("a.x LIKE 'A%'", Like(ax, "A%")),
        ("a.x NOT LIKE 'A%'", Like(ax, "A%", negated=True)),
        ("a.x IS NULL", IsNull(ax)),
        ("a.x is not null", IsNull(ax, negated=True)),
        ("NOT a.x IN (1)", Negation(In(ax, (number(1),)))),
        ("a.x > 5 min", Compare(">", ax, _literal(300_000_000, "duration"))),
        ("timestamp.x", Attribute("timestamp", ("x",))),
        ("next.last + first.any", Arithmetic("+", Attribute("next", ("last",)), Attribute("first", ("any",)))),
        ("a.x -- the end", ax),
        ("a.x # the end", ax),
        ("a.x -- one\n + b.x", Arithmetic("+", ax, bx)),
    ],
)
def test_expressions(text, tree):
    assert parse_expression(text) == tree


@pytest.mark.parametrize(
    ("text", "same", "where"),
    [
        ("SAME[card]", (Attribute(None, ("card",)),), None),
        ("[task_id]", (Attribute(None, ("task_id",)),), None),
        ("SAME[card, lower(city)]", (Attribute(None, ("card",)), Call("lower", (Attribute(None, ("city",)),))), None),
        ("SAME[address.city]", (Attribute(None, ("address", "city")),), None),
        ("SAME[x] AND a.x", (Attribute(None, ("x",)),), ax),
        ("(a.x AND SAME[x]) AND b.x", (Attribute(None, ("x",)),), Conjunction((ax, bx))),
        ("SAME[x] AND (a.x OR b.x)", (Attribute(None, ("x",)),), Disjunction((ax, bx))),
        ("SAME[x] AND [y]", (Attribute(None, ("x",)), Attribute(None, ("y",))), None),
    ],
)
def test_same(text, same, where):
    query = parse(f"SEQ(A a, B b) WHERE {text}")
    assert (query.same, query.where) == (same, where)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("", Window()),
        ("WITHIN 5 minutes", Window(Extent(5, "min"))),
        ("within 8min EXCLUSIVE", Window(Extent(8, "min"), exclusive=True)),
        ("WITHIN 50K", Window(Extent(50_000))),
        ("WITHIN 10", Window(Extent(10))),
        ("WITHIN 2000 EVENTS", Window(Extent(2000, "events"))),
        ("WITHIN 2K events", Window(Extent(2000, "events"))),
        ("WITHIN 1.5 h", Window(Extent(1.5, "h"))),
        ("WITHIN 2 weeks", Window(Extent(14, "d"))),
        ("BETWEEN EACH 5 s", Window(each=Extent(5, "s"))),
        ("between -- gap\n each 5 s WITHIN 1 min", Window(Extent(1, "min"), each=Extent(5, "s"))),
        ("WINDOW 10 s SLIDE 1 s", Window(sliding=Sliding(Extent(10, "s"), Extent(1, "s")))),
        (
            "WINDOW 10 EVENTS SLIDE 2 EVENTS CLOSED ONE MATCH PER WINDOW",
            Window(sliding=Sliding(Extent(10, "events"), Extent(2, "events"), closed=True, one_match=True)),
        ),
        (
            "WITHIN 5 WINDOW 10 SLIDE 5",
            Window(Extent(5), sliding=Sliding(Extent(10), Extent(5))),
        ),
    ],
)
def test_windows(text, window):
    assert parse(f"A a {text}").window == window


@pytest.mark.parametrize(
    ("text", "skip"),
    [
        ("AFTER MATCH NO SKIP", Skip()),
        ("after match skip past last", Skip(SkipMode.PAST_LAST)),
        ("AFTER MATCH SKIP PAST LAST ROW", Skip(SkipMode.PAST_LAST)),
        ("AFTER MATCH SKIP TO NEXT ROW", Skip(SkipMode.TO_NEXT)),
        ("AFTER MATCH SKIP TO FIRST a", Skip(SkipMode.TO_FIRST, "a")),
        ("AFTER MATCH SKIP TO LAST last", Skip(SkipMode.TO_LAST, "last")),
    ],
)
def test_after_match(text, skip):
    assert parse(f"A a {text}").skip == skip


def test_a_query_with_every_clause_in_another_order():
    clauses = [
        "WHERE a.x > 1 AND SAME[k]",
        "WITHIN 5 s",
        "BETWEEN EACH 1 s",
        "WINDOW 10 s SLIDE 5 s",
        "POLICY any",
        "AFTER MATCH SKIP TO NEXT",
        "RETURN a.x AS x, count(b) AS n, b.x",
        "FROM trades",
    ]
    forward = parse("PATTERN SEQ(A a, B+ b) " + " ".join(clauses))
    backward = parse("SEQ(A a, B+ b) " + " ".join(reversed(clauses)))
    assert forward == backward
    assert forward == Query(
        Seq((a, Repeat(b, 1, None))),
        Compare(">", ax, number(1)),
        (Attribute(None, ("k",)),),
        Window(Extent(5, "s"), False, Extent(1, "s"), Sliding(Extent(10, "s"), Extent(5, "s"))),
        Policy.ANY,
        Skip(SkipMode.TO_NEXT),
        (ReturnItem(ax, "x"), ReturnItem(Aggregate("count", "b"), "n"), ReturnItem(bx)),
        "trades",
    )


def test_a_query_may_end_as_a_statement_of_sql_does():
    assert parse("A; B WITHIN 5 s;\n") == parse("A; B WITHIN 5 s")
    assert parse("A; B;") == parse("A; B")


def test_an_element_without_a_name_is_called_by_its_type():
    named = parse("A A; B B; C WHERE A.x < B.x")
    assert parse("A; B; C WHERE A.x < B.x") == named
    assert parse("A; B; C WHERE A.x < B.x").pattern.parts[2] == C
    assert parse("A; A; B WHERE A.x < 5").pattern == Seq((A, A, B)), "which A is meant is not known"
    assert parse("A b; B WHERE B.x < 5").pattern.parts[1] == Event(("B",), "B")
    assert parse("A; B A WHERE A.x < 5").pattern.parts[0] == A, "A is another element's name"


def test_nodes_know_their_places():
    text = "PATTERN SEQ(Txn a, (B | C)+ b)\nWHERE  SAME[k] AND (a.x + 1) > sum(b.y)"
    query = parse(text)
    shown = {text[n.span.start : n.span.end] for n in walk(query) if n.span is not None}
    assert {
        text,
        "SEQ(Txn a, (B | C)+ b)",
        "Txn a",
        "(B | C)+ b",
        "k",
        "(a.x + 1) > sum(b.y)",
        "(a.x + 1)",
        "a.x",
        "1",
        "sum(b.y)",
        "b.y",
    } <= shown
    assert parse_expression("a.x").span == Span(0, 3)


def test_the_tables_fit_the_grammar():
    """After an edit of the grammar: python -m cepheid.language.lalr."""
    with open(lalr.TABLES, encoding="utf-8") as file:
        assert json.load(file) == lalr.compile_grammar()


def test_tables_are_made_anew_for_another_grammar(tmp_path, monkeypatch):
    monkeypatch.setattr(lalr, "TABLES", str(tmp_path / "grammar.json"))
    assert lalr.load.__wrapped__() == lalr.load()
    lalr.write()
    with open(lalr.TABLES, encoding="utf-8") as file:
        assert json.load(file)["checksum"] == lalr._checksum()


def test_parsing_is_quick_and_needs_no_lark():
    program = (
        "import sys, time; from cepheid.language.parser import parse; start = time.perf_counter();"
        "parse('PATTERN SEQ(A a, B+ b) WHERE SAME[k] AND a.x > 2 * b.x WITHIN 5 minutes RETURN a.x AS x');"
        "print(time.perf_counter() - start, 'lark' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    printed = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment
    ).stdout
    seconds, lark = printed.split()
    assert lark == "False"
    assert float(seconds) < 0.1, "tables and first parse"


def test_a_long_query_parses_in_time_that_grows_with_its_length():
    def seconds(n):
        text = "SEQ(A a) WHERE " + " AND ".join(f"a.x <> {i}" for i in range(n))
        start = time.perf_counter()
        parse(text)
        return time.perf_counter() - start

    seconds(10)
    assert min(seconds(4000) for _ in range(3)) < 40 * min(seconds(400) for _ in range(3))
