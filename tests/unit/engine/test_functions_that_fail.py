"""A registered function that raises, or gives what it should not: one error, on every road, and nothing half done."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import DataError
from cepheid.events.types import BOOL, DURATION, FLOAT, INT, TEXT, TIMESTAMP, decimal

EVENTS = pa.table(
    {
        "ts": pa.array(range(4), pa.timestamp("s", "UTC")),
        "kind": list("ABAB"),
        "x": [1, 2, 3, 4],
        "s": ["x" * 5000, "y", "x", "y"],
    }
)
OPTIONS = {"time": "ts", "type": "kind"}
PLACES = {
    "of one event": "PATTERN SEQ(A a, B b) WHERE f(a.x, 1) IS NOT NULL WITHIN 10 s",
    "between events": "PATTERN SEQ(A a, B b) WHERE f(a.x, b.x) IS NOT NULL WITHIN 10 s",
    "in SAME": "PATTERN SEQ(A a, B b) WHERE SAME[f(x, 1)] WITHIN 10 s",
    "in RETURN": "PATTERN SEQ(A a, B b) WITHIN 10 s RETURN f(a.x, b.x) AS y",
    "under NOT": "PATTERN SEQ(A a, NOT A n, B b) WHERE f(n.x, a.x) IS NULL WITHIN 10 s POLICY any",
    "on a loop": "PATTERN SEQ(A a, B+ b) WHERE f(prev(b).x, b.x) IS NOT NULL AND f(a.x, b.x) IS NULL WITHIN 10 s",
}


class Odd(Exception):
    def __str__(self):
        raise RuntimeError("not even this")

    __repr__ = __str__


def catalog(call, result=INT, arguments=(INT, INT)):
    return cep.Catalog({"f": cep.Function("f", arguments, result, call)})


def failing(error):
    def f(*_):
        raise error

    return f


def fault(call, result=INT, query=PLACES["between events"], arguments=(INT, INT)):
    with pytest.raises(DataError) as caught:
        cep.match(EVENTS, query, catalog=catalog(call, result, arguments), **OPTIONS)
    return caught.value


@pytest.mark.parametrize("query", PLACES.values(), ids=PLACES)
def test_one_that_raises(query):
    error = fault(failing(KeyError("gone")), query=query)
    assert error.message.startswith("the function f raised KeyError: 'gone', for (")
    assert query[error.span.start : error.span.end].startswith("f(")
    assert error.remedy == "let it return None where it has no answer"


@pytest.mark.parametrize("query", PLACES.values(), ids=PLACES)
def test_one_that_gives_another_type(query):
    error = fault(lambda *_: "one", query=query)
    assert error.message.startswith("the function f gave 'one' (str), which is no int")
    assert query[error.span.start : error.span.end].startswith("f(")
    assert error.remedy == "let it give an int, or declare the type that it gives"


@pytest.mark.parametrize(
    ("value", "result", "shown"),
    [
        (1.0, INT, "1.0 (float)"),
        (True, INT, "True (bool)"),
        (1, BOOL, "1 (int)"),
        (2**63, INT, "9223372036854775808 (int)"),
        (10**400, FLOAT, "(int)"),
        (Decimal("sNaN"), FLOAT, "(Decimal)"),
        ("1", FLOAT, "'1' (str)"),
        (b"x", TEXT, "b'x' (bytes)"),
        ("\ud800", TEXT, "'\\ud800' (str)"),
        (1.5, decimal(9, 2), "1.5 (float)"),
        (Decimal("1e30"), decimal(9, 2), "(Decimal)"),
        (Decimal("NaN"), decimal(9, 2), "Decimal('NaN') (Decimal)"),
        (dt.date(2024, 1, 1), TIMESTAMP, "(date)"),
        ("2024-01-01", TIMESTAMP, "(str)"),
        (dt.timedelta.max, DURATION, "(timedelta)"),
        (5, DURATION, "5 (int)"),
        ([1], INT, "[1] (list)"),
        (Odd(), INT, "a Odd (Odd)"),
        ("x" * 10_000, INT, "... (str)"),
    ],
)
def test_values_that_are_of_no_use(value, result, shown):
    error = fault(lambda *_: value, result)
    assert f"{shown}, which is no {result}" in error.message
    assert len(error.message) < 300


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (StopIteration(), "the function f raised StopIteration, for (1, 2)"),
        (RecursionError("deep"), "the function f raised RecursionError: deep, for (1, 2)"),
        (MemoryError(), "the function f raised MemoryError, for (1, 2)"),
        (Odd(), "the function f raised Odd, for (1, 2)"),
        (ValueError("z" * 5000), "zzz..., for (1, 2)"),
    ],
)
def test_exceptions_of_all_kinds(error, told):
    found = fault(failing(error))
    assert told in found.message
    assert len(found.message) < 300
    assert found.__cause__ is error  # its traceback leads into the function


def test_a_long_argument_is_cut():
    query = "PATTERN SEQ(A a, B b) WHERE f(a.s, b.s) WITHIN 10 s"
    assert len(fault(failing(ValueError("no")), BOOL, query, (TEXT, TEXT)).message) < 300


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=["interrupt", "exit"])
@pytest.mark.parametrize("query", PLACES.values(), ids=PLACES)
def test_what_is_to_end_the_process_passes_through(query, error):
    with pytest.raises(type(error)) as caught:
        cep.match(EVENTS, query, catalog=catalog(failing(error)), **OPTIONS)
    assert caught.value is error


def test_a_function_that_takes_other_arguments():
    assert "raised TypeError" in fault(lambda x: x).message


def test_the_call_after_one_that_failed_is_not_touched():
    calls = []

    def f(x, y):
        calls.append((x, y))
        if len(calls) == 1:
            raise ValueError("only once")
        return x + y

    known = catalog(f)
    with pytest.raises(DataError):
        cep.match(EVENTS, PLACES["between events"], catalog=known, **OPTIONS)
    assert cep.match(EVENTS, PLACES["between events"], catalog=known, **OPTIONS).num_rows == 2


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_a_matcher_that_has_failed_does_not_miss_matches_in_silence(error):
    calls = []

    def f(x, y):
        calls.append((x, y))
        if len(calls) == 2:
            raise error
        return x + y

    query = "PATTERN SEQ(A a, B b) WHERE f(a.x, b.x) > 0 WITHIN 1 s"
    matcher = cep.Matcher(query, catalog=catalog(f), slack=dt.timedelta(0), **OPTIONS)
    assert matcher.push(EVENTS.slice(0, 2)).num_rows == 0
    assert matcher.push(EVENTS.slice(2, 1)).num_rows == 1
    matcher.push(EVENTS.slice(3, 1))
    with pytest.raises(DataError if isinstance(error, Exception) else type(error)):
        matcher.close()
    pushes = (lambda: matcher.push(EVENTS), lambda: matcher.advance("2024-01-01"), matcher.close)
    for call in (*pushes, matcher.gauge, matcher.snapshot, lambda: matcher.restore(b"")):
        with pytest.raises(DataError, match="the matcher has failed before") as caught:
            call()
        assert "start another one" in caught.value.remedy


def test_events_that_do_not_do_leave_a_matcher_as_it_was():
    query = "PATTERN SEQ(A a, B b) WITHIN 1 s"
    matcher = cep.Matcher(query, slack=dt.timedelta(0), **OPTIONS)
    matcher.push(EVENTS.slice(0, 1))
    with pytest.raises(cep.errors.SchemaError):
        matcher.push(EVENTS.drop_columns(["x"]))
    matcher.push(EVENTS.slice(1, 1))
    assert matcher.close().num_rows == 1
