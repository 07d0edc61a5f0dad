"""The oracle's evaluator: NULL, absent, NaN, overflow, decimals, functions, aggregates, remote data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal

import pytest

from cepheid.errors import DataError, ParameterError
from cepheid.events.schema import Schema
from cepheid.events.types import BOOL, DURATION, FLOAT, INT, TEXT, TIMESTAMP, decimal, list_of, set_of, struct
from cepheid.language.bind import bind
from cepheid.language.bound import Catalog, Function, Store
from cepheid.language.parser import parse
from cepheid.testing.oracle import OracleEvent, OracleMatch, match, returned
from cepheid.testing.oracle_expressions import ABSENT, Evaluator, OneEvent
from cepheid.testing.oracle_functions import civil, compare

MOST, LEAST = 2**63 - 1, -(2**63)
DAY_US = 86_400_000_000

FIELDS = {
    "ts": TIMESTAMP,
    "kind": TEXT,
    "i": INT,
    "j": INT,
    "f": FLOAT,
    "g": FLOAT,
    "d": decimal(18, 2),
    "e": decimal(18, 4),
    "s": TEXT,
    "u": TEXT,
    "t": BOOL,
    "l": list_of(INT),
    "w": DURATION,
    "place": struct(city=TEXT, at=struct(x=INT)),
}
SCHEMA = Schema(fields=FIELDS, time="ts", type="kind")

CATALOG = Catalog(
    functions={"twice": Function("twice", (FLOAT,), FLOAT, lambda x: None if x is None else x * 2)},
    stores={
        "one": Store("one", (INT,), {"": INT}),
        "two": Store("two", (INT, TEXT), {"name": TEXT, "known": set_of(INT)}),
        "deep": Store("deep", (INT,), {"": struct(x=INT)}),
    },
)
STORES: Mapping[str, Mapping[object, object]] = {
    "one": {1: 5, 2: None},
    "two": {(1, "a"): {"name": "n", "known": {1, 2}}, (2, "a"): {}},
    "deep": {1: {"x": 9}},
}


def event(number: int = 0, type_: str = "A", **values: object) -> OracleEvent:
    return OracleEvent(number, (number,), "events", type_, {"ts": number, "kind": type_, **values})


def value(text: str, *events: OracleEvent, pattern: str = "A a", **values: object) -> object:
    """What ``RETURN text`` gives for an event with ``values``, or for ``events`` bound to ``a``."""
    query = f"{pattern} RETURN {text} AS v"
    bound = bind(parse(query), SCHEMA, catalog=CATALOG, text=query)
    bindings = tuple(("a", one) for one in events) or (("a", event(**values)),)
    return returned(bound, OracleMatch(bindings), stores=STORES)["v"]


def same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("a.i + a.j", {"i": MOST, "j": 1}, None),
        ("a.i - a.j", {"i": LEAST, "j": 1}, None),
        ("a.i * a.j", {"i": 2**32, "j": 2**31}, None),
        ("a.i * a.j", {"i": LEAST, "j": 1}, LEAST),
        ("-a.i", {"i": LEAST}, None),
        ("-a.i", {"i": MOST}, -MOST),
        ("a.i / a.j", {"i": 7, "j": 2}, 3.5),
        ("a.i / a.j", {"i": 7, "j": 0}, None),
        ("a.i % a.j", {"i": -7, "j": 3}, -1),
        ("a.i % a.j", {"i": 7, "j": -3}, 1),
        ("a.i % a.j", {"i": 7, "j": 0}, None),
        ("a.i % a.j", {"i": LEAST, "j": -1}, 0),
        ("a.i + a.f", {"i": 1, "f": 0.5}, 1.5),
        ("a.i + a.f", {"i": 2**53 + 1, "f": 0.0}, float(2**53)),
        ("a.i + a.j", {"i": 1, "j": None}, None),
        ("a.i + a.j", {"i": 1}, None),
    ],
)
def test_whole_numbers(text: str, values: dict[str, object], expected: object):
    assert same(value(text, **values), expected)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("a.f * a.g", {"f": 1e308, "g": 10.0}, math.inf),
        ("a.f / a.g", {"f": 1.0, "g": -0.0}, None),
        ("a.f / a.g", {"f": math.nan, "g": 0.0}, None),
        ("a.f % a.g", {"f": -5.5, "g": 2.0}, -1.5),
        ("a.f % a.g", {"f": 5.5, "g": math.inf}, 5.5),
        ("a.f % a.g", {"f": math.inf, "g": 2.0}, math.nan),
        ("a.f % a.g", {"f": 1.0, "g": 0.0}, None),
        ("a.f - a.g", {"f": math.inf, "g": math.inf}, math.nan),
        ("a.f + 1", {"f": 2}, 3.0),
    ],
)
def test_floats(text: str, values: dict[str, object], expected: object):
    assert same(value(text, **values), expected)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("a.d + a.e", {"d": Decimal("1.10"), "e": Decimal("0.0001")}, Decimal("1.1001")),
        ("a.d * a.e", {"d": Decimal("0.10"), "e": Decimal("0.1000")}, Decimal("0.01")),
        ("a.d - a.i", {"d": Decimal("1.50"), "i": 2}, Decimal("-0.50")),
        ("a.d % a.i", {"d": Decimal("-7.50"), "i": 2}, Decimal("-1.50")),
        ("a.d % a.i", {"d": Decimal("1.00"), "i": 0}, None),
        ("a.d / a.i", {"d": Decimal("1.00"), "i": 4}, 0.25),
        ("a.d * a.d", {"d": Decimal("90000000000.00")}, None),
        ("a.d + a.e", {"d": Decimal("9999999999999999.00"), "e": Decimal("0.0000")}, None),
        ("a.d + a.f", {"d": Decimal("0.10"), "f": 0.2}, 0.1 + 0.2),
        ("a.d + 0.1", {"d": Decimal("0.20")}, Decimal("0.30")),
        ("-a.d", {"d": Decimal("0.20")}, Decimal("-0.20")),
    ],
)
def test_decimals(text: str, values: dict[str, object], expected: object):
    assert same(value(text, **values), expected)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (math.nan, math.nan, 0),
        (math.nan, math.inf, 1),
        (1, math.nan, -1),
        (-0.0, 0.0, 0),
        (2**53 + 1, float(2**53), 0),
        (Decimal("0.1"), 0.1, 0),
        (Decimal("1.0"), 1, 0),
        (False, True, -1),
        ("Z", "a", -1),
        ("\uffff", "\U00010000", -1),
    ],
)
def test_comparison(left: object, right: object, expected: int):
    assert compare(left, right) == expected
    assert compare(right, left) == -expected


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("a.i = a.j", {"i": 1}, None),
        ("a.t AND a.i = 1", {"t": False}, False),
        ("a.t AND a.i = 1", {"t": True}, None),
        ("a.t OR a.i = 1", {"t": True}, True),
        ("a.t OR a.i = 1", {"t": False}, None),
        ("NOT a.t", {}, None),
        ("a.i IS NULL", {}, True),
        ("a.i IS NOT NULL", {"i": 0}, True),
        ("a.i IN (1, 2, a.j)", {"i": 2}, True),
        ("a.i IN (1, 2, a.j)", {"i": 3}, None),
        ("a.i NOT IN (1, 2)", {"i": 3}, True),
        ("a.i NOT IN (1, 2, a.j)", {"i": 3}, None),
        ("a.f IN (1, 2)", {"f": 2.0}, True),
        ("a.f IN (a.g)", {"f": math.nan, "g": math.nan}, True),
        ("a.i IN a.l", {"i": 3, "l": (1, 3)}, True),
        ("a.i IN a.l", {"i": 3, "l": (1, None)}, None),
        ("a.i IN a.l", {"i": 3, "l": ()}, False),
        ("a.i IN a.l", {"i": 3}, None),
        ("a.s LIKE 'a%_'", {"s": "ab\nc"}, True),
        ("a.s LIKE 'a\\%'", {"s": "ab"}, False),
        ("a.s LIKE 'a\\%'", {"s": "a%"}, True),
        ("a.s LIKE 'a.c'", {"s": "abc"}, False),
        ("a.s NOT LIKE 'a%'", {}, None),
        ("a.place.city", {"place": {"city": "x"}}, "x"),
        ("a.place.at.x", {"place": {"city": "x", "at": None}}, None),
        ("a.place.at.x", {}, None),
    ],
)
def test_three_values(text: str, values: dict[str, object], expected: object):
    assert same(value(text, **values), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b.i", ABSENT),
        ("b.i + 1", ABSENT),
        ("b.i = a.i", ABSENT),
        ("b.i IS NULL", ABSENT),
        ("b.s LIKE 'a'", ABSENT),
        ("a.i IN (1, b.i)", ABSENT),
        ("coalesce(b.i, 1)", ABSENT),
        ("-b.i", ABSENT),
        ("NOT b.t", ABSENT),
        ("b.t AND a.i = 1", True),
        ("b.t AND a.i = 2", False),
        ("b.t OR a.i = 2", False),
        ("b.t OR a.i = 1", True),
        ("b.t OR a.j = 1", None),
        ("b.t OR b.i = 1", ABSENT),
    ],
)
def test_absent(text: str, expected: object):
    query = f"SEQ(A a, B? b) WITHIN 1 s RETURN {text} AS v"
    bound = bind(parse(query), SCHEMA, text=query)

    class Scope(OneEvent):
        def event(self, variable, at):  # type: ignore[no-untyped-def]
            return self.of if variable == "a" else ABSENT

    evaluator = Evaluator(bound.types)
    found = evaluator.value(bound.returns[0].expression, Scope(event(i=1)))
    assert found is expected
    assert evaluator.holds(bound.returns[0].expression, Scope(event(i=1))) is (expected in (True, ABSENT))


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("abs(a.i)", {"i": LEAST}, None),
        ("abs(a.f)", {"f": -0.0}, 0.0),
        ("sign(a.f)", {"f": math.nan}, math.nan),
        ("sign(a.d)", {"d": Decimal("-0.50")}, -1),
        ("floor(a.f)", {"f": -1.5}, -2.0),
        ("ceil(a.f)", {"f": -0.5}, -0.0),
        ("ceil(a.d)", {"d": Decimal("1.01")}, Decimal(2)),
        ("floor(a.f)", {"f": math.inf}, math.inf),
        ("round(a.f)", {"f": 2.5}, 3.0),
        ("round(a.f)", {"f": -2.5}, -3.0),
        ("round(a.f, 2)", {"f": 2.675}, 2.68),
        ("round(a.f, 400)", {"f": 0.1}, 0.1),
        ("round(a.f, -400)", {"f": 1e300}, 0.0),
        ("round(a.i, -1)", {"i": 15}, 20),
        ("round(a.i, -1)", {"i": MOST}, None),
        ("round(a.i, -30)", {"i": MOST}, 0),
        ("round(a.d, 1)", {"d": Decimal("0.25")}, Decimal("0.3")),
        ("round(a.d, 5)", {"d": Decimal("0.25")}, Decimal("0.25")),
        ("round(a.d, -1)", {"d": Decimal("15.00")}, Decimal(20)),
        ("sqrt(a.f)", {"f": -1.0}, math.nan),
        ("power(a.f, 0.5)", {"f": -1.0}, math.nan),
        ("power(a.f, 3)", {"f": -1e200}, -math.inf),
        ("power(a.f, -1)", {"f": -0.0}, -math.inf),
        ("power(a.f, -2)", {"f": -0.0}, math.inf),
        ("least(a.i, a.f)", {"i": 1, "f": math.nan}, 1.0),
        ("greatest(a.i, a.f)", {"i": 1, "f": math.nan}, math.nan),
        ("greatest(a.i, a.j)", {"i": 1}, 1),
        ("coalesce(a.i, a.f)", {"f": 2.5}, 2.5),
        ("coalesce(a.i, a.j)", {}, None),
        ("distance(a.i, a.i, 3, a.f)", {"i": 0, "f": 4.0}, 5.0),
        ("length(a.s)", {"s": "ä€😀"}, 3),
        ("upper(a.s)", {"s": "ß"}, "SS"),
        ("trim(a.s)", {"s": " a\t "}, "a\t"),
        ("substring(a.s, 2, 2)", {"s": "abcd"}, "bc"),
        ("substring(a.s, 0, 2)", {"s": "abcd"}, "ab"),
        ("substring(a.s, -2, 5)", {"s": "abcd"}, "cd"),
        ("substring(a.s, -9, 6)", {"s": "abcd"}, "a"),
        ("substring(a.s, 2, -1)", {"s": "abcd"}, ""),
        ("concat(a.s, a.u)", {"s": "a"}, None),
        ("starts_with(a.s, '')", {"s": "a"}, True),
        ("ends_with(a.s, 'b')", {"s": "ab"}, True),
        ("twice(a.i)", {"i": 2}, 4.0),
        ("twice(a.i)", {}, None),
    ],
)
def test_functions(text: str, values: dict[str, object], expected: object):
    assert same(value(text, **values), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("year(a.ts)", 1969),
        ("month(a.ts)", 12),
        ("day(a.ts)", 31),
        ("hour(a.ts)", 23),
        ("minute(a.ts)", 59),
        ("second(a.ts)", 59),
        ("day_of_week(a.ts)", 4),
        ("a.ts + 1 s", 999_999),
        ("a.ts - a.ts", 0),
        ("a.w * 2", 3_000_000),
        ("a.w / 1 s", 1.5),
        ("a.ts < '1970-01-01'", True),
    ],
)
def test_times(text: str, expected: object):
    assert same(value(text, ts=-1, w=1_500_000), expected)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (0, (1970, 1, 1)),
        (-1, (1969, 12, 31)),
        (11_016, (2000, 2, 29)),
        (11_017, (2000, 3, 1)),
        (-719_162, (1, 1, 1)),
        (-719_528, (0, 1, 1)),
        (2_932_896, (9999, 12, 31)),
    ],
)
def test_calendar(days: int, expected: tuple[int, int, int]):
    assert civil(days * DAY_US) == expected


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        ("count(a)", [{}, {}], 2),
        ("count(a.i)", [{"i": 1}, {}], 1),
        ("sum(a.i)", [{"i": MOST}, {"i": 1}], None),
        ("sum(a.i)", [{"i": MOST}, {"i": 1}, {"i": -1}], MOST),
        ("sum(a.i)", [{}, {}], None),
        ("sum(a.f)", [{"f": 0.1}, {"f": 0.2}, {"f": 0.3}], 0.1 + 0.2 + 0.3),
        ("sum(a.f)", [{"f": -0.0}], 0.0),
        ("sum(a.d)", [{"d": Decimal("0.10")}, {"d": Decimal("0.20")}], Decimal("0.30")),
        ("avg(a.i)", [{"i": MOST}, {"i": MOST}], float(MOST)),
        ("avg(a.d)", [{"d": Decimal("0.10")}, {"d": Decimal("0.20")}], 0.15),
        ("avg(a.f)", [{"f": 1.0}, {}, {"f": 2.0}], 1.5),
        ("min(a.f)", [{"f": math.nan}, {"f": 1.0}], 1.0),
        ("max(a.f)", [{"f": math.nan}, {"f": 1.0}], math.nan),
        ("max(a.s)", [{"s": "b"}, {"s": "ä"}], "ä"),
        ("sum(a.i * a.j)", [{"i": 2, "j": 3}, {"i": 1}], 6),
        ("first(a).i", [{"i": 1}, {"i": 2}], 1),
        ("last(a).i", [{"i": 1}, {"i": 2}], 2),
        ("a.i", [{"i": 1}, {"i": None}], [1, None]),
    ],
)
def test_aggregates(text: str, rows: list[dict[str, object]], expected: object):
    events = [event(number, **row) for number, row in enumerate(rows)]
    assert same(value(text, *events, pattern="A+ a"), expected)


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("REMOTE one[a.i]", {"i": 1}, 5),
        ("REMOTE one[a.i]", {"i": 2}, None),
        ("REMOTE one[a.i]", {"i": 3}, None),
        ("REMOTE one[a.i]", {}, None),
        ("REMOTE two[a.i, a.s].name", {"i": 1, "s": "a"}, "n"),
        ("REMOTE two[a.i, a.s].name", {"i": 2, "s": "a"}, None),
        ("a.j IN REMOTE two[a.i, a.s].known", {"i": 1, "s": "a", "j": 2}, True),
        ("a.j IN REMOTE two[a.i, a.s].known", {"i": 2, "s": "a", "j": 2}, False),
        ("a.j NOT IN REMOTE two[a.i, a.s].known", {"i": 9, "s": "a", "j": 2}, True),
        ("a.j NOT IN REMOTE two[a.i, a.s].known", {"i": 9, "s": "a"}, None),
        ("REMOTE deep[a.i].x", {"i": 1}, 9),
        ("REMOTE deep[a.i].x", {"i": 2}, None),
    ],
)
def test_remote(text: str, values: dict[str, object], expected: object):
    assert same(value(text, **values), expected)


def test_a_store_that_is_not_given_is_an_error():
    query = "A a WHERE REMOTE one[a.i] = 1"
    bound = bind(parse(query), SCHEMA, catalog=CATALOG, text=query)
    with pytest.raises(DataError, match="the store one"):
        match(bound, [event(i=1)])


def test_a_parameter_without_a_value_is_an_error():
    query = "A a WHERE a.i = :limit"
    bound = bind(parse(query), SCHEMA, text=query)
    with pytest.raises(ParameterError, match=":limit"):
        match(bound, [event(i=1)])


def test_two_events_of_one_identity_are_an_error():
    bound = bind(parse("A a"), SCHEMA)
    with pytest.raises(DataError, match="order key"):
        match(bound, [event(1), event(1)])
