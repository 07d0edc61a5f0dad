"""Values for parameters: what they may be, and what the query becomes."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest

from cepheid.errors import ParameterError
from cepheid.events.types import FLOAT
from cepheid.language.bind import bind
from cepheid.language.parameters import with_parameters
from cepheid.language.parser import parse
from cepheid.language.printer import print_expression
from cepheid.language.tree import Parameter, walk
from tests.unit.language.payments import CATALOG, PAYMENTS, bound


def filled(where: str, **values) -> list[str]:
    query = bound(f"PATTERN SEQ(Txn a, Denied+ d, Refund r) WHERE {where} WITHIN 1 hour")
    return [print_expression(conjunct.expression) for conjunct in with_parameters(query, values).conjuncts]


@pytest.mark.parametrize(
    ("where", "value", "expected"),
    [
        ("a.amount > :p", 5, "a.amount > 5.0"),
        ("a.amount > :p", 5.5, "a.amount > 5.5"),
        ("a.amount > :p", Decimal("5.5"), "a.amount > 5.5"),
        ("a.amount > :p", np.float32(0.5), "a.amount > 0.5"),
        ("a.n > :p", 5, "a.n > 5"),
        ("a.n > :p", 5.0, "a.n > 5"),
        ("a.n > :p", np.int64(5), "a.n > 5"),
        ("a.price > :p", Decimal("1.50"), "a.price > 1.5"),
        ("a.price > :p", 1.1, "a.price > 1.1"),
        ("a.card = :p", "x'y", "a.card = 'x''y'"),
        ("a.online = :p", np.bool_(True), "a.online = TRUE"),
        ("a.ts > :p", datetime(2024, 1, 31, 10), "a.ts > TIMESTAMP '2024-01-31 10:00:00'"),
        ("a.ts > :p", datetime(2024, 1, 31, 10, tzinfo=UTC), "a.ts > TIMESTAMP '2024-01-31 10:00:00'"),
        (
            "a.ts > :p",
            datetime(2024, 1, 31, 10, tzinfo=timezone(timedelta(hours=2))),
            "a.ts > TIMESTAMP '2024-01-31 08:00:00'",
        ),
        ("a.ts > :p", date(2024, 1, 31), "a.ts > TIMESTAMP '2024-01-31 00:00:00'"),
        ("a.ts > :p", "2024-01-31 10:00", "a.ts > TIMESTAMP '2024-01-31 10:00:00'"),
        ("a.ts > :p", np.datetime64("2024-01-31T10:00:00.000000001"), "a.ts > TIMESTAMP '2024-01-31 10:00:00'"),
        ("r.ts - a.ts < :p", timedelta(minutes=5), "r.ts - a.ts < 5 min"),
        ("r.ts - a.ts < :p", np.timedelta64(5, "m"), "r.ts - a.ts < 5 min"),
        ("a.card IN :p", ["x", "y"], "a.card IN ('x', 'y')"),
        ("a.card NOT IN :p", ("x",), "a.card NOT IN ('x')"),
        ("a.n IN :p", {3, 1, 2}, "a.n IN (1, 2, 3)"),
        ("NOT a.n IN :p", [1], "a.n NOT IN (1)"),
        ("NOT (:p AND a.n > 5)", False, "TRUE OR a.n <= 5"),
        ("abs(a.n - :p) > 5", -1, "abs(a.n - -1) > 5"),
        ("a.place = REMOTE places[:p].home", "x", "a.place = REMOTE places['x'].home"),
        ("sum(d.amount * :p) > 5", 2, "sum(d.amount * 2.0) > 5.0"),
    ],
)
def test_a_parameter_becomes_a_constant_of_its_type(where, value, expected):
    assert filled(where, p=value) == [expected]


def test_parameters_everywhere():
    text = (
        "PATTERN SEQ(Txn a, Denied+ d UNTIL d.n > :stop, Refund r) "
        "WHERE SAME[coalesce(card, :none)] AND a.amount > :low WITHIN 1 hour RETURN a.amount - :low, :stop AS stop"
    )
    query = bound(text)
    assert {name: str(dtype) for name, dtype in query.parameters.items()} == {
        "stop": "int",
        "none": "text",
        "low": "float",
    }
    result = with_parameters(query, {"stop": 5, "none": "-", "low": 100})
    assert not result.parameters
    assert result.query == query.query
    assert result.text == text
    assert [(column.name, column.type) for column in result.returns] == [
        (column.name, column.type) for column in query.returns
    ]
    assert print_expression(result.partition[0]) == "coalesce(card, '-')"
    assert print_expression(result.pattern.parts[1].until) == "d.n > 5"
    roots = [result.pattern, *(c.expression for c in result.conjuncts), *(c.expression for c in result.returns)]
    assert not any(isinstance(node, Parameter) for root in roots for node in walk(root))


def test_it_is_the_query_that_constants_would_have_given():
    filled_in = with_parameters(
        bound("PATTERN SEQ(Txn a, Refund r) WHERE a.amount > :low AND NOT a.n IN :ns WITHIN 1 hour"),
        {"low": 5, "ns": [1, 2]},
    )
    written = bound("PATTERN SEQ(Txn a, Refund r) WHERE a.amount > 5 AND NOT a.n IN (1, 2) WITHIN 1 hour")
    assert filled_in.conjuncts == written.conjuncts
    assert filled_in.types == written.types


def test_names_of_columns_do_not_depend_on_the_values():
    query = bind(parse("PATTERN Txn a RETURN a.amount - :low"), PAYMENTS, catalog=CATALOG)
    assert with_parameters(query, {"low": 1}).returns[0].name == "a.amount - :low"
    assert with_parameters(query, {"low": 1}).returns[0].type == FLOAT


def test_an_empty_list_is_a_list():
    query = bound("PATTERN Txn a WHERE a.n IN :ns AND a.card NOT IN :cards")
    one, two = with_parameters(query, {"ns": [], "cards": set()}).conjuncts
    assert (one.expression.options, one.expression.negated) == ((), False)
    assert (two.expression.options, two.expression.negated) == ((), True)


def test_values_that_no_event_satisfies_give_no_matches_and_no_error():
    assert filled("a.n > :low AND a.n < :high", low=5, high=3) == ["a.n > 5", "a.n < 3"]
    assert filled("a.n > 5 AND :on", on=False) == ["a.n > 5", "FALSE"]
    assert filled("a.n > 5 AND :on", on=True) == ["a.n > 5"]


def test_a_query_without_parameters_stays_as_it_is():
    query = bound("PATTERN Txn a")
    assert with_parameters(query, {}) is query


def test_an_infinity_is_no_limit():
    query = bound("PATTERN Txn a WHERE a.amount < :limit")
    literal = with_parameters(query, {"limit": float("inf")}).conjuncts[0].expression.right
    assert literal.value == float("inf")


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ("a.amount > :p", "5", r"the parameter :p is a float, and the value is a str \('5'\)"),
        ("a.amount > :p", True, "is a float, and the value is a bool"),
        ("a.amount > :p", float("nan"), "is a float, and the value is a float"),
        ("a.amount > :p", None, "is a float, and the value is None"),
        ("a.amount > :p", 10**400, "is a float, and the value is an int"),
        ("a.n > :p", 5.5, "is an int, and the value is a float"),
        ("a.n > :p", 2**63, "is an int, and the value is an int"),
        ("a.n > :p", True, "is an int, and the value is a bool"),
        ("a.price > :p", Decimal("NaN"), "is a decimal"),
        ("a.price > :p", Decimal("1e30"), "is a decimal"),
        ("a.price > :p", "1.5", "is a decimal"),
        ("a.card = :p", 5, "is a text, and the value is an int"),
        ("a.online = :p", 1, "is a bool, and the value is an int"),
        ("a.ts > :p", "soon", "is a timestamp, and the value is a str"),
        ("a.ts > :p", 1_700_000_000, "is a timestamp, and the value is an int"),
        ("r.ts - a.ts < :p", 300, "is a duration, and the value is an int"),
        ("a.n IN :p", 5, "is a list of int, and the value is an int"),
        ("a.n IN :p", ["x"], "is an int, and the value is a str"),
        ("a.card IN :p", "xy", "is a list of text, and the value is a str"),
    ],
)
def test_a_value_of_another_type_is_refused(where, value, message):
    with pytest.raises(ParameterError, match=message) as caught:
        filled(where, p=value)
    assert caught.value.remedy
    assert ":p" in caught.value.text[caught.value.span.start : caught.value.span.end]


def test_missing_and_unknown_parameters():
    query = bound("PATTERN Txn a WHERE a.amount > :limit")
    with pytest.raises(ParameterError, match="the parameter :limit has no value") as caught:
        with_parameters(query, {})
    assert caught.value.line == 1
    with pytest.raises(ParameterError, match="no parameter :limmit") as caught:
        with_parameters(query, {"limit": 1, "limmit": 2})
    assert "did you mean limit?" in caught.value.remedy
    with pytest.raises(ParameterError, match="no parameter :x"):
        with_parameters(bound("PATTERN Txn a"), {"x": 1})


def test_pandas_times(tmp_path):
    pd = pytest.importorskip("pandas")
    assert filled("a.ts > :p", p=pd.Timestamp("2024-01-31 10:00:00.000000001")) == [
        "a.ts > TIMESTAMP '2024-01-31 10:00:00'"
    ]
    assert filled("r.ts - a.ts < :p", p=pd.Timedelta(minutes=5)) == ["r.ts - a.ts < 5 min"]
    with pytest.raises(ParameterError, match="is a timestamp"):
        filled("a.ts > :p", p=pd.NaT)


def test_a_whole_number_that_does_not_fit_is_told_so():
    with pytest.raises(ParameterError, match="fits 64 bits"):
        filled("a.n > :p", p=2**63)


def test_a_query_whose_matches_are_identified_stays_one():
    query = replace(bound("PATTERN SEQ(Txn a, Refund r) WHERE a.amount > :p WITHIN 1 hour"), identified=True)
    assert with_parameters(query, {"p": 1}).identified
