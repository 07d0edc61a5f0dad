"""Machine code takes over from plain Python at any event: in a table, between parts of a stream, single events."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.compiler import load
from cepheid.compiler.building import Key
from cepheid.engine import session
from cepheid.errors import NotSupportedError
from cepheid.kernels.jit import ENABLED
from cepheid.testing.fuzz import Search, same
from cepheid.testing.steps import batch_steps, engine_steps
from tests.properties.test_steps import with_watermarks

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(not ENABLED, reason="kernels run as plain Python: CEPHEID_JIT is 0"),
    pytest.mark.filterwarnings("ignore::cepheid.errors.NoMatchWarning"),
]


class Sometimes(dict[Any, Any]):
    """Keeps nothing."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


class Swaps:
    """Lets kernels be there as machine code or not, at random, for each slice of a few events."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.n_compiled = self.n_plain = 0
        self._really = load._loaded_or_none

    def loaded_or_none(self, key: Key) -> load.Kernel | None:
        if self.random.random() < 0.8:
            self.n_compiled += 1
            return self._really(key)
        self.n_plain += 1
        return None

    def n_made(self) -> int:
        return self.random.randrange(1_000_000)


@pytest.fixture
def swaps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Swaps]:
    """The kernels come and go."""
    made = Swaps(Random(20_240_611))
    monkeypatch.setattr(load, "_loaded_or_none", made.loaded_or_none)
    monkeypatch.setattr(load, "_ask_for", lambda keys, *, waits: None)
    monkeypatch.setattr(load, "_compiled", Sometimes())
    monkeypatch.setattr("cepheid.engine.one_by_one.n_made", made.n_made)
    monkeypatch.setattr(session, "FIRST_SLICE_EVENTS", 1)
    monkeypatch.setattr(session, "SLICE_S", 0.0)
    monkeypatch.setattr(session, "MOST_PLAIN_S", float("inf"))
    monkeypatch.setattr("cepheid.engine.one_by_one.FIRST_ROOM", 4)
    yield made
    assert made.n_compiled > 20
    assert made.n_plain > 20


def test_tables_and_streams_give_the_same(swaps: Swaps, monkeypatch: pytest.MonkeyPatch) -> None:
    search, random, n_queries, n_found = Search(20_240_612), Random(20_240_613), 0, 0
    while n_queries < 25:
        road = search.query()
        if road is None:
            continue
        n_queries += 1
        for _ in range(2):
            events = list(search.stream(road))
            items = with_watermarks(events, random)
            with monkeypatch.context() as patch:
                patch.setattr(load, "_loaded_or_none", swaps._really)
                expected = road.answers(events)
                steps = batch_steps(road.bound, items)
            found = road.answers(events)
            assert list(map(repr, found)) == list(map(repr, expected)), (road.bound.text, events)
            n_found += len(found)
            try:
                assert same(engine_steps(road.bound, items, [1, 3]), steps), (road.bound.text, items)
            except NotSupportedError:
                continue
    assert n_found > 20


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A a, B b, C c) WHERE SAME[k] AND a.v < b.v AND b.v < c.v WITHIN 40 POLICY any",
        "SEQ(A a, B+ b, NOT C n, D c) WHERE SAME[k] AND sum(b.v) > a.v WITHIN 40",
        "SEQ(A a, B b, NOT C n) WHERE SAME[k] AND b.v > 0.2 WITHIN 20",
    ],
)
def test_single_events_give_the_same(swaps: Swaps, pattern: str) -> None:
    random = Random(5)
    rows = [
        {"ts": at, "kind": random.choice("ABCD"), "k": random.choice("xyz"), "v": random.choice([None, *range(9)])}
        for at in range(300)
    ]
    columns = pa.schema({"ts": pa.int64(), "kind": pa.string(), "k": pa.string(), "v": pa.float64()})
    options: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "s"}
    one = cep.Matcher(f"PATTERN {pattern}", slack=3, schema=columns, **options)
    assert one.batched_because is None
    found = [row for event in rows for row in one.push(event)] + one.close()
    whole = cep.match(pa.Table.from_pylist(rows, columns), f"PATTERN {pattern}", **options)
    assert found == whole.to_pylist()
    assert len(found) > 5
