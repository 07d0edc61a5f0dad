"""Streams of files that are read as wholes, in Python, as tables in this process are: CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark

from cepheid.events.arrow_memory import array_of
from cepheid.spark.batch import declared_schema_of
from cepheid.spark.json_values import REJECTION, Read
from cepheid.spark.shipment import through
from cepheid.spark.sources import FILE, no_folder

ReadsFile: TypeAlias = Callable[[str, bytes], tuple[Any, Any]]
"""Takes the name of a file and its bytes, and gives an Arrow table of its events, or None, and one of what was
rejected: ``file``, ``line``, ``column``, ``reason``, ``raw``."""

_FILES = "path string, modificationTime timestamp, length long, content binary"
_WHY = ("column", "reason", "raw")


def read_whole_files(
    session: SparkSession,
    paths: Sequence[str],
    read: ReadsFile,
    schema: spark.StructType,
    *,
    required: Sequence[str] = (),
) -> Read:
    """The events in files, those that come later too, each file read as a whole by one task.

    A file is read once, when it is there: write it elsewhere and move it into its place. It is in the memory of its
    task, once as it is and once as a table.

    Args:
        session: any.
        paths: folders or globs.
        read: goes to the executors, pickled.
        schema: the columns of the events.
        required: columns that every event must have.

    Raises:
        SetupError: a folder does not exist.
    """
    frames = []
    for path in paths:
        try:
            frames.append(session.readStream.schema(_FILES).format("binaryFile").load(path))
        except AnalysisException as error:
            raise no_folder(path, error) or error from None
    files = reduce(DataFrame.union, frames).select("path", "content")
    declared, output = declared_schema_of(row_columns(schema))
    rows = through(files, FileReading(read, tuple(required), output), declared)
    return Read(rows, (FILE,))


def row_columns(schema: spark.StructType) -> spark.StructType:
    """The columns of what is read: the file, those of the events, and why a row is none."""
    why = spark.StructType([spark.StructField(name, spark.StringType(), True) for name in _WHY])
    fields = [spark.StructField(FILE, spark.StringType(), True), *schema.fields]
    return spark.StructType([*fields, spark.StructField(REJECTION, why, True)])


@dataclass(frozen=True)
class FileReading:
    """Reads files; runs on the executors.

    Attributes:
        read: see `ReadsFile`.
        required: columns in which NULL is a reason to reject a row.
        output: the Arrow schema of the rows, as Spark expects it: the file (of a rejected row with its
            line), the events, and why a row is rejected.
    """

    read: ReadsFile
    required: tuple[str, ...]
    output: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of the files in the RecordBatches of one partition."""
        for batch in batches:
            for path, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                table, rejected = self.read(path, content.as_py())
                yield from self._rejected(rejected).to_batches()
                if table is not None:
                    yield from self._rows(path, table).to_batches()

    def _rows(self, path: str, table: Any) -> Any:
        n = table.num_rows
        events = [table.column(f.name).cast(f.type) for f in list(self.output)[1:-1] if f.name in table.column_names]
        reasons = pa.nulls(n, pa.string())
        at_fault = pa.nulls(n, pa.string())
        for name in reversed(self.required):
            missing = table.column(name).is_null()
            reasons = pa.compute.if_else(missing, f"no {name}", reasons)
            at_fault = pa.compute.if_else(missing, name, at_fault)
        texts = [at_fault, reasons, pa.nulls(n, pa.string())]
        why = pa.StructArray.from_arrays(
            [_whole(text) for text in texts], fields=list(self.output.field(REJECTION).type), mask=_is_null(reasons)
        )
        return pa.table([pa.array([path] * n, pa.string()), *events, why], schema=self.output)

    def _rejected(self, rejected: Any) -> Any:
        n = rejected.num_rows
        places = [
            file if line is None else f"{file}:{line}"
            for file, line in zip(rejected["file"].to_pylist(), rejected["line"].to_pylist(), strict=True)
        ]
        texts = [rejected[name] for name in _WHY]
        why = pa.StructArray.from_arrays(
            [_whole(text) for text in texts], fields=list(self.output.field(REJECTION).type)
        )
        nothing = [pa.nulls(n, f.type) for f in list(self.output)[1:-1]]
        return pa.table([pa.array(places, pa.string()), *nothing, why], schema=self.output)


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _is_null(column: Any) -> Any:
    return array_of(_whole(pa.compute.is_null(column)).to_numpy(zero_copy_only=False))
