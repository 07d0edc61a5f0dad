"""A `cepheid.Matcher` that several threads call."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.stream import Stream

QUERY = "PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 1 hour POLICY any"


def part(key: int, second: int) -> Any:
    times = np.array([second, second + 1]) * 1_000_000
    return pa.table({"ts": pa.array(times, pa.timestamp("us")), "kind": ["A", "B"], "k": [key, key]})


def test_pushes_of_several_threads_lose_and_repeat_nothing():
    matcher = cep.Matcher(QUERY, time="ts", type="kind", slack=timedelta(minutes=30))
    parts = [part(key, second) for second in range(0, 200, 10) for key in range(40)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(matcher.push, parts))
    found.append(matcher.close())
    everything = cep.match(pa.concat_tables(parts), QUERY, time="ts", type="kind")
    names = pa.concat_tables(found)["match_id"].to_pylist()
    assert len(names) == len(set(names)) == len(everything)


def test_a_call_waits_for_the_one_before(monkeypatch: pytest.MonkeyPatch):
    matcher = cep.Matcher(QUERY, time="ts", type="kind", slack=timedelta(0))
    matcher.push(part(1, 0))
    inside, go_on = threading.Event(), threading.Event()
    advance = Stream.advance

    def slowly(stream: Stream, watermark_us: int) -> Any:
        inside.set()
        assert go_on.wait(10)
        return advance(stream, watermark_us)

    monkeypatch.setattr(Stream, "advance", slowly)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(matcher.push, part(1, 10))
        assert inside.wait(10)
        second = threads.submit(matcher.gauge)
        assert not second.done()
        assert not matcher.lock.acquire(blocking=False)
        go_on.set()
        first.result(10)
        assert second.result(10).n_arrived == 4
