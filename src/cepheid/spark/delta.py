"""Delta tables as sources of events and as sinks in which each match is there once.

    from cepheid.spark.delta import delta_writer, read_delta

    events = read_delta(spark, "/data/payments")
    outputs = cep.detect(events.events, query, ..., outputs=("matches", "late"))
    write = outputs.written_by({"matches": delta_writer("/data/found", "found")})
    outputs.tagged.writeStream.foreachBatch(write)...

Delta remembers, for an application, the number of the last micro-batch that it wrote, in the commit that wrote it. So a
micro-batch that comes again after a failure is passed over where it was written before. A single output needs none of
this: ``matches.writeStream.format("delta")`` does the same by itself.

The session needs Delta's own library, ``io.delta:delta-spark_2.13``, and its two settings (`delta_config` of
`cepheid.spark.connectors`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from cepheid.errors import SetupError
from cepheid.spark.json_values import Read
from cepheid.spark.sources import whole_rows


def read_delta(
    session: SparkSession,
    path: str,
    *,
    streaming: bool = True,
    required: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> Read:
    """The rows of a Delta table as events: a stream begins with those that are there, and goes on with those added.

    Args:
        session: with Delta's library.
        path: of the table.
        streaming: a stream of what comes; else a DataFrame of what is there.
        required: columns that every event must have; a row with NULL in one is rejected.
        options: further ones of Delta's source (``maxFilesPerTrigger``, ``skipChangeCommits``).

    Raises:
        SetupError: the session has no Delta, or there is no table.
    """
    reader: Any = session.readStream if streaming else session.read
    try:
        rows: DataFrame = reader.format("delta").options(**(options or {})).load(path)
    except AnalysisException as error:
        raise _told(error, path) or error from None
    return whole_rows(rows, required)


@dataclass(frozen=True)
class DeltaWriter:
    """Appends each micro-batch to a Delta table, once however often it comes.

    Attributes:
        path: of the table; it is made with the first rows.
        application: by which Delta knows the numbers of micro-batches.
    """

    path: str
    application: str

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Append the rows of one micro-batch."""
        writer = rows.write.format("delta").mode("append")
        writer = writer.option("txnAppId", self.application).option("txnVersion", str(number))
        try:
            writer.save(self.path)
        except AnalysisException as error:
            raise _told(error, self.path) or error from None


def delta_writer(path: str, application: str) -> DeltaWriter:
    """A writer for `cepheid.spark.streams.outputs.Tagged.written_by`; see `DeltaWriter`.

    Args:
        path: of the table.
        application: a name that belongs to the checkpoint of the streaming query, as the numbers of its micro-batches
            do: with a new checkpoint, which counts from 0 again, a new name.
    """
    return DeltaWriter(path, application)


def _told(error: AnalysisException, path: str) -> SetupError | None:
    said = str(error)
    if error.getCondition() == "DATA_SOURCE_NOT_FOUND" or "find data source" in said.lower():
        return SetupError(
            "this Spark session has no Delta",
            remedy="start it with io.delta:delta-spark_2.13 of the version that fits its Spark, and Delta's two "
            "settings (cepheid run does so by itself with PySpark 4.0)",
        )
    if "DELTA_SCHEMA_NOT_SET" in said or "DELTA_PATH_DOES_NOT_EXIST" in said or "DELTA_TABLE_NOT_FOUND" in said:
        return SetupError(f"there is no Delta table {path}", remedy="correct the path, or make the table")
    return None
