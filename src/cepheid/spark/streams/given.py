"""The DataFrames that `cepheid.detect` is given: whether they are streams, and those that are with their watermarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TypedDict

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.errors import SchemaError
from cepheid.events.lengths import Length, length_us
from cepheid.policies.slack.settings import Slack, received_column
from cepheid.spark.frames import Events, union_of_types
from cepheid.spark.schema import frame_schema, frame_schema_by_type
from cepheid.spark.streams.closing import StreamSlack
from cepheid.spark.streams.delay import EVENT_TIME, watermarked
from cepheid.spark.streams.packs import SOURCE
from cepheid.spark.streams.unread import UNREAD_COLUMN


class Columns(TypedDict):
    """What the columns of the events are for."""

    time: str
    time_unit: str | None
    type: str | None
    order: tuple[str, ...]


@dataclass(frozen=True)
class StreamedEvents:
    """Events of one or several streams.

    Attributes:
        events: they; the DataFrame has a column of event time that Spark follows, too, and `SOURCE` where there are
            several streams.
        event_time: the name of the column of event time.
        delays_us: for each stream, how much later than newer ones an event may come and still be on time.
        sources: what the streams are called.
        idle_us: the wall clock goes on with the watermark after so long without an event; None for never.
        unread: some rows are no events, as their column `UNREAD_COLUMN` says.
    """

    events: Events
    event_time: str
    delays_us: tuple[int, ...]
    sources: tuple[str, ...]
    idle_us: int | None = None
    unread: bool = False


def are_streams(events: object) -> bool:
    """Whether the events are streaming DataFrames.

    Raises:
        SchemaError: they are no DataFrames, or some are streams and some are not.
    """
    frames = list(events.values()) if isinstance(events, Mapping) else [events]
    for frame in frames:
        if not isinstance(frame, DataFrame):
            raise SchemaError(
                f"the events are a {frame.__class__.__name__}, not a Spark DataFrame",
                remedy="use cep.match for a table in this process, or spark.createDataFrame(table)",
            )
    streaming = {bool(frame.isStreaming) for frame in frames if isinstance(frame, DataFrame)}
    if len(streaming) > 1:
        raise SchemaError(
            "some of the DataFrames are streams, and some are not",
            remedy="read all of them with spark.readStream, or all with spark.read",
        )
    return streaming == {True}


def refuse_what_is_for_batches(observation: Observation | None) -> None:
    """Refuse what `cepheid.detect` takes for batch DataFrames alone.

    Raises:
        SchemaError: it is given.
    """
    if observation is not None:
        raise SchemaError(
            "observation= is for batch DataFrames",
            remedy="leave it out: the progress of the streaming query has the number of its rows",
        )


def refuse_what_is_for_streams(watermark: object, idle_flush: object) -> None:
    """Refuse what `cepheid.detect` takes for streams alone.

    Raises:
        SchemaError: it is given.
    """
    given = {"watermark": watermark, "idle_flush": idle_flush}
    for name, value in given.items():
        if value is not None:
            raise SchemaError(
                f"{name}= is for streams, and the events are a batch DataFrame, whose end is known",
                remedy="leave it out, or read the events with spark.readStream",
            )


def delay_given(slack: Length | Slack | None, watermark: Length | None) -> Length | None:
    """How late events may be: as ``watermark=`` says, or ``slack=``; nothing where a slack policy closes windows."""
    if isinstance(slack, Slack):
        return timedelta(0)
    return watermark if slack is None else slack


def stream_slack(
    slack: Length | Slack | None, received: str | None, watermark: Length | None, time_unit: str | None
) -> StreamSlack | None:
    """The slack policy of a stream; None for none.

    Raises:
        SchemaError: both ``slack`` and ``watermark`` are given; nothing says when events were received.
        SetupError: ``received`` is given without a policy that reads it.
    """
    if slack is not None and watermark is not None:
        raise SchemaError("slack= and watermark= are given", remedy="leave one of them out")
    column = received_column(received, slack)
    if not isinstance(slack, Slack):
        return None
    if column is None:
        raise SchemaError(
            "a cep.Slack goes by when events were received, and no column of the stream says that",
            remedy="name it: received= (of Kafka: kafka_time)",
        )
    return StreamSlack(slack, column, time_unit)


def streamed_events(
    events: DataFrame | Mapping[str, DataFrame],
    columns: Columns,
    *,
    watermark: Length | None,
    idle_flush: Length | None,
) -> StreamedEvents:
    """Streaming DataFrames as one, followed by Spark's watermark.

    Args:
        events: a DataFrame, or event type -> DataFrame.
        columns: what their columns are for.
        watermark, idle_flush: as in `cepheid.detect`.

    Raises:
        SchemaError: a column is missing or does not fit; nothing says how late events may be, or two things do.
    """
    time, unit = columns["time"], columns["time_unit"]
    idle_us = None if idle_flush is None else length_us(idle_flush, "idle_flush", unit)
    if not isinstance(events, Mapping):
        schema = frame_schema(_of_events(events), **columns)
        unread = UNREAD_COLUMN in events.columns
        own = watermarked(events, time=time, time_unit=unit, watermark=watermark)
        return StreamedEvents(
            Events(own.frame, schema), own.event_time, (own.delay_us,), ("the stream",), idle_us, unread
        )
    schema = frame_schema_by_type({name: _of_events(frame) for name, frame in events.items()}, **columns)
    frames, delays_us = {}, []
    for number, (name, frame) in enumerate(events.items()):
        own = watermarked(frame, time=time, time_unit=unit, watermark=watermark)
        delays_us.append(own.delay_us)
        moment = F.col(f"`{own.event_time}`")
        frames[name] = own.frame.withColumn(EVENT_TIME, moment).withColumn(SOURCE, F.lit(number))
    unread = all(UNREAD_COLUMN in frame.columns for frame in events.values())
    union = union_of_types(frames, schema, (EVENT_TIME, SOURCE, *([UNREAD_COLUMN] if unread else [])))
    return StreamedEvents(Events(union, schema), EVENT_TIME, tuple(delays_us), tuple(events), idle_us, unread)


def _of_events(frame: DataFrame) -> spark.StructType:
    """The columns of the events themselves."""
    return spark.StructType([field for field in frame.schema.fields if field.name != UNREAD_COLUMN])


def named_columns(columns: Columns) -> dict[str, object]:
    """What the columns are for, by names that errors can show."""
    return {
        "time": columns["time"],
        "time_unit": columns["time_unit"],
        "type": columns["type"],
        "order": ", ".join(columns["order"]),
    }
