"""What a stream holds goes back to what it was (S15), and `Matcher.gauge` shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler import load
from cepheid.errors import DataError
from cepheid.kernels.jit import ENABLED

COLUMNS = {"time": "ts", "type": "kind", "time_unit": "s"}
SCHEMA = pa.schema({"ts": pa.int64(), "kind": pa.string(), "k": pa.int64()})


def starts(n: int, key: Any = None) -> Any:
    keys = np.arange(n) if key is None else np.full(n, key)
    return pa.table({"ts": np.zeros(n, np.int64), "kind": ["A"] * n, "k": keys}).cast(SCHEMA)


def emptied(gauge: Any, **changes: Any) -> Any:
    return replace(gauge, watermark_us=None, n_arrived=0, n_late=0, **changes)


@pytest.mark.parametrize(
    ("query", "n_timers"),
    [
        ("PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10", 0),
        ("PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10 POLICY any", 0),
        ("PATTERN SEQ(A a, B b, NOT C c) WHERE SAME[k] WITHIN 10", 10_000),
        ("PATTERN SEQ(A a, NOT C c) WHERE SAME[k] WITHIN 10", 10_000),
        ("PATTERN SEQ(A+ a) WHERE SAME[k] WITHIN 10", 10_000),
        ("PATTERN SEQ(A a, B b) WHERE SAME[k] WINDOW 10 SLIDE 5", 0),
        ("PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10 POLICY strict", 0),
    ],
)
def test_s15_what_is_held_goes_back_to_nothing(query: str, n_timers: int):
    matcher = cep.Matcher(query, **COLUMNS, schema=SCHEMA)
    at_the_start = matcher.gauge()
    assert at_the_start.n_keys == 0
    matcher.push(starts(10_000))
    assert matcher.gauge().n_waiting == 10_000
    matcher.advance(0)
    full = matcher.gauge(by_key=True)
    assert (full.n_waiting, full.n_events, full.n_keys) == (0, 10_000, 10_000)
    assert full.n_partial_matches >= 10_000
    assert full.n_timers == n_timers
    assert full.n_bytes > at_the_start.n_bytes
    assert full.keys["n_events"].to_pylist() == [1] * 10_000
    matcher.advance(1000)
    assert emptied(matcher.gauge()) == emptied(at_the_start)


def test_keys_with_the_most_partial_matches_come_first():
    matcher = cep.Matcher("PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10", **COLUMNS, slack=0)
    matcher.push(pa.concat_tables([starts(2, 1), starts(5, 2), starts(1, 3)]))
    matcher.advance(1)
    assert matcher.gauge(by_key=True).keys.to_pylist() == [
        {"k": 2, "n_partial_matches": 5, "n_events": 5},
        {"k": 1, "n_partial_matches": 2, "n_events": 2},
        {"k": 3, "n_partial_matches": 1, "n_events": 1},
    ]
    matcher.push(pa.table({"ts": [2], "kind": ["B"], "k": [2]}))
    matcher.advance(2)
    # The event B belongs to matches that are decided, and no partial match rests on it.
    assert matcher.gauge(by_key=True).keys.to_pylist() == [
        {"k": 1, "n_partial_matches": 2, "n_events": 2},
        {"k": 3, "n_partial_matches": 1, "n_events": 1},
    ]


def test_without_a_window_a_match_gives_back_what_it_held():
    matcher = cep.Matcher("PATTERN SEQ(A a, B b) WHERE SAME[k]", **COLUMNS, schema=SCHEMA)
    before = matcher.gauge()
    matcher.push(starts(1000))
    matcher.advance(500)
    assert matcher.gauge().n_partial_matches == 1000
    matcher.push(pa.table({"ts": np.full(1000, 900), "kind": ["B"] * 1000, "k": np.arange(1000)}))
    assert len(matcher.advance(900)) == 1000
    assert emptied(matcher.gauge()) == emptied(before)


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ("PATTERN SEQ(A a, B b) WHERE SAME[k] POLICY strict", 2),
        ("PATTERN SEQ(A a, strict B b) WHERE SAME[k]", 2),
        ("PATTERN SEQ(A a, B b) WHERE SAME[k] AFTER MATCH SKIP PAST LAST", 0),
        ("PATTERN SEQ(A a, NOT (SEQ(C c, D d)), B b) WHERE SAME[k] AFTER MATCH SKIP TO NEXT", 0),
        ("PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10 AFTER MATCH SKIP PAST LAST", 21),
    ],
)
def test_only_the_events_of_open_starts_are_held(query: str, most: int):
    matcher = cep.Matcher(query, **COLUMNS, schema=SCHEMA, slack=0)
    n_matches = 0
    for begin in range(0, 100, 20):
        ts = np.arange(begin, begin + 20)
        n_matches += len(matcher.push(pa.table({"ts": ts, "kind": ["A", "B"] * 10, "k": ts // 2 % 2})))
        n_matches += len(matcher.advance(begin + 19))
        assert matcher.gauge().n_events <= most
    n_matches += len(matcher.close())
    assert n_matches == 50


def test_nothing_is_known_before_the_first_push():
    with pytest.raises(DataError, match="nothing is known"):
        cep.Matcher("A a", **COLUMNS).gauge()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_million_keys_that_never_return():
    n = 1_000_000
    matcher = cep.Matcher("PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10", **COLUMNS, schema=SCHEMA, slack=0)
    before = matcher.gauge()
    most = 0
    for start in range(0, n, 100_000):
        ts = np.arange(start, start + 100_000) // 1000
        matcher.push(pa.table({"ts": ts, "kind": ["A"] * 100_000, "k": np.arange(start, start + 100_000)}))
        most = max(most, matcher.gauge().n_partial_matches)
    # A window holds eleven seconds of a thousand events each; those of the last second wait.
    assert most <= 11_000
    matcher.advance(2000)
    assert emptied(matcher.gauge()) == emptied(before)


def test_it_tells_whether_the_kernels_are_machine_code(monkeypatch: pytest.MonkeyPatch):
    for query in ("PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10", "PATTERN SEQ(A a, NOT C c) WHERE SAME[k] WITHIN 10"):
        matcher = cep.Matcher(query, **COLUMNS)
        matcher.push(starts(10))
        matcher.advance(5)
        assert matcher.gauge().compiled is ENABLED
        with monkeypatch.context() as patch:
            patch.setattr(load, "_loaded_or_none", lambda key: None)
            assert not matcher.gauge().compiled
