"""The table of built-in functions, and the types that constants and results have."""

from decimal import Decimal

import pytest

from cepheid.errors import QueryError
from cepheid.events.types import (
    BOOL,
    DURATION,
    FLOAT,
    INT,
    NULL,
    TEXT,
    TIMESTAMP,
    decimal,
    list_of,
    struct,
)
from cepheid.language.bind import bind
from cepheid.language.bound import Catalog, Function
from cepheid.language.functions import BUILTINS, Takes, accepts
from cepheid.language.literals import as_decimal, coerced, decimal_type, literal_type, timestamp_us
from cepheid.language.parser import parse
from cepheid.language.results import aggregate_type, arithmetic_type, common_type, common_type_of
from cepheid.language.tree import Literal, LiteralKind
from tests.unit.language.payments import PAYMENTS, bound

D = decimal


def test_the_table_has_the_functions_of_the_language():
    assert set(BUILTINS) == {
        *("abs", "sign", "floor", "ceil", "round", "sqrt", "power", "least", "greatest", "coalesce", "distance"),
        *("length", "lower", "upper", "trim", "substring", "concat", "starts_with", "ends_with"),
        *("year", "month", "day", "hour", "minute", "second", "day_of_week"),
    }
    assert {name for name, builtin in BUILTINS.items() if builtin.passes_nulls} == {"coalesce", "least", "greatest"}
    for name, builtin in BUILTINS.items():
        assert builtin.name == name
        assert builtin.signature.startswith(f"{name}(")
        assert builtin.n_most is None or builtin.n_least <= builtin.n_most


@pytest.mark.parametrize(
    ("takes", "dtype", "expected"),
    [
        (Takes.NUMBER, INT, True),
        (Takes.NUMBER, D(5, 2), True),
        (Takes.NUMBER, TEXT, False),
        (Takes.NUMBER, NULL, True),
        (Takes.INT, FLOAT, False),
        (Takes.DIGITS, NULL, False),
        (Takes.TEXT, TEXT, True),
        (Takes.TIMESTAMP, DURATION, False),
        (Takes.ALIKE, BOOL, True),
        (Takes.ALIKE, list_of(INT), False),
    ],
)
def test_what_an_argument_may_be(takes, dtype, expected):
    assert accepts(takes, dtype) is expected


@pytest.mark.parametrize(
    "call",
    [
        "abs(a.card)",
        "abs(b.ts - a.ts)",
        "substring(a.card, 1.5, 2)",
        "substring(a.card, 1)",
        "least(a.n)",
        "coalesce()",
        "coalesce(a.tags, a.tags)",
        "greatest(a.n, a.ts)",
        "year(a.n)",
        "concat(a.card, a.n)",
        "round(a.amount, 1.5)",
        "round(a.amount, :digits)",
        "floor(a.n, 1)",
        "count()",
        "sum(5)",
        "max(a.n, b.n)",
        "sum(a.online)",
        "avg(a.ts)",
        "min(a.address)",
    ],
)
def test_calls_that_do_not_fit_are_refused(call):
    with pytest.raises(QueryError) as caught:
        bound(f"PATTERN SEQ(Txn a, Txn b) WITHIN 1 hour RETURN {call} AS x")
    assert caught.value.remedy


def test_a_registered_function_may_not_hide_a_built_in_one():
    catalog = Catalog(functions={"abs": Function("abs", (FLOAT,), FLOAT, abs)})
    with pytest.raises(QueryError, match="a built-in function and a registered one"):
        bind(parse("PATTERN Txn a WHERE abs(a.amount) > 1"), PAYMENTS, catalog=catalog)


def test_names_of_registered_functions_are_read_as_written():
    with pytest.raises(QueryError, match="there is no function Risk") as caught:
        bound("PATTERN Txn a WHERE Risk(a.card, a.amount) > 1")
    assert "did you mean risk?" in caught.value.remedy


# --- results ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (INT, INT, INT),
        (INT, FLOAT, FLOAT),
        (INT, D(5, 2), D(19, 2)),
        (D(5, 2), D(9, 4), D(19, 4)),
        (D(38, 2), D(38, 2), D(38, 2)),
        (D(5, 2), FLOAT, FLOAT),
        (NULL, TEXT, TEXT),
        (TEXT, NULL, TEXT),
        (TEXT, INT, None),
        (TIMESTAMP, DURATION, None),
        (BOOL, INT, None),
    ],
)
def test_types_that_meet(left, right, expected):
    assert common_type(left, right) == expected
    assert common_type(right, left) == expected


def test_types_that_meet_all_at_once():
    assert common_type_of([INT, NULL, D(5, 2), FLOAT]) == FLOAT
    assert common_type_of([INT, TEXT]) is None
    assert common_type_of([]) == NULL


@pytest.mark.parametrize(
    ("left", "operator", "right", "expected"),
    [
        (INT, "/", INT, FLOAT),
        (D(5, 2), "*", D(5, 3), D(19, 5)),
        (D(5, 2), "%", INT, D(19, 2)),
        (D(38, 30), "*", D(38, 20), None),
        (D(38, 30), "*", D(38, 5), D(35, 35)),
        (NULL, "+", INT, INT),
        (INT, "+", NULL, INT),
        (NULL, "+", NULL, NULL),
        (NULL, "+", TIMESTAMP, None),
        (TIMESTAMP, "-", TIMESTAMP, DURATION),
        (TIMESTAMP, "+", TIMESTAMP, None),
        (DURATION, "-", TIMESTAMP, None),
        (DURATION, "*", INT, DURATION),
        (DURATION, "*", FLOAT, None),
        (DURATION, "/", INT, None),
        (DURATION, "/", DURATION, FLOAT),
        (DURATION, "+", DURATION, DURATION),
        (TEXT, "+", TEXT, None),
        (BOOL, "+", INT, None),
    ],
)
def test_results_of_arithmetic(left, operator, right, expected):
    assert arithmetic_type(operator, left, right) == expected


@pytest.mark.parametrize(
    ("function", "argument", "expected"),
    [
        ("count", None, INT),
        ("count", struct(x=INT), INT),
        ("sum", INT, INT),
        ("sum", D(5, 2), D(19, 2)),
        ("sum", DURATION, None),
        ("avg", D(5, 2), FLOAT),
        ("avg", TEXT, None),
        ("min", BOOL, BOOL),
        ("max", list_of(INT), None),
        ("sum", None, None),
    ],
)
def test_results_of_aggregates(function, argument, expected):
    assert aggregate_type(function, argument) == expected


# --- constants --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected", "dtype"),
    [
        (5, Decimal("5"), D(1, 0)),
        (100, Decimal("100"), D(3, 0)),
        (1.10, Decimal("1.1"), D(2, 1)),
        (0.001, Decimal("0.001"), D(3, 3)),
        (Decimal("1.50"), Decimal("1.5"), D(2, 1)),
        (Decimal("1E+2"), Decimal("100"), D(3, 0)),
        (Decimal("-0.00"), Decimal("0"), D(1, 0)),
        (Decimal("999999999999999999"), Decimal("999999999999999999"), D(18, 0)),
    ],
)
def test_decimals_have_the_digits_that_they_need(value, expected, dtype):
    exact = as_decimal(value)
    assert exact == expected
    assert str(exact) == str(expected)
    assert decimal_type(exact) == dtype


@pytest.mark.parametrize(
    "value",
    [
        2**63,
        -(2**63) - 1,
        1e30,
        1e-30,
        float("inf"),
        float("nan"),
        Decimal("Infinity"),
        Decimal("1e1000000"),
        0.00012345678901234567,
    ],
)
def test_what_no_decimal_of_64_bits_holds(value):
    assert as_decimal(value) is None


def test_equal_constants_have_equal_types():
    one, two = (Literal(as_decimal(Decimal(text)), LiteralKind.DECIMAL) for text in ("1.5", "1.500"))
    assert one == two
    assert literal_type(one) == literal_type(two)


def test_a_number_that_no_decimal_holds_is_compared_as_a_float():
    literal = coerced(Literal(10**20, LiteralKind.INT), D(10, 2))
    assert (literal.kind, literal.value) == (LiteralKind.FLOAT, 1e20)
    assert coerced(Literal(10**400, LiteralKind.INT), FLOAT).kind is LiteralKind.INT


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1970-01-01", 0),
        ("1970-01-01 00:00:01", 1_000_000),
        ("1970-01-01T00:00:00.000001", 1),
        ("1970-01-01T00:00:00.0000019", 1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999999", -1),
        (" 1970-01-01 ", 0),
        ("0001-01-01", -62_135_596_800_000_000),
        ("9999-12-31T23:59:59.999999", 253_402_300_799_999_999),
        ("", None),
        ("31.01.2024", None),
        ("2024-02-30", None),
        ("10:00", None),
        ("0001-01-01T00:00+14:00", -62_135_596_800_000_000 - 14 * 3_600_000_000),
    ],
)
def test_iso_timestamps(text, us):
    assert timestamp_us(text) == us
