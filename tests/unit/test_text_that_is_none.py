"""Text that cannot be written in UTF-8 is refused where it comes in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import DataError, ParameterError, QueryError, SchemaError

TS = pa.array([0, 1], pa.timestamp("s"))
OFFSETS = pa.py_buffer(np.array([0, 1, 2], np.int32))
BAD = pa.Array.from_buffers(pa.string(), 2, [None, OFFSETS, pa.py_buffer(b"\xff\xff")])
EVENTS = pa.table({"ts": TS, "kind": ["A", "B"], "x": BAD})
HALF = "\ud800"


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("SEQ(A a, B b) WITHIN 10 s", {"type": "kind", "order": "x"}),
        ("SEQ(A a, B b) WHERE SAME[x] WITHIN 10 s", {"type": "kind"}),
        ("SEQ(A a, B b) WITHIN 10 s", {"type": "x"}),
    ],
)
def test_bytes_of_a_column(query, options):
    with pytest.raises(DataError, match="the column 'x' holds text that is not UTF-8"):
        cep.match(EVENTS, query, time="ts", **options)


def test_bytes_of_a_time_are_no_time():
    found = cep.match(EVENTS, "SEQ(A a, B b) WITHIN 10 s", time="x", type="kind", outputs="rejected")
    assert len(found.rejected) == 2


@pytest.mark.parametrize(
    "query",
    [
        f"SEQ(A a, B b) WHERE a.kind = '{HALF}' WITHIN 10 s",
        f'SEQ("{HALF}" a, B b) WITHIN 10 s',
        f'SEQ(A a, B b) WITHIN 10 s RETURN a.ts AS "{HALF}"',
        cep.build.query(cep.build.event(HALF, "a")),
    ],
)
def test_half_a_surrogate_pair_in_a_query(query):
    with pytest.raises(QueryError, match="half a surrogate pair") as raised:
        cep.Query.of(query)
    assert raised.value.span is not None
    assert raised.value.text is not None


def test_half_a_surrogate_pair_beside_a_query():
    with pytest.raises(SchemaError, match="half a surrogate pair"):
        cep.match({HALF: EVENTS}, "SEQ(A a, B b) WITHIN 10 s", time="ts")
    with pytest.raises(ParameterError, match="the parameter :p is a text"):
        cep.match(EVENTS, "SEQ(A a, B b) WHERE a.kind = :p WITHIN 10 s", time="ts", type="kind", parameters={"p": HALF})
