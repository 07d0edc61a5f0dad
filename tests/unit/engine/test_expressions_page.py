"""docs/expressions.md: every line of its tables, column-wise and by the oracle."""

import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler.vector import evaluate
from cepheid.engine.matches import Matches
from cepheid.engine.output import assemble
from cepheid.events.arrow_types import data_type
from cepheid.events.batch import EventBatch
from cepheid.events.column import ArrowColumn
from cepheid.events.ingest import read_events, schema_of
from cepheid.events.types import Kind
from cepheid.language.bind import bind
from cepheid.language.parser import parse, parse_expression
from cepheid.language.tree import Negative
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.oracle_expressions import ABSENT, Evaluator, OneEvent

PAGE = Path(__file__).resolve().parents[3] / "docs" / "expressions.md"
EXAMPLE = "| expression | value | type |"
AGGREGATE = "| values of `b.x` | aggregate | value | type |"
ATTRIBUTE = "| attribute | type | value |"
ARROW = {
    "int": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "bool": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "duration": pa.duration("us"),
    "list of int": pa.list_(pa.int64()),
    "decimal(9, 2)": pa.decimal128(9, 2),
    "decimal(9, 4)": pa.decimal128(9, 4),
    "decimal(18, 2)": pa.decimal128(18, 2),
}


def rows(header):
    """The rows of all tables with this header, as lists of cells without backticks."""
    found, inside = [], False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line == header:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            found.append([cell.strip().strip("`") for cell in line.strip("|").split(" | ")])
    return found


def value_of(text, dtype):
    """The value that a cell shows, as the oracle has it."""
    if text in ("NULL", "absent"):
        return None if text == "NULL" else ABSENT
    if text in ("nan", "inf"):
        return float(text)
    if dtype.startswith("decimal"):
        return Decimal(text)
    node = parse_expression(text)
    value = -node.operand.value if isinstance(node, Negative) else node.value
    return float(value) if dtype == "float" else value


def event_values():
    values, types = {}, {}
    for name, dtype, text in rows(ATTRIBUTE):
        variable, attribute = name.split(".")
        if variable == "a":
            types[attribute] = dtype
            cells = [cell.strip() for cell in text.split(",") if cell.strip()]
            values[attribute] = (
                tuple(value_of(cell, "int") for cell in cells) if dtype == "list of int" else value_of(text, dtype)
            )
    return values, types


VALUES, TYPES = event_values()
TABLE = pa.table({name: pa.array([VALUES[name]], ARROW[dtype]) for name, dtype in TYPES.items()})


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and one == other


def first_value(column):
    if column.absent is not None and column.absent[0]:
        return ABSENT
    if column.valid is not None and not column.valid[0]:
        return None
    raw = column.values[0].item()
    match column.type.kind:
        case Kind.TEXT:
            return column.dictionary[raw].as_py()
        case Kind.BOOL:
            return bool(raw)
        case Kind.DECIMAL:
            return Decimal(raw).scaleb(-column.type.scale)
    return raw


class Match:
    """The scope of a: one event, and m: absent."""

    event_of_a = OracleEvent(0, (0,), "", None, VALUES)

    def event(self, variable, at):
        return self.event_of_a if variable == "a" else ABSENT

    def elements(self, variable):
        raise AssertionError("no aggregates here")


@pytest.mark.parametrize(("text", "value", "dtype"), rows(EXAMPLE))
def test_example(text, value, dtype):
    schema = schema_of(TABLE, time="ts")
    query = parse(f"PATTERN OR(* a, * m) WITHIN 1 h RETURN {text} AS v")
    bound = bind(query, schema)
    (column,) = bound.returns
    expected = value_of(value, dtype)
    assert str(column.type) == dtype
    batch: EventBatch = read_events(TABLE, schema)

    def resolve(node):
        found = batch.column(node.path)
        if node.variable == "m":
            return found.take(np.array([0]), np.array([True]))
        return found

    got = evaluate(column.expression, resolve, 1)
    assert not isinstance(got, ArrowColumn)
    assert str(got.type) == dtype
    assert same(first_value(got), expected)
    assert same(Evaluator(bound.types).value(column.expression, Match()), expected)


@pytest.mark.parametrize(("values", "text", "value", "dtype"), rows(AGGREGATE))
def test_aggregate(values, text, value, dtype):
    cells = [cell.strip() for cell in values.split(",")]
    kind = "text" if "'" in values else "float" if "." in values or "nan" in values else "int"
    elements = [value_of(cell, kind) for cell in cells]
    table = pa.table({"ts": range(len(elements)), "x": pa.array(elements, ARROW[kind])})
    schema = schema_of(table, time="ts", time_unit="s")
    bound = bind(parse(f"PATTERN (* b)+ WITHIN 100 RETURN {text} AS v"), schema)
    n = len(elements)
    matches = Matches(np.array([0, n]), np.arange(n), np.zeros(n, np.int16), np.zeros(1, np.int64))
    result = assemble(bound, read_events(table, schema), matches)
    expected = value_of(value, dtype)
    assert str(data_type(result.schema.field("v").type)) == dtype
    assert same(result["v"].to_pylist()[0], expected)

    class Elements(OneEvent):
        def elements(self, variable):
            return [OracleEvent(0, (i,), "", None, {"x": x}) for i, x in enumerate(elements)]

    (column,) = bound.returns
    scope = Elements(OracleEvent(0, (0,), "", None, {}))
    assert same(Evaluator(bound.types).value(column.expression, scope), expected)


def test_the_page_has_examples_of_every_function():
    from cepheid.language.functions import BUILTINS

    shown = " ".join(text for text, _, _ in rows(EXAMPLE))
    assert [name for name in BUILTINS if f"{name}(" not in shown] == []
    assert len(rows(AGGREGATE)) > 10
