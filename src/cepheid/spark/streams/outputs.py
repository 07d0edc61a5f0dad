"""The outputs of a stream, which come from one pass: as one DataFrame of tagged rows, and each by itself.

A streaming query has one sink. To write several outputs from one query, without matching twice, use `foreachBatch`:
`StreamOutputs.written_by` gives the function that it wants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.engine.outputs import Outputs
from cepheid.errors import SchemaError
from cepheid.spark.values import named

OUTPUT = "output"
"""The column of tagged rows that names the output which a row belongs to."""

Writer = Callable[[DataFrame, int], object]
"""Takes the rows of an output in a micro-batch, as a batch DataFrame, and the number of the micro-batch."""


class Tagged:
    """All outputs of a stream as one DataFrame of tagged rows.

    Attributes:
        tagged: a row for each row of an output: its name in ``output``, and its columns as a struct under that name;
            the other structs are NULL.
        columns: output -> the names of its columns.
    """

    tagged: Any
    columns: Mapping[str, Sequence[str]]

    def split(self, rows: DataFrame) -> dict[str, DataFrame]:
        """The outputs in tagged rows: of a micro-batch, or of a table that `tagged` was written to.

        Args:
            rows: a DataFrame with the columns of `tagged`.
        """
        return {name: rows_of(rows, name, names) for name, names in self.columns.items()}

    def written_by(self, writers: Mapping[str, Writer]) -> Callable[[DataFrame, int], None]:
        """A function for ``outputs.tagged.writeStream.foreachBatch(...)`` that gives each output to a writer.

        Spark calls it again with the same rows and number where it failed; a writer that replaces what it wrote
        under that number (`parquet_writer`) makes the whole exactly-once.

        Args:
            writers: output -> what writes its rows.

        Raises:
            SchemaError: an output has a writer and was not asked for.
        """
        for name in writers:
            if name not in self.columns:
                raise SchemaError(
                    f"{name!r} has a writer, and was not asked for",
                    remedy=f"the outputs are {', '.join(self.columns)}; name others in outputs=",
                )
        return Written({name: tuple(self.columns[name]) for name in writers}, dict(writers))


@dataclass(frozen=True, eq=False)
class StreamOutputs(Outputs, Tagged):
    """The outputs of a stream that were asked for, a streaming DataFrame each; None for one that was not.

    Each of them, used by itself, is a streaming query of its own, which matches the stream again. `tagged` is all of
    them in one.

    Attributes:
        late: the events that came when the watermark had passed them, as they came.
        unread: what a source brought that is no event (`cepheid.spark.streams.unread`).
        tagged, columns: see `Tagged`.
    """

    unread: Any = None
    tagged: Any = None
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, tagged: DataFrame, columns: Mapping[str, Sequence[str]]) -> StreamOutputs:
        """The outputs in tagged rows."""
        each = {name: rows_of(tagged, name, names) for name, names in columns.items()}
        return cls(**each, tagged=tagged, columns=columns)


@dataclass(frozen=True)
class Written:
    """What `Tagged.written_by` gives; holds no session, so that Spark Connect can send it.

    Attributes:
        columns: output -> the names of its columns.
        writers: output -> what writes its rows.
    """

    columns: Mapping[str, tuple[str, ...]]
    writers: Mapping[str, Writer]

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Write the rows of one micro-batch."""
        rows.persist()
        try:
            for name, writer in self.writers.items():
                writer(rows_of(rows, name, self.columns[name]), number)
        finally:
            rows.unpersist()


@dataclass(frozen=True)
class ParquetWriter:
    """Writes each micro-batch to a folder of its own, in place of what a failed attempt left there.

    Attributes:
        folder: where the folders ``batch=0``, ``batch=1``, ... are made; read the folder above them as one table.
    """

    folder: str

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Write the rows of one micro-batch."""
        rows.write.mode("overwrite").parquet(f"{self.folder.rstrip('/')}/batch={number}")


def parquet_writer(folder: str) -> ParquetWriter:
    """A writer of Parquet files that may be called again with the same micro-batch; see `ParquetWriter`."""
    return ParquetWriter(folder)


def rows_of(tagged: DataFrame, name: str, columns: Sequence[str]) -> DataFrame:
    """The rows of one output among tagged ones, under its own columns."""
    own = [F.col(f"`{name}`").getField(column).alias(column) for column in columns]
    return tagged.where(named(OUTPUT) == F.lit(name)).select(*own)
