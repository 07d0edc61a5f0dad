"""What a job file may say, key by key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from cepheid.connectors.csv_files import CsvOptions, is_text_encoding
from cepheid.engine.settings import MAX_PARTIAL_MATCHES, OnCap, Settings
from cepheid.job.output_model import (
    AnyOutput,
    AnyRejected,
    AnySink,
    FileOutputSection,
    Format,
    RejectedSection,
    SinkSection,
    kind_of,
    require_path,
)
from cepheid.job.section import INT64_MAX, Name, Names, Option, Section, TimeUnit, TypeName, as_list
from cepheid.job.slack_section import SlackSection
from cepheid.job.stream_model import (
    DeltaOutputSection,
    DeltaSourceSection,
    KafkaOutputSection,
    KafkaSourceSection,
    RateSourceSection,
    SocketSourceSection,
    StreamSection,
)
from cepheid.plan.evaluation import EAGER


def _one_character(value: str) -> str:
    if len(value) != 1 or not value.isascii():
        raise ValueError("it must be one ASCII character")
    if value in "\0\r\n":
        raise ValueError("it cannot be a zero byte or the end of a line")
    return value


def _encoding(value: str) -> str:
    if not is_text_encoding(value):
        raise ValueError(f"there is no encoding {value!r} of text; use a name such as utf-8 or latin-1")
    return value


class CsvSection(Section):
    """``[source.csv]``: how CSV files are written.

    Attributes:
        delimiter, quote: one character each.
        header: the first row names the columns.
        names: of the columns, where it does not.
        null: what a value that is not there looks like.
        encoding: as Python knows it.
    """

    delimiter: Annotated[str, AfterValidator(_one_character)] = ","
    quote: Annotated[str, AfterValidator(_one_character)] = '"'
    header: bool = True
    names: list[Name] = []
    null: list[str] = [""]
    encoding: Annotated[str, AfterValidator(_encoding)] = "utf-8"

    @property
    def options(self) -> CsvOptions:
        """The same for who reads them."""
        names, null = tuple(self.names), tuple(self.null)
        return CsvOptions(self.delimiter, self.quote, self.header, names, null, self.encoding)

    @model_validator(mode="after")
    def _names_without_header(self) -> CsvSection:
        if self.header and self.names:
            raise ValueError("names are given although the files have a header; leave them out, or say header = false")
        return self


class SourceSection(Section):
    """``[source]`` of files, or one ``[[source]]`` for each type of events that has files of its own.

    Attributes:
        kind: what is read; other kinds are `cepheid.job.stream_model`.
        path: a file, a folder or a glob, or a list of them; relative to the folder of the job file. ``${NAME}`` is an
            environment variable, ``package:NAME/path`` a file of an installed Python package.
        format: of the files; by their names where it is not given.
        time: the column of event time.
        time_unit: what its numbers count since 1970: us, ms, s, min, h or d. Also the unit of a bare number in a
            window.
        time_format: how its texts are written where they are not ISO 8601: a strptime pattern; %z is an offset, %Z
            one of Z, UTC and GMT.
        type: the column of the event type.
        event: the type of all events of this source, where there are several sources.
        order: the columns that order events of equal time; by file and row where there are none.
        columns: column -> its type: int, float, text, bool, timestamp, ``decimal(p, s)``. Rows with a value of
            another type are rejected.
        csv: how CSV files are written.
    """

    kind: Literal["files"] = "files"
    path: Names
    format: Format | None = None
    time: Name
    time_unit: TimeUnit | None = None
    time_format: Name | None = None
    type: Name | None = None
    event: Name | None = None
    order: list[Name] = []
    columns: dict[Name, TypeName] = {}
    csv: CsvSection = CsvSection()

    @model_validator(mode="after")
    def _one_way_of_telling(self) -> SourceSection:
        if self.time_unit is not None and self.time_format is not None:
            raise ValueError("time_unit is for times that are numbers and time_format for texts; leave one out")
        if self.type is not None and self.event is not None:
            raise ValueError("type names a column and event one type for all rows; leave one out")
        return self


class QuerySection(Section):
    """``[query]``: the query itself, or the file that holds it."""

    text: Name | None = None
    file: Name | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> QuerySection:
        if (self.text is None) == (self.file is None):
            raise ValueError('give the query as text = """...""" or as file = "name.cep", one of the two')
        return self


class NamedQuerySection(QuerySection):
    """``[queries.NAME]``: a query that others may be FROM, and whose own matches may be wanted, too.

    Attributes:
        path: where its matches go, in the same pass as those of ``[query]``; it is not run for itself without one.
        format: by the name of the file where it is not given.
        sink: the same for streams, where it may be a topic or a Delta table.
    """

    path: Name | None = None
    format: Format | None = None
    sink: AnyOutput | None = None

    @model_validator(mode="after")
    def _one_sink(self) -> NamedQuerySection:
        require_path(self.path, self.format)
        if self.path is not None and self.sink is not None:
            raise ValueError("path says where the matches go, and sink does, too; leave one of them out")
        return self

    @property
    def output(self) -> FileOutputSection | KafkaOutputSection | DeltaOutputSection | None:
        """Where its matches go; None where it is not run for itself."""
        return self.sink if self.path is None else FileOutputSection(path=self.path, format=self.format)


class SettingsSection(Section):
    """``[settings]``: how much each query may hold, as `cepheid.Settings`.

    Attributes:
        max_partial_matches: at once; on Spark, in each task.
        max_partial_matches_per_key: for each value of SAME.
        on_cap: what happens above that.
        evaluation: when the work is done.
    """

    max_partial_matches: Annotated[int, Field(ge=1, le=INT64_MAX)] = MAX_PARTIAL_MATCHES
    max_partial_matches_per_key: Annotated[int, Field(ge=1, le=INT64_MAX)] | None = None
    on_cap: OnCap = "error"
    evaluation: Annotated[str, Field(pattern="^(eager|lazy|adaptive|[^/]*/[^/]*)$")] = EAGER

    @property
    def settings(self) -> Settings:
        """The same for the engine."""
        return Settings(self.max_partial_matches, self.max_partial_matches_per_key, self.on_cap, self.evaluation)


AnySource: TypeAlias = Annotated[
    Annotated[SourceSection, Tag("files")]
    | Annotated[KafkaSourceSection, Tag("kafka")]
    | Annotated[RateSourceSection, Tag("rate")]
    | Annotated[SocketSourceSection, Tag("socket")]
    | Annotated[DeltaSourceSection, Tag("delta")],
    Discriminator(
        kind_of,
        custom_error_type="no_such_kind",
        custom_error_message='the kind is none that there is; use "files", "kafka", "delta", "rate" or "socket"',
    ),
]

KINDS = ("files", "kafka", "rate", "socket", "delta")


class JobFile(Section):
    """A job file; its keys are its attributes.

    Attributes:
        engine: what runs the job: this process, or Spark.
        source: one or more.
        query: what is looked for.
        queries: further queries by name, for FROM, or with files of their own.
        parameters: of the query, by name.
        sink: where matches go.
        rejected: where events go that cannot be read; they are only counted where it is not given.
        late: where events of a stream go that come too late; they are only counted where it is not given.
        settings: how much each query may hold.
        slack: which events come too late, by when they were received; without it, those that ``watermark`` says, and
            none of a job that is no stream.
        stream: how the job runs as a stream; it reads what is there and ends where it is not given.
        spark: settings of the Spark session.
    """

    engine: Literal["local", "spark"] | None = None
    source: Annotated[list[AnySource], BeforeValidator(as_list), Field(min_length=1)]
    query: QuerySection
    queries: dict[Name, NamedQuerySection] = {}
    parameters: dict[Name, object] = {}
    sink: AnySink = SinkSection()
    rejected: AnyRejected | None = None
    late: AnyOutput | None = None
    settings: SettingsSection = SettingsSection()
    slack: SlackSection | None = None
    stream: StreamSection | None = None
    spark: dict[Name, Option] = {}

    @property
    def runs_on(self) -> Literal["local", "spark"]:
        """The engine: that of the file, or Spark for a stream."""
        return self.engine or ("local" if self.stream is None else "spark")

    @property
    def file_sources(self) -> list[SourceSection]:
        """The sources that are files: all of them, unless the job is a stream."""
        return [source for source in self.source if isinstance(source, SourceSection)]

    @property
    def file_sink(self) -> SinkSection:
        """Where matches go, of a job that is no stream; of one that is, as far as it says so for files."""
        return self.sink if isinstance(self.sink, SinkSection) else SinkSection()

    @property
    def rejected_output(self) -> AnyRejected | None:
        """``[rejected]`` or ``[sink.rejected]``, whichever is given."""
        return self.rejected or self.sink.rejected

    @property
    def rejected_events(self) -> RejectedSection | None:
        """The same of a job that is no stream."""
        given = self.rejected_output
        return given if isinstance(given, RejectedSection) else None

    @property
    def late_file(self) -> FileOutputSection | None:
        """``[late]`` of a job that is no stream."""
        return self.late if isinstance(self.late, FileOutputSection) else None

    @property
    def timed_out_file(self) -> FileOutputSection | None:
        """``[sink.timed_out]`` of a job that is no stream."""
        left = self.sink.timed_out
        return left if isinstance(left, FileOutputSection) else None

    def _of_streams(self) -> Iterator[tuple[str, str]]:
        """Sections that only streams can have, and their kinds."""
        sections: list[tuple[str, Any]] = [("source", source) for source in self.source]
        sections += [("sink", self.sink), ("sink.timed_out", self.sink.timed_out), ("late", self.late)]
        sections.append(("rejected" if self.rejected is not None else "sink.rejected", self.rejected_output))
        for name, section in sections:
            if section is not None and section.kind != "files":
                yield f"{name}.kind {section.kind!r}", "say where files are"
        for name, query in self.queries.items():
            if query.sink is not None:
                yield f"queries.{name}.sink", f'write path = "..." under [queries.{name}]'

    @model_validator(mode="after")
    def _streams(self) -> JobFile:
        if self.stream is None:
            for what, instead in self._of_streams():
                raise ValueError(
                    f"{what} is for streams; add [stream] with a checkpoint and a watermark (and trigger = "
                    f'"available now" to end when all that is there has been read), or {instead}'
                )
            if self.late is not None and self.slack is None:
                raise ValueError(
                    "[late] is for streams, and this job is none; leave it out, or add [stream] or [slack]"
                )
            return self
        if (self.stream.watermark is None) == (self.slack is None):
            raise ValueError(
                '[stream] says nothing of how late events may be; add: watermark = "10 s", how much later than newer '
                "ones an event may come, or a section [slack]"
                if self.slack is None
                else "[stream] has a watermark, and [slack] says how late events may be, too; leave one out"
            )
        if self.engine == "local":
            raise ValueError('a stream runs on Spark; leave engine out, or say engine = "spark"')
        return self

    @model_validator(mode="after")
    def _sources_agree(self) -> JobFile:
        if self.rejected is not None and self.sink.rejected is not None:
            raise ValueError("[rejected] and [sink.rejected] are the same; leave one out")
        sources = self.source
        if len(sources) == 1:
            return self
        for number, source in enumerate(sources, start=1):
            if source.event is None:
                raise ValueError(f'source {number} of {len(sources)} must say which events it has: event = "Login"')
        events = [source.event for source in sources]
        twice = sorted({event for event in events if event and events.count(event) > 1})
        if twice:
            raise ValueError(f"two sources have the event {twice[0]!r}; give one source both paths")
        for key in ("time", "time_unit", "order"):
            values = [getattr(source, key) for source in sources]
            if any(value != values[0] for value in values):
                raise ValueError(f"all sources need the same {key}, which here is {values}")
        return self


def policy_sections(model: JobFile) -> dict[str, FileOutputSection | None]:
    """Where what a slack policy tells goes, as JSON lines, by the output; None for nowhere."""
    slack = model.slack
    paths = {"closed": None if slack is None else slack.decisions, "fitted": None if slack is None else slack.fitted}
    return {
        name: None if path is None else FileOutputSection(path=path, format="jsonl") for name, path in paths.items()
    }


LATER = {
    "stores": "remote stores (REMOTE store[key])",
    "policies": "policies",
}
"""Sections whose names are kept for what a job cannot do yet."""
