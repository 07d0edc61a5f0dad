"""Conditions that look something up in a remote store: what is asked for, and what is said of stores that misbehave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import DataError, NotSupportedError
from cepheid.events.types import FLOAT, INT, TEXT, DataType, set_of
from cepheid.ports.stores import Element, Key
from cepheid.testing.fuzz import same
from cepheid.testing.harness import EngineRoad, oracle_answers
from cepheid.testing.strategies import STORES
from tests.unit.engine.test_until import bound_to, stream

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


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize(
    ("where", "pairs"),
    [
        # A key that no event gives.
        ("REMOTE places[1].top > 5", [(0, 1), (0, 3), (2, 3), (0, 4), (2, 4)]),
        ("REMOTE places[2].top > 5 AND b.x > 0", []),
        # Under an aggregate, of one event here.
        ("sum(b.x + REMOTE places[b.k].top) > 5", [(0, 3), (2, 3)]),
        ("count(REMOTE places[b.k].top) = 0 AND b.x > REMOTE places[a.k].top", [(0, 4)]),
    ],
)
def test_look_ups_stand_everywhere_in_where(where: str, pairs: list[tuple[int, int]], slow: bool):
    assert found(where, Slow(HELD) if slow else HELD) == pairs


@pytest.mark.parametrize("slow", [False, True])
def test_what_is_returned_is_looked_up_once(slow: bool):
    source = Slow(HELD) if slow else HELD
    catalog = cep.Catalog(stores={"places": replace(STORE, source=source)})  # type: ignore[arg-type]
    query = """
        PATTERN SEQ(A a, B+ b) WHERE b.x < REMOTE places[a.k].top + 9 AND count(b) = 3 WITHIN 1 h
        RETURN  REMOTE places[a.k].top + 1 AS top, sum(REMOTE places[b.k].top) AS total,
                first(b).place IN REMOTE places[3].known AS known, REMOTE places[2].top AS low
    """
    made = cep.match(EVENTS, query, time="ts", type="kind", time_unit="s", catalog=catalog)
    assert made.to_pylist() == [{"top": 7.0, "total": 6.5, "known": False, "low": 0.5}]
    if isinstance(source, Slow):
        assert sorted(source.asked) == [(1,), (2,), (3,)]


def test_single_events_return_what_is_looked_up():
    catalog = cep.Catalog(stores={"places": replace(STORE, source=HELD)})
    query = "SEQ(A a, B b) WHERE sum(REMOTE places[b.k].top) > 1 WITHIN 1 h RETURN REMOTE places[a.k].top AS top"
    matcher = cep.Matcher(query, time="ts", type="kind", time_unit="s", catalog=catalog, schema=EVENTS.schema)
    found = [row for event in EVENTS.to_pylist() for row in matcher.push(event)] + matcher.close()
    assert found == [{"top": 6.0}, {"top": None}]


@pytest.mark.parametrize("policy", ["any", "next", "strict"])
def test_what_the_oracle_finds_is_found(policy: str):
    random = Random(policy)
    conditions = (
        "{v}.x > REMOTE levels[a.k].top",
        "{v}.x IN REMOTE levels[{v}.k].known",
        "REMOTE levels[2].top < {v}.x",
    )
    patterns = (
        "SEQ(A a, B+ b UNTIL {b})",
        "SEQ(A a, B* b UNTIL {b}, C d)",
        "SEQ(A a, AND(B+ b UNTIL {b}, C d))",
        "SEQ(A a, NOT B+ c UNTIL {c}, C b)",
        "SEQ(A a, NOT (B d; C+ c UNTIL {c}), A b)",
        "SEQ(A a, B+ b) WHERE sum(REMOTE levels[b.k].top) > a.x",
        "SEQ(A a, B+ b) WHERE max(REMOTE levels[b.k].top) > b.x AND REMOTE pairs[1, 2] > 0",
    )
    n_matches = 0
    for pattern in patterns:
        b, c = (random.choice(conditions).format(v=name) for name in "bc")
        returned = "REMOTE levels[a.k].top AS top, sum(REMOTE levels[b.k].top) AS total"
        bound = bound_to(f"PATTERN {pattern.format(b=b, c=c)} WITHIN 6 s POLICY {policy} RETURN {returned}")
        road = EngineRoad(bound)
        for _ in range(4):
            rows = (
                (random.choice("ABBCC"), at, random.choice((None, 0, 1, 2)), "a", random.choice((1, 2, 3)))
                for at in range(1, 7)
            )
            events = stream(("A", 0, 1, "a", 1), *rows)
            expected = oracle_answers(bound, events, STORES)
            assert same(road.answers(events), expected), bound.text
            n_matches += len(expected)
    assert n_matches


def test_a_store_without_a_source_is_refused_with_the_remedy():
    with pytest.raises(NotSupportedError, match="nothing says where elements of places come from") as caught:
        found("b.x > REMOTE places[a.k].top", None)
    assert "source=" in (caught.value.remedy or "")
