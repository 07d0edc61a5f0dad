"""What a job file may say of streams: sources and sinks that are no files, and how the job runs."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from cepheid.job.section import Length, Name, Names, Option, Section, TimeUnit, TypeName, length_us

Port: TypeAlias = Annotated[int, Field(ge=1, le=65535)]
Texts: TypeAlias = Literal["json", "text"]


def _trigger(value: str) -> str:
    if value not in ("available now", "as it comes"):
        try:
            length_us(value)
        except ValueError:
            raise ValueError(
                f'{value!r} says nothing of when batches begin; write a length of time ("5 s"), "as it comes", '
                'or "available now"'
            ) from None
    return value


class _TextSourceSection(Section):
    """A source of texts.

    Attributes:
        format: of a text: an object in JSON, or ``text``, which is one column called ``value``.
        time: the column of event time.
        time_unit: what its numbers count since 1970; ISO 8601 texts where it is not given.
        type: the column of the event type.
        event: the type of all events of this source.
        columns: field -> its type; the fields that are read. The time and type columns are read, too.
    """

    format: Texts = "json"
    time: Name
    time_unit: TimeUnit | None = None
    type: Name | None = None
    event: Name | None = None
    columns: dict[Name, TypeName] = {}

    @model_validator(mode="after")
    def _fields(self) -> _TextSourceSection:
        if self.type is not None and self.event is not None:
            raise ValueError("type names a column and event one type for all rows; leave one out")
        if self.format == "text" and self.columns:
            raise ValueError('columns are fields of JSON, and the format is "text"; leave one of them out')
        return self


class KafkaSourceSection(_TextSourceSection):
    """``[source]`` with ``kind = "kafka"``: the records of topics.

    Attributes:
        servers: ``host:port``, several with commas between; ``${NAME}`` is an environment variable.
        topics: one name, or a list.
        starting: where a job without a checkpoint begins.
        key: a column for the key of records, as text.
        headers: header -> a column for its value, as text.
        options: further settings of Spark's source and, behind ``kafka.``, of its clients.
        order: the columns that order events of equal time; topic, partition and offset where there are none.
    """

    kind: Literal["kafka"]
    servers: Name
    topics: Names
    starting: Literal["earliest", "latest"] = "earliest"
    key: Name | None = None
    headers: dict[Name, Name] = {}
    options: dict[Name, Option] = {}
    order: list[Name] = []


class DeltaSourceSection(Section):
    """``[source]`` with ``kind = "delta"``: the rows of a Delta table, those that are there and those that come.

    Attributes:
        path: of the table; relative to the folder of the job file.
        time: the column of event time.
        time_unit: what its numbers count since 1970.
        type: the column of the event type.
        event: the type of all events of this source.
        columns: column -> its type, of those that the query reads; the time and type columns are read, too.
        options: further settings of Delta's source.
        order: the columns that order events of equal time.
    """

    kind: Literal["delta"]
    path: Name
    time: Name
    time_unit: TimeUnit | None = None
    type: Name | None = None
    event: Name | None = None
    columns: dict[Name, TypeName] = {}
    options: dict[Name, Option] = {}
    order: list[Name] = []

    @model_validator(mode="after")
    def _one_way_of_telling(self) -> DeltaSourceSection:
        if self.type is not None and self.event is not None:
            raise ValueError("type names a column and event one type for all rows; leave one out")
        return self


class SocketSourceSection(_TextSourceSection):
    """``[source]`` with ``kind = "socket"``: lines of text from a port, for trying things out.

    What was read before a failure is gone: Spark reads it only once.
    """

    kind: Literal["socket"]
    host: Name = "localhost"
    port: Port
    order: list[Name] = []


class RateSourceSection(Section):
    """``[source]`` with ``kind = "rate"``: events with a number (``value``, from 0) and a time (``timestamp``)."""

    kind: Literal["rate"]
    rows_per_s: Annotated[int, Field(ge=1)] = 1
    event: Name | None = None

    @property
    def time(self) -> str:
        """The column of event time."""
        return "timestamp"

    @property
    def time_unit(self) -> None:
        """It holds times."""
        return None

    @property
    def type(self) -> None:
        """No column names a type."""
        return None

    @property
    def order(self) -> list[str]:
        """The columns that order events of equal time."""
        return ["value"]


class KafkaOutputSection(Section):
    """An output of a stream with ``kind = "kafka"``: a record for each row, a JSON object of its columns.

    Attributes:
        servers, options: as those of the source.
        topic: it exists.
        key: the column that is the key of the records. Without it, ``match_id`` of matches; of other rows a hash of
            their columns, so that one that comes twice has the same key.
        headers: header -> its value, the same for all records.
    """

    kind: Literal["kafka"]
    servers: Name
    topic: Name
    key: Name | None = None
    headers: dict[Name, str] = {}
    options: dict[Name, Option] = {}


class KafkaRejectedSection(KafkaOutputSection):
    """``[rejected]`` with ``kind = "kafka"``.

    Attributes:
        null_keys: also for events with NULL in SAME, which are in no partition.
    """

    null_keys: bool = False


class DeltaOutputSection(Section):
    """An output of a stream with ``kind = "delta"``: its rows in a Delta table, each once.

    Attributes:
        path: of the table, which is made with the first rows; relative to the folder of the job file.
    """

    kind: Literal["delta"]
    path: Name


class StreamSection(Section):
    """``[stream]``: the job goes on with what comes.

    Attributes:
        checkpoint: the folder in which Spark keeps how far the job is, and what its queries hold.
        watermark: how much later than newer ones an event may come and still be on time; where there is a section
            ``[slack]``, that says it.
        trigger: when batches begin: as soon as the one before is done (``as it comes``), every so often (``5 s``), or
            once with all that is there (``available now``), whereupon the job ends.
        idle_flush: after so long without events the watermark goes on with the wall clock.
        metrics_port: where Prometheus finds the figures of the job.
    """

    checkpoint: Name
    watermark: Length | None = None
    trigger: Annotated[str, AfterValidator(_trigger)] = "as it comes"
    idle_flush: Length | None = None
    metrics_port: Port | None = None
