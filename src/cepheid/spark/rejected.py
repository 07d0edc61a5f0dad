"""Events that cannot be placed, as a DataFrame (SEMANTICS 7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as spark

from cepheid.engine.outputs import NULL_KEY
from cepheid.engine.rejected import missing_keys
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events
from cepheid.language.bound import BoundQuery
from cepheid.spark.batch import declared_schema_of
from cepheid.spark.frames import Events
from cepheid.spark.operator import as_declared
from cepheid.spark.shipment import through


@dataclass(frozen=True)
class RejectedEvents:
    """Finds the events that cannot be placed, in any part of them; runs on the executors.

    Attributes:
        bound: the query that reads them.
        output: the Arrow schema of the result: the event as a struct, the column at fault, and the reason.
    """

    bound: BoundQuery
    output: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rejected ones of the RecordBatches of one partition."""
        for given in batches:
            if not given.num_rows:
                continue
            table = pa.Table.from_batches([given])
            reasons = reasons_of(self.bound, read_events(table, self.bound.schema))
            if reasons:
                yield from told(table, reasons, self.output).to_batches()


def reasons_of(bound: BoundQuery, batch: EventBatch) -> dict[int, tuple[str, str]]:
    """Row of an event that cannot be placed -> the column at fault, and the reason.

    Args:
        bound: the query that reads the events.
        batch: as they were read.
    """
    positions, names = missing_keys(bound, batch)
    rows = batch.rows_of(positions).tolist()
    reasons = {row: (name, NULL_KEY) for row, name in zip(rows, names, strict=True)}
    bad = batch.rejected
    for row, column, reason in zip(bad.rows.tolist(), bad.columns, bad.reasons, strict=True):
        reasons[row] = (column, reason)
    return reasons


def told(table: Any, reasons: Mapping[int, tuple[str, str]], output: Any) -> Any:
    """Rejected events as a table.

    Args:
        table: all events.
        reasons: as `reasons_of` gives them.
        output: the Arrow schema of the result: the event as a struct, the column at fault, and the reason.
    """
    rows = sorted(reasons)
    taken = table.take(pa.array(rows, pa.int64())).combine_chunks()
    arrays = [column.chunk(0) if column.num_chunks else pa.nulls(0, column.type) for column in taken.columns]
    event = pa.StructArray.from_arrays(arrays, fields=list(taken.schema))
    columns, said = zip(*(reasons[row] for row in rows), strict=True)
    result = pa.table([event, pa.array(columns, pa.string()), pa.array(said, pa.string())], output.names)
    return as_declared(result, output)


def rejected(events: Events, bound: BoundQuery) -> DataFrame:
    """The events that cannot be placed for a bound query: ``event``, the columns of each as a struct; ``column``, the
    one at fault; and ``reason``. With FROM, they are those that the innermost query reads.

    Raises:
        SchemaError: Spark cannot hand one of the columns to Python.
    """
    bound = bound.chain[-1]
    declared, output = declared_schema_of(rejected_columns(events.schema.spark))
    return through(events.frame, RejectedEvents(bound, output), declared)


def rejected_columns(events: spark.StructType) -> spark.StructType:
    """The columns of rejected events, which have these columns themselves."""
    fields = [spark.StructField(f.name, f.dataType, True) for f in events.fields]
    text = spark.StringType()
    return spark.StructType(
        [
            spark.StructField("event", spark.StructType(fields), True),
            spark.StructField("column", text, True),
            spark.StructField("reason", text, True),
        ]
    )
