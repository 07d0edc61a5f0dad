"""Where the outputs of a streaming job go, batch by batch: each writer may be called again with a batch that failed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from cepheid.connectors.writing import write_json_lines, write_table
from cepheid.engine.output_schema import LAST, MATCH
from cepheid.errors import JobError
from cepheid.job.checkpoint import query_id
from cepheid.job.load import Job
from cepheid.job.output_model import FileOutputSection, SinkSection
from cepheid.job.stream_model import DeltaOutputSection, KafkaOutputSection

MatchOutput: TypeAlias = SinkSection | FileOutputSection | KafkaOutputSection | DeltaOutputSection
RowOutput: TypeAlias = FileOutputSection | KafkaOutputSection | DeltaOutputSection


class Writer(Protocol):
    """Writes the rows of one output in one batch."""

    def __call__(self, rows: Any, number: int) -> None:
        """Write a DataFrame of Spark; ``number`` is that of the batch."""
        ...


@dataclass(frozen=True)
class FolderWriter:
    """Writes a file for each batch that has rows; a batch that comes again replaces its file.

    Attributes:
        folder: where ``batch-00000012.jsonl`` and its like are.
        format: of the files.
    """

    folder: Path
    format: str

    def __call__(self, rows: Any, number: int) -> None:
        """Write the rows of one batch."""
        write_table(_in_utc(rows.toArrow()), self.folder / f"batch-{number:08}.{self.format}", self.format)


@dataclass(frozen=True)
class OutWriter:
    """Writes JSON lines on standard output; a batch that comes again is shown again."""

    def __call__(self, rows: Any, number: int) -> None:
        """Write the rows of one batch."""
        write_json_lines(_in_utc(rows.toArrow()), sys.stdout.buffer)
        sys.stdout.buffer.flush()


@dataclass(frozen=True)
class DeltaWriter:
    """Appends rows to a Delta table; those of a batch that comes again are there already.

    Attributes:
        path: of the table.
        checkpoint: of the stream, whose batches are counted.
    """

    path: Path
    checkpoint: Path

    def __call__(self, rows: Any, number: int) -> None:
        """Write the rows of one batch."""
        from cepheid.spark.delta import delta_writer
        from cepheid.spark.kafka import MATCH_ID

        application = f"cepheid {query_id(self.checkpoint)}"
        renamed = rows.withColumnRenamed(MATCH, MATCH_ID) if MATCH in rows.columns else rows
        delta_writer(str(self.path), application)(renamed, number)


@dataclass(frozen=True)
class Matches:
    """Writes matches under the columns that users know.

    Attributes:
        to: what writes them.
        keeps_id: the id of each match stays with it, as the column `MATCH`.
    """

    to: Writer
    keeps_id: bool

    def __call__(self, rows: Any, number: int) -> None:
        """Write the rows of one batch."""
        self.to(rows.drop(*((LAST,) if self.keeps_id else (LAST, MATCH))), number)


def match_writer(job: Job, section: MatchOutput, columns: Sequence[str], *place: str) -> Writer:
    """What writes the matches of a query.

    Args:
        job: streaming.
        section: where they go.
        columns: of the matches, `MATCH` and `LAST` among them.
        place: the section by its keys, for errors.

    Raises:
        JobError: the key of the records is no column.
    """
    if isinstance(section, KafkaOutputSection):
        own = "match_id" if "match_id" in columns else MATCH
        key = own if section.key in (None, "match_id") else section.key
        shown = [name for name in columns if name not in (MATCH, LAST)]
        if key not in columns:
            raise _no_key(job, str(key), shown, ("match_id is always there",), place)
        return Matches(kafka_writer_of(job, section, key, without=(MATCH,)), keeps_id=True)
    if isinstance(section, DeltaOutputSection):
        return Matches(_delta_writer(job, section), keeps_id=True)
    if section.path is None:
        return Matches(OutWriter(), keeps_id=False)
    return Matches(FolderWriter(job.path_of(section.path), section.format or "jsonl"), keeps_id=False)


def row_writer(job: Job, section: RowOutput, columns: Sequence[str], *place: str) -> Writer:
    """What writes the rows of another output; the arguments are as of `match_writer`."""
    if isinstance(section, KafkaOutputSection):
        if section.key is not None and section.key not in columns:
            raise _no_key(job, section.key, columns, (), place)
        return kafka_writer_of(job, section, section.key)
    if isinstance(section, DeltaOutputSection):
        return _delta_writer(job, section)
    return FolderWriter(job.path_of(section.path), section.format or "jsonl")


def kafka_writer_of(job: Job, section: KafkaOutputSection, key: str | None, *, without: Sequence[str] = ()) -> Writer:
    """What writes records to the topic of a section."""
    from cepheid.spark.kafka_writer import kafka_writer

    return kafka_writer(
        job.text_of(section.servers),
        section.topic,
        key=key,
        headers=section.headers,
        options={name: job.text_of(value) for name, value in section.options.items()},
        without=without,
    )


def _delta_writer(job: Job, section: DeltaOutputSection) -> Writer:
    assert job.model.stream is not None
    return DeltaWriter(job.path_of(section.path), job.path_of(job.model.stream.checkpoint))


def _no_key(job: Job, key: str, columns: Sequence[str], always: Sequence[str], place: Sequence[str]) -> JobError:
    span = job.place(*place, "key")
    return JobError(
        f"{'.'.join(place)}.key: there is no column {key!r}",
        remedy="; ".join((*always, f"the columns are: {', '.join(columns) or 'none'}")),
        text=job.text if span else None,
        span=span,
        origin=job.origin,
    )


def _in_utc(table: Any) -> Any:
    import pyarrow as pa

    fields = [f.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))
