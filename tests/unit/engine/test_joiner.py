"""Queries put together from partial matches of their projections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from cepheid.engine.joiner import Joiner
from cepheid.engine.output import assemble
from cepheid.engine.partial_matches import PartialMatches, partial_matches_of, read_partial_matches, single_events
from cepheid.engine.session import run
from cepheid.errors import DataError, NotSupportedError, QueryError, SchemaError
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.language.printer import print_query
from cepheid.plan.projection import project

TYPES = {"at": pa.int64(), "kind": pa.string(), "k": pa.int64(), "x": pa.int64(), "site": pa.string(), "no": pa.int64()}
SCHEMA = schema_of(pa.schema(TYPES), time="at", time_unit="s", type="kind", order=["site", "no"])
ABC = "SEQ(A a, B b, C c) WHERE a.k = c.k AND a.x < b.x WITHIN 10"


def query(pattern: str) -> BoundQuery:
    text = f"PATTERN {pattern} POLICY any"
    return bind(parse(text), SCHEMA, text=text)


def events(*rows: tuple[int, str, int, int], site: str = "one") -> EventBatch:
    """Events at a site: time in seconds, type, k and x; their numbers are those of the rows."""
    columns = [pa.array([row[i] for row in rows], dtype) for i, dtype in enumerate(list(TYPES.values())[:4])]
    columns += [pa.array([site] * len(rows)), pa.array(range(len(rows)), pa.int64())]
    return read_events(pa.table(columns, schema=pa.schema(TYPES)), SCHEMA)


def found(bound: BoundQuery, variables: Sequence[str], batch: EventBatch) -> PartialMatches:
    projection = project(bound, variables)
    return partial_matches_of(projection, batch, run(projection, batch))


def told(joiner: Joiner) -> list[dict[str, object]]:
    """What a joiner tells: variable -> the times of its events."""
    matches = joiner.matches()
    names, out = list(matches.bound.variables), []
    for i in range(len(matches)):
        entries = range(matches.matches.offsets[i], matches.matches.offsets[i + 1])
        match: dict[str, object] = {}
        for entry in entries:
            name = names[matches.matches.variables[entry]]
            time = int(matches.batch.time_us[matches.matches.positions[entry]]) // 1_000_000
            match[name] = time if name not in match else (match[name], time)
        out.append(match)
    return out


# --- projections ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "variables", "expected"),
    [
        (ABC, ["a", "c"], "SEQ(A a, C c) WHERE a.k = c.k"),
        (ABC, ["b", "c"], "SEQ(B b, C c)"),
        (ABC, ["b"], "B b"),
        ("SEQ(A a, AND(B b, SEQ(C c, A d))) WITHIN 10", ["d", "a", "c"], "SEQ(A a, SEQ(C c, A d))"),
        ("SEQ(A a, AND(B b, SEQ(C c, A d))) WITHIN 10", ["a", "b"], "SEQ(A a, B b)"),
        ("SEQ(A a, NOT B, C c, A d) WHERE a.x = d.x WITHIN 10", ["a", "c"], "SEQ(A a, C c)"),
        ("SEQ(A a, NOT B, C c, A d) WHERE a.x = d.x WITHIN 10", ["a", "#0", "c"], "SEQ(A a, NOT B, C c)"),
        (
            "SEQ(A a, NOT SEQ(B n, A m), C c) WHERE n.x = 2 AND n.k = a.k WITHIN 10",
            "mn",
            "SEQ(B n, A m) WHERE n.x = 2",
        ),
        ("SEQ(A a, B+ b, C c) WHERE b.x = a.x AND count(b) > 2 WITHIN 10", "ab", "SEQ(A a, B b) WHERE b.x = a.x"),
    ],
)
def test_a_projection_has_what_the_query_says_of_its_variables(pattern: str, variables: Sequence[str], expected: str):
    printed = print_query(project(query(pattern), variables).query)
    assert " ".join(printed.split()) == f"PATTERN {expected} WITHIN 10 POLICY any"
    assert print_query(bind(parse(printed), SCHEMA).query) == printed


@pytest.mark.parametrize(
    ("pattern", "variables", "message"),
    [
        (ABC, ["a", "z"], "z, which is no variable"),
        (ABC, [], "no variables"),
        ("SEQ(A a, NOT B n, C c, A d) WITHIN 9", ["a", "n"], "without c: it cannot tell"),
        ("SEQ(A a, NOT B n, C c, A d) WHERE n.x = d.x WITHIN 9", ["a", "n", "c"], "without d"),
        ("SEQ(A+ a, NOT B n, C c) WITHIN 9", ["a", "n", "c"], "only the whole query can test"),
        ("SEQ(A a, C c, NOT B n) WITHIN 9", ["a", "n", "c"], "only the whole query can test"),
        ("SEQ(A a, NOT SEQ(B n, B m), C c) WITHIN 9", ["n"], "of which a match binds none"),
    ],
)
def test_a_projection_that_is_none_is_refused(pattern: str, variables: list[str], message: str):
    with pytest.raises(QueryError, match=message):
        project(query(pattern), variables)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PATTERN SEQ(A a, B b) WITHIN 9 POLICY next", "under POLICY next"),
        ("PATTERN SEQ(A a, OR(B b, C c)) WITHIN 9 POLICY any", "it has OR"),
        ("PATTERN SEQ(A a, B* b, C c) WITHIN 9 POLICY any", "b is optional"),
        ("PATTERN SEQ(A a, (SEQ(B b, C c))+) WITHIN 9 POLICY any", "a group in it is repeated"),
        ("PATTERN SEQ(A a, B b) WITHIN 9 EVENTS POLICY any", "counts events"),
        ("PATTERN SEQ(A a, B b) WITHIN 9 POLICY any AFTER MATCH SKIP PAST LAST", "AFTER MATCH"),
    ],
)
def test_a_query_that_cannot_be_split_says_why(text: str, reason: str):
    with pytest.raises(NotSupportedError, match=reason):
        project(bind(parse(text), SCHEMA, text=text), ["a"])


# --- joining ------------------------------------------------------------------------------------------


def test_matches_are_told_once_when_their_last_part_comes():
    bound = query(ABC)
    here = events((1, "A", 1, 1), (2, "C", 1, 0), (5, "C", 1, 0), (6, "C", 2, 0))
    there = events((3, "B", 7, 2), (4, "B", 7, 0), site="two")
    joiner = Joiner(bound, {"ac": ["c", "a"], "b": "b"})
    joiner.push("ac", found(bound, ["a", "c"], here))
    assert told(joiner) == []
    joiner.push("b", single_events("b", there))
    joiner.push("b", single_events("b", there))
    assert told(joiner) == [{"a": 1, "b": 3, "c": 5}]
    joiner.push("b", single_events("b", there))
    joiner.push("ac", found(bound, ["a", "c"], here))
    assert told(joiner) == []


def test_the_table_is_that_of_the_query_over_all_events_in_one_place():
    text = f"PATTERN {ABC} POLICY any RETURN a.site AS site, b.x AS x, c.no AS no"
    bound = bind(parse(text), SCHEMA, text=text)
    whole = events((1, "A", 1, 1), (2, "B", 1, 2), (3, "B", 1, 3), (3, "C", 1, 0), (4, "C", 1, 0))
    joiner = Joiner(bound, {"ab": ["a", "b"], "bc": ["b", "c"]})
    joiner.push("bc", found(bound, ["b", "c"], whole))
    joiner.push("ab", found(bound, ["a", "b"], whole))
    matches = joiner.matches()
    assert matches.table() == assemble(bound, whole, run(bound, whole))
    assert matches.table().column("x").to_pylist() == [2, 3, 2, 3]


def test_rows_travel_as_a_table():
    bound = query(ABC)
    sent = found(bound, ["a", "c"], events((1, "A", 1, 1), (2, "B", 0, 0), (3, "C", 1, 0), (4, "C", 1, 0)))
    received = read_partial_matches(sent.table(), SCHEMA)
    joiner = Joiner(bound, {"ac": ["a", "c"], "b": ["b"]})
    joiner.push("ac", received)
    joiner.push("ac", sent)
    joiner.push("b", single_events("b", events((2, "B", 0, 9), site="two")))
    assert told(joiner) == [{"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "c": 4}]


def test_an_output_selector_gives_each_event_once():
    sent = found(query(ABC), ["a", "c"], events((1, "A", 1, 1), (2, "A", 1, 0), (3, "C", 1, 0), (4, "C", 1, 0)))
    assert len(sent) == 4
    assert sent.select(["c"]).positions.tolist() == [[2], [3]]


def test_a_joiner_of_a_projection_feeds_another():
    bound = query("SEQ(A a, B b, NOT A n, C c, B d) WHERE a.x = b.x AND b.k = c.k AND c.x = d.x WITHIN 10")
    whole = events(
        (1, "A", 1, 1), (2, "B", 2, 1), (3, "C", 2, 5), (4, "A", 0, 0), (5, "C", 2, 6), (6, "B", 0, 5), (7, "B", 0, 6)
    )
    inner = project(bound, ["a", "b", "n", "c"])
    first = Joiner(inner, {"ab": ["a", "b"], "c": ["c"], "n": ["n"]})
    for name in ("a", "b"), ("c",), ("n",):
        first.push("".join(name), found(inner, name, whole))
    first.advance(None)
    second = Joiner(bound, {"abc": ["a", "b", "n", "c"], "d": ["d"]})
    second.push("abc", first.matches().partial_matches())
    second.push("d", single_events("d", whole))
    assert told(second) == [{"a": 1, "b": 2, "c": 3, "d": 6}]


def test_a_not_waits_for_the_watermark():
    joiner = Joiner(query("SEQ(A a, NOT B n, C c) WITHIN 10"), {"ac": ["a", "c"], "n": ["n"]})
    here = events((1, "A", 0, 0), (5, "C", 0, 0), (8, "C", 0, 0))
    joiner.push("ac", found(joiner.bound, ["a", "c"], here))
    assert told(joiner) == []
    assert joiner.n_waiting == 2
    joiner.advance(5_000_000)
    assert told(joiner) == [{"a": 1, "c": 5}]
    joiner.push("n", single_events("n", events((7, "B", 0, 0), site="two")))
    joiner.advance(None)
    assert told(joiner) == []


def test_a_not_that_a_part_has_tested_does_not_wait():
    bound = query("SEQ(A a, NOT B n, C c, A d) WITHIN 10")
    joiner = Joiner(bound, {"ac": ["a", "n", "c"], "d": ["d"]})
    here = events((1, "A", 0, 0), (2, "B", 0, 0), (3, "A", 0, 0), (4, "C", 0, 0), (5, "A", 0, 0))
    joiner.push("ac", found(bound, ["a", "n", "c"], here))
    joiner.push("d", single_events("d", here))
    assert told(joiner) == [{"a": 3, "c": 4, "d": 5}]


def test_a_loop_is_put_back_and_each_match_told_once():
    bound = query("SEQ(A a, B+ b, C c) WHERE a.k = b.k AND sum(b.x) < 6 WITHIN 10")
    joiner = Joiner(bound, {"ab": ["a", "b"], "c": ["c"]})
    joiner.push("ab", found(bound, ["a", "b"], events((1, "A", 1, 0), (2, "B", 1, 2), (3, "B", 2, 0), (4, "B", 1, 3))))
    joiner.push("c", single_events("c", events((6, "C", 0, 0), site="two")))
    one, both = {"a": 1, "b": 2, "c": 6}, {"a": 1, "b": (2, 4), "c": 6}
    assert told(joiner) == [both, one, {"a": 1, "b": 4, "c": 6}]
    joiner.push("ab", found(bound, ["a", "b"], replace_site(events((1, "A", 1, 0), (5, "B", 1, 1)))))
    assert told(joiner) == [{"a": 1, "b": (2, 5), "c": 6}, {"a": 1, "b": (4, 5), "c": 6}, {"a": 1, "b": 5, "c": 6}]


def replace_site(batch: EventBatch) -> EventBatch:
    """The same events, all but the first from another site."""
    sites = pa.array(["one"] + ["three"] * (len(batch) - 1))
    return read_events(batch.table.set_column(4, "site", sites), SCHEMA)


# --- state ----------------------------------------------------------------------------------------------


def test_what_is_late_is_counted_and_in_no_match():
    joiner = Joiner(query("SEQ(A a, C c) WITHIN 10"), {"a": ["a"], "c": ["c"]})
    joiner.push("a", single_events("a", events((1, "A", 0, 0))))
    joiner.advance(5_000_000)
    joiner.advance(4_000_000)
    joiner.push("c", single_events("c", events((5, "C", 0, 0), (6, "C", 0, 0), site="two")))
    assert joiner.n_late == 1
    assert told(joiner) == [{"a": 1, "c": 6}]


def test_what_no_match_can_hold_any_more_is_forgotten():
    joiner = Joiner(query("SEQ(A a, NOT B n, C c) WHERE a.x = c.x WITHIN 10"), {"a": ["a"], "c": ["c"], "n": ["n"]})
    most, n_matches = 0, 0
    for start in range(0, 3000, 100):
        kinds = (("A", 0), ("B", start), ("C", 0))
        rows = [(t, *kinds[t % 3], t) for t in range(start, start + 100)]
        batch = events(*((t, kind, k, 0) for t, kind, k, _ in rows), site=str(start))
        for name, kind in (("a", "A"), ("n", "B"), ("c", "C")):
            own = np.array([i for i, row in enumerate(rows) if row[1] == kind])[:, np.newaxis]
            joiner.push(name, PartialMatches(batch, (name,), own))
        joiner.advance((start + 99) * 1_000_000)
        n_matches += len(joiner.matches())
        most = max(most, joiner.n_events)
    assert n_matches == 0
    assert most < 600


def test_partial_matches_that_are_none_are_refused_and_counted():
    joiner = Joiner(query(ABC), {"ac": ["a", "c"], "b": ["b"]})
    batch = events((1, "A", 1, 0), (2, "B", 0, 5), (3, "C", 2, 0), (4, "C", 1, 0))
    joiner.push("ac", PartialMatches(batch, ("c", "a"), np.array([[2, 0], [3, 0], [0, 3], [3, 1]])))
    joiner.push("b", single_events("b", batch))
    assert told(joiner) == [{"a": 1, "b": 2, "c": 4}]
    assert joiner.n_refused == 3 + 3


def test_a_snapshot_goes_on():
    bound, parts = query("SEQ(A a, NOT B n, C c) WITHIN 10"), {"a": ["a"], "c": ["c"], "n": ["n"]}
    joiner = Joiner(bound, parts)
    joiner.push("a", single_events("a", events((1, "A", 0, 0), (2, "A", 0, 0))))
    joiner.push("c", single_events("c", events((4, "C", 0, 0), site="two")))
    assert told(joiner) == []
    joiner = Joiner.restored(bound, parts, joiner.snapshot())
    assert joiner.n_waiting == 2
    joiner.push("n", single_events("n", events((2, "B", 0, 0), site="three")))
    joiner.push("c", single_events("c", events((4, "C", 0, 0), site="two")))
    joiner.advance(None)
    assert told(joiner) == []
    joiner = Joiner.restored(bound, parts, joiner.snapshot())
    assert told(joiner) == []


def test_a_snapshot_of_a_joiner_that_has_seen_nothing_goes_on():
    bound, parts = query("SEQ(A a, C c) WITHIN 10"), {"a": ["a"], "c": ["c"]}
    joiner = Joiner.restored(bound, parts, Joiner(bound, parts).snapshot())
    joiner.push("a", single_events("a", events((1, "A", 0, 0))))
    joiner.push("c", single_events("c", events((4, "C", 0, 0), site="two")))
    assert told(joiner) == [{"a": 1, "c": 4}]


# --- errors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "parts", "message"),
    [
        (ABC, {"ab": ["a", "b"]}, "no part binds c"),
        ("SEQ(A a, NOT B n, C c) WITHIN 9", {"a": ["a"], "c": ["c"]}, "no part has tested that there is no n"),
        ("SEQ(A a, NOT B n, C c) WITHIN 9", {"a": "a", "c": "c", "1": "n", "2": "n"}, "1 and 2 are both the part"),
        ("SEQ(A a, NOT B n, C c) WITHIN 9", {"a": ["a", "n"], "c": ["c"]}, "without c"),
    ],
)
def test_parts_that_are_not_the_query_are_refused(pattern: str, parts: Mapping[str, Sequence[str]], message: str):
    with pytest.raises(QueryError, match=message):
        Joiner(query(pattern), parts)


def test_a_condition_of_not_on_a_loop_as_a_whole_is_refused():
    bound = query("SEQ(A+ a, NOT B n, C c) WHERE n.x > sum(a.x) WITHIN 9")
    with pytest.raises(NotSupportedError, match="reads the loop a as a whole"):
        Joiner(bound, {"a": ["a"], "c": ["c"], "n": ["n"]})


def test_events_need_an_order_key():
    bound = replace(query(ABC), schema=replace(SCHEMA, order=()))
    with pytest.raises(SchemaError, match="no order key"):
        Joiner(bound, {"a": ["a"], "b": ["b"], "c": ["c"]})


def test_what_is_pushed_must_fit():
    joiner = Joiner(query(ABC), {"ac": ["a", "c"], "b": ["b"]})
    batch = events((1, "A", 1, 0))
    with pytest.raises(ValueError, match="there is no part 'x'"):
        joiner.push("x", single_events("b", batch))
    with pytest.raises(ValueError, match="binds a, c; these partial matches bind b"):
        joiner.push("ac", single_events("b", batch))
    with pytest.raises(DataError, match="no events have come yet"):
        joiner.matches().table()
    joiner.push("b", single_events("b", batch))
    with pytest.raises(DataError, match="different times"):
        joiner.push("b", single_events("b", events((2, "A", 1, 0))))
    with pytest.raises(SchemaError, match="lack the column 'no'"):
        joiner.push("b", single_events("b", replace(batch, table=batch.table.drop_columns(["no"]))))
    with pytest.raises(SchemaError, match="have the columns"):
        joiner.push("b", single_events("b", replace(batch, table=batch.table.drop_columns(["x"]))))


def test_a_snapshot_of_another_query_is_refused():
    parts = {"a": ["a"], "c": ["c"]}
    snapshot = Joiner(query("SEQ(A a, C c) WITHIN 9"), parts).snapshot()
    with pytest.raises(DataError, match="another query or of other parts"):
        Joiner.restored(query("SEQ(A a, C c) WITHIN 8"), parts, snapshot)


def test_a_table_of_partial_matches_must_be_one():
    sent = single_events("a", events((1, "A", 0, 0))).table()
    with pytest.raises(SchemaError, match="is int64, and not an event"):
        read_partial_matches(pa.table({"a": [1]}), SCHEMA)
    with pytest.raises(DataError, match="bind no event to a"):
        read_partial_matches(pa.table({"a": pa.array([None], sent.schema.field("a").type)}), SCHEMA)
