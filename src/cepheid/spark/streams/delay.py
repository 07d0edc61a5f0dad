"""How late events may be, and the column by which Spark itself follows event time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.errors import SchemaError
from cepheid.events.lengths import Length, length_us
from cepheid.spark.timecut import time_us
from cepheid.spark.values import long, named

DELAY_METADATA = "spark.watermarkDelayMs"
"""How Spark marks a column of event time in the schema, and the columns that come from it."""

EVENT_TIME = "cepheid time"
"""The column of event time that is added where the user has called no `withWatermark`."""

MS_US = 1_000


@dataclass(frozen=True)
class Watermarked:
    """A stream whose event time Spark follows.

    Attributes:
        frame: the events, with a column of event time.
        event_time: the name of that column.
        delay_us: how much later than newer ones an event may come and still be on time.
    """

    frame: DataFrame
    event_time: str
    delay_us: int


def watermarked(frame: DataFrame, *, time: str, time_unit: str | None, watermark: Length | None) -> Watermarked:
    """A stream with Spark's `withWatermark` on the time of the events.

    Args:
        frame: the stream.
        time: the column of event time.
        time_unit: of a column of numbers.
        watermark: how late an event may be; None where the user has called `withWatermark` on ``time``.

    Raises:
        SchemaError: nothing says how late events may be, or two things do; Spark cannot follow the time column.
    """
    marked = [f for f in frame.schema.fields if DELAY_METADATA in (f.metadata or {})]
    own = next((f for f in marked if f.name == time), None)
    if marked and own is None:
        raise SchemaError(
            f"withWatermark was called on the column {marked[0].name!r}, and the time of events is {time!r}",
            remedy=f"call it on {time!r}, or leave it out and give watermark=",
        )
    if own is not None:
        if watermark is not None:
            raise SchemaError(
                f"withWatermark was called on the column {time!r}, and watermark= is given, too",
                remedy="leave one of them out: without watermark= events may be as late as withWatermark says",
            )
        return Watermarked(frame, time, int(own.metadata[DELAY_METADATA]) * MS_US)
    if watermark is None:
        raise SchemaError(
            "nothing says how late events of the stream may be",
            remedy='give watermark="10 seconds" (an event may come that much after a newer one), or call '
            f"withWatermark on the column {time!r}",
        )
    moment = time_us(time, frame.schema[time].dataType, time_unit)
    if moment is None:
        raise SchemaError(
            f"Spark cannot follow the time of a stream by the column {time!r} of type "
            f"{frame.schema[time].dataType.simpleString()}",
            remedy="cast it to timestamp before (F.to_timestamp), or to bigint with a time_unit=",
        )
    delay_us = length_us(watermark, "watermark", time_unit)
    timed = frame.withColumn(EVENT_TIME, F.timestamp_micros(moment))
    delay_ms = -(-delay_us // MS_US)
    return Watermarked(timed.withWatermark(f"`{EVENT_TIME}`", f"{delay_ms} milliseconds"), EVENT_TIME, delay_us)


def never_dropped(delays_us: Sequence[int]) -> Column:
    """A column that lets Spark's operator see the watermark, and drop nothing because of it.

    The operator learns of the watermark from a column that is marked as event time, and drops rows whose value there
    is not after the watermark. This one is NULL, which is neither before nor after; what is late is told by cepheid.
    """
    mark = {DELAY_METADATA: max(delays_us, default=0) // MS_US}
    return F.lit(None).cast(spark.TimestampType()).alias("event_time", metadata=mark)


def after_the_watermark(event_time: str, condition: Column) -> Column:
    """A condition on events that Spark tests after it has seen their time.

    Spark moves a filter that does not name the column of event time in front of `withWatermark`, where only the
    events that pass it would move the watermark. This one names it, in a comparison that no optimizer knows to hold.
    """
    least = F.timestamp_micros(long(-(2**63)))
    return F.when(F.coalesce(named(event_time) >= least, F.lit(True)), condition)
