"""Where the outputs of a streaming job go, batch by batch: each writer may be called again with a batch that failed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from cepheid.connectors.writing import write_json_lines, write_table
from cepheid.engine.output_schema import LAST, MATCH
from cepheid.errors import JobError
from cepheid.job.checkpoint import query_id
from cepheid.job.load import Job
from cepheid.job.stream_model import DeltaSinkSection, KafkaSinkSection


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
class KafkaWriter:
    """Writes records; those of a batch that comes again have the same keys.

    Attributes:
        servers, topic, key, headers, options: see `cepheid.spark.kafka.write_kafka`.
    """

    servers: str
    topic: str
    key: str
    headers: Mapping[str, str]
    options: Mapping[str, str]

    def __call__(self, rows: Any, number: int) -> None:
        """Write the rows of one batch."""
        from cepheid.spark.kafka import write_kafka

        write_kafka(
            rows,
            self.servers,
            self.topic,
            key=self.key,
            headers=self.headers,
            options=self.options,
            without=(MATCH,),
        )


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
        delta_writer(str(self.path), application)(rows.withColumnRenamed(MATCH, MATCH_ID), number)


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


def match_writer(job: Job, columns: list[str]) -> Writer:
    """What writes the matches of a job.

    Args:
        job: streaming.
        columns: of the matches, `MATCH` and `LAST` among them.

    Raises:
        JobError: the key of the sink is no column.
    """
    sink = job.model.sink
    if isinstance(sink, KafkaSinkSection):
        key = MATCH if sink.key == "match_id" and "match_id" not in columns else sink.key
        if key not in columns:
            span = job.place("sink", "key")
            raise JobError(
                f"sink.key: the matches have no column {key!r}",
                remedy="match_id is always there; of RETURN there are: "
                + (", ".join(name for name in columns if name not in (MATCH, LAST)) or "none"),
                text=job.text if span else None,
                span=span,
                origin=job.origin,
            )
        servers = job.text_of(sink.servers)
        return Matches(KafkaWriter(servers, sink.topic, key, sink.headers, sink.options), keeps_id=True)
    if isinstance(sink, DeltaSinkSection):
        assert job.model.stream is not None
        return Matches(DeltaWriter(job.path_of(sink.path), job.path_of(job.model.stream.checkpoint)), keeps_id=True)
    if sink.path is None:
        return Matches(OutWriter(), keeps_id=False)
    return Matches(FolderWriter(job.path_of(sink.path), sink.format or "jsonl"), keeps_id=False)


def _in_utc(table: Any) -> Any:
    import pyarrow as pa

    fields = [f.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))
