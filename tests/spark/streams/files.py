"""Streams of Parquet files, one micro-batch for each, run to their end."""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from cepheid.spark.schema import spark_type

_numbers = itertools.count(1)


def write_part(folder: Path, table: pa.Table) -> None:
    """Add a file to a stream: its next micro-batch."""
    number = next(_numbers)
    hidden = folder / f".{number}.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, hidden)
    os.utime(hidden, (1_000_000 + number, 1_000_000 + number))
    hidden.rename(folder / f"{number:05}.parquet")


def stream_of(spark: SparkSession, folder: Path, parts: list[pa.Table]) -> DataFrame:
    """A stream whose micro-batches are these tables, and files that are added later."""
    for part in parts:
        write_part(folder, part)
    fields = ", ".join(f"`{f.name}` {spark_type(f.type).simpleString()}" for f in parts[0].schema)
    return spark.readStream.schema(fields).option("maxFilesPerTrigger", 1).parquet(str(folder))


def run(frame: DataFrame, folder: Path, name: str = "out") -> Any:
    """Run a stream until its files are read; the progress of the query. A second call goes on from the first."""
    writer = frame.writeStream.option("checkpointLocation", str(folder / f"{name}-checkpoint"))
    query = writer.trigger(availableNow=True).format("parquet").option("path", str(folder / name)).start()
    query.awaitTermination()
    return query.recentProgress


def committed(folder: Path, name: str = "out") -> Counter[tuple[Any, ...]]:
    """The rows that a stream has written, without a session: of the files that Spark's log of the sink names."""
    names: set[str] = set()
    for entry in (folder / name / "_spark_metadata").iterdir():
        if not entry.name.startswith("."):
            lines = entry.read_text(encoding="utf-8").splitlines()[1:]  # the first is the version
            names.update(json.loads(line)["path"].rpartition("/")[2] for line in lines)
    tables = [pq.read_table(folder / name / file) for file in sorted(names)]
    return Counter(tuple(row.values()) for table in tables for row in table.to_pylist())


def found(spark: SparkSession, folder: Path, name: str = "out") -> Counter[tuple[Any, ...]]:
    """The rows that `run` has written."""
    return Counter(tuple(row) for row in spark.read.parquet(str(folder / name)).collect())
