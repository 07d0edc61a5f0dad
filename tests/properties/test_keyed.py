"""The kernel for chains whose events all have one key gives what the oracle gives, in little room."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, reject, settings

from benchmarks.stream import stream
from cepheid.compiler import keyed_events
from cepheid.engine.session import prepare, run
from cepheid.errors import NotSupportedError
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events, schema_of
from cepheid.kernels import keyed as kernels_keyed
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.testing.harness import engine_matches, keyed_kernel_for_all, little_room, oracle_matches
from cepheid.testing.strategies import Example, Features, examples


@pytest.fixture(autouse=True, scope="module")
def always() -> Iterator[None]:
    with keyed_kernel_for_all(), little_room(1):
        yield


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(examples(Features.ENGINE_1, shuffled=True))
def test_engine_equals_oracle(example: Example) -> None:
    try:
        found = engine_matches(example.bound, example.events)
    except NotSupportedError:
        reject()  # too many of these fail the test
    assert found == oracle_matches(example.bound, example.events)


@pytest.mark.parametrize("policy", ["any", "next"])
@pytest.mark.parametrize("n_steps", [2, 3, 4, 5])
def test_more_events_than_are_noted_at_a_time(n_steps: int, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = stream(5 * kernels_keyed.BLOCK)
    schema = schema_of(table, time="ts", time_unit="ms", type="type")
    names = "abcde"[:n_steps]
    elements = ", ".join(f"{name.upper()} {name}" for name in names)
    rising = " AND ".join(f"{one}.v1 < {other}.v2" for one, other in pairwise(names))
    query = f"PATTERN SEQ({elements}) WHERE SAME[key] AND {rising} WITHIN 1000 ms POLICY {policy}"
    bound = bind(parse(query), schema)
    found = matches_of(bound, read_events(table, schema))
    monkeypatch.setattr(keyed_events, "FEWEST_EVENTS", len(table) + 1)
    bound = bind(parse(query), schema)
    assert found == matches_of(bound, read_events(table, schema))
    assert found


@pytest.mark.parametrize("policy", ["any", "next"])
@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A a, NOT B n, C b)",
        "SEQ(A a, NOT C n, NOT D m, B b, C c)",
        "SEQ(A a, NOT A n, B b, NOT * m, C c)",
        "SEQ(* a, NOT * n, * b, NOT E m, B c, D d)",
        "SEQ(A a, NOT D n, B b, C c, NOT A m, D d, NOT B o, E e)",
    ],
)
def test_events_that_may_not_come_between(pattern: str, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = stream(9 * kernels_keyed.BLOCK)
    schema = schema_of(table, time="ts", time_unit="ms", type="type")
    known = "m.v1 > 600" if " m" in pattern else "a.v1 > 0"
    query = f"PATTERN {pattern} WHERE SAME[key] AND {known} AND a.v1 < b.v2 WITHIN 2000 ms POLICY {policy}"
    bound = bind(parse(query), schema)
    batch = read_events(table, schema)
    assert keyed_events.keyed_events_of(prepare(bound), batch) is not None
    found = matches_of(bound, batch)
    monkeypatch.setattr(keyed_events, "FEWEST_EVENTS", len(table) + 1)
    assert found == matches_of(bind(parse(query), schema), batch)
    assert found


@pytest.mark.parametrize("policy", ["any", "next"])
@pytest.mark.parametrize(
    ("pattern", "condition"),
    [
        ("SEQ(A a, NOT B n, C b)", "a.key = b.key"),
        ("SEQ(A a, NOT B n, C b)", "a.key + 0 = b.key + 0"),
        ("SEQ(A a, NOT B n, C b, D d)", "a.key = b.key AND b.key = d.key"),
        ("SEQ(A a, NOT (B|E) n, C b)", "n.v1 > 50000 AND a.key = b.key"),
    ],
)
def test_without_same_an_event_of_any_key_breaks_a_not(
    pattern: str, condition: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = stream(600)
    table = table.set_column(table.column_names.index("key"), "key", pa.array(table["key"].to_numpy() % 3))
    schema = schema_of(table, time="ts", time_unit="ms", type="type")
    query = f"PATTERN {pattern} WHERE {condition} WITHIN 30 ms POLICY {policy}"
    batch = read_events(table, schema)
    found = matches_of(bind(parse(query), schema), batch)
    monkeypatch.setattr(keyed_events, "FEWEST_EVENTS", len(table) + 1)
    assert found == matches_of(bind(parse(query), schema), batch)
    assert found


def matches_of(bound: BoundQuery, batch: EventBatch) -> list[list[int]]:
    found = run(bound, batch)
    return [list(map(int, one)) for one in np.split(found.positions, found.offsets[1:-1])]
