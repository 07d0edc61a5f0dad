"""What a stream holds once its input is at its end."""

from __future__ import annotations

import pyarrow as pa
import pytest

from cepheid.engine.stream import Stream
from cepheid.engine.watermark import AFTER_ALL_US
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse


@pytest.mark.parametrize("query", ["A+ a WITHIN 3 s POLICY next", "SEQ(A a, B b) WITHIN 3 s POLICY any", "A a"])
def test_nothing_is_held_of_events_that_came_after_the_last_watermark(query: str) -> None:
    table = pa.table({"t": [0, 1, 2], "kind": ["A", "B", "A"]})
    schema = schema_of(table, time="t", time_unit="s", type="kind")
    stream = Stream(bind(parse(f"PATTERN {query}"), schema), table.schema)
    n_bytes_at_start = stream.n_bytes
    stream.push(read_events(table, schema))
    stream.advance(AFTER_ALL_US)
    assert stream.n_bytes == n_bytes_at_start
