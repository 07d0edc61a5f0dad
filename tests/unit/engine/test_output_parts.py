"""Output that is made part by part is the same as in one."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine import output

EVENTS = pa.table(
    {
        "ts": pa.array(range(40), pa.int64()),
        "kind": [("A", "B", "B", "C")[i % 4] for i in range(40)],
        "x": [i * 7 % 11 for i in range(40)],
        "name": [f"name {i % 5}" if i % 6 else None for i in range(40)],
    }
)
QUERIES = (
    "SEQ(A a, B+ b, C? c) WITHIN 6 us POLICY any",
    "SEQ(A a, B b) WITHIN 9 us POLICY any RETURN a.name AS name, sum(b.x) AS total, b.x + 1 AS more",
    "SEQ(A a, C c) WINDOW 12 us SLIDE 4 us POLICY any",
)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("most", [1, 3])
def test_parts_are_the_whole(query: str, most: int, monkeypatch: pytest.MonkeyPatch):
    whole = cep.match(EVENTS, query, time="ts", time_unit="us", type="kind")
    assert whole.num_rows > 3
    monkeypatch.setattr(output, "MOST_ROWS", most)
    parts = cep.match(EVENTS, query, time="ts", time_unit="us", type="kind")
    assert parts.schema == whole.schema
    assert parts.to_pylist() == whole.to_pylist()
    assert parts.column(0).num_chunks == -(-whole.num_rows // most)
