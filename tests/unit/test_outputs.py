"""The outputs of `cepheid.match` beside the matches: what timed out, and what was rejected."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import NotSupportedError, QueryError, SchemaError

TABLE = pa.table(
    {
        "ts": [0, 3, 4, 20, 30],
        "kind": ["A", "A", "B", "A", "A"],
        "k": ["x", "y", "x", "z", None],
        "v": [1, 2, 3, 4, 5],
    }
)
ALL = ("matches", "timed_out", "rejected")
OPTIONS = {"time": "ts", "time_unit": "s", "type": "kind"}
WAITING = "SEQ(A a, B b, C? c) WHERE SAME[k] WITHIN 10"


def at(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def test_each_output_is_a_table_of_its_own():
    found = cep.match(TABLE, "SEQ(A a, B b) WHERE SAME[k] WITHIN 10", **OPTIONS, outputs=ALL)
    assert isinstance(found, cep.Outputs)
    assert found.matches.equals(
        cep.match(TABLE.slice(0, 4), "SEQ(A a, B b) WHERE SAME[k] WITHIN 10", **OPTIONS), check_metadata=True
    )
    assert found.timed_out.to_pylist() == [
        {
            "first_time": at(second),
            "last_time": at(second),
            "closed_time": at(second + 10),
            "k": key,
            "a": {"ts": second, "kind": "A", "k": key, "v": value},
            "b": None,
        }
        for second, key, value in ((3, "y", 2), (20, "z", 4))
    ]
    assert found.rejected.to_pylist() == [
        {"row": 4, "column": "k", "reason": "NULL in SAME: the event is in no partition"}
    ]


def test_the_default_is_the_matches_alone():
    plain = cep.match(TABLE, WAITING, **OPTIONS)
    assert isinstance(plain, pa.Table)
    only = cep.match(TABLE, WAITING, **OPTIONS, outputs="matches")
    assert only.matches.equals(plain)
    assert only.timed_out is None
    assert only.rejected is None


def test_variables_that_are_not_bound_are_null_be_they_loops():
    table = pa.table({"ts": [0, 1, 2], "kind": ["A", "B", "A"], "v": [1, 2, 3]})
    found = cep.match(table, "SEQ(A a, B+ b, C c) WITHIN 10 RETURN c.v AS v", **OPTIONS, outputs="timed_out")
    assert found.timed_out.column_names == ["first_time", "last_time", "closed_time", "a", "b", "c"]
    assert found.timed_out["b"].to_pylist() == [[{"ts": 1, "kind": "B", "v": 2}], None]
    assert found.timed_out["c"].to_pylist() == [None, None]


def test_the_end_of_the_input_closes_every_window():
    table = pa.table({"ts": [0, 1], "kind": ["A", "X"]})
    in_time = cep.match(table, "SEQ(A a, B b) WITHIN 1 hour", **OPTIONS, outputs="timed_out").timed_out
    assert in_time["closed_time"].to_pylist() == [at(3600)]
    counted = cep.match(table, "SEQ(A a, B b) WITHIN 2 EVENTS", **OPTIONS, outputs="timed_out").timed_out
    assert counted["closed_time"].to_pylist() == [at(1)]
    further = cep.match(table, "SEQ(A a, B b) WITHIN 3 EVENTS", **OPTIONS, outputs="timed_out").timed_out
    assert further["closed_time"].to_pylist() == [None]


def test_without_a_window_nothing_times_out():
    found = cep.match(TABLE, "SEQ(A a, C c)", **OPTIONS, outputs=("matches", "timed_out"))
    assert len(found.matches) == len(found.timed_out) == 0
    assert found.timed_out.column_names == ["first_time", "last_time", "closed_time", "a", "c"]


def test_under_any_prefixes_that_nothing_could_be_added_to_time_out():
    table = pa.table({"ts": [0, 1, 2], "kind": ["A", "B", "B"]})
    found = cep.match(table, "SEQ(A a, B b, C c) WITHIN 10 POLICY any", **OPTIONS, outputs="timed_out").timed_out
    assert [(row["a"]["ts"], row["b"]["ts"]) for row in found.to_pylist()] == [(0, 1), (0, 2)]


def test_under_strict_the_preferred_run_that_its_window_left_times_out():
    table = pa.table({"ts": [0, 1, 2, 30], "kind": ["A", "B", "X", "A"]})
    found = cep.match(table, "SEQ(A a, B b, C c) WITHIN 10 POLICY strict", **OPTIONS, outputs="timed_out").timed_out
    assert [row["a"]["ts"] for row in found.to_pylist()] == [30]  # X ended the other run


def test_windows_that_slide_have_their_bounds():
    table = pa.table({"ts": [4, 12], "kind": ["A", "B"]})
    found = cep.match(table, "SEQ(A a, B b) WINDOW 10 s SLIDE 5 s", **OPTIONS, outputs="timed_out").timed_out
    assert found["window_start"].to_pylist() == [at(-5), at(0)]
    assert found["window_end"].to_pylist() == [at(5), at(10)]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_outputs_are_the_kind_of_table_that_was_given(library: type):
    given = TABLE.to_pandas() if library is pd.DataFrame else pl.from_arrow(TABLE)
    found = cep.match(given, WAITING, **OPTIONS, outputs=ALL)
    for name in ALL:
        assert isinstance(getattr(found, name), library)


def test_malformed_events_are_told_with_row_and_reason_and_not_warned_of():
    table = pa.table(
        {
            "ts": ["2024-05-01T10:00:00Z", "yesterday", None, "2024-05-01T10:00:01Z"],
            "kind": ["A", "B", "B", None],
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cep.match(table, "SEQ(A a, B b) WITHIN 5 s", time="ts", type="kind", outputs=("matches", "rejected"))
    assert found.rejected.to_pylist() == [
        {"row": 1, "column": "ts", "reason": "the time 'yesterday' is not an ISO time"},
        {"row": 2, "column": "ts", "reason": "the time is NULL"},
        {"row": 3, "column": "kind", "reason": "the type is NULL"},
    ]
    with pytest.warns(UserWarning, match="3 of 4 events were rejected"):
        cep.match(table, "SEQ(A a, B b) WITHIN 5 s", time="ts", type="kind", outputs="timed_out")


def test_a_set_of_queries_has_the_outputs_of_each():
    queries = {"two": "SEQ(A a, B b) WHERE SAME[k] WITHIN 10", "open": "SEQ(B b, C c) WITHIN 100"}
    found = cep.match(TABLE, cep.QuerySet(queries), **OPTIONS, outputs=ALL)
    for name in ("two", "open"):
        alone = cep.match(TABLE, queries[name], **OPTIONS, outputs=ALL)
        for output in ALL:
            assert getattr(found[name], output).equals(getattr(alone, output)), (name, output)


def test_composite_events_time_out_with_all_that_they_are():
    pairs = {"pair": "SEQ(A a, B b) WHERE SAME[k] WITHIN 10 RETURN a.k AS k, b.v AS v"}
    found = cep.match(
        TABLE, "SEQ(pair p, pair q) FROM pair WITHIN 60 RETURN q.v AS v", **OPTIONS, queries=pairs, outputs="timed_out"
    )
    (row,) = found.timed_out.to_pylist()
    assert row["p"] == {"k": "x", "v": 3, "last_time": at(4)}
    assert row["q"] is None


def test_an_output_that_does_not_exist():
    with pytest.raises(SchemaError, match="there is no output 'timeouts'"):
        cep.match(TABLE, WAITING, **OPTIONS, outputs=("matches", "timeouts"))
    with pytest.raises(SchemaError, match="names none"):
        cep.match(TABLE, WAITING, **OPTIONS, outputs=())


def test_what_cannot_run_is_refused_by_name():
    many = ", ".join(f"A a{number}" for number in range(63))
    with pytest.raises(NotSupportedError, match="at most 62 elements"):
        cep.match(TABLE, f"SEQ({many}) WITHIN 5", **OPTIONS, outputs="timed_out")


def test_outputs_that_are_no_names():
    with pytest.raises(SchemaError, match="outputs=5 names no outputs"):
        cep.match(TABLE, WAITING, **OPTIONS, outputs=5)  # type: ignore[call-overload]


@pytest.mark.parametrize("queries", [False, True], ids=["one", "several"])
def test_a_plan_that_is_none_is_refused_whatever_is_asked_for(queries):
    text = "SEQ(A a, B b) WITHIN 5"
    query = cep.QuerySet({"one": f"{text} POLICY any"}) if queries else f"{text} POLICY any"
    with pytest.raises(QueryError, match="zz"):
        cep.match(TABLE, query, **OPTIONS, outputs=("timed_out",), settings=cep.Settings(evaluation="zz/"))
    with pytest.raises(NotSupportedError, match="as its events arrive"):
        cep.match(TABLE, text, **OPTIONS, outputs=("timed_out",), settings=cep.Settings(evaluation="a/"))


@pytest.mark.parametrize("slack", [timedelta.max, 2**62, 1e300])
def test_with_a_slack_beyond_all_times_nothing_is_late(slack):
    query = "SEQ(A a, B b) WITHIN 5"
    late_one = TABLE.take([3, 0, 1, 2])
    found = cep.match(late_one, query, **OPTIONS, slack=slack, outputs=("matches", "late"))
    assert found.matches.equals(cep.match(late_one, query, **OPTIONS))
    assert len(found.late) == 0
