"""The events of a streaming job as far as it declares them: what its query is checked against without reading any."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cepheid.connectors.column_types import ColumnType, Form, column_type
from cepheid.connectors.locations import list_files
from cepheid.connectors.whole_files import CsvBytes
from cepheid.events.arrow_types import data_type
from cepheid.events.schema import Schema
from cepheid.events.types import TEXT, DataType
from cepheid.job.load import Job
from cepheid.job.model import SourceSection
from cepheid.job.stream_model import DeltaSourceSection, KafkaSourceSection, RateSourceSection, SocketSourceSection

_UTC = pa.timestamp("us", "UTC")

Source = SourceSection | KafkaSourceSection | RateSourceSection | SocketSourceSection | DeltaSourceSection


def declared_fields(
    source: SourceSection | KafkaSourceSection | SocketSourceSection | DeltaSourceSection,
) -> dict[str, Any]:
    """The fields that a source reads, with their Arrow types: those declared, the time and the type."""
    return {name: _UTC if kind.form is Form.TIMESTAMP else kind.arrow for name, kind in _columns(source).items()}


def _columns(
    source: SourceSection | KafkaSourceSection | SocketSourceSection | DeltaSourceSection,
) -> dict[str, ColumnType]:
    columns = {name: column_type(text) for name, text in source.columns.items()}
    columns.setdefault(source.time, column_type("timestamp" if source.time_unit is None else "int"))
    if source.type is not None:
        columns.setdefault(source.type, column_type("text"))
    return columns


def csv_bytes(source: SourceSection) -> CsvBytes:
    """What reads the CSV files of a source that is a stream."""
    columns = _columns(source)
    if source.time_format is not None:
        columns[source.time] = column_type("timestamp", source.time_format)
    return CsvBytes(columns, source.csv.options)


def declared_schema(job: Job) -> Schema:
    """The events of a streaming job.

    Raises:
        SetupError: there is no Parquet file that tells the columns of its kind.
        SchemaError: the sources do not fit each other.
    """
    of = {source.event: _fields(job, source) for source in job.model.source}
    first = job.model.source[0]
    order = tuple(first.order)
    if None in of:
        return Schema(of[None], time=first.time, time_unit=first.time_unit, type=first.type, order=order)
    kind = "type"
    fields: dict[str, DataType] = {}
    for own in of.values():
        for name, dtype in own.items():
            fields.setdefault(name, dtype)
    fields[kind] = TEXT
    per_type = {str(event): {**own, kind: TEXT} for event, own in of.items()}
    return Schema(
        fields, time=first.time, time_unit=first.time_unit, type=kind, types=tuple(per_type), per_type=per_type
    )


def _fields(job: Job, source: Source) -> dict[str, DataType]:
    return {name: data_type(arrow) for name, arrow in _arrow_fields(job, source).items()}


def _arrow_fields(job: Job, source: Source) -> dict[str, Any]:
    if isinstance(source, RateSourceSection):
        return {"timestamp": _UTC, "value": pa.int64()}
    if isinstance(source, SourceSection):
        if source.format == "parquet":
            schema = pq.read_schema(list_files(job.paths_of(source)[0])[0])
            return {field.name: field.type for field in schema}
        return {"file_path": pa.string(), **declared_fields(source)}
    if isinstance(source, DeltaSourceSection):
        return declared_fields(source)
    text = {"value": pa.string()} if source.format == "text" else declared_fields(source)
    if isinstance(source, SocketSourceSection):
        return {"timestamp": _UTC, **text} if source.format == "text" else text
    names = [source.key] if source.key else []
    return {
        "kafka_topic": pa.string(),
        "kafka_partition": pa.int32(),
        "kafka_offset": pa.int64(),
        "kafka_time": _UTC,
        **dict.fromkeys([*names, *source.headers.values()], pa.string()),
        **text,
    }
