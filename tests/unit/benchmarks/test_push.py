"""The benchmark of single events: it finds what W2 has, and times each push."""

from __future__ import annotations

import json
from dataclasses import asdict

import cepheid as cep
from benchmarks.engine import push
from benchmarks.engine.rows import Row, line
from benchmarks.engine.workloads import WORKLOADS
from benchmarks.stream import stream


def test_all_matches_are_found_and_all_calls_timed():
    rows = push.measure(quick=True, n_events=4_000)
    whole = cep.match(stream(4_000), WORKLOADS["W2"].query, time="ts", type="type", time_unit="ms")
    assert {row.matches for row in rows} == {len(whole)}
    assert json.loads(json.dumps([asdict(row) for row in rows]))
    calls = {row.engine: row for row in rows}
    assert calls["call, p50"].bar == 20e-6
    assert 0 < calls["call, p50"].seconds <= calls["call, p99"].seconds
    assert calls["one by one"].events_per_s > 1_000


def test_parts_of_a_push_take_less_than_the_whole():
    told = push.stages(6_000)
    whole = told.pop("a whole push, on average")
    assert 0 < told["read the dict"] < whole


def test_microseconds_are_told_as_such():
    row = Row("W2, pushed singly", "call, p99", None, 1, None, seconds=61.04e-6, bar=50e-6)
    assert "61.0 us" in line(row)
    assert row.faults() == ["W2, pushed singly, call, p99: 61.0 us, the bar is 50.0 us"]
