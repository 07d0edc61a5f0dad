"""`cepheid.Matcher`: a stream in parts gives what the table gives, and says what it could not use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import DataError, NotSupportedError, QueryError, SchemaError
from cepheid.ports.pairs import Cells, Orders, Seen, Wanted

QUERY = "PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10"
NOT_AT_THE_END = "PATTERN SEQ(A a, NOT C c) WHERE SAME[k] WITHIN 10 RETURN a.ts AS ts"
COLUMNS = {"time": "ts", "type": "kind", "time_unit": "s"}


def table(*events: tuple[int, str, object]) -> Any:
    ts, kind, key = zip(*events, strict=True) if events else ((), (), ())
    return pa.table({"ts": pa.array(ts, pa.int64()), "kind": pa.array(kind, pa.string()), "k": pa.array(key)})


def matcher(query: str = QUERY, **options: Any) -> cep.Matcher:
    return cep.Matcher(query, **COLUMNS, **options)


def ids(matches: Any) -> list[str]:
    names: list[str] = matches["match_id"].to_pylist()
    return names


def test_pushes_give_the_matches_of_the_table():
    events = table((0, "A", 1), (1, "A", 2), (2, "B", 1), (2, "B", 2), (9, "B", 1), (30, "A", 1), (31, "B", 1))
    one = matcher(slack=0)
    parts = [one.push(events.slice(i, 1)) for i in range(len(events))]
    got = pa.concat_tables([*parts, one.close()])
    assert got.equals(cep.match(events, QUERY, **COLUMNS))
    assert len(got) == 3


def test_matches_come_with_the_watermark_alone_where_there_is_no_slack():
    one = matcher()
    assert len(one.push(table((0, "A", 1), (2, "B", 1)))) == 0
    assert len(one.advance(1)) == 0
    assert len(one.advance(2)) == 1
    assert len(one.close()) == 0


def test_events_out_of_order_are_put_in_order():
    one = matcher()
    one.push(table((5, "B", 1), (4, "A", 2)))
    one.push(table((3, "A", 1), (6, "B", 2)))
    in_order = table((3, "A", 1), (4, "A", 2), (5, "B", 1), (6, "B", 2))
    got = one.close()
    assert got.drop(["match_id"]).equals(cep.match(in_order, QUERY, **COLUMNS).drop(["match_id"]))


def test_ids_are_those_of_the_table_in_the_order_of_arrival():
    events = table((5, "B", 1), (4, "A", 2), (3, "A", 1), (6, "B", 2))
    one = matcher()
    one.push(events.slice(0, 2))
    one.push(events.slice(2))
    assert ids(one.close()) == ids(cep.match(events, QUERY, **COLUMNS))


def test_an_order_key_orders_events_of_equal_time_across_pushes():
    query = "PATTERN SEQ(A a, B b) WITHIN 10"
    one = cep.Matcher(query, **COLUMNS, order="k")
    one.push(table((5, "B", 2)))
    one.push(table((5, "A", 1)))
    assert len(one.close()) == 1


def test_late_events_are_told_and_in_no_match():
    one = matcher(slack=2)
    one.push(table((10, "A", 1)))
    one.push(table((7, "B", 1), (8, "A", 2), (10, "B", 2)))
    assert one.late.to_pylist() == [{"ts": 7, "kind": "B", "k": 1}]
    assert one.close().num_rows == 1
    one = matcher()
    one.advance(10)
    one.push(table((10, "A", 1), (11, "A", 1), (12, "B", 1)))
    assert one.late["ts"].to_pylist() == [10]
    assert len(one.close()) == 1


def test_what_must_not_come_is_decided_by_the_watermark():
    one = matcher(NOT_AT_THE_END)
    one.push(table((0, "A", 1), (1, "A", 2), (5, "C", 2)))
    assert one.advance(9).num_rows == 0
    assert one.advance(10)["ts"].to_pylist() == [0]
    assert one.close().num_rows == 0


def test_close_decides_what_the_end_decides():
    one = matcher(NOT_AT_THE_END)
    one.push(table((0, "A", 1)))
    assert one.close()["ts"].to_pylist() == [0]
    with pytest.raises(DataError, match="closed"):
        one.push(table((1, "A", 1)))


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_matches_are_of_the_kind_that_was_pushed(made: Any):
    one = matcher()
    first = one.push(made({"ts": [0, 2], "kind": ["A", "B"], "k": [1, 1]}))
    assert isinstance(first, made)
    assert isinstance(one.late, made)
    assert isinstance(one.advance(5), made)


def test_several_tables_by_type():
    one = cep.Matcher("PATTERN SEQ(A a, B b) WHERE a.x < b.y WITHIN 10", time="ts", time_unit="s")
    one.push({"A": pa.table({"ts": [0, 1], "x": [1, 6]}), "B": pa.table({"ts": [2], "y": [5]})})
    one.push({"B": pa.table({"ts": [3], "y": [7]})})
    assert one.close().num_rows == 2


def test_a_schema_tells_at_once_what_does_not_fit():
    columns = pa.schema({"ts": pa.int64(), "kind": pa.string()})
    with pytest.raises(QueryError, match="k"):
        matcher(schema=columns)
    with pytest.raises(QueryError, match="grow without bound"):
        matcher("PATTERN SEQ(A+ a, B b)", schema=columns)
    with pytest.raises(NotSupportedError, match="drop oldest"):
        matcher("PATTERN SEQ(A a, B b) POLICY strict", schema=columns, settings=cep.Settings(on_cap="drop oldest"))


def test_a_not_before_the_start_looks_back_to_the_first_event_of_all():
    one = matcher("PATTERN SEQ(NOT C c, A a, B b) WHERE SAME[k] RETURN a.k AS k")
    one.push(table((1, "C", 1), (2, "A", 2)))
    one.advance(50)
    one.push(table((60, "A", 1), (70, "B", 1), (71, "B", 2), (72, "A", 3), (80, "B", 3)))
    assert [match["k"] for match in one.close().to_pylist()] == [2, 3]


def test_a_frontier_holds_over_pushes():
    one = matcher("PATTERN SEQ(A a, B b, B c) WHERE SAME[k] WITHIN 10 AFTER MATCH SKIP PAST LAST RETURN a.ts AS ts")
    one.push(table((1, "A", 1), (2, "A", 1), (3, "B", 1), (4, "B", 1)))
    assert [match["ts"] for match in one.advance(4).to_pylist()] == [1]
    one.push(table((5, "B", 1), (6, "A", 1), (7, "B", 1), (8, "B", 1)))
    assert [match["ts"] for match in one.close().to_pylist()] == [6]


def test_matches_of_a_query_that_counts_and_decides_late():
    inner = "SEQ(A a, NOT C c) WHERE SAME[k] WITHIN 2 EVENTS RETURN a.k AS k, a.ts AS ts"
    one = matcher("PATTERN SEQ(late p, late q) FROM late RETURN p.k AS p, q.k AS q", queries={"late": inner})
    one.push(table((1, "A", 1), (2, "A", 2), (3, "B", 2)))
    # The first is still open, and what it begins may come before the second.
    assert one.advance(20).num_rows == 0
    one.push(table((30, "B", 1)))
    assert one.advance(30).to_pylist() == [{"p": 1, "q": 2}]


def test_without_any_push_the_output_has_its_columns_where_a_schema_is_given():
    one = matcher("PATTERN A a RETURN a.k AS k", schema=table().schema.set(2, pa.field("k", pa.int64())))
    assert one.advance(5).schema == pa.schema({"k": pa.int64()})
    assert one.close().num_rows == 0


def test_columns_stay_those_of_the_first_push():
    one = matcher()
    one.push(table((0, "A", 1)))
    with pytest.raises(SchemaError, match="'k'"):
        one.push(pa.table({"ts": [1], "kind": ["A"]}))
    with pytest.raises(SchemaError, match="new column 'z'"):
        one.push(pa.table({"ts": [1], "kind": ["A"], "k": [1], "z": [1]}))
    with pytest.raises(SchemaError, match="'k' is string here"):
        one.push(table((1, "B", "x")))
    one.push(pa.table({"k": pa.array([1], pa.int8()), "kind": ["B"], "ts": [1]}))
    assert one.close().num_rows == 1


def test_rejected_rows_are_told_with_their_number_in_the_stream():
    one = matcher()
    one.push(table((0, "A", 1), (1, "A", 1)))
    with pytest.warns(UserWarning, match="1 of 2 events were rejected"):
        one.push(pa.table({"ts": [None, 1], "kind": ["A", "B"], "k": [1, 1]}))
    assert one.rejected["row"].to_pylist() == [2]
    one.push(table((3, "B", 1)))
    assert one.rejected.num_rows == 0
    assert one.late.num_rows == 0


def test_times_come_in_any_form():
    start = datetime(2024, 1, 1, tzinfo=UTC)
    events = pa.table({"ts": [start, start + timedelta(seconds=3)], "kind": ["A", "B"]})
    one = cep.Matcher("PATTERN SEQ(A a, B b) WITHIN 10 s", time="ts", type="kind", slack=timedelta(seconds=1))
    one.push(events)
    assert one.advance("2024-01-01T00:00:02Z").num_rows == 0
    assert one.advance(start + timedelta(seconds=3)).num_rows == 1
    assert one.watermark_us == 1_704_067_203_000_000
    with pytest.raises(DataError, match="in which unit"):
        one.advance(5)
    with pytest.raises(DataError, match="not an ISO time"):
        one.advance("soon")


@pytest.mark.parametrize("slack", [float("nan"), float("inf"), "x", True])
def test_a_slack_that_is_no_length_of_time(slack: Any):
    with pytest.raises(SchemaError, match="is no length of time"):
        matcher(slack=slack)


def test_a_time_that_no_column_can_hold():
    for time in (2**70, pd.NaT):
        with pytest.raises(DataError, match="is not a time"):
            matcher().advance(time)


def test_a_time_of_numpy():
    one = matcher()
    one.advance(np.datetime64("2024-01-04"))
    assert one.watermark_us == 1_704_326_400_000_000


@pytest.mark.parametrize(("slack", "message"), [(-1, "negative"), (timedelta(days=-1), "negative")])
def test_a_slack_that_is_none(slack: Any, message: str):
    with pytest.raises(SchemaError, match=message):
        matcher(slack=slack)
    with pytest.raises(SchemaError, match="in which unit"):
        cep.Matcher(QUERY, time="ts", slack=5)


def test_dictionaries_of_the_pushes_are_put_together():
    columns = pa.schema({"ts": pa.int64(), "kind": pa.dictionary(pa.int8(), pa.string()), "k": pa.large_string()})
    parts = [table((0, "A", "x"), (1, "C", "y")), table((1, "B", "x"), (2, "B", "y")), table((3, "A", "z"))]
    one = matcher(schema=columns)
    for part in parts:
        one.push(part.cast(columns))
        one.advance(2)
    got = one.close()
    assert got.num_rows == 0
    one = matcher(schema=columns, slack=0)
    rows = [row for part in parts for row in one.push(part.cast(columns)).to_pylist()]
    assert [row["k"] for row in rows] == ["x"]
    assert rows[0]["a"] == {"ts": 0, "kind": "A", "k": "x"}


def test_matches_of_matches():
    inner = "PATTERN SEQ(A a, NOT C c) WITHIN 10 RETURN a.k AS k"
    outer = "PATTERN SEQ(alone x, alone y) FROM alone WITHIN 5 s RETURN x.k AS one, y.k AS other"
    events = table((0, "A", 1), (3, "A", 2), (40, "A", 3), (43, "A", 4), (45, "C", 4))
    one = matcher(outer, queries={"alone": inner})
    got = []
    for i in range(len(events)):
        one.push(events.slice(i, 1))
        got += one.advance(events["ts"][i].as_py()).to_pylist()
    got += one.close().to_pylist()
    assert got == cep.match(events, outer, **COLUMNS, queries={"alone": inner}).to_pylist() == [{"one": 1, "other": 2}]


def test_events_that_no_element_takes_leave_nothing_behind():
    one = matcher()
    one.push(table((0, "X", 1), (1, "X", 2)))
    for time in (1, 2, 40):
        assert len(one.advance(time)) == 0
    assert one.gauge().n_events == 0
    assert len(one.close()) == 0


class Counts:
    """A policy that counts what comes of pairs."""

    wanted = Wanted(observe=True)

    def __init__(self) -> None:
        self.seen: Seen | None = None

    def begin(self, cells: Cells) -> Orders:
        return Orders(observe=True)

    def look(self, seen: Seen) -> Orders:
        self.seen = seen
        return Orders()


@pytest.mark.parametrize("singly", [False, True])
def test_a_policy_looks_at_the_pairs_of_a_stream(singly: bool):
    policy = Counts()
    one = matcher(policy=policy, slack=0, schema=table((0, "A", 1)).schema)
    assert one.batched_because == "a policy looks at pairs of events and partial matches"
    for at in range(4):
        part = table((at, "AB"[at % 2], 1))
        one.push(part.to_pylist()[0] if singly else part)
    one.close()
    assert policy.seen is not None
    assert policy.seen.processed.sum() == 2 + 2
    assert policy.seen.matched.sum() == 2 * 2  # POLICY next: each A with the B after it


def test_a_switch_to_the_plan_that_runs_counts_nothing_twice():
    policies = Counts(), Counts()
    for policy in policies:
        one = matcher(f"{QUERY} POLICY any", policy=policy, slack=0)
        for at, kind in enumerate("AABBBB"):
            one.push(table((at, kind, 1)))
            if at == 4 and policy is policies[1]:
                one.switch("eager")
        one.close()
    for name in ("processed", "taken", "completed", "matched", "created", "extended", "expired"):
        plain, switched = (getattr(policy.seen, name).tolist() for policy in policies)
        assert plain == switched, name
    assert policies[0].seen.completed.sum() == 2 + 2 * 4


def test_a_policy_of_a_set_goes_by_name():
    queries = cep.QuerySet({"one": QUERY, "other": QUERY})
    policy = Counts()
    one = cep.Matcher(queries, **COLUMNS, policy={"other": policy})
    one.push(table((0, "A", 1), (1, "D", 1), (2, "B", 1)))
    found = one.close()
    assert len(found["one"]) == len(found["other"]) == 1
    assert policy.seen is not None
    assert policy.seen.processed.sum() == 2
    for given in (policy, {"none": policy}):
        with pytest.raises(QueryError, match="by the names of queries"):
            cep.Matcher(queries, **COLUMNS, policy=given).push(table((0, "A", 1)))
    with pytest.raises(QueryError, match="of one query is one policy"):
        matcher(policy={"one": policy}).push(table((0, "A", 1)))
