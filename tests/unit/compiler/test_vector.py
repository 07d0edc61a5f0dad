import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from cepheid.compiler.columnwise.distinct import compacted
from cepheid.compiler.vector import evaluate, holds, is_true
from cepheid.errors import DataError, NotSupportedError
from cepheid.events.column import ArrowColumn, Column, text_column
from cepheid.events.convert import arrow_of, column_of
from cepheid.events.types import BOOL, DURATION, FLOAT, INT, TEXT, TIMESTAMP, Kind, decimal
from cepheid.language.bound import Function
from cepheid.language.parser import parse_expression
from cepheid.language.tree import Attribute, Call


def evaluated(text, functions=None, absent=None, **columns):
    arrays = {name: column_of(array, name)[0] for name, array in columns.items()}
    n = len(next(iter(arrays.values())))

    def resolve(node):
        column = arrays[node.path[0]]
        return column.take(np.arange(n), np.array(absent)) if node.variable == "m" else column

    return evaluate(parse_expression(text) if isinstance(text, str) else text, resolve, n, functions)


def listed(column):
    return arrow_of(column).to_pylist()


def test_null_in_lists():
    column = evaluated("a.x IN a.l", x=pa.array([None, None, None, 1]), l=pa.array([[], [1], None, [None]]))
    assert listed(column) == [None, None, None, None]
    column = evaluated("a.x NOT IN a.l", x=pa.array([None, 2, 2]), l=pa.array([[], [1], []], pa.list_(pa.int64())))
    assert listed(column) == [None, True, True]


@pytest.mark.parametrize("arrow", [pa.list_(pa.float64()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 2)])
def test_lists_of_every_kind(arrow):
    lists = pa.array([[1.0, float("nan")], None, [2.0, None]], arrow)
    column = evaluated("a.x IN a.l", x=pa.array([float("nan"), 1.0, -2.0]), l=lists)
    assert listed(column) == [True, None, None]
    sliced = evaluated("a.x IN a.l", x=pa.array([1.0, 2.0]), l=lists.slice(1))
    assert listed(sliced) == [None, True]


def test_lists_and_structs_are_null_or_not():
    column = evaluated("a.l IS NULL", l=pa.array([[1], None, []]))
    assert listed(column) == [False, True, False]
    column = evaluated("m.o IS NOT NULL", o=pa.array([{"k": 1}, None]), absent=[True, False])
    assert listed(column) == [None, False]
    assert column.absent.tolist() == [True, False]
    attribute = evaluated("a.l", l=pa.array([[1], None]))
    assert isinstance(attribute, ArrowColumn)


def test_the_choice_among_decimals_of_different_scales():
    big = pa.array([Decimal(10**17), Decimal(10**17), None], pa.decimal128(18, 0))
    fine = pa.array([Decimal("0.5").scaleb(-17), None, Decimal("0.5").scaleb(-17)], pa.decimal128(18, 18))
    # The greatest of the first row has more digits at the common scale than 64 bits hold; the least does not.
    assert listed(evaluated("greatest(a.b, a.f)", b=big, f=fine)) == [None, None, Decimal("0.5").scaleb(-17)]
    assert listed(evaluated("least(a.b, a.f)", b=big, f=fine)) == [
        Decimal("0.5").scaleb(-17),
        None,
        Decimal("0.5").scaleb(-17),
    ]
    assert listed(evaluated("coalesce(a.b, a.f)", b=big, f=fine)) == [None, None, Decimal("0.5").scaleb(-17)]


def test_conditions():
    column = evaluated("m.b", b=pa.array([True, False, None, True]), absent=[True, False, False, False])
    assert is_true(column).tolist() == [False, False, False, True]
    assert holds(column).tolist() == [True, False, False, True]
    assert column.values.dtype == np.int64
    null = evaluated("NULL AND a.b", b=pa.array([True, False]))
    assert listed(null) == [None, False]


def test_what_has_no_value_before_the_query_is_run():
    with pytest.raises(NotSupportedError, match="parameter has no value before the query is run"):
        evaluated("a.x > :limit", x=pa.array([1]))


def call(function, *names):
    return Call(function.name, tuple(Attribute("m" if n.startswith("m.") else "a", (n[-1],)) for n in names))


def test_registered_functions_get_python_values():
    seen = []

    def keep(*values):
        seen.append(values)

    types = (INT, FLOAT, TEXT, BOOL, TIMESTAMP, DURATION, decimal(9, 2), FLOAT)
    function = Function("keep", types, INT, keep)
    column = evaluated(
        call(function, "i", "f", "s", "b", "t", "g", "d", "i"),
        {"keep": function},
        i=pa.array([1, None]),
        f=pa.array([0.5, None]),
        s=pa.array(["x", None]),
        b=pa.array([True, None]),
        t=pa.array([1, None], pa.timestamp("s", "Asia/Tokyo")),
        g=pa.array([1, None], pa.duration("s")),
        d=pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
    )
    assert listed(column) == [None, None]
    moment = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
    assert seen == [(1, 0.5, "x", True, moment, dt.timedelta(seconds=1), Decimal("1.50"), 1.0), (None,) * 8]
    assert [type(v) for v in seen[0]] == [int, float, str, bool, dt.datetime, dt.timedelta, Decimal, float]


def test_registered_functions_are_not_called_for_absent_rows():
    seen = []
    function = Function("twice", (INT,), INT, lambda x: seen.append(x) or 2 * x)
    column = evaluated(call(function, "m.x"), {"twice": function}, x=pa.array([1, 2]), absent=[True, False])
    assert seen == [2]
    assert (column.values.tolist(), column.absent.tolist()) == ([0, 4], [True, False])
    nothing = Function("nothing", (), TEXT, lambda: "x")
    assert listed(evaluate(Call("nothing", ()), None, 2, {"nothing": nothing})) == ["x", "x"]


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (INT, np.int32(5), 5),
        (FLOAT, 5, 5.0),
        (FLOAT, Decimal("0.5"), 0.5),
        (BOOL, np.bool_(True), True),
        (TEXT, "x", "x"),
        (decimal(9, 2), 3, Decimal("3.00")),
        (decimal(9, 2), Decimal("0.125"), Decimal("0.13")),
        (TIMESTAMP, dt.datetime(1970, 1, 1, 0, 0, 1), dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)),
        (DURATION, dt.timedelta(seconds=2), dt.timedelta(seconds=2)),
        (INT, None, None),
    ],
)
def test_what_registered_functions_give(dtype, value, expected):
    function = Function("f", (INT,), dtype, lambda x: value)
    column = evaluated(call(function, "x"), {"f": function}, x=pa.array([1]))
    assert column.type == dtype
    assert listed(column) == [expected]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (INT, 1.5),
        (INT, True),
        (INT, 2**63),
        (FLOAT, "1.5"),
        (BOOL, 1),
        (TEXT, 1),
        (decimal(9, 2), 0.5),
        (decimal(9, 2), Decimal("nan")),
        (decimal(9, 2), Decimal(10) ** 17),
        (TIMESTAMP, 5),
        (DURATION, 5),
    ],
)
def test_registered_functions_that_give_something_else(dtype, value):
    function = Function("f", (INT,), dtype, lambda x: value)
    with pytest.raises(DataError, match="the function f gave "):
        evaluated(call(function, "x"), {"f": function}, x=pa.array([1]))


def test_registered_functions_that_raise():
    function = Function("inverse", (INT,), FLOAT, lambda x: 1 / x)
    with pytest.raises(DataError, match=r"the function inverse raised ZeroDivisionError: .*, for \(0\)") as error:
        evaluated(call(function, "x"), {"inverse": function}, x=pa.array([1, 0]))
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    never = Function("never", (TIMESTAMP,), INT, lambda t: 1)
    with pytest.raises(DataError, match="which Python's datetime cannot hold"):
        evaluated(call(never, "t"), {"never": never}, t=pa.array([2**62], pa.timestamp("us")))


def test_text_functions_look_at_the_texts_that_occur():
    dictionary = pa.array([f"text {i}" for i in range(10_000)])
    column = text_column(np.array([9_999, 3, 3]), np.array([True, True, False]), dictionary, ordered=False)
    small = compacted(column)
    assert len(small.dictionary) == 3
    assert small.dictionary.take(pa.array(small.values)).to_pylist()[:2] == ["text 9999", "text 3"]
    assert listed(evaluate(parse_expression("upper(a.s)"), lambda _: column, 3)) == ["TEXT 9999", "TEXT 3", None]


def test_results_hold_zero_where_they_have_no_value():
    column = evaluated("a.x + 1", x=pa.array([1, None]))
    assert column.values.tolist() == [2, 0]
    column = evaluated("a.f * 2", f=pa.array([None, 1.5]))
    assert column.values.tolist() == [0.0, 3.0]


def test_no_rows():
    for text in (
        "a.x + 1 > 2 AND a.s = 'x'",
        "upper(a.s)",
        "a.x IN (1, 2)",
        "round(a.f, 2)",
        "concat(a.s, a.s)",
        "a.x % 2",
    ):
        column = evaluated(text, x=pa.array([], pa.int64()), s=pa.array([], pa.string()), f=pa.array([], pa.float64()))
        assert len(column) == 0
        assert isinstance(column, Column)
    assert column.type.kind is Kind.INT
