"""The sources of a streaming job as streams of Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cepheid.errors import JobError
from cepheid.job.load import Job
from cepheid.job.model import SourceSection
from cepheid.job.stream_model import DeltaSourceSection, KafkaSourceSection, RateSourceSection, SocketSourceSection
from cepheid.job.stream_schema import Source, csv_bytes, declared_fields


@dataclass(frozen=True)
class Streams:
    """The sources of a job.

    Attributes:
        events: what `cepheid.detect` is given: a stream, or event type -> stream; with the rows that are no events.
        order: the columns that order events of equal time.
    """

    events: Any
    order: tuple[str, ...]


def name_of(source: Source) -> str:
    """What a source is called in messages."""
    if source.event is not None:
        return source.event
    match source:
        case KafkaSourceSection():
            return "kafka " + ", ".join(source.topics)
        case SocketSourceSection():
            return f"socket {source.host}:{source.port}"
        case RateSourceSection():
            return "rate"
        case DeltaSourceSection():
            return source.path
        case _:
            return ", ".join(source.path)


def streams_of(job: Job, session: Any) -> Streams:
    """The sources of a job as streams, their events counted.

    Raises:
        SetupError: a folder or Spark's connector is missing.
    """
    from cepheid.spark.stream_rows import counted, with_type

    frames = {}
    for source in job.model.source:
        name = name_of(source)
        read = _read(job, source, session)
        events = counted(read, name, time=source.time, time_unit=source.time_unit)
        if source.event is not None and len(job.model.source) == 1:
            events = with_type(events, _free_name("type", events.columns), source.event)
        frames[source.event] = events
    one = len(job.model.source) == 1
    orders = {tuple(_order(source)) for source in job.model.source}
    order = orders.pop() if len(orders) == 1 else ()
    return Streams(next(iter(frames.values())) if one else frames, order)


def type_column(job: Job, events: Any) -> str | None:
    """The column of the event type, where there is one source."""
    (source, *others) = job.model.source
    if others or source.event is None:
        return source.type
    return str(events.columns[-1])


def _free_name(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _order(source: Source) -> list[str]:
    from cepheid.spark.kafka import KAFKA_ORDER

    if isinstance(source, KafkaSourceSection) and not source.order:
        return list(KAFKA_ORDER)
    return source.order


def _read(job: Job, source: Source, session: Any) -> Any:
    from cepheid.spark.kafka import read_kafka
    from cepheid.spark.sources import fields_of, in_columns, read_json_files, read_parquet_files, read_rate, read_socket

    if isinstance(source, RateSourceSection):
        return read_rate(session, source.rows_per_s)
    required = [source.time, *([source.type] if source.type else [])]
    if isinstance(source, SourceSection):
        paths = job.paths_of(source)
        if source.format == "parquet":
            return read_parquet_files(session, paths, required=required)
        if source.format == "csv":
            from cepheid.spark.whole_files import read_whole_files

            declared = fields_of(declared_fields(source))
            return read_whole_files(session, paths, csv_bytes(source), declared, required=required)
        return read_json_files(session, paths, fields_of(declared_fields(source)), required=required)
    if isinstance(source, DeltaSourceSection):
        from cepheid.spark.delta import read_delta

        options = {name: job.text_of(value) for name, value in source.options.items()}
        read = read_delta(session, str(job.path_of(source.path)), required=required, options=options)
        return in_columns(read, fields_of(declared_fields(source)), source.path)
    fields = None if source.format == "text" else fields_of(declared_fields(source))
    if isinstance(source, SocketSourceSection):
        return read_socket(session, source.host, source.port, fields, required=required if fields else ())
    return read_kafka(
        session,
        job.text_of(source.servers),
        source.topics,
        fields,
        required=required,
        key=source.key,
        headers=source.headers,
        starting=source.starting,
        options={name: job.text_of(value) for name, value in source.options.items()},
    )


def require_streamable(job: Job) -> None:
    """Refuse files that cannot be read as a stream.

    Raises:
        JobError: at the key that says it.
    """
    for source in job.model.file_sources:
        _require_streamable(job, source)


def _require_streamable(job: Job, source: SourceSection) -> None:
    def refuse(key: str, message: str, remedy: str) -> JobError:
        span = job.place("source", key)
        return JobError(message, remedy=remedy, text=job.text if span else None, span=span, origin=job.origin)

    if source.format not in ("jsonl", "csv", "parquet"):
        raise refuse(
            "format",
            "a stream of files reads CSV, JSON lines and Parquet, and its format must be said",
            'add: format = "csv", format = "jsonl", or format = "parquet"',
        )
    if source.time_format is not None and source.format != "csv":
        raise refuse(
            "time_format",
            "a stream of JSON lines or Parquet reads times in ISO 8601 or as numbers",
            "leave time_format out",
        )
