"""Column-wise evaluation gives what the oracle gives, on random expressions and rows."""

import math
from collections.abc import Mapping
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.compiler.vector import evaluate, holds, is_true
from cepheid.events.column import ArrowColumn, Column
from cepheid.events.convert import column_of
from cepheid.events.types import (
    BOOL,
    DURATION,
    FLOAT,
    INT,
    TEXT,
    TIMESTAMP,
    Kind,
    decimal,
    list_of,
)
from cepheid.language.functions import BUILTINS
from cepheid.language.literals import as_decimal, literal_type
from cepheid.language.results import arithmetic_type, common_type
from cepheid.language.tree import (
    Arithmetic,
    At,
    Attribute,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Negative,
    children,
)
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.oracle_expressions import ABSENT, Evaluator

INTS = st.sampled_from([0, 1, -1, 2, 3, 7, -7, 10, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1])
FLOATS = st.sampled_from(
    [0.0, -0.0, 0.5, 1.5, -2.5, 2.675, 0.285, 1e14 + 0.5, 1e22, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan]
) | st.floats(-1000, 1000)
TEXTS = st.sampled_from(["", "a", "A", "ab", " b ", "é", "ß", "\U0001f600", "\ue000", "a%b", "a_b", "x\ny", "İ", "\\"])
TIMES = st.sampled_from([0, -1, 1, 86_400_000_000, -62_135_596_800_000_000, 1_709_164_800_000_000, 2**62, -(2**62)])
D2, D6, D18 = decimal(12, 2), decimal(18, 6), decimal(18, 18)


def decimals(dtype):
    most = 10 ** min(dtype.precision, 18) - 1
    return st.sampled_from([0, 1, -1, 50, 149, 150, -150, most, -most]).map(lambda u: Decimal(u).scaleb(-dtype.scale))


COLUMNS = {
    "i": (INT, pa.int64(), INTS),
    "j": (INT, pa.int64(), INTS),
    "f": (FLOAT, pa.float64(), FLOATS),
    "g": (FLOAT, pa.float64(), FLOATS),
    "d": (D2, pa.decimal128(12, 2), decimals(D2)),
    "e": (D6, pa.decimal128(18, 6), decimals(D6)),
    "h": (D18, pa.decimal128(18, 18), decimals(D18)),
    "s": (TEXT, pa.string(), TEXTS),
    "t": (TEXT, pa.large_string(), TEXTS),
    "b": (BOOL, pa.bool_(), st.booleans()),
    "ts": (TIMESTAMP, pa.timestamp("us"), TIMES),
    "du": (DURATION, pa.duration("us"), TIMES),
    "li": (list_of(INT), pa.list_(pa.int64()), st.lists(INTS | st.none(), min_size=1, max_size=3).map(tuple)),
    "ls": (list_of(TEXT), pa.list_(pa.string()), st.lists(TEXTS | st.none(), min_size=1, max_size=3).map(tuple)),
}
SCALARS = [t for t, _, _ in COLUMNS.values() if t.kind is not Kind.LIST]


def attributes(*kinds):
    names = [name for name, (dtype, _, _) in COLUMNS.items() if dtype.kind in kinds]
    return st.builds(lambda v, n: Attribute(v, (n,)), st.sampled_from("aam"), st.sampled_from(names))


def literal(kind):
    match kind:
        case Kind.INT:
            return INTS.map(lambda v: Literal(v, LiteralKind.INT))
        case Kind.FLOAT:
            return FLOATS.filter(math.isfinite).map(lambda v: Literal(v, LiteralKind.FLOAT))
        case Kind.DECIMAL:
            return decimals(D2).map(lambda v: Literal(as_decimal(v), LiteralKind.DECIMAL))
        case Kind.TEXT:
            return TEXTS.map(lambda v: Literal(v, LiteralKind.TEXT))
        case Kind.BOOL:
            return st.booleans().map(lambda v: Literal(v, LiteralKind.BOOL))
        case Kind.TIMESTAMP:
            return TIMES.map(lambda v: Literal(v, LiteralKind.TIMESTAMP))
        case _:
            return TIMES.map(lambda v: Literal(v, LiteralKind.DURATION))


def leaves(kind):
    return attributes(kind) | attributes(kind) | literal(kind)


def calls(names, *arguments):
    return st.builds(lambda name, *given: Call(name, given), st.sampled_from(names), *arguments)


DIGITS = st.integers(-3, 4).map(lambda v: Literal(v, LiteralKind.INT))


@cache
def values(kind, depth):
    """Expressions of a kind."""
    if depth == 0:
        return leaves(kind)

    def of(kind):
        return values(kind, depth - 1)

    number = of(Kind.INT) | of(Kind.FLOAT) | of(Kind.DECIMAL)
    # Decimals of one scale: what does not fit the common one is NULL (test_vector.py), to the oracle it is a number.
    alike = of(kind) if kind is not Kind.DECIMAL else literal(kind) | st.just(Attribute("a", ("d",)))
    same_call = calls(["least", "greatest", "coalesce"], alike, alike) | calls(["coalesce"], of(kind))
    match kind:
        case Kind.INT:
            options = [
                st.builds(Arithmetic, st.sampled_from("+-*%"), of(kind), of(kind)),
                st.builds(Negative, of(kind)),
                calls(["abs", "floor", "ceil", "sign"], of(kind)),
                calls(["round"], of(kind), DIGITS),
                calls(["sign"], of(Kind.DECIMAL)),
                calls(["length"], of(Kind.TEXT)),
                calls(["year", "month", "day", "hour", "minute", "second", "day_of_week"], of(Kind.TIMESTAMP)),
            ]
        case Kind.FLOAT:
            options = [
                st.builds(Arithmetic, st.sampled_from("+-*/%"), of(kind), number),
                st.builds(Arithmetic, st.just("/"), number, number),
                st.builds(Arithmetic, st.just("/"), of(Kind.DURATION), of(Kind.DURATION)),
                st.builds(Negative, of(kind)),
                calls(["abs", "floor", "ceil", "sign", "round"], of(kind)),
                calls(["round"], of(kind), DIGITS),
                calls(["sqrt"], number),
                calls(["power"], number, number),
                calls(["distance"], number, number, number, number),
                calls(["least", "greatest", "coalesce"], of(kind), number),
            ]
        case Kind.DECIMAL:
            options = [
                st.builds(Arithmetic, st.sampled_from("+-*%"), of(kind), of(kind)),
                st.builds(Arithmetic, st.sampled_from("+-*%"), of(Kind.INT), of(kind)),
                calls(["abs", "floor", "ceil", "round"], of(kind)),
                calls(["round"], of(kind), DIGITS),
            ]
        case Kind.TEXT:
            options = [
                calls(["lower", "upper", "trim"], of(kind)),
                calls(["substring"], of(kind), leaves(Kind.INT), leaves(Kind.INT)),
                calls(["concat"], of(kind), of(kind)),
                calls(["concat"], of(kind), of(kind), of(kind)),
            ]
        case Kind.TIMESTAMP:
            options = [
                st.builds(Arithmetic, st.sampled_from("+-"), of(kind), of(Kind.DURATION)),
                st.builds(Arithmetic, st.just("+"), of(Kind.DURATION), of(kind)),
            ]
        case Kind.DURATION:
            options = [
                st.builds(Arithmetic, st.sampled_from("+-"), of(kind), of(kind)),
                st.builds(Arithmetic, st.just("-"), of(Kind.TIMESTAMP), of(Kind.TIMESTAMP)),
                st.builds(Arithmetic, st.just("*"), of(kind), of(Kind.INT)),
                st.builds(Negative, of(kind)),
            ]
        case _:
            options = [conditions(depth)]
    return st.one_of(leaves(kind), *options, same_call)


@cache
def conditions(depth):
    """Conditions."""
    if depth == 0:
        return attributes(Kind.BOOL)
    kinds = [Kind.INT, Kind.FLOAT, Kind.DECIMAL, Kind.TEXT, Kind.BOOL, Kind.TIMESTAMP]
    return st.sampled_from(kinds).flatmap(lambda kind: conditions_on(kind, depth))


@cache
def conditions_on(kind, depth):
    one = values(kind, depth - 1)
    other = one
    if kind in (Kind.INT, Kind.FLOAT, Kind.DECIMAL):
        other = one | values(Kind.INT, depth - 1) | values(Kind.FLOAT, depth - 1) | values(Kind.DECIMAL, depth - 1)
    below = st.lists(conditions(depth - 1), min_size=2, max_size=3).map(tuple)
    patterns = st.sampled_from(["a%", "%b", "%", "", "_", "a\\%b", "%a%", "\\", "_%_", "a_b", "\\a"])
    return st.one_of(
        st.builds(Compare, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), one, other),
        st.builds(Conjunction, below),
        st.builds(Disjunction, below),
        st.builds(Negation, conditions(depth - 1)),
        st.builds(IsNull, one | attributes(Kind.LIST), st.booleans()),
        st.builds(In, one, st.lists(other, min_size=1, max_size=3).map(tuple), st.booleans()),
        st.builds(Like, values(Kind.TEXT, depth - 1), patterns, st.booleans()),
        calls(["starts_with", "ends_with"], values(Kind.TEXT, depth - 1), values(Kind.TEXT, depth - 1)),
        st.builds(
            lambda v, n, c, negated: InSet(v, Attribute(c, (n,)), negated),
            values(Kind.INT, depth - 1),
            st.just("li"),
            st.sampled_from("am"),
            st.booleans(),
        ),
        st.builds(
            lambda v, n, c, negated: InSet(v, Attribute(c, (n,)), negated),
            values(Kind.TEXT, depth - 1),
            st.just("ls"),
            st.sampled_from("am"),
            st.booleans(),
        ),
    )


def type_expression(node, types):
    """The types of all nodes, as bind finds them; False where bind refuses the expression."""
    if not all(type_expression(child, types) for child in children(node)):
        return False
    match node:
        case Literal():
            dtype = literal_type(node)
        case Attribute():
            dtype = COLUMNS[node.path[0]][0]
        case Arithmetic():
            dtype = arithmetic_type(node.operator, types[node.left], types[node.right])
        case Negative():
            dtype = types[node.operand]
        case Call():
            builtin = BUILTINS[node.function]
            digits = node.arguments[1].value if node.function == "round" and len(node.arguments) == 2 else None
            dtype = builtin.result([types[a] for a in node.arguments], digits)
        case Compare():
            dtype = BOOL if common_type(types[node.left], types[node.right]) else None
        case _:
            dtype = BOOL
    types[node] = dtype
    return dtype is not None


class Rows:
    """The scope of one row: events of a, and of m where it is not absent."""

    def __init__(self, a, m):
        self.events = {"a": a, "m": m}

    def event(self, variable, at):
        assert at is At.EACH
        return self.events[variable]

    def elements(self, variable):
        raise AssertionError("no aggregates here")


def row_values():
    return st.fixed_dictionaries({name: strategy | st.none() for name, (_, _, strategy) in COLUMNS.items()})


def plain(column):
    """The values of a column as the oracle has them."""
    assert isinstance(column, Column)
    assert column.values.dtype == (np.float64 if column.type.kind is Kind.FLOAT else np.int64)
    result = []
    for row in range(len(column)):
        raw = column.values[row].item()
        if column.absent is not None and column.absent[row]:
            assert not column.valid[row]
            result.append(ABSENT)
        elif column.valid is not None and not column.valid[row]:
            assert raw == 0
            result.append(None)
        elif column.type.kind is Kind.TEXT:
            result.append(column.dictionary[raw].as_py())
        elif column.type.kind is Kind.BOOL:
            assert raw in (0, 1)
            result.append(bool(raw))
        else:
            result.append(Decimal(raw).scaleb(-(column.type.scale or 0)) if column.type.kind is Kind.DECIMAL else raw)
    return result


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return type(one) is type(other) and one == other


def check(expression, rows, absent):
    types: Mapping = {}
    if not type_expression(expression, types):
        return
    table = {
        name: column_of(pa.array([row[name] for row in rows], arrow), name)[0]
        for name, (_, arrow, _) in COLUMNS.items()
    }
    n = len(rows)
    gone = np.array(absent[:n], np.bool_)

    def resolve(node):
        column = table[node.path[0]]
        return column.take(np.arange(n), gone) if node.variable == "m" else column

    column = evaluate(expression, resolve, n)
    assert not isinstance(column, ArrowColumn)
    got = plain(column)
    oracle = Evaluator(types)
    for row in range(n):
        event = OracleEvent(0, (row,), "", None, rows[row])
        expected = oracle.value(expression, Rows(event, ABSENT if gone[row] else event))
        assert same(got[row], expected), (expression, rows[row], got[row], expected)
    if column.type == BOOL:
        assert is_true(column).tolist() == [value is True for value in got]
        assert holds(column).tolist() == [value is True or value is ABSENT for value in got]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([Kind.INT, Kind.FLOAT, Kind.DECIMAL, Kind.TEXT, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION]).flatmap(
        lambda kind: values(kind, 2)
    ),
    st.lists(row_values(), min_size=1, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_values_as_the_oracle(expression, rows, absent):
    check(expression, rows, absent)


@settings(max_examples=150, deadline=None)
@given(conditions(3), st.lists(row_values(), min_size=1, max_size=4), st.lists(st.booleans(), min_size=4, max_size=4))
def test_conditions_as_the_oracle(expression, rows, absent):
    check(expression, rows, absent)


@settings(max_examples=150, deadline=None)
@given(st.floats(), st.integers(-25, 30))
def test_rounding_is_of_the_shortest_text(value, digits):
    node = Call("round", (Attribute("a", ("f",)), Literal(digits, LiteralKind.INT)))
    column = column_of(pa.array([value], pa.float64()), "f")[0]
    expected = Evaluator({node: FLOAT, node.arguments[0]: FLOAT, node.arguments[1]: INT}).value(
        node, Rows(OracleEvent(0, (0,), "", None, {"f": value}), ABSENT)
    )
    assert same(evaluate(node, lambda _: column, 1).values[0].item(), expected)


@settings(max_examples=150, deadline=None)
@given(st.integers(-(10**6), 10**6), st.integers(0, 6), st.integers(0, 5))
def test_rounding_of_short_decimals(unscaled, scale, digits):
    test_rounding_is_of_the_shortest_text.hypothesis.inner_test(unscaled / 10**scale, digits)
