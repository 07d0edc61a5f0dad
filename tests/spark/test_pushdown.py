"""What is pushed into Spark gives what the engine's own evaluation gives, value by value."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cepheid.compiler.vector import evaluate
from cepheid.errors import QueryError
from cepheid.events.batch import EventBatch
from cepheid.events.column import Column
from cepheid.events.ingest import read_events
from cepheid.events.types import Kind
from cepheid.language import tree
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.spark.pushdown import Source, Translation
from cepheid.spark.schema import arrow_type, frame_schema

COLUMNS = T.StructType(
    [
        T.StructField("ts", T.TimestampType()),
        T.StructField("local", T.TimestampNTZType()),
        T.StructField("date", T.DateType()),
        T.StructField("i", T.LongType()),
        T.StructField("j", T.IntegerType()),
        T.StructField("k", T.ByteType()),
        T.StructField("f", T.DoubleType()),
        T.StructField("g", T.FloatType()),
        T.StructField("d", T.DecimalType(10, 2)),
        T.StructField("e", T.DecimalType(18, 4)),
        T.StructField("w", T.DecimalType(30, 3)),
        T.StructField("s", T.StringType()),
        T.StructField("folded", T.StringType("UTF8_LCASE")),
        T.StructField("b", T.BooleanType()),
        T.StructField("tags", T.ArrayType(T.StringType())),
        T.StructField("codes", T.ArrayType(T.IntegerType())),
        T.StructField(
            "o", T.StructType([T.StructField("x", T.IntegerType()), T.StructField("it's `q`", T.StringType())])
        ),
        T.StructField("a `strange`.name", T.IntegerType()),
        T.StructField("m", T.MapType(T.StringType(), T.IntegerType())),
        T.StructField("v", T.DayTimeIntervalType()),
    ]
)

UTC = dt.UTC
EDGES: dict[str, list[Any]] = {
    "ts": [
        dt.datetime(2024, 11, 3, 5, 30, 0, 123456, UTC),
        dt.datetime(2024, 11, 3, 6, 30, tzinfo=UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        dt.datetime(1883, 1, 1, tzinfo=UTC),
        None,
    ],
    "local": [
        dt.datetime(2024, 11, 3, 1, 30, 0, 123456),
        dt.datetime(2024, 3, 10, 2, 30),
        dt.datetime(1960, 1, 1, 0, 0, 0, 1),
        None,
    ],
    "date": [dt.date(2024, 11, 3), dt.date(1969, 12, 31), dt.date(2000, 2, 29), None],
    "i": [0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, 7, None],
    "j": [0, 3, -3, 2**31 - 1, -(2**31), None],
    "k": [0, 2, -128, 127, None],
    "f": [0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf, 1e308, 2.0**53, 0.1, None],
    "g": [0.0, 0.1, math.nan, -1.5, 3.0e38, None],
    "d": [Decimal("0.00"), Decimal("1.50"), Decimal("-99999999.99"), Decimal("99999999.99"), Decimal("7.00"), None],
    "e": [Decimal("0.0001"), Decimal("99999999999999.9999"), Decimal("1.5000"), Decimal("-3.2500"), None],
    "w": [Decimal("0.001"), Decimal("9223372036854775.807"), Decimal("-5.000"), None],
    "s": ["", "a", "B", "ab", "%", "a_b", "\u00e9", "\ufffd", "\U0001f600", " x ", "a\\b", None],
    "folded": ["a", "A", "b", "", None],
    "b": [True, False, None],
    "tags": [[], ["a"], ["B", None], [None], ["", "ab"], None],
    "codes": [[], [1], [3, None], [0, -1], None],
    "o": [(1, "a"), (None, None), (0, "B"), None],
    "a `strange`.name": [1, 0, None],
    "m": [{"a": 1}, None],
    "v": [dt.timedelta(seconds=1), None],
}
N_ROWS = 132


def rows() -> list[tuple[Any, ...]]:
    """Edge values side by side; cycles of different lengths bring most pairs together."""
    cycles = [itertools.islice(itertools.cycle(values), N_ROWS) for values in EDGES.values()]
    return list(zip(*cycles, strict=True))


@pytest.fixture(scope="module")
def frame(spark):
    # Not UTC: a road that reads wall clock time in the session's zone would show.
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    frame = spark.createDataFrame(rows(), COLUMNS).coalesce(1).withColumn("row", F.monotonically_increasing_id())
    yield frame.cache()
    frame.unpersist()
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.fixture(scope="module")
def batch(frame) -> EventBatch:
    table = frame.orderBy("row").drop("row").toArrow()
    arrow = pa.schema([(f.name, arrow_type(f.dataType)) for f in COLUMNS])
    table = pa.table([table.column(n).cast(t) for n, t in zip(arrow.names, arrow.types, strict=True)], schema=arrow)
    # Rows without time would be left out: a time column of its own keeps all, in their order.
    table = table.append_column("at", pa.array(range(N_ROWS), pa.int64()))
    schema = frame_schema(T.StructType([*COLUMNS.fields, T.StructField("at", T.LongType())]), time="at", time_unit="us")
    return read_events(table, schema.events)


# --- expressions as text -----------------------------------------------------------------------------

INTS = ["a.i", "a.j", "a.k", 'a."a `strange`.name"', "a.o.x", "0", "1", "3", "9223372036854775807", "length(a.s)"]
FLOATS = ["a.f", "a.g", "0.0", "1.5", "0.1", "1e300"]
DECIMALS = ["a.d", "a.e", "a.w"]
TEXTS = ["a.s", "a.folded", 'a.o."it\'s `q`"', "'a'", "'B'", "''", "'\u00e9'", "'\ufffd'", "'\U0001f600'"]
TIMES = [
    "a.ts",
    "a.local",
    "a.date",
    "TIMESTAMP '2024-11-03 05:30:00.123456'",
    "TIMESTAMP '1960-01-01 00:00:00.000001'",
]
DURATIONS = ["5 minutes", "1 us", "30 days"]
PATTERNS = ["a%", "%b", "_", "%", "a\\_b", "", "%\\%%", "a\\\\b", "a_b"]


def pick(values: list[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(values)


def binary(operands: st.SearchStrategy[str], operators: str) -> st.SearchStrategy[str]:
    return st.tuples(operands, pick(operators.split()), operands).map(lambda t: f"({t[0]} {t[1]} {t[2]})")


def calls(name: str, *arguments: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*arguments).map(lambda values: f"{name}({', '.join(values)})")


TIME = pick(TIMES) | st.tuples(pick(TIMES), pick(["+", "-"]), pick(DURATIONS)).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
DURATION = pick(DURATIONS) | st.tuples(pick(TIMES), pick(TIMES)).map(lambda t: f"({t[0]} - {t[1]})")
PARTS = ["year", "month", "day", "hour", "minute", "second", "day_of_week"]
INT_LEAF = pick(INTS) | st.tuples(pick(PARTS), TIME).map(lambda t: f"{t[0]}({t[1]})")
INT = st.recursive(
    INT_LEAF,
    lambda inner: (
        binary(inner, "+ - * %")
        | inner.map(lambda x: f"-({x})")
        | st.tuples(pick(["abs", "sign", "floor"]), inner).map(lambda t: f"{t[0]}({t[1]})")
        | st.tuples(pick(["least", "greatest", "coalesce"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})")
    ),
    max_leaves=4,
)
DECIMAL = st.recursive(
    pick(DECIMALS),
    lambda inner: (
        binary(inner, "+ - *")
        | st.tuples(inner, pick(["+", "-", "*"]), pick(["a.j", "2", "1.25"])).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
        | st.tuples(pick(["abs", "-", "sign"]), inner).map(lambda t: f"{t[0]}({t[1]})")
    ),
    max_leaves=3,
)
FLOAT = st.recursive(
    pick(FLOATS) | st.tuples(INT, INT).map(lambda t: f"({t[0]} / {t[1]})"),
    lambda inner: (
        binary(inner, "+ - * / %")
        | st.tuples(inner, pick(["+", "-", "*", "/", "%"]), INT).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
        | st.tuples(pick(["abs", "sign", "floor", "ceil", "sqrt", "-"]), inner).map(lambda t: f"{t[0]}({t[1]})")
        | st.tuples(pick(["least", "greatest", "coalesce"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})")
        | calls("distance", inner, pick(FLOATS), pick(INTS), pick(FLOATS))
    ),
    max_leaves=4,
)
TEXT = st.recursive(
    pick(TEXTS),
    lambda inner: (
        calls("concat", inner, inner)
        | calls("trim", inner)
        | st.tuples(inner, pick(["1", "2", "5"]), pick(["0", "1", "3"])).map(lambda t: f"substring({', '.join(t)})")
        | st.tuples(pick(["least", "greatest", "coalesce"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})")
    ),
    max_leaves=3,
)
NUMBER = INT | FLOAT | DECIMAL
COMPARED = "= <> < <= > >="
CONDITION_LEAF = (
    binary(NUMBER, COMPARED)
    | binary(TEXT, COMPARED)
    | binary(TIME, COMPARED)
    | binary(DURATION, COMPARED)
    | st.tuples(pick(TIMES[:3]), pick(COMPARED.split()), pick(["'2024-11-03'", "'1969-12-31T23:59:59.999999Z'"])).map(
        lambda t: f"({t[0]} {t[1]} {t[2]})"
    )
    | st.tuples(NUMBER, pick(["IN", "NOT IN"]), st.lists(pick([*INTS, *FLOATS, "a.d"]), min_size=1, max_size=14)).map(
        lambda t: f"({t[0]} {t[1]} ({', '.join(t[2])}))"
    )
    | st.tuples(INT, pick(["IN", "NOT IN"]), st.lists(pick(["0", "1", "2", "NULL"]), min_size=1, max_size=3)).map(
        lambda t: f"({t[0]} {t[1]} ({', '.join(t[2])}))"
    )
    | st.tuples(TEXT, pick(["IN", "NOT IN"]), st.lists(pick(TEXTS), min_size=1, max_size=3)).map(
        lambda t: f"({t[0]} {t[1]} ({', '.join(t[2])}))"
    )
    | st.tuples(TEXT, pick(["LIKE", "NOT LIKE"]), pick(PATTERNS)).map(lambda t: f"({t[0]} {t[1]} '{t[2]}')")
    | st.tuples(TEXT, pick(["IN a.tags", "NOT IN a.tags"])).map(lambda t: f"({t[0]} {t[1]})")
    | st.tuples(INT, pick(["IN a.codes", "NOT IN a.codes"])).map(lambda t: f"({t[0]} {t[1]})")
    | st.tuples(
        NUMBER | TEXT | TIME | pick(["a.b", "a.tags", "a.o", "a.m", "a.v"]), pick(["IS NULL", "IS NOT NULL"])
    ).map(lambda t: f"({t[0]} {t[1]})")
    | st.tuples(pick(["starts_with", "ends_with"]), TEXT, TEXT).map(lambda t: f"{t[0]}({t[1]}, {t[2]})")
    | pick(["a.b", "(a.b = TRUE)", "(a.b < (a.i > 0))"])
)
CONDITION = st.recursive(
    CONDITION_LEAF,
    lambda inner: binary(inner, "AND OR") | inner.map(lambda c: f"(NOT {c})"),
    max_leaves=4,
)
EXPRESSION = CONDITION | CONDITION | NUMBER | TEXT | TIME | DURATION


def plain(column: Column) -> list[Any]:
    """The values of a column as Spark gives them in the translation's forms."""
    values = column.values.tolist()
    match column.type.kind:
        case Kind.BOOL:
            values = [bool(v) for v in values]
        case Kind.TEXT:
            texts = column.dictionary.to_pylist()
            values = [texts[v] for v in values]
        case Kind.DECIMAL:
            values = [Decimal(v).scaleb(-(column.type.scale or 0)) for v in values]
        case Kind.NULL:
            values = [None] * len(values)
    return [v if ok else None for v, ok in zip(values, column.is_valid().tolist(), strict=True)]


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other) and (one is None) == (other is None) and isinstance(one, bool) == isinstance(other, bool)


def differences(frame, batch: EventBatch, texts: list[str]) -> tuple[list[str], int]:
    """Expressions that Spark and the engine evaluate differently, in one job; and the number that were pushed."""
    translated, expected, kept = [], [], []
    for text in texts:
        try:
            bound = bind(parse(f"PATTERN SEQ(* a) RETURN {text} AS x"), batch.schema)
        except QueryError:
            continue  # a constant that overflows, a decimal too wide
        expression = bound.returns[0].expression
        column = Translation(Source(COLUMNS), bound.types).translate(expression)
        if column is None:
            continue

        def resolve(node: tree.Expression) -> Any:
            assert isinstance(node, tree.Attribute)
            return batch.column(node.path)

        value = evaluate(expression, resolve, len(batch))
        assert isinstance(value, Column)
        translated.append(column.alias(f"x{len(translated)}"))
        expected.append(plain(value))
        kept.append(text)
    got = frame.orderBy("row").select(*translated).toArrow() if translated else None
    wrong = []
    for at, text in enumerate(kept):
        values = got.column(at).to_pylist()
        rows_ = [(r, e, v) for r, (e, v) in enumerate(zip(expected[at], values, strict=True)) if not alike(e, v)]
        if rows_:
            wrong.append(f"{text}: row, engine, Spark: {rows_[:3]}")
    return wrong, len(kept)


@pytest.mark.slow
@given(st.lists(EXPRESSION, min_size=60, max_size=60))
# Not shrunk: each example is a Spark job, and the message names the expression.
@settings(max_examples=4, phases=(Phase.explicit, Phase.generate))
def test_pushed_is_not_pushed(frame, batch: EventBatch, texts: list[str]):
    wrong, _ = differences(frame, batch, texts)
    assert wrong == []


def test_what_is_common_is_pushed(frame, batch: EventBatch):
    texts = [
        "a.i > 3",
        "a.i + a.j * 2 >= a.k - 1",
        "a.i % 0 IS NULL",
        "a.f > 100",
        "a.f = a.f",
        "a.f / 0 > 1",
        "a.d > 10",
        "a.d * a.e > 1.5",
        "a.e + a.w < 0.25",
        "a.s = 'a' OR a.folded = 'A'",
        "a.s LIKE 'a%'",
        "a.ts > '2024-11-03'",
        "a.local >= TIMESTAMP '2024-11-03 01:30:00.123456'",
        "a.date < a.ts - 5 minutes",
        "hour(a.ts) IN (5, 6) AND day_of_week(a.date) = 1",
        "a.o.x IS NULL OR a.m IS NULL",
        "a.s IN a.tags",
        "a.j IN a.codes",
        "NOT (a.b AND a.k > 0)",
        "-a.i < 0",
        "abs(a.i) > 5",
        "distance(a.f, a.g, 0, 0) < 2",
        "coalesce(a.s, a.folded) <> ''",
        'a."a `strange`.name" = 1',
        "a.o.\"it's `q`\" = 'B'",
    ]
    wrong, n_pushed = differences(frame, batch, texts)
    assert wrong == []
    assert n_pushed == len(texts)


def test_what_differs_is_not_pushed(batch: EventBatch):
    for text in [
        "round(a.f, 2)",
        "power(a.f, 2)",
        "lower(a.s)",
        "upper(a.s)",
        "a.e / 3",
        "a.e * 1.5 > a.f",
        "substring(a.s, a.j, 1)",
        "a.s LIKE 'a\\b'",
        "a.v > 5 seconds",
        "a.w * a.w",
    ]:
        bound = bind(parse(f"PATTERN SEQ(* a) RETURN {text} AS x"), batch.schema)
        translation = Translation(Source(COLUMNS), bound.types)
        assert translation.translate(bound.returns[0].expression) is None, text
