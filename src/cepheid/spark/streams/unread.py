"""What a source brings that is no event: it travels with the events, so that the source is read and parsed once.

A row of such is one with a struct in the column `UNREAD_COLUMN`, which says what is wrong with it; of an event the
struct is NULL. Its rows go to a bucket of their own, which keeps nothing and hands them on as the output `UNREAD`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.spark.streams.shipment import StateOperator
from cepheid.spark.streams.tagging import tagged_rows
from cepheid.spark.values import named

UNREAD = "unread"
"""The output of texts that are no events: ``source``, ``place`` (``topic/partition/offset``, or the file), ``column``,
``reason`` and ``raw``."""

UNREAD_COLUMN = "cepheid unread"

UNREAD_TYPE = spark.StructType(
    [spark.StructField(name, spark.StringType(), True) for name in ("source", "place", "column", "reason", "raw")]
)


def or_unread(condition: Column) -> Column:
    """A condition on events that lets the rows pass that are none."""
    is_event = named(UNREAD_COLUMN).isNull()
    return ~is_event | (is_event & condition)


def bucket_with_unread(bucket: Column, number: int) -> Column:
    """The bucket of a row.

    Args:
        bucket: of events.
        number: that of rows that are none.
    """
    return F.when(named(UNREAD_COLUMN).isNotNull(), F.lit(number)).otherwise(bucket)


def packed_unread(rows: Any, schema: Any) -> bytes:
    """Rows that are no events as one pack, as they leave the operator: a record batch of the rows of all outputs.

    Args:
        rows: an Arrow table with `UNREAD_COLUMN`.
        schema: of the rows of all outputs.
    """
    struct = rows.column(UNREAD_COLUMN).combine_chunks()
    names = [field.name for field in struct.type]
    told = tagged_rows(UNREAD, pa.table(struct.flatten(), names), schema)
    (batch,) = told.combine_chunks().to_batches()
    return bytes(batch.serialize())


@dataclass(frozen=True)
class PassingOn:
    """Runs an operator on the buckets of events, and hands on what is in that of other rows; runs on the executors.

    Attributes:
        step: the operator.
        label: of the bucket of other rows.
    """

    step: StateOperator
    label: int

    def __call__(self, run: bytes, bucket: int, payloads: Sequence[bytes], group: Any) -> Iterator[bytes]:
        """One bucket in one micro-batch; see `cepheid.spark.streams.step.BucketStep`."""
        return iter(payloads) if bucket == self.label else self.step(run, bucket, payloads, group)
