"""Deadlines without events, and keys that are many or one."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from benchmarks.spark.memory import tree_rss_bytes
from tests.spark.streams.files import found, run, stream_of
from tests.spark.streams.test_streams import COLUMNS, cut

NOT_PAID = "PATTERN SEQ(A a, NOT B b) WHERE SAME[key] WITHIN 2 s RETURN a.id AS a"


@pytest.mark.slow
def test_a_deadline_fires_though_nothing_comes(spark, tmp_path: Path):
    table = pa.table({"id": [1, 2, 3], "ts": [1_000, 1_000, 1_500], "kind": ["A", "A", "B"], "key": [1, 2, 1]})
    frame = stream_of(spark, tmp_path / "in", [table])
    matches = cep.detect(frame, NOT_PAID, watermark="0 s", idle_flush="1 second", partitions=2, **COLUMNS)
    writer = matches.writeStream.format("parquet").option("path", str(tmp_path / "out"))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        until = time.monotonic() + 200
        while not (rows := _rows(spark, tmp_path)) and time.monotonic() < until:
            assert query.exception() is None
            time.sleep(0.5)
    finally:
        query.stop()
    assert rows == Counter([(2,)])


def _rows(spark, folder: Path) -> Counter:
    if not (folder / "out" / "_spark_metadata").is_dir():
        return Counter()
    # With a schema, as there may be no file yet.
    return Counter(map(tuple, spark.read.schema("a long").parquet(str(folder / "out")).collect()))


@pytest.mark.slow
@pytest.mark.parametrize("n_keys", [1, 20_000])
def test_one_key_and_many_stay_in_bounds(spark, tmp_path: Path, n_keys: int):
    n = 200_000
    random = np.random.default_rng(2)
    table = pa.table(
        {
            "id": np.arange(n),
            "ts": np.arange(n) // 10,
            "kind": np.array(list("AB"))[random.integers(0, 2, n)],
            "key": random.integers(0, n_keys, n),
        }
    )
    query = "PATTERN SEQ(A a, B b) WHERE SAME[key] WITHIN 100 ms RETURN a.id AS a, b.id AS b"
    before = tree_rss_bytes(os.getpid())
    progress = run(
        cep.detect(stream_of(spark, tmp_path / "in", cut(table, 4)), query, watermark="10 ms", **COLUMNS), tmp_path
    )
    matcher = cep.Matcher(query, schema=table.schema, **COLUMNS)
    matcher.push(table)
    right = Counter(tuple(row.values()) for row in matcher.advance(int(table["ts"][-1].as_py()) - 11).to_pylist())
    assert found(spark, tmp_path) == right
    operator = progress[-1]["stateOperators"][0]
    assert operator["numRowsTotal"] == 16
    assert operator["memoryUsedBytes"] < 20_000_000
    assert tree_rss_bytes(os.getpid()) - before < 2_000_000_000
