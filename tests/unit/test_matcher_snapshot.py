"""`Matcher.snapshot` and `Matcher.restore`: a stream goes on in another process as if nothing had been."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine import incremental
from cepheid.engine import snapshot as snapshots
from cepheid.errors import DataError

COLUMNS = {"time": "ts", "type": "kind", "time_unit": "s"}
EVENTS = pa.table(
    {
        "ts": [0, 1, 2, 3, 4, 6, 5, 8, 9, 30],
        "kind": ["A", "A", "B", "C", "A", "B", "B", "A", "B", "A"],
        "k": ["x", "y", "x", "y", "x", "y", "x", "z", "z", "x"],
        "v": [1.5, 2.0, 3.5, None, 0.25, 8.0, 4.0, 1.0, 2.0, 3.0],
    }
)
QUERIES = [
    "PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10",
    "PATTERN SEQ(A a, B+ b, NOT C c) WHERE SAME[k] AND sum(b.v) > a.v WITHIN 10",
    "PATTERN SEQ(A a, NOT C c, B b) WHERE a.k = b.k WITHIN 10 POLICY any",
    "PATTERN SEQ(A a, B+ b) WHERE min(b.k) >= a.k AND b.v > a.v WITHIN 10",
    "PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 4 EVENTS",
    "PATTERN SEQ(A a, B b) WHERE SAME[k] WINDOW 6 SLIDE 2",
    "PATTERN SEQ(A a, B b) WHERE SAME[k] AND a.v < b.v",
    "PATTERN SEQ(A a, B b) WITHIN 10 POLICY strict",
]


def matcher(query: str, **options: Any) -> cep.Matcher:
    return cep.Matcher(query, **COLUMNS, slack=2, **options)


@pytest.mark.parametrize("query", QUERIES)
def test_another_matcher_goes_on_from_every_point(query: str):
    whole = matcher(query)
    expected = [whole.push(EVENTS.slice(i, 1)) for i in range(len(EVENTS))]
    expected.append(whole.close())
    assert sum(map(len, expected)) > 0
    one = matcher(query)
    for i in range(len(EVENTS)):
        assert one.push(EVENTS.slice(i, 1)).equals(expected[i])
        before, snapshot = one.gauge(), one.snapshot()
        one = matcher(query)
        one.restore(snapshot)
        assert replace(one.gauge(), n_bytes=0) == replace(before, n_bytes=0)
        assert one.snapshot() == snapshot
    assert one.close().equals(expected[-1])


def test_composite_events_and_tables_by_type():
    inner = "PATTERN SEQ(A a, B b) WITHIN 10 RETURN a.x AS x"
    outer = "PATTERN SEQ(pair p, pair q) FROM pair WITHIN 20 s RETURN p.x AS one, q.x AS other"
    first = {"A": pa.table({"ts": [0], "x": [1]}), "B": pa.table({"ts": [1], "y": ["u"]})}
    second = {"A": pa.table({"ts": [5], "x": [2]}), "B": pa.table({"ts": [6], "y": ["v"]})}
    options: dict[str, Any] = {"time": "ts", "time_unit": "s", "slack": 0, "queries": {"pair": inner}}
    one = cep.Matcher(outer, **options)
    one.push(first)
    other = cep.Matcher(outer, **options)
    other.restore(one.snapshot())
    other.push(second)
    assert other.close().to_pylist() == [{"one": 1, "other": 2}]


def test_what_does_not_fit_is_told():
    one = matcher(QUERIES[0])
    with pytest.raises(DataError, match="nothing is known"):
        one.snapshot()
    one.push(EVENTS)
    snapshot = one.snapshot()
    with pytest.raises(DataError, match="has had events already"):
        one.restore(snapshot)
    with pytest.raises(DataError, match="made with query"):
        matcher(QUERIES[1]).restore(snapshot)
    with pytest.raises(DataError, match="made with options"):
        cep.Matcher(QUERIES[0], time="ts", type="kind", time_unit="ms").restore(snapshot)
    with pytest.raises(DataError, match="made with parameters"):
        matcher(QUERIES[0], parameters={"x": 1}).restore(snapshot)
    for broken, said in ((b"", "no snapshot"), (b"x" * 100, "no snapshot"), (snapshot[:17], "no snapshot")):
        with pytest.raises(DataError, match=said):
            matcher(QUERIES[0]).restore(broken)


def test_bytes_that_are_cut_or_changed_are_refused_wherever_it_is():
    one = matcher(QUERIES[0])
    one.push(EVENTS)
    snapshot = one.snapshot()
    other, random = matcher(QUERIES[0]), Random(1)
    for _ in range(200):
        at, bit = random.randrange(len(snapshot)), 1 << random.randrange(8)
        changed = snapshot[:at] + bytes([snapshot[at] ^ bit]) + snapshot[at + 1 :]
        for broken in (changed, snapshot[:at], snapshot + snapshot[at:]):
            with pytest.raises(DataError, match=r"no snapshot|has the format|damaged|cut off"):
                other.restore(broken)
    other.restore(snapshot)  # nothing of the others was kept
    assert other.snapshot() == snapshot


@pytest.mark.parametrize("kinds", [("CarriedSession", "RerunSession"), ("RerunSession", "CarriedSession")])
def test_a_snapshot_of_another_kind_of_session_is_refused(kinds: tuple[str, str], monkeypatch: pytest.MonkeyPatch):
    before, now = (getattr(incremental, kind) for kind in kinds)
    monkeypatch.setattr(incremental, "CarriedSession", before)
    one = matcher(QUERIES[0])
    one.push(EVENTS)
    snapshot = one.snapshot()
    monkeypatch.setattr(incremental, "CarriedSession", now)
    with pytest.raises(DataError, match="has another plan for this query"):
        matcher(QUERIES[0]).restore(snapshot)


def test_a_snapshot_of_another_format_is_refused(monkeypatch: pytest.MonkeyPatch):
    one = matcher(QUERIES[0])
    one.push(EVENTS)
    snapshot = one.snapshot()
    now = snapshots.VERSION
    monkeypatch.setattr(snapshots, "VERSION", now + 1)
    newer = one.snapshot()
    monkeypatch.undo()
    with pytest.raises(DataError, match=f"has the format {now + 1}, and this version of cepheid reads 2 to {now}"):
        matcher(QUERIES[0]).restore(newer)
    matcher(QUERIES[0]).restore(snapshot)


def test_an_empty_stream_has_a_small_snapshot():
    one = matcher(QUERIES[0])
    one.push(EVENTS)
    one.advance(1000)
    assert len(one.snapshot()) < 10_000
