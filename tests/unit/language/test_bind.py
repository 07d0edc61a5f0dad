"""What bind returns for queries that fit: names, variables, conditions, windows, the output."""

import pytest

from cepheid.errors import QueryError
from cepheid.events.schema import Schema
from cepheid.events.types import FLOAT, INT, TEXT, TIMESTAMP, Kind, list_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse, parse_expression
from cepheid.language.printer import print_expression, print_pattern
from cepheid.language.tree import (
    And,
    AnyOf,
    Attribute,
    Compare,
    Event,
    Extent,
    Literal,
    LiteralKind,
    Negation,
    Not,
    Or,
    Policy,
    Query,
    Repeat,
    Seq,
    Skip,
    SkipMode,
    Sliding,
    Window,
)
from tests.unit.language.payments import CATALOG, PAYMENTS, bound


def conditions(where: str, pattern: str = "SEQ(Txn a, Denied+ d, Refund r)") -> list[str]:
    query = bound(f"PATTERN {pattern} WHERE {where} WITHIN 1 hour")
    return [print_expression(conjunct.expression) for conjunct in query.conjuncts]


# --- names and variables ----------------------------------------------------------------------------


def test_elements_without_a_name_are_numbered_in_the_order_of_the_text():
    query = bound("PATTERN SEQ(Txn, Denied d, (Refund | Txn)+, NOT Refund, Txn) WITHIN 1 hour")
    assert list(query.variables) == ["#0", "d", "#1", "#2", "#3"]
    assert [v.hidden for v in query.variables.values()] == [True, False, True, True, True]
    assert query.query.pattern.parts[0].name is None


@pytest.mark.parametrize(
    ("pattern", "loop", "own_loop", "optional", "negated", "groups"),
    [
        ("SEQ(Refund r, Txn x)", False, False, False, False, ()),
        ("SEQ(Refund r, Txn+ x)", True, True, False, False, ()),
        ("SEQ(Refund r, Txn* x)", True, True, True, False, ()),
        ("SEQ(Refund r, Txn? x)", False, False, True, False, ()),
        ("SEQ(Refund r, Txn{2} x)", True, True, False, False, ()),
        ("SEQ(Refund r, Txn{0,3} x)", True, True, True, False, ()),
        ("SEQ(Refund r, NOT Txn x, Denied d)", False, False, False, True, ()),
        ("SEQ(Refund r, NOT OR(Txn x, Denied e), Denied d)", False, False, True, True, ()),
        ("OR(Refund r, Txn x)", False, False, True, False, ()),
        ("OR(SEQ(Txn x, Refund r), SEQ(Txn x, Denied d))", False, False, False, False, ()),
        ("SEQ(Refund r, AND(Txn x, Denied d))", False, False, False, False, ()),
        ("ANY(1, Refund r, Txn x)", False, False, True, False, ()),
        ("ANY(2, Refund r, Txn x)", False, False, False, False, ()),
        ("(SEQ(Refund r, Txn x))+", True, False, False, False, (0,)),
        ("SEQ(Refund r, (SEQ(Txn x, Denied d))?)", False, False, True, False, ()),
        ("((Txn x)+)+", True, True, False, False, (0,)),
        ("SEQ((SEQ(Refund r, Refund s))+, ((SEQ(Denied d, Txn+ x)){2})*)", True, True, True, False, (1, 2)),
    ],
)
def test_what_a_variable_is(pattern, loop, own_loop, optional, negated, groups):
    x = bound(f"PATTERN {pattern} WITHIN 1 hour").variables["x"]
    assert (x.loop, x.own_loop, x.optional, x.negated, x.groups) == (loop, own_loop, optional, negated, groups)


def test_attributes_of_a_variable_are_those_of_its_types():
    query = bound("PATTERN SEQ(Txn a, (Denied | Refund) d, * e) WITHIN 1 hour")
    assert "online" in query.variables["a"].fields
    assert "online" not in query.variables["d"].fields
    assert {"reason", "price"} <= set(query.variables["d"].fields)
    assert set(query.variables["e"].fields) == set(PAYMENTS.fields)
    assert query.variables["e"].types == ()


def test_a_name_that_recurs_in_branches_takes_the_types_of_all():
    query = bound("PATTERN SEQ(Txn a, OR(Denied d, Refund d)) WHERE d.amount > a.amount WITHIN 1 hour")
    assert query.variables["d"].types == ("Denied", "Refund")
    assert not query.variables["d"].optional
    assert query.conjuncts[0].variables == ("a", "d")


def test_types_of_one_table_are_read_from_its_type_column():
    schema = Schema(fields={"ts": TIMESTAMP, "kind": TEXT, "x": FLOAT}, time="ts", type="kind")
    assert bound('PATTERN SEQ(Anything a, "order placed" b)', schema).variables["b"].types == ("order placed",)


def test_a_table_without_types_takes_any_event_only():
    schema = Schema(fields={"ts": TIMESTAMP, "x": FLOAT}, time="ts")
    assert bound("PATTERN SEQ(* a, * b) WHERE a.x < b.x", schema).variables["a"].types == ()
    with pytest.raises(QueryError, match="no type column"):
        bound("PATTERN SEQ(A a, * b)", schema)


def test_an_attribute_of_two_types_in_two_tables_is_refused():
    schema = Schema(
        fields={"ts": INT, "x": INT},
        time="ts",
        time_unit="s",
        per_type={"A": {"ts": INT, "x": INT}, "B": {"ts": INT, "x": TEXT}},
    )
    with pytest.raises(QueryError, match=r"x has another type in A \(int\) than in B \(text\)"):
        bound("PATTERN (A | B) a WHERE a.x > 1", schema)
    assert bound("PATTERN SEQ(A a, B b) WHERE a.x > 1 AND b.x = 'y'", schema).conjuncts


# --- conditions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("NOT a.amount < 5", ["a.amount >= 5.0"]),
        ("NOT (a.amount < 5 OR a.n = 3)", ["a.amount >= 5.0", "a.n <> 3"]),
        ("NOT (a.amount < 5 AND a.n = 3)", ["a.amount >= 5.0 OR a.n <> 3"]),
        ("NOT NOT a.online", ["a.online"]),
        ("NOT a.online", ["NOT a.online"]),
        ("NOT (a.online OR NOT a.n IN (1, 2))", ["NOT a.online", "a.n IN (1, 2)"]),
        ("NOT a.card LIKE 'x%'", ["a.card NOT LIKE 'x%'"]),
        ("NOT a.card IS NULL", ["a.card IS NOT NULL"]),
        ("NOT a.place IN a.tags", ["a.place NOT IN a.tags"]),
        ("NOT (a.n = 1 OR (a.n = 2 AND NOT (a.n = 3 OR a.n = 4)))", ["a.n <> 1", "a.n <> 2 OR a.n = 3 OR a.n = 4"]),
        ("(a.n = 1 AND (a.amount > 1 AND a.online))", ["a.n = 1", "a.amount > 1.0", "a.online"]),
        ("a.n NOT BETWEEN 2 AND 4", ["a.n < 2 OR a.n > 4"]),
        ("TRUE AND a.online", ["a.online"]),
        ("coalesce(NOT a.n > 5, TRUE)", ["coalesce(a.n <= 5, TRUE)"]),
    ],
)
def test_not_is_pushed_inward_and_and_is_split(where, expected):
    assert conditions(where) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("a.amount > 5", "a.amount > 5.0"),
        ("5 < a.amount", "5.0 < a.amount"),
        ("a.n > 5.5", "a.n > 5.5"),
        ("a.price > -5", "a.price > -5"),
        ("a.price IN (1, 2.50)", "a.price IN (1, 2.5)"),
        ("a.ts > '2024-01-31'", "a.ts > TIMESTAMP '2024-01-31 00:00:00'"),
        ("a.ts > '2024-01-31T10:00:00+02:00'", "a.ts > TIMESTAMP '2024-01-31 08:00:00'"),
        ("'2024-01-31' < a.ts", "TIMESTAMP '2024-01-31 00:00:00' < a.ts"),
        ("a.ts - '2024-01-31' < 5 s", "a.ts - TIMESTAMP '2024-01-31 00:00:00' < 5 s"),
        ("d.amount > 2 * a.amount", "d.amount > 2.0 * a.amount"),
        ("a.amount > 1 + 2.5", "a.amount > 1.0 + 2.5"),
        ("coalesce(a.price, 0) > 1", "coalesce(a.price, 0) > 1"),
        ("greatest(1, a.amount) > 1", "greatest(1.0, a.amount) > 1.0"),
        ("SQRT(4) < a.amount", "sqrt(4.0) < a.amount"),
        ("year('2024-01-31') = a.n", "year(TIMESTAMP '2024-01-31 00:00:00') = a.n"),
        ("risk(a.card, 5) > 0", "risk(a.card, 5.0) > 0.0"),
    ],
)
def test_constants_take_the_type_of_what_they_meet(where, expected):
    assert conditions(where) == [expected]


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("a.n + a.n", "int"),
        ("a.n / a.n", "float"),
        ("a.n + a.amount", "float"),
        ("a.n % 3", "int"),
        ("a.price + a.n", "decimal(19, 2)"),
        ("a.price * 1.125", "decimal(19, 5)"),
        ("a.price * a.amount", "float"),
        ("a.price / a.price", "float"),
        ("b.ts - a.ts", "duration"),
        ("b.ts + 5 minutes", "timestamp"),
        ("5 minutes + b.ts", "timestamp"),
        ("(b.ts - a.ts) / 5 minutes", "float"),
        ("3 * (b.ts - a.ts)", "duration"),
        ("-a.price", "decimal(10, 2)"),
        ("count(d)", "int"),
        ("count(d.card)", "int"),
        ("sum(d.n)", "int"),
        ("sum(d.amount * 2)", "float"),
        ("avg(d.n)", "float"),
        ("min(d.card)", "text"),
        ("max(d.ts)", "timestamp"),
        ("sum(a.price)", "decimal(19, 2)"),
        ("first(d).amount", "float"),
        ("abs(a.n)", "int"),
        ("sign(a.amount)", "float"),
        ("floor(a.price)", "decimal(19, 0)"),
        ("round(a.price, 1)", "decimal(19, 1)"),
        ("round(a.amount)", "float"),
        ("power(a.n, 2)", "float"),
        ("coalesce(a.n, 0)", "int"),
        ("least(a.n, a.price)", "decimal(19, 2)"),
        ("length(a.card)", "int"),
        ("concat(a.card, '-', a.place)", "text"),
        ("substring(a.card, 1, 2)", "text"),
        ("starts_with(a.card, 'x')", "bool"),
        ("day_of_week(a.ts)", "int"),
        ("distance(a.lat, a.lon, 0, 0)", "float"),
        ("risk(a.card, a.n)", "float"),
        ("REMOTE places[a.customer].home", "text"),
        ("REMOTE limits[a.customer]", "float"),
        ("a.address.zip", "int"),
        ("a.n > 3", "bool"),
    ],
)
def test_types_of_expressions(expression, kind):
    query = bound(f"PATTERN SEQ(Txn a, Denied+ d, Txn b) WITHIN 1 hour RETURN {expression} AS x")
    assert str(query.returns[0].type) == kind
    assert query.types[query.returns[0].expression] == query.returns[0].type


def test_what_a_condition_reads_is_in_the_order_of_the_pattern():
    query = bound("PATTERN SEQ(Txn a, NOT Denied d, Refund r) WHERE r.n > d.n + a.n AND a.n > 1 WITHIN 1 hour")
    assert [(c.variables, c.negated) for c in query.conjuncts] == [(("a", "d", "r"), "d"), (("a",), None)]


def test_a_condition_may_read_parameters_alone():
    query = bound("PATTERN Txn a WHERE :on AND a.n > 1")
    assert query.conjuncts[0].variables == ()
    assert query.parameters["on"].kind is Kind.BOOL


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("a.amount > :p", "float"),
        (":p < a.n", "int"),
        ("a.n * :p > d.amount", "float"),
        ("a.n > 2 * :p", "int"),
        ("a.n / :p > 2", "float"),
        ("a.ts > :p", "timestamp"),
        ("a.ts > :p + 5 minutes", "timestamp"),
        ("r.ts - a.ts < :p", "duration"),
        ("r.ts < a.ts + :p", "duration"),
        ("r.ts - :p > a.ts", "duration"),
        ("r.ts - :p > 5 minutes", "timestamp"),
        ("a.card = :p", "text"),
        ("a.card IN ('x', :p)", "text"),
        ("a.card IN :p", "list of text"),
        ("a.price < :p", "decimal(10, 2)"),
        ("length(:p) > a.n", "text"),
        ("a.n * :p > 5.5", "float"),
        ("a.ts + :p > '2024-01-31'", "duration"),
        ("sqrt(:p) > 2", "float"),
        ("coalesce(a.n, :p) > 2", "int"),
        ("NOT :p", "bool"),
        ("a.place = REMOTE places[:p].home", "text"),
        ("a.n > :p AND a.amount > :p", "float"),
        ("a.amount > :p AND a.n > :p", "float"),
        ("d.n > 5 AND :q = :p AND a.n = :q", "int"),
    ],
)
def test_types_of_parameters_are_inferred(where, kind):
    query = bound(f"PATTERN SEQ(Txn a, Denied d, Refund r) WHERE {where} WITHIN 1 hour")
    assert str(query.parameters["p"]) == kind


def test_a_parameter_may_be_returned_where_another_place_tells_its_type():
    query = bound("PATTERN Txn a WHERE a.amount > :limit RETURN :limit AS bound_by")
    assert query.returns[0].type == FLOAT


def test_until_reads_events_of_any_type():
    query = bound("PATTERN SEQ(Txn a, Denied+ d UNTIL NOT d.price < 5, Refund r) WITHIN 1 hour")
    repeat = query.pattern.parts[1]
    assert print_expression(repeat.until) == "d.price >= 5"
    assert query.types[repeat.until].kind is Kind.BOOL
    assert query.types[repeat.until.left].kind is Kind.DECIMAL


# --- clauses ----------------------------------------------------------------------------------------


def test_a_policy_is_always_named():
    assert bound("PATTERN Txn a").policy is Policy.NEXT
    assert bound("PATTERN Txn a POLICY strict").policy is Policy.STRICT


def test_windows_are_in_microseconds_or_events():
    window = bound("PATTERN SEQ(Txn a, Denied d) WITHIN 1.5 s EXCLUSIVE BETWEEN EACH 20 ms").window
    assert (window.within_us, window.exclusive, window.each_us) == (1_500_000, True, 20_000)
    window = bound("PATTERN SEQ(Txn a, Denied d) WINDOW 100 EVENTS SLIDE 10 EVENTS CLOSED ONE MATCH PER WINDOW").window
    assert (window.size_events, window.slide_events, window.closed, window.one_match) == (100, 10, True, True)
    assert bound("PATTERN SEQ(Txn a, Denied d) WITHIN 2K EVENTS").window.within_events == 2000


def test_a_bare_number_is_in_the_unit_of_the_time_column():
    schema = Schema(fields={"t": INT, "kind": TEXT}, time="t", time_unit="ms", type="kind")
    assert bound("PATTERN SEQ(A a, B b) WITHIN 50K", schema).window.within_us == 50_000_000


def test_the_partition_is_typed():
    query = bound("PATTERN SEQ(Txn a, Denied d) WHERE SAME[card, lower(place)] WITHIN 1 hour")
    assert [print_expression(key) for key in query.partition] == ["card", "lower(place)"]
    assert [query.types[key] for key in query.partition] == [TEXT, TEXT]
    assert query.conjuncts == ()


def test_columns_of_return():
    query = bound(
        "PATTERN SEQ(Txn a, Denied+ d) WITHIN 1 hour RETURN a.card, a.address.city, d.n AS ns, count(d), a.amount * 2"
    )
    assert [(c.name, c.type) for c in query.returns] == [
        ("card", TEXT),
        ("city", TEXT),
        ("ns", list_of(INT)),
        ("count(d)", INT),
        ("a.amount * 2", FLOAT),
    ]
    assert query.types[query.returns[2].expression] == INT


# --- trees that no text gives -----------------------------------------------------------------------


A, B = Event(("Txn",), "a"), Event(("Denied",), "b")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (Seq(()), "SEQ has no parts"),
        (Seq((A, Or(()))), "OR has no parts"),
        (AnyOf(0, (A, B)), "at least 1"),
        (Repeat(A, 3, 2), "no range of repetitions"),
        (Repeat(A, -1, 2), "no range of repetitions"),
        (Repeat(A, 0, 0), "no range of repetitions"),
        (
            Repeat(Seq((A, B)), 1, None, until=Compare("=", Literal(1, LiteralKind.INT), Literal(1, LiteralKind.INT))),
            "UNTIL closes the loop of one variable",
        ),
        (
            Repeat(A, 0, 1, until=Compare("=", Literal(1, LiteralKind.INT), Literal(1, LiteralKind.INT))),
            "UNTIL closes a loop",
        ),
        (Event(("Txn",), "#0"), "'#0' is not a name"),
        (Event(("Txn", "Txn"), "a"), "named twice"),
        (Not(A), "without any event"),
        (And((A, Not(B))), "NOT stands inside AND"),
    ],
)
def test_patterns_put_together_by_hand_obey_the_rules(pattern, message):
    with pytest.raises(QueryError, match=message):
        bind(Query(pattern), PAYMENTS)


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (Window(within=Extent(-5, "s")), "is empty"),
        (Window(within=Extent(float("nan"), "s")), "is not a length"),
        (Window(within=Extent(5, "fortnights")), "not a unit of time"),
        (Window(within=Extent(1.5, "events")), "whole number of events"),
        (Window(within=Extent(2**70, "events")), "too long"),
        (Window(within=Extent(2**62, "d")), "longer than"),
        (Window(exclusive=True), "EXCLUSIVE belongs to WITHIN"),
        (Window(sliding=Sliding(Extent(5, "s"), Extent(-1, "s"))), "is empty"),
        (Window(sliding=Sliding(Extent(1, "events"), Extent(1, "events"))), "no match fits"),
    ],
)
def test_windows_put_together_by_hand_obey_the_rules(window, message):
    with pytest.raises(QueryError, match=message):
        bind(Query(Seq((A, B)), window=window), PAYMENTS)


def test_a_skip_put_together_by_hand_names_its_variable():
    with pytest.raises(QueryError, match="does not say to which variable"):
        bind(Query(Seq((A, B)), skip=Skip(SkipMode.TO_LAST)), PAYMENTS)


def test_an_error_of_a_built_query_points_into_the_printed_text():
    query = Query(Seq((A, B)), where=Compare("=", Attribute("a", ("crad",)), Attribute("b", ("card",))))
    with pytest.raises(QueryError) as caught:
        bind(query, PAYMENTS)
    assert "a.crad = b.card\n" in str(caught.value)
    assert caught.value.span is not None


def test_the_query_stays_as_it_was_written():
    text = "PATTERN SEQ(Txn, Denied d) WHERE NOT d.amount < 5 WITHIN 1 hour"
    query = parse(text)
    result = bind(query, PAYMENTS, catalog=CATALOG, text=text)
    assert result.query == query
    assert result.text == text
    assert print_pattern(query.pattern) == "SEQ(Txn, Denied d)"
    assert bind(query, PAYMENTS, catalog=CATALOG).conjuncts == result.conjuncts


def test_a_negation_that_cannot_go_further_in_stays():
    query = bound("PATTERN Txn a WHERE NOT starts_with(a.card, 'x')")
    assert isinstance(query.conjuncts[0].expression, Negation)
    assert query.types[query.conjuncts[0].expression].kind is Kind.BOOL


def test_a_where_of_true_asks_for_nothing():
    query = Query(A, where=parse_expression("TRUE"))
    assert bind(query, PAYMENTS).conjuncts == ()
