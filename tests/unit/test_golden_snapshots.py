"""Snapshots of every format so far restore, and their streams go on with the right matches.

``python -m tests.unit.test_golden_snapshots`` writes those of a new format; files that are there are left as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.snapshot import VERSION

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "snapshots"
COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "s"}
SLACK = 2
N_BEFORE = 9
"""Events before the snapshot."""

EVENTS = pa.table(
    {
        "ts": [0, 1, 2, 3, 4, 6, 5, 8, 9, 9, 10, 11, 12, 14, 13, 15, 19, 40],
        "kind": ["A", "A", "B", "C", "A", "B", "B", "A", "B", "A", "B", "C", "B", "A", "C", "C", "B", "A"],
        "k": ["x", "y", "x", "y", "x", "y", "x", "z", "z", "y", "y", "y", "z", None, "z", "x", "x", "x"],
        "v": [1.5, 2.0, 3.5, None, 0.25, 8.0, 4.0, 1.0, 2.0, 3.0, 3.5, 9.0, 7.0, 1.0, 8.0, 9.5, 2.5, 1.0],
    }
)

_CHAIN = "PATTERN SEQ(A a, B b, C c) WHERE SAME[k] AND a.v < b.v AND b.v < c.v WITHIN 12 POLICY any RETURN {}"
_IDS = "a.ts AS a, b.ts AS b, c.ts AS c"
QUERIES: dict[str, tuple[Any, str]] = {
    "plain": ("PATTERN SEQ(A a, B b) WHERE a.v < b.v WITHIN 10 RETURN a.ts AS a, b.ts AS b, b.k AS k", "eager"),
    "keys": (_CHAIN.format(_IDS), "eager"),
    "lazy": (_CHAIN.format(_IDS), "lazy"),
    "not": ("PATTERN SEQ(A a, NOT C c, B b) WHERE a.k = b.k WITHIN 10 POLICY any RETURN a.ts AS a, b.ts AS b", "eager"),
    "not_at_the_end": ("PATTERN SEQ(A a, B b, NOT C c) WHERE SAME[k] WITHIN 9 RETURN a.ts AS a, b.ts AS b", "eager"),
    "loop": (
        "PATTERN SEQ(A a, B+ b, C c) WHERE SAME[k] AND b.v > a.v AND sum(b.v) > 3.0 WITHIN 12 "
        "RETURN a.ts AS a, count(b) AS n, max(b.v) AS most, c.ts AS c",
        "eager",
    ),
    "counting": ("PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 3 EVENTS RETURN a.ts AS a, b.ts AS b", "eager"),
    "sliding": ("PATTERN SEQ(A a, B b) WHERE SAME[k] WINDOW 6 SLIDE 2 RETURN a.ts AS a, b.ts AS b", "eager"),
    "skip": (
        "PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10 AFTER MATCH SKIP PAST LAST RETURN a.ts AS a, b.ts AS b",
        "eager",
    ),
    "strict": ("PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10 POLICY strict RETURN a.ts AS a, b.ts AS b", "eager"),
    "composite": ("PATTERN SEQ(ab p, ab q) FROM ab WITHIN 20 s RETURN p.at AS p, q.at AS q", "eager"),
    "set": (
        {"up": _CHAIN.format(_IDS), "pair": "PATTERN SEQ(A a, B b) WITHIN 4 RETURN a.ts AS a, b.ts AS b"},
        "eager",
    ),
}
BEHIND = {"ab": "PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 10 RETURN b.ts AS at"}
MADE = [(version, name) for version in range(2, VERSION + 1) for name in QUERIES]


def made(name: str, evaluation: str | None = None) -> cep.Matcher:
    query, own = QUERIES[name]
    return cep.Matcher(
        cep.QuerySet(query) if isinstance(query, dict) else query,
        **COLUMNS,
        slack=SLACK,
        queries=BEHIND if name == "composite" else None,
        settings=cep.Settings(evaluation=evaluation or own),
    )


def told(found: Any) -> dict[str, list[Any]]:
    """Matches as rows, by query."""
    by_name = found if isinstance(found, dict) else {"": found}
    return {which: rows if isinstance(rows, list) else rows.to_pylist() for which, rows in by_name.items()}


def after(one: cep.Matcher, *, singly: bool = False) -> dict[str, list[Any]]:
    """All that comes after the snapshot."""
    rest = EVENTS.slice(N_BEFORE)
    steps = [told(one.push(event)) for event in rest.to_pylist()] if singly else [told(one.push(rest))]
    steps.append(told(one.close()))
    return {which: [row for step in steps for row in step[which]] for which in steps[0]}


def expected(name: str) -> dict[str, list[Any]]:
    """The same of a matcher that was never interrupted."""
    one = made(name)
    before = told(one.push(EVENTS.slice(0, N_BEFORE)))
    found = after(one)
    assert all(found.values()), "what is compared must be something"
    if not isinstance(QUERIES[name][0], dict):
        query = QUERIES[name][0]
        whole = cep.match(EVENTS, query, **COLUMNS, queries=BEHIND if name == "composite" else None)
        assert before[""] + found[""] == whole.to_pylist()
    return found


def snapshot(version: int, name: str) -> bytes:
    return (FOLDER / f"version_{version}" / f"{name}.snapshot").read_bytes()


@pytest.mark.parametrize(("version", "name"), MADE)
def test_a_snapshot_goes_on(version: int, name: str):
    found = expected(name)
    for singly in (False, True):
        one = made(name)
        one.restore(snapshot(version, name))
        assert after(one, singly=singly) == found


@pytest.mark.parametrize("version", range(2, VERSION + 1))
@pytest.mark.parametrize(
    ("name", "evaluation"), [("keys", "lazy"), ("keys", "c/b a"), ("lazy", "eager"), ("not", "lazy")]
)
def test_a_snapshot_goes_on_with_another_plan(version: int, name: str, evaluation: str):
    one = made(name, evaluation)
    one.restore(snapshot(version, name))
    assert after(one) == expected(name)


def write() -> None:
    """Write the snapshots of this format that are not there."""
    folder = FOLDER / f"version_{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in QUERIES:
        one = made(name)
        one.push(EVENTS.slice(0, N_BEFORE))
        path = folder / f"{name}.snapshot"
        if not path.exists():
            path.write_bytes(one.snapshot())


if __name__ == "__main__":
    write()
