"""What a job file may say of where outputs go: files, and those of streams to topics of Kafka and Delta tables, too."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, model_validator

from cepheid.job.section import INT64_MAX, Name, Section
from cepheid.job.stream_model import DeltaOutputSection, KafkaOutputSection, KafkaRejectedSection

Format: TypeAlias = Literal["csv", "jsonl", "parquet", "arrow"]


def kind_of(value: object) -> str:
    """The kind that a section says; that of files where it says none."""
    kind = value.get("kind", "files") if isinstance(value, dict) else getattr(value, "kind", "files")
    return kind if isinstance(kind, str) else "none"


_KIND = Discriminator(
    kind_of,
    custom_error_type="no_such_kind",
    custom_error_message='the kind is none that there is; use "files", "kafka" or "delta"',
)


def require_path(path: str | None, written_as: str | None) -> None:
    """Refuse a format without a file."""
    if written_as is not None and path is None:
        raise ValueError('format is that of a file, and there is none; add path = "matches.csv", or leave format out')


class FileOutputSection(Section):
    """A file for the rows of an output; of a stream, a folder.

    Attributes:
        path: relative to the folder of the job file.
        format: by the name of the file where it is not given; of a stream JSON lines.
    """

    kind: Literal["files"] = "files"
    path: Name
    format: Format | None = None


class RejectedSection(FileOutputSection):
    """``[rejected]``, or ``[sink.rejected]``: the file for events that could not be read.

    Attributes:
        null_keys: also for events with NULL in SAME, which are in no partition.
    """

    null_keys: bool = False


AnyOutput: TypeAlias = Annotated[
    Annotated[FileOutputSection, Tag("files")]
    | Annotated[KafkaOutputSection, Tag("kafka")]
    | Annotated[DeltaOutputSection, Tag("delta")],
    _KIND,
]
"""Where late events go, what timed out, and the matches of further queries."""

AnyRejected: TypeAlias = Annotated[
    Annotated[RejectedSection, Tag("files")]
    | Annotated[KafkaRejectedSection, Tag("kafka")]
    | Annotated[DeltaOutputSection, Tag("delta")],
    _KIND,
]
"""Where events go that could not be read."""


class SinkSection(Section):
    """``[sink]``: the file for the matches; without a path they are shown on the console.

    Attributes:
        path: relative to the folder of the job file.
        format: by the name of the file where it is not given.
        rows: how many matches the console shows.
        timed_out: where what timed out goes; it is not looked for where it is not given.
        rejected: the same as ``[rejected]``, which may stand here.
    """

    kind: Literal["files"] = "files"
    path: Name | None = None
    format: Format | None = None
    rows: Annotated[int, Field(ge=0, le=INT64_MAX)] = 20
    timed_out: AnyOutput | None = None
    rejected: AnyRejected | None = None

    @model_validator(mode="after")
    def _format_of_a_file(self) -> SinkSection:
        require_path(self.path, self.format)
        return self


class KafkaSinkSection(KafkaOutputSection):
    """``[sink]`` with ``kind = "kafka"``: a record for each match.

    Attributes:
        timed_out, rejected: see `SinkSection`.
    """

    timed_out: AnyOutput | None = None
    rejected: AnyRejected | None = None


class DeltaSinkSection(DeltaOutputSection):
    """``[sink]`` with ``kind = "delta"``: a row for each match.

    Attributes:
        timed_out, rejected: see `SinkSection`.
    """

    timed_out: AnyOutput | None = None
    rejected: AnyRejected | None = None


AnySink: TypeAlias = Annotated[
    Annotated[SinkSection, Tag("files")]
    | Annotated[KafkaSinkSection, Tag("kafka")]
    | Annotated[DeltaSinkSection, Tag("delta")],
    _KIND,
]
