"""What tells whether the numbers in saved rows mean the same in a plan as in the one that saved them."""

from __future__ import annotations

import pyarrow as pa

from cepheid.engine.saved_rows import fingerprint
from cepheid.engine.session import prepare
from cepheid.events.ingest import schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse

EVENTS = pa.schema({"ts": pa.timestamp("s", "UTC"), "kind": pa.string(), "v": pa.int64(), "w": pa.int64()})


def of(condition: str) -> str:
    text = f"PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 10 s"
    return fingerprint(prepare(bind(parse(text), schema_of(EVENTS, time="ts", type="kind"), text=text)))


def test_plans_whose_columns_have_other_values_are_told_apart():
    assert of("a.v < b.v") == of("b.v > a.v")
    # The registers have the same numbers, and hold other things.
    assert of("a.v < b.v") != of("a.w < b.w")
    assert of("a.v + 1 < b.v") != of("a.v + 2 < b.v")
