"""Numbers with more digits than a float keeps are exact beside decimals: in the text, the engine and the oracle."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid as cep
from cepheid.events.schema import Schema
from cepheid.events.types import FLOAT, INT, TEXT, TIMESTAMP, DataType, Kind
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.language.printer import print_expression, print_query
from cepheid.language.tree import Compare, Literal, LiteralKind
from cepheid.testing.harness import EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent

LONG = Decimal("90071992547409.93")
"""Its nearest float is written ...409.94."""
ENDS = (Decimal("92233720368547758.07"), Decimal("-92233720368547758.08"))
"""The greatest and the least number with two digits after the point that fit 64 bits."""

NARROW = DataType(Kind.DECIMAL, precision=18, scale=2)
WIDE = DataType(Kind.DECIMAL, precision=19, scale=2)
SCHEMA = Schema(
    {"ts": TIMESTAMP, "kind": TEXT, "x": NARROW, "w": WIDE, "v": WIDE, "f": FLOAT, "n": INT}, time="ts", type="kind"
)
VALUES = {"x": LONG, "w": ENDS[0], "v": ENDS[1], "f": float(LONG), "n": 2}
EVENTS = [OracleEvent(second * 10**6, (second,), "s", kind, VALUES) for second, kind in enumerate("AB")]
TABLE = pa.table(
    {
        "ts": pa.array([0], pa.timestamp("us")),
        "x": pa.array([LONG], pa.decimal128(18, 2)),
        "w": pa.array([ENDS[0]], pa.decimal128(19, 2)),
    }
)

HOLD = (
    "a.x = 90071992547409.93",
    "90071992547409.93 = a.x",
    "a.x IN (90071992547409.93)",
    "90071992547409.93 IN (a.x, 1)",
    "a.x BETWEEN 90071992547409.93 AND 90071992547409.93",
    "a.x - 90071992547409.93 = 0",
    "a.x + b.x = 180143985094819.86",
    "a.x + b.x - 180143985094819.86 = b.x - a.x",
    "-a.x = -90071992547409.93",
    "a.x < 90071992547409.931",
    "a.x > 90071992547409.929",
    "a.x = 9007199254740993e-2",
    "a.x = 90_071_992_547.40993K",
    "a.x = 90071992547409.930000",
    "least(a.x, b.x, 90071992547409.94) = 90071992547409.93",
    "a.w = 92233720368547758.07 AND b.w >= 92233720368547758.07",
    "a.v = -92233720368547758.08",
    "a.f = 90071992547409.93",  # where a float is met, both are the nearest float
    "a.f = 90071992547409.94",
    "a.n * 9007199254740993.0 = 18014398509481984",
    "90071992547409.93 = 90071992547409.94",
)
FAIL = (
    "a.x <> 90071992547409.93",
    "a.x = 90071992547409.94",
    "a.x NOT IN (90071992547409.93, 1)",
    "a.x >= 90071992547409.931",
    "a.w < 92233720368547758.07",
)


@pytest.mark.parametrize(("condition", "n"), [(c, 1) for c in HOLD] + [(c, 0) for c in FAIL])
def test_conditions(condition, n):
    text = f"PATTERN SEQ(A a, B b) WHERE {condition} RETURN a.x - 90071992547409.93 AS d, 90071992547409.93 AS c"
    query = parse(text)
    assert parse(print_query(query)) == query
    bound = bind(query, SCHEMA, text=text)
    expected = oracle_answers(bound, EVENTS)
    assert len(expected) == n
    assert EngineRoad(bound).answers(EVENTS) == expected
    for answer in expected:
        assert answer.returned == (Decimal("0.00"), float(LONG))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**13), max_value=10**13))
def test_every_digit_is_printed_and_read(number):
    text = f"{number:f}"
    where = parse(f"PATTERN A a WHERE a.x = {text}").where
    assert isinstance(where, Compare)
    literal = where.right
    assert isinstance(literal, Literal)
    assert literal.kind is LiteralKind.FLOAT
    assert Decimal(print_expression(literal)) == number


def test_builder_keeps_the_digits():
    a = cep.build.event("A", "a")
    assert cep.build.seq(a).where(a.x == LONG).tree.where == parse(f"PATTERN A a WHERE a.x = {LONG}").where


@pytest.mark.parametrize("value", ENDS)
def test_parameters_take_what_the_column_takes(value):
    table = TABLE.set_column(2, "w", pa.array([value], pa.decimal128(19, 2)))
    assert cep.match(table, "PATTERN * a WHERE a.w = :w", time="ts", parameters={"w": value}).num_rows == 1
    assert cep.match(table, "PATTERN * a WHERE a.w IN :w", time="ts", parameters={"w": [value]}).num_rows == 1


def test_parameters_beyond_64_bits_are_refused():
    with pytest.raises(cep.errors.ParameterError, match="fit 64 bits"):
        cep.match(TABLE, "PATTERN * a WHERE a.w = :w", time="ts", parameters={"w": ENDS[0] + Decimal("0.01")})
