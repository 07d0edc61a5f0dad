"""Long streams with many keys against plain loops: pools grow and rings wrap on the way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from cepheid.engine.session import Work, run
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse

WITHIN = 300


def stream(n: int, n_keys: int, seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "t": np.cumsum(draw.integers(0, 3, n)),
            "kind": np.array(["A", "B", "C", "D"])[draw.integers(0, 4, n)],
            "k": draw.integers(0, n_keys, n).astype(np.int32),
            "x": draw.integers(0, 1000, n),
        }
    )


def found(table: pa.Table, text: str, work: Work | None = None) -> list[tuple[int, ...]]:
    schema = schema_of(table, time="t", time_unit="ms", type="kind")
    matches = run(bind(parse(text), schema), read_events(table, schema), work=work)
    return [tuple(matches.positions[matches.offsets[i] : matches.offsets[i + 1]].tolist()) for i in range(len(matches))]


def by_key(table: pa.Table) -> dict[int, list[tuple[int, int, str, int]]]:
    events: dict[int, list[tuple[int, int, str, int]]] = {}
    for i, (t, kind, k, x) in enumerate(zip(*(table[c].to_pylist() for c in ("t", "kind", "k", "x")), strict=True)):
        events.setdefault(k, []).append((i, t, kind, x))
    return events


@pytest.mark.parametrize(("n", "n_keys", "seed"), [(4000, 5, 1), (12000, 400, 2)])
def test_all_combinations(n: int, n_keys: int, seed: int) -> None:
    table = stream(n, n_keys, seed)
    expected = []
    for events in by_key(table).values():
        for p, (i, ti, ki, xi) in enumerate(events):
            if ki != "A":
                continue
            for q in range(p + 1, len(events)):
                j, tj, kj, xj = events[q]
                if tj - ti > WITHIN:
                    break
                if kj != "B" or not xi < xj:
                    continue
                for m, tm, km, xm in events[q + 1 :]:
                    if tm - ti > WITHIN:
                        break
                    if km == "C" and xj < xm:
                        expected.append((i, j, m))
    expected.sort(key=lambda match: (match[-1], match))
    text = "SEQ(A a, B b, C c) WHERE SAME[k] AND a.x < b.x AND b.x < c.x WITHIN 300 ms POLICY any"
    assert found(table, text) == expected
    as_keys = "SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k AND a.x < b.x AND b.x < c.x WITHIN 300 ms POLICY any"
    assert found(table, as_keys) == expected


@pytest.mark.parametrize(("n", "n_keys", "seed"), [(4000, 5, 3), (12000, 400, 4)])
def test_loop_until_the_next(n: int, n_keys: int, seed: int) -> None:
    """Each A with all rising B's after it, until the first C that has one of them before."""
    table = stream(n, n_keys, seed)
    expected = []
    for events in by_key(table).values():
        for p, (i, ti, ki, xi) in enumerate(events):
            if ki != "A":
                continue
            loop: list[int] = []
            last = xi
            for j, tj, kj, xj in events[p + 1 :]:
                if tj - ti > WITHIN:
                    break
                if kj == "B" and xj > last:
                    loop.append(j)
                    last = xj
                elif kj == "C" and loop:
                    expected.append((i, *loop, j))
                    break
    expected.sort(key=lambda match: (match[-1], match))
    text = "SEQ(A a, B+ b, C c) WHERE SAME[k] AND b.x > a.x AND b.x > prev(b).x WITHIN 300 ms POLICY next"
    assert found(table, text) == expected


@pytest.mark.parametrize(("n", "n_keys", "seed"), [(4000, 5, 5), (12000, 400, 6)])
def test_absence(n: int, n_keys: int, seed: int) -> None:
    table = stream(n, n_keys, seed)
    expected = []
    for events in by_key(table).values():
        for p, (i, ti, ki, xi) in enumerate(events):
            if ki != "A":
                continue
            broken: list[int] = []
            for m, tm, km, xm in events[p + 1 :]:
                if tm - ti > WITHIN:
                    break
                if km == "B":
                    broken.append(xm)
                elif km == "C" and not any(xi < x < xm for x in broken):
                    expected.append((i, m))
    expected.sort(key=lambda match: (match[-1], match))
    text = "SEQ(A a, NOT B b, C c) WHERE SAME[k] AND b.x > a.x AND b.x < c.x WITHIN 300 ms POLICY any"
    assert found(table, text) == expected


@pytest.mark.parametrize("lengths", [(4000, 16000), (20000, 40000)], ids=["few events", "many events"])
def test_room_follows_the_window_not_the_stream(lengths: tuple[int, int]) -> None:
    text = "SEQ(A a, B b, C c) WHERE SAME[k] AND a.x < b.x AND b.x < c.x WITHIN 300 ms POLICY any"
    held = []
    for n in lengths:
        work = Work()
        found(stream(n, 50, 7), text, work)
        held.append(work.pool_bytes)
    assert held[0] == held[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEQ(A a, B+ b) WITHIN 9223372036854775807", [(0, 1, 3), (2, 3)]),
        ("SEQ(A a, B b, A c) WITHIN 9223372036854775807", [(0, 1, 2)]),
        ("SEQ(A a, B b, A c) BETWEEN EACH 9223372036854775807", [(0, 1, 2)]),
    ],
)
def test_windows_as_long_as_time(text: str, expected: list[tuple[int, ...]]) -> None:
    table = pa.table({"t": [1, 2, 3, 4], "kind": ["A", "B", "A", "B"]})
    schema = schema_of(table, time="t", time_unit="us", type="kind")
    matches = run(bind(parse(text), schema), read_events(table, schema))
    ends = matches.offsets
    assert [tuple(matches.positions[a:b].tolist()) for a, b in pairwise(ends)] == expected
