"""What times out in a stream on Spark is what a Matcher tells."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import cepheid as cep
from tests.spark.streams.files import stream_of
from tests.spark.streams.test_streams import COLUMNS, cut, events

QUERY = "PATTERN SEQ(A a, B b, C c) WHERE SAME[key] AND b.v > 20 WITHIN 20 ms RETURN a.id AS a, c.id AS c"


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.parametrize("query", [QUERY, QUERY.replace("SAME[key]", "a.key = b.key AND b.key = c.key")])
def test_what_times_out_is_told_when_its_window_closes(spark, tmp_path: Path, query: str):
    table = events(200)
    frame = stream_of(spark, tmp_path / "in", cut(table, 3))
    outputs = cep.detect(frame, query, watermark="4 ms", outputs=("matches", "timed_out"), partitions=2, **COLUMNS)
    got: dict[str, Counter] = {"matches": Counter(), "timed_out": Counter()}

    def keep(name: str):
        return lambda rows, number: got[name].update(map(_row, rows.toArrow().to_pylist()))

    write = outputs.written_by({name: keep(name) for name in got})
    writer = outputs.tagged.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "ck"))
    writer.trigger(availableNow=True).start().awaitTermination()
    matcher = cep.Matcher(query, schema=table.schema, outputs=("matches", "timed_out"), **COLUMNS)
    matcher.push(table)
    right = matcher.advance(pa.compute.max(table["ts"]).as_py() - 5)
    assert len(right.timed_out) > 20
    assert got["matches"] == Counter(map(_row, right.matches.to_pylist()))
    assert got["timed_out"] == Counter(map(_row, right.timed_out.to_pylist()))


def _row(values: dict[str, object]) -> str:
    return repr(sorted((name, _plain(value)) for name, value in values.items()))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return sorted((name, _plain(inner)) for name, inner in value.items())
    return value
