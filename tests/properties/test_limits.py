"""Input that is large in one way, and room for one row: right, or an error that tells the limit."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine import pool
from cepheid.errors import CapacityError, NotSupportedError
from cepheid.testing.fuzz import Search, same
from cepheid.testing.steps import batch_steps, engine_steps
from tests.properties.test_steps import with_watermarks

pytestmark = pytest.mark.filterwarnings("ignore::cepheid.errors.NoMatchWarning")

COLUMNS: dict[str, Any] = {"time": "ts", "type": "kind", "time_unit": "s"}
UNLIMITED = cep.Settings()
KEY_BYTES = 10_000
N_PARTIAL = 10_000
N_LAST = 5


@pytest.fixture
def room_for_one(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Pools and outputs begin with room for one row, so that every kernel stops and goes on again and again."""
    with monkeypatch.context() as patch:
        for name in ("FIRST_ROWS", "FEWEST_ROWS", "FIRST_MATCHES"):
            patch.setattr(pool, name, 1)
        yield patch


def test_with_room_for_one_row_everything_goes_on(room_for_one: pytest.MonkeyPatch) -> None:
    search, random, n_queries, n_found = Search(20_240_701), Random(20_240_702), 0, 0
    while n_queries < 30:
        road = search.query()
        if road is None:
            continue
        n_queries += 1
        for _ in range(2):
            events = list(search.stream(road))
            items = with_watermarks(events, random)
            found = road.answers(events)
            try:
                steps = engine_steps(road.bound, items, [1, 3], [False, True])
            except NotSupportedError:
                steps = None
            room = {name: getattr(pool, name) for name in ("FIRST_ROWS", "FEWEST_ROWS", "FIRST_MATCHES")}
            with room_for_one.context() as patch:
                for name in room:
                    patch.setattr(pool, name, 1 << 12)
                assert list(map(repr, found)) == list(map(repr, road.answers(events))), (road.bound.text, events)
                assert steps is None or same(steps, batch_steps(road.bound, items)), (road.bound.text, items)
            n_found += len(found)
    assert n_found > 30


def on_each_road(query: str, table: Any, settings: cep.Settings = UNLIMITED) -> list[list[Any]]:
    """The matches of a table: at once, in parts, and of single events."""
    found = [cep.match(table, query, **COLUMNS, settings=settings).to_pylist()]
    parts = cep.Matcher(query, **COLUMNS, slack=0, settings=settings, schema=table.schema)
    rows = [row for at in range(0, len(table), 1_000) for row in parts.push(table.slice(at, 1_000)).to_pylist()]
    found.append(rows + parts.close().to_pylist())
    singly = cep.Matcher(query, **COLUMNS, slack=0, settings=settings, schema=table.schema)
    assert singly.batched_because is None
    found.append([row for event in table.to_pylist() for row in singly.push(event)] + singly.close())
    return found


def many_partial_matches() -> Any:
    kinds = ["A"] * N_PARTIAL + ["B"] * N_LAST
    return pa.table({"ts": list(range(len(kinds))), "kind": kinds, "v": list(range(len(kinds)))})


@pytest.mark.compiled
def test_an_event_meets_ten_thousand_partial_matches() -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE a.v < b.v WITHIN {10 * N_PARTIAL} POLICY any RETURN a.v AS a, b.v AS b"
    at_once, in_parts, singly = on_each_road(query, many_partial_matches())
    assert at_once == in_parts == singly
    assert [row["a"] for row in at_once] == list(range(N_PARTIAL)) * N_LAST


def test_fewer_may_be_held_and_then_an_error_says_so() -> None:
    query = f"PATTERN SEQ(A a, B b) WHERE a.v < b.v WITHIN {10 * N_PARTIAL} POLICY any RETURN a.v AS a, b.v AS b"
    with pytest.raises(CapacityError, match=r"max_partial_matches=1024[^0-9].*\n.*\n(.*\n)*.*shorter window"):
        on_each_road(query, many_partial_matches().slice(0, 3_000), cep.Settings(max_partial_matches=1024))


@pytest.mark.parametrize("condition", ["SAME[k]", "a.k = b.k", "SAME[k, n]"])
def test_keys_of_ten_kilobytes(condition: str) -> None:
    keys = ["k" * KEY_BYTES + str(number) for number in range(40)]
    table = pa.table({"ts": list(range(80)), "kind": ["A"] * 40 + ["B"] * 40, "k": keys * 2, "n": list(range(40)) * 2})
    query = f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 1000 POLICY any RETURN a.k AS a, b.n AS n"
    expected = [{"a": key, "n": number} for number, key in enumerate(keys)]
    assert on_each_road(query, table) == [expected] * 3


def numbered(n: int) -> tuple[str, Any]:
    """So many elements, each of a type of its own, and an event of each."""
    table = pa.table({"ts": list(range(n)), "kind": [f"T{number}" for number in range(n)], "k": [1] * n})
    return ", ".join(f"T{number} e{number}" for number in range(n)), table


def test_sixty_two_variables_are_matched() -> None:
    elements, table = numbered(62)
    query = f"PATTERN SEQ({elements}) WHERE SAME[k] WITHIN 1000 RETURN e0.ts AS first, e61.ts AS last"
    assert on_each_road(query, table) == [[{"first": 0, "last": 61}]] * 3


@pytest.mark.parametrize("pattern", ["SEQ({})", "AND({})", "OR({})", "ANY(2, {})"])
def test_three_hundred_variables_are_above_a_limit_that_is_told(pattern: str) -> None:
    elements, table = numbered(300)
    query = f"PATTERN {pattern.format(elements)} WHERE SAME[k] WITHIN 1000"
    with pytest.raises(NotSupportedError, match="at most 62 elements"):
        cep.match(table, query, **COLUMNS)
    with pytest.raises(NotSupportedError, match="at most 62 elements"):
        cep.Matcher(query, **COLUMNS, schema=table.schema)
