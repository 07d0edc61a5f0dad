"""Rows of one output as rows of all outputs."""

from __future__ import annotations

import pyarrow as pa

from cepheid.spark.streams.tagging import tagged_rows

MATCHES = pa.struct({"a": pa.string(), "n": pa.int64()})
TAGGED = pa.schema({"output": pa.string(), "matches": MATCHES, "late": pa.struct({"t": pa.int64()})})


def test_every_piece_of_a_column_is_there():
    """Texts of more than 2 GiB come in several pieces, which cannot be made one."""
    texts = pa.chunked_array([["x", "y"], [None], ["z", "u"]])
    numbers = pa.chunked_array([[1], [2, 3, 4, 5]])
    found = tagged_rows("matches", pa.table({"a": texts, "n": numbers}), TAGGED)
    assert found.schema == TAGGED
    rows = zip(texts.to_pylist(), numbers.to_pylist(), strict=True)
    assert found.to_pylist() == [{"output": "matches", "matches": {"a": a, "n": n}, "late": None} for a, n in rows]


def test_no_rows():
    empty = pa.table({"a": pa.array([], pa.string()), "n": pa.array([], pa.int64())})
    assert tagged_rows("matches", empty, TAGGED).num_rows == 0
