"""Conditions that look something up in a remote store: what is asked for, and what is said of stores that misbehave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import DataError, NotSupportedError
from cepheid.events.types import FLOAT, INT, TEXT, DataType, set_of
from cepheid.ports.stores import Element, Key

EVENTS = pa.table(
    {
        "kind": ["A", "B", "A", "B", "B"],
        "ts": [0, 1, 2, 3, 4],
        "k": [1, 2, None, 1, 3],
        "x": [5.0, 1.0, 2.0, 7.0, 9.0],
        "place": ["home", "work", "bar", "bar", "home"],
    }
)
FIELDS: dict[str, DataType] = {"top": FLOAT, "known": set_of(TEXT)}
STORE = cep.Store("places", (INT,), FIELDS)
HELD: dict[int, dict[str, object]] = {
    1: {"top": 6.0, "known": {"home"}},
    2: {"top": 0.5},
    3: {"known": ("home", "bar")},
}


@dataclass
class Slow:
    """Gives answers only when it is waited for; some never.

    Attributes:
        held: key -> element.
        never: keys that have no answer.
        asked: all keys that were asked for, in their order.
    """

    held: Mapping[int, Element]
    never: frozenset[int] = frozenset()
    asked: list[Key] = field(default_factory=list)

    def ask(self, keys: Sequence[Key]) -> None:
        self.asked += keys

    def answers(self) -> Mapping[Key, Element]:
        return {}

    def wait(self, keys: Sequence[Key]) -> Mapping[Key, Element]:
        return {key: self.held.get(key[0]) for key in keys if key[0] not in self.never}  # type: ignore[call-overload]


def found(where: str, source: object, policy: str = "any") -> list[tuple[int, int]]:
    catalog = cep.Catalog(stores={"places": replace(STORE, source=source)})  # type: ignore[arg-type]
    query = f"PATTERN SEQ(A a, B b) WHERE {where} WITHIN 1 h POLICY {policy} RETURN a.ts AS one, b.ts AS other"
    table = cep.match(EVENTS, query, time="ts", type="kind", time_unit="s", catalog=catalog)
    seconds = [table[name].cast(pa.int64()).to_pylist() for name in ("one", "other")]
    return [(one, other) for one, other in zip(*seconds, strict=True)]


@pytest.mark.parametrize(
    ("where", "pairs"),
    [
        ("b.x > REMOTE places[a.k].top", [(0, 3), (0, 4)]),
        ("b.x > REMOTE places[b.k].top", [(0, 1), (0, 3), (2, 3)]),
        ("b.place IN REMOTE places[a.k].known", [(0, 4)]),
        ("b.place NOT IN REMOTE places[b.k].known", [(0, 1), (0, 3), (2, 3)]),
        ("REMOTE places[b.k].top IS NULL", [(0, 4), (2, 4)]),
        ("b.x > coalesce(REMOTE places[a.k].top, REMOTE places[b.k].top, 8)", [(0, 3), (2, 3), (0, 4), (2, 4)]),
    ],
)
@pytest.mark.parametrize("source", [HELD, Slow(HELD)], ids=["a mapping", "a store that is waited for"])
def test_look_ups(where: str, pairs: list[tuple[int, int]], source: object):
    assert found(where, source) == pairs


def test_a_key_is_asked_for_once_and_never_with_null():
    store = Slow(HELD)
    found("b.x > REMOTE places[a.k].top AND b.place IN REMOTE places[b.k].known", store)
    assert sorted(store.asked) == [(1,), (2,), (3,)]


def test_a_store_that_gives_up_is_named_with_its_keys():
    with pytest.raises(DataError, match="the store places gives no answer for 1"):
        found("b.x > REMOTE places[a.k].top", Slow(HELD, never=frozenset({1})))


@pytest.mark.parametrize(
    ("element", "said"),
    [
        ({"top": "high"}, "the store places gave 'high' \\(str\\), which is no float"),
        (6.0, "the store places gave 6.0, which has no field top"),
    ],
)
def test_an_element_of_another_type_is_refused(element: object, said: str):
    with pytest.raises(DataError, match=said):
        found("b.x > REMOTE places[a.k].top", {1: element})


@pytest.mark.parametrize("known", ["home", 5, [1]])
def test_a_set_must_be_one(known: object):
    with pytest.raises(DataError, match="the store places gave"):
        found("b.place IN REMOTE places[a.k].known", {1: {"known": known}})


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("REMOTE places[1].top > 5", "with a key that no event gives"),
        ("sum(b.x + REMOTE places[b.k].top) > 5", "under sum"),
    ],
)
def test_what_does_not_run_is_refused(where: str, said: str):
    with pytest.raises(NotSupportedError, match=said):
        found(where, HELD)


def test_a_store_without_a_source_is_refused_with_the_remedy():
    with pytest.raises(NotSupportedError, match="nothing says where elements of places come from") as caught:
        found("b.x > REMOTE places[a.k].top", None)
    assert "source=" in (caught.value.remedy or "")
