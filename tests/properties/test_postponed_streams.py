"""Open predicates in a stream that comes in parts: the same matches in the same order, whenever answers come."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine import carried, open_predicates
from cepheid.errors import DataError
from cepheid.kernels.jit import ENABLED
from cepheid.testing.harness import ORDER, SOURCE, table_of
from cepheid.testing.strategies import CATALOG, SCHEMA, STORES
from tests.properties.stub_stores import Delay, LateStore, after, at_random, late_catalog, never
from tests.properties.test_postponed import CASES, SECOND_US, drawn_events

# A variant of the kernels takes seconds to compile: `make test` runs this in plain Python.
pytestmark = [pytest.mark.compiled, pytest.mark.slow] if ENABLED else []

OPTIONS: Mapping[str, Any] = {"time": "ts", "type": "kind", "order": (ORDER, SOURCE)}

RUN_AGAIN = {
    "a NOT of a group",
    "a prefix",
    "windows that slide",
    "one match of a window",
    "windows that count events",
    "what follows a match",
    "what follows a match of a loop",
    "one match of a start",
}
"""A stream runs over the last window of these again, and waits for each answer."""

CARRIED = {name: text for name, text in CASES.items() if name not in RUN_AGAIN}


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are looked for after every event, and what is not needed is forgotten in every step."""
    monkeypatch.setattr(open_predicates, "POLL_EVENTS", 1)
    monkeypatch.setattr(carried, "MIN_NEW_EVENTS", 1)


def moment(us: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)


def matcher(text: str, delay: Delay, schema: Any, most: int = 10_000) -> cep.Matcher:
    settings = cep.Settings(max_open_predicates=most)
    return cep.Matcher(text, catalog=late_catalog(delay), schema=schema, settings=settings, slack=None, **OPTIONS)


def compared(text: str, seed: int, delay: Delay, *, snapshots: float = 0.3, most: int = 10_000) -> int:
    """Cut a stream at random, with snapshots in between; how many predicates were open when one was made."""
    random = Random(seed)
    events = drawn_events(random, 15, 20)
    table, _ = table_of(events, SCHEMA)
    stream, told, n_open, i = matcher(text, delay, table.schema, most), [], 0, 0
    while i < table.num_rows:
        j = min(table.num_rows, i + random.randint(1, 4))
        told.append(stream.push(table.slice(i, j - i)))
        if random.random() < 0.8:
            told.append(stream.advance(moment(events[j].time - 1 if j < len(events) else events[-1].time)))
        if random.random() < snapshots:
            n_open += stream.gauge().n_open_predicates
            snapshot = stream.snapshot()
            stream = matcher(text, delay, table.schema, most)
            stream.restore(snapshot)
        i = j
    told.append(stream.close())
    gauge = stream.gauge()
    assert (gauge.n_open_predicates, gauge.n_held_back, gauge.n_partial_matches) == (0, 0, 0)
    assert pa.concat_tables(told).equals(cep.match(table, text, catalog=CATALOG, **OPTIONS))
    return n_open


@pytest.mark.parametrize("text", CARRIED.values(), ids=CARRIED)
def test_each_match_comes_once_in_its_order(text: str):
    compared(text, 2, after(1_000_000), most=3)


@pytest.mark.slow
@pytest.mark.parametrize("text", CARRIED.values(), ids=CARRIED)
def test_more_streams(text: str):
    for seed in range(10, 14):
        compared(text, seed, after(1_000_000))
        compared(text, seed, at_random(Random(seed)), most=2)
        compared(text, seed, after(4))


def test_snapshots_are_made_with_predicates_open():
    text = CASES["under any, each answer is of one match"]
    assert sum(compared(text, seed, after(1_000_000), snapshots=1.0) for seed in range(2)) > 2


@pytest.mark.parametrize("text", [CASES[name] for name in sorted(RUN_AGAIN)], ids=sorted(RUN_AGAIN))
def test_where_a_stream_cannot_go_on_it_waits(text: str):
    assert compared(text, 3, after(1_000_000)) == 0


def events_of(*rows: tuple[str, int, int]) -> Any:
    """(type, k, x), one a second."""
    kinds, ks, xs = zip(*rows, strict=True)
    times = [moment(i * SECOND_US) for i in range(len(rows))]
    return pa.table({"kind": kinds, "ts": times, "k": ks, "x": xs})


ROWS = events_of(("A", 1, 0), ("B", 9, 1), ("A", 2, 0), ("B", 1, 2), ("C", 1, 0), ("C", 1, 1))
TEXT = "PATTERN SEQ(A a, B b) WHERE b.x <= REMOTE levels[a.k].top WITHIN 3 s POLICY any RETURN a.k AS a, b.x AS b"


class ByKey(LateStore):
    """Answers for some keys, when it is told to."""

    def __init__(self, delays: Mapping[int, int | None]) -> None:
        super().__init__(STORES["levels"], never)
        self._delays = delays

    def ask(self, keys: Any) -> None:
        for key in keys:
            self.delay = lambda key=key: self._delays[key[0]]  # type: ignore[misc]
            super().ask([key])

    def let(self, key: int) -> None:
        """Let the answer for a key come."""
        self._due[key,] = 0


def with_store(store: LateStore) -> cep.Matcher:
    catalog = cep.Catalog(stores={"levels": cep.Store("levels", *_LEVELS, source=store)})
    return cep.Matcher(TEXT, time="ts", type="kind", catalog=catalog, slack=timedelta(0))


_LEVELS = (CATALOG.stores["levels"].key, CATALOG.stores["levels"].fields)


def test_a_match_waits_for_its_answer_and_those_behind_it_for_its_turn():
    """(A1, B2) waits for the answer of key 1, which comes; what comes after it in the order of matches waits, too."""
    store = ByKey({1: None, 2: 0})
    stream = with_store(store)
    told = [stream.push(ROWS.slice(i, 1)).to_pylist() for i in range(5)]
    assert told == [[]] * 5
    gauge = stream.gauge()
    assert (gauge.n_open_predicates, gauge.n_held_back) == (2, 2)
    store.let(1)
    assert stream.push(ROWS.slice(5, 1)).to_pylist() == [{"a": 1, "b": 1}, {"a": 1, "b": 2}]
    assert (stream.gauge().n_open_predicates, stream.gauge().n_held_back) == (0, 0)


def test_a_store_that_never_answers_holds_back_and_is_named_at_the_end():
    """The gauge tells what waits; pushing goes on; the end of the stream is refused, with the key."""
    stream = with_store(ByKey({1: None, 2: None}))
    for i in range(6):
        assert stream.push(ROWS.slice(i, 1)).num_rows == 0
    assert stream.gauge().n_held_back == 3
    assert stream.gauge().n_open_predicates == 3
    with pytest.raises(DataError, match="the store levels gives no answer for 1"):
        stream.close()


def test_what_is_refuted_is_taken_out_and_what_grew_from_it():
    """A run that went on with a predicate open is gone from the gauge when its answer comes."""
    text = "PATTERN SEQ(A a, B b, C c) WHERE b.x > REMOTE levels[a.k].top WITHIN 1 h POLICY any"
    store = ByKey({1: None})
    catalog = cep.Catalog(stores={"levels": cep.Store("levels", *_LEVELS, source=store)})
    stream = cep.Matcher(text, time="ts", type="kind", catalog=catalog, slack=timedelta(0))
    stream.push(events_of(("A", 1, 0), ("B", 1, 1), ("B", 1, 2), ("D", 1, 0)))
    before = stream.gauge().n_partial_matches
    store.let(1)
    stream.advance(moment(4 * SECOND_US))
    after_it = stream.gauge()
    assert (before, after_it.n_partial_matches, after_it.n_open_predicates) == (3, 1, 0)


def test_a_snapshot_with_open_predicates_needs_stores_that_are_asked():
    stream = with_store(ByKey({1: None, 2: None}))
    stream.push(ROWS)
    snapshot = stream.snapshot()
    held = cep.Catalog(stores={"levels": cep.Store("levels", *_LEVELS, source=STORES["levels"])})
    other = cep.Matcher(TEXT, time="ts", type="kind", catalog=held, slack=timedelta(0))
    with pytest.raises(DataError, match="waited for answers of remote stores"):
        other.restore(snapshot)


def test_another_evaluation_plan_waits_for_what_is_open():
    stream = with_store(ByKey({1: 1_000_000, 2: 1_000_000}))
    stream.push(ROWS.slice(0, 5))
    assert stream.gauge().n_open_predicates == 3
    stream.switch("lazy")
    told = [stream.push(ROWS.slice(5, 1)), stream.close()]
    assert pa.concat_tables(told).to_pylist() == [{"a": 1, "b": 1}, {"a": 1, "b": 2}]


def test_queries_of_a_set_share_the_answers_of_a_store():
    """A key is asked for once for all of them, and whoever takes an answer, each has it."""
    names = ("under any, each answer is of one match", "a NOT at the end", "a loop takes what may qualify")
    queries = cep.QuerySet({name: cep.Query.parse(f"PATTERN {CASES[name]}") for name in names})
    for seed in range(2):
        events = drawn_events(Random(seed), 15, 20)
        table, _ = table_of(events, SCHEMA)
        catalog = late_catalog(at_random(Random(seed), 30))
        stream = cep.Matcher(queries, catalog=catalog, schema=table.schema, slack=None, **OPTIONS)
        told = [stream.push(table.slice(i, 2)) for i in range(0, table.num_rows, 2)]
        told += [stream.advance(moment(event.time - 1)) for event in events] + [stream.close()]
        expected = cep.match(table, queries, catalog=CATALOG, **OPTIONS)
        for name in names:
            assert pa.concat_tables([found[name] for found in told]).equals(expected[name])
