"""Conditions between events that the kernel cannot compute: registered functions, text of several events, lists."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine import host, pool
from cepheid.errors import DataError
from cepheid.events.types import BOOL, DURATION, FLOAT, INT, TEXT, TIMESTAMP, decimal

EVENTS = pa.table(
    {
        "ts": pa.array(range(6), pa.timestamp("s", "UTC")),
        "kind": ["A", "B", "C", "A", "B", "C"],
        "s": ["x", "y", "xy", "q", None, "qs"],
        "x": pa.array([1, 2, 3, 4, 5, None], pa.int64()),
        "f": [1.5, 0.5, 2.5, 1.0, 0.0, float("nan")],
        "d": pa.array([Decimal("1.50")] * 6, pa.decimal128(9, 2)),
        "known": [[2], [1, 5], None, [5], [], [None, 1]],
    }
)


def matches(query, *functions, events=EVENTS):
    """The numbers of the events of each match: seconds since 1970."""
    catalog = cep.Catalog({f.name: f for f in functions})
    found = cep.match(events, query, time="ts", type="kind", catalog=catalog)
    columns = [c for c in found.column_names if pa.types.is_nested(found.schema.field(c).type)]
    rows = []
    for row in found.select(columns).to_pylist():
        bound = [e for v in row.values() if v is not None for e in (v if isinstance(v, list) else [v])]
        rows.append(tuple(int(e["ts"].timestamp()) for e in bound))
    return rows


def function(call, *arguments, result=BOOL, name="f"):
    return cep.Function(name, arguments, result, call)


NEAR = function(lambda x, y: x is not None and y is not None and abs(x - y) < 2, INT, INT)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("concat(a.s, b.s) = c.s", [(0, 1, 2)]),
        ("starts_with(c.s, a.s) AND length(concat(c.s, b.s)) = 3", [(0, 1, 2), (0, 1, 5)][:1]),
        ("concat(a.s, b.s) LIKE '_y' AND c.x IS NULL", [(0, 1, 5)]),
        ("concat(a.s, c.s) NOT LIKE 'x%'", [(3, 4, 5)]),
        ("concat(a.s, b.s) IN ('xy', c.s) AND b.x < c.x", [(0, 1, 2)]),
        ("concat(a.s, b.s) IS NULL", [(0, 4, 5), (3, 4, 5)]),
        ("coalesce(a.s, b.s) = 'x' AND b.x IN a.known", [(0, 1, 2), (0, 1, 5)]),
        ("a.x IN b.known", [(0, 1, 2), (0, 1, 5)]),
        ("a.x IN c.known", [(0, 1, 5), (0, 4, 5)]),
        ("a.x NOT IN b.known", [(0, 4, 5), (3, 4, 5)]),
        ("year(a.ts + (b.ts - c.ts)) < 1970", [(0, 1, 2), (0, 1, 5), (0, 4, 5)]),
        ("round((a.x + b.x) / c.x, -1) = 0 AND least(a.s, 'y') < b.s", [(0, 1, 2)]),
    ],
)
def test_what_is_no_instruction_runs(condition, expected):
    assert matches(f"SEQ(A a, B b, C c) WHERE {condition} WITHIN 10 s POLICY any") == expected


def test_minimum_and_maximum_of_a_text():
    assert matches("SEQ(A a, B+ b, C c) WHERE max(b.s) = 'y' AND min(b.s) < c.s AND c.x = 3 WITHIN 10 s") == []
    assert matches("SEQ(A a, B+ b, C c) WHERE max(b.s) = 'y' AND min(b.s) > c.s AND c.x = 3 WITHIN 10 s") == [(0, 1, 2)]


def test_a_registered_function_between_events():
    assert matches("SEQ(A a, B b) WHERE f(a.x, b.x) WITHIN 10 s POLICY any", NEAR) == [(0, 1), (3, 4)]
    assert matches("SEQ(A a, B b) WHERE NOT f(a.x, b.x) WITHIN 10 s POLICY any", NEAR) == [(0, 4)]


def test_a_registered_function_under_not():
    query = "SEQ(A a, NOT B b, C c) WHERE f(a.x, b.x) WITHIN 10 s POLICY any"
    assert matches(query, NEAR) == []
    far = function(lambda x, y: y - x > 3, INT, INT)
    assert matches(query, far) == [(0, 2), (3, 5)]


def test_a_registered_function_on_each_element_of_a_loop():
    events = pa.table(
        {"ts": pa.array(range(5), pa.timestamp("s", "UTC")), "kind": list("ABBBC"), "x": [1, 2, 3, 9, 4], "s": [""] * 5}
    )
    assert matches("SEQ(A a, B+ b, C c) WHERE f(a.x, b.x) WITHIN 10 s", NEAR, events=events) == [(0, 1, 4)]
    rising = function(lambda x, y: y == x + 1, INT, INT)
    query = "SEQ(A a, B+ b, C c) WHERE f(prev(b).x, b.x) AND count(b) = 2 WITHIN 10 s"
    assert matches(query, rising, events=events) == [(0, 1, 2, 4)]
    of_count = function(lambda n, x, y: n == 2 and (x, y) == (2, 3), INT, INT, INT)
    query = "SEQ(A a, B+ b, C c) WHERE f(count(b), first(b).x, last(b).x) AND b.x < 9 WITHIN 10 s"
    assert matches(query, of_count, events=events) == [(0, 1, 2, 4)]
    of_text = function(lambda texts: texts == "", TEXT)
    assert matches("SEQ(A a, B+ b, C c) WHERE f(max(b.s)) WITHIN 10 s", of_text, events=events) == [(0, 1, 2, 3, 4)]


def test_a_registered_function_of_an_absent_variable_is_not_called():
    never = function(lambda x, y: pytest.fail("called"), INT, INT)
    assert matches("SEQ(A a, M? m, B b) WHERE f(a.x, m.x) AND a.x = 1 WITHIN 10 s", never) == [(0, 1)]


def test_a_registered_function_in_return_and_in_same():
    parity = cep.Function("parity", (INT,), INT, lambda x: None if x is None else x % 2)
    catalog = cep.Catalog({"parity": parity, "f": NEAR})
    query = "SEQ(A a, C c) WHERE SAME[parity(x)] WITHIN 10 s POLICY any RETURN f(a.x, c.x) AS near, parity(c.x) AS p"
    found = cep.match(EVENTS, query, time="ts", type="kind", catalog=catalog)
    assert found.to_pylist() == [{"near": False, "p": 1}]


@pytest.mark.parametrize(
    ("arguments", "dtypes", "python"),
    [
        ("a.ts, b.ts - a.ts", (TIMESTAMP, DURATION), (dt.datetime, dt.timedelta)),
        ("a.s, b.x", (TEXT, INT), (str, int)),
        ("a.f, b.x", (FLOAT, FLOAT), (float, float)),
        ("a.x = 1, b.d", (BOOL, decimal(19, 2)), (bool, Decimal)),
    ],
)
def test_what_a_function_gets(arguments, dtypes, python):
    seen = []
    matches(f"SEQ(A a, B b) WHERE f({arguments}) WITHIN 10 s", function(lambda *given: seen.append(given), *dtypes))
    assert seen
    assert {tuple(map(type, given)) for given in seen} == {python}


def test_a_function_of_times_gives_times():
    middle = function(lambda a, b: a + (b - a) / 2, TIMESTAMP, TIMESTAMP, result=TIMESTAMP)
    assert matches("SEQ(A a, B b, C c) WHERE f(a.ts, c.ts) = b.ts WITHIN 10 s", middle) == [(0, 1, 2), (3, 4, 5)]
    twice = function(lambda d: 2 * d, DURATION, result=DURATION)
    assert matches("SEQ(A a, B b, C c) WHERE f(b.ts - a.ts) = c.ts - a.ts WITHIN 10 s", twice) == [(0, 1, 2), (3, 4, 5)]


def test_a_function_that_raises_stops_the_run():
    calls = []

    def fails(x, y):
        calls.append((x, y))
        raise ZeroDivisionError("no")

    query = "SEQ(A a, B b) WHERE f(a.x, b.x) WITHIN 10 s POLICY any"
    with pytest.raises(DataError) as caught:
        matches(query, function(fails, INT, INT))
    error = caught.value
    assert error.message == (
        "the function f raised ZeroDivisionError: no, for (1, 2), on a at 1970-01-01T00:00:00+00:00 and "
        "b at 1970-01-01T00:00:01+00:00"
    )
    assert query[error.span.start : error.span.end] == "f(a.x, b.x)"
    assert (error.line, error.column) == (1, 21)
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert calls == [(1, 2)]  # it is not called any more


@pytest.mark.parametrize("given", ["yes", 1, 1.0, dt.timedelta(1)])
def test_a_function_that_gives_another_type_stops_the_run(given):
    query = "SEQ(A a, B b) WHERE f(a.x, b.x) WITHIN 10 s"
    with pytest.raises(DataError, match=r"the function f gave .*, which is no bool, on a at") as caught:
        matches(query, function(lambda x, y: given, INT, INT))
    assert caught.value.column == 21


@pytest.mark.parametrize("clause", ["WHERE f(a.x) AND b.x > 0", "WHERE f(a.x) > b.x", "RETURN f(a.x) AS y"])
def test_a_function_on_one_event_that_raises_is_named_with_its_place(clause):
    def fails(x):
        raise ValueError("no")

    query = f"SEQ(A a, B b) {clause} WITHIN 10 s" if "WHERE" in clause else f"SEQ(A a, B b) WITHIN 10 s {clause}"
    result = INT if ">" in clause and "AND" not in clause else BOOL
    with pytest.raises(DataError, match="the function f raised ValueError: no") as caught:
        matches(query, function(fails, INT, result=result))
    assert query[caught.value.span.start : caught.value.span.end] == "f(a.x)"
    assert caught.value.text == query


def test_an_interrupt_stops_the_run():
    def interrupts(x, y):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        matches("SEQ(A a, B b) WHERE f(a.x, b.x) WITHIN 10 s", function(interrupts, INT, INT))


def test_a_function_is_called_once_for_the_same_events(monkeypatch):
    calls = []
    counted = function(lambda x, y: calls.append((x, y)) or True, INT, INT)
    query = "SEQ(A a, B b, C c) WHERE (f(a.x, b.x) OR c.x = 7) WITHIN 10 s POLICY any"
    found = matches(query, counted)
    assert len(found) == 4
    assert len(calls) == len(set(calls)) == 3
    monkeypatch.setattr(host, "MOST_KEPT", 1)
    assert matches(query, counted) == found


def test_a_pool_that_grows_meanwhile(monkeypatch):
    monkeypatch.setattr(pool, "FIRST_ROWS", 1)
    monkeypatch.setattr(pool, "FIRST_MATCHES", 1)
    assert matches("SEQ(A a, B b) WHERE f(a.x, b.x) WITHIN 10 s POLICY any", NEAR) == [(0, 1), (3, 4)]


def test_a_function_gets_only_events_of_its_variable():
    """An event of another type has NULL in the attribute, or something else: no business of the function."""
    seen = []
    query = "SEQ(A a, B b) WHERE f(a.x) AND f(b.x) WITHIN 10 s"
    matches(query, function(lambda x: seen.append(x) or True, INT))
    assert sorted(seen) == [1, 2, 4, 5]
    seen.clear()
    query = "SEQ(A a, B b) WHERE a.x + f(a.x) < b.x + f(b.x) AND a.x <> 1 WITHIN 10 s"
    matches(query, function(lambda x: seen.append(x) or x, INT, result=INT))
    assert sorted(seen) == [2, 4, 5]


def test_conditions_over_the_elements_of_many_loops():
    names = "bcdefg"
    loops = ", ".join(f"{v.upper()}+ {v}" for v in names)
    terms = " + ".join(f"{v}.x" for v in names)
    events = pa.table(
        {
            "ts": pa.array(range(8), pa.timestamp("s", "UTC")),
            "kind": list("ABCDEFGZ"),
            "x": [0, 1, 1, 1, 1, 1, 1, 6],
        }
    )
    query = f"SEQ(A a, {loops}, Z z) WHERE {terms} = z.x WITHIN 10 s"
    assert matches(query, events=events) == [tuple(range(8))]
    assert matches(query.replace("= z.x", "< z.x"), events=events) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("(a.x + c.x) IN :listed", []),
        ("(a.x + c.x) NOT IN :listed", [(0, 2)]),  # the x of the other C is NULL
        ("((a.x + c.x) NOT IN :listed) IS NULL", [(0, 5), (3, 5)]),
    ],
)
def test_an_empty_list(condition, expected):
    query = f"SEQ(A a, C c) WHERE {condition} WITHIN 10 s POLICY any"
    found = cep.match(EVENTS, query, time="ts", type="kind", parameters={"listed": []})
    assert [(row["a"]["x"] - 1, row["c"]["ts"].second) for row in found.to_pylist()] == expected
