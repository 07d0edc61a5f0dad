"""The outputs of a streaming job: what is asked of its queries, and what writes each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cepheid.connectors.locations import is_listed, real_path
from cepheid.engine.outputs import CLOSED, FITTED, HELD, LATE, MATCHES, PLANS, REJECTED, SLACK, TIMED_OUT
from cepheid.errors import JobError
from cepheid.job.engines import MAIN
from cepheid.job.load import Job
from cepheid.job.model import policy_sections
from cepheid.job.output_model import RejectedSection
from cepheid.job.stream_model import KafkaRejectedSection
from cepheid.job.stream_sinks import FolderWriter, RowOutput, Writer, match_writer, row_writer
from cepheid.plan.evaluation import ADAPTIVE
from cepheid.query import Query, QuerySet


@dataclass(frozen=True)
class Asked:
    """What a streaming job runs.

    Attributes:
        query: its query, or a set of it (`MAIN`) and those whose own matches are wanted.
        rest: queries that only stand behind FROM.
        outputs: those that are asked for.
    """

    query: Query | QuerySet
    rest: Mapping[str, Query]
    outputs: tuple[str, ...]

    @property
    def matches(self) -> tuple[str, ...]:
        """The outputs of matches, that of the job's own query first."""
        return tuple(self.query) if isinstance(self.query, QuerySet) else (MATCHES,)

    @property
    def timed_out(self) -> str:
        """The output of what timed out of the job's own query."""
        return f"{MAIN}.{TIMED_OUT}" if isinstance(self.query, QuerySet) else TIMED_OUT


def asked_of(job: Job) -> Asked:
    """What a streaming job runs."""
    model = job.model
    outputs = [MATCHES, HELD]
    if model.late is not None:
        outputs.append(LATE)
    if model.sink.timed_out is not None:
        outputs.append(TIMED_OUT)
    if _shows_null_keys(job):
        outputs.append(REJECTED)
    if model.slack is not None:
        outputs += [SLACK, *(name for name, section in policy_sections(model).items() if section is not None)]
    if model.settings.settings.evaluation == ADAPTIVE:
        outputs.append(PLANS)
    own = replace(job.query, identified=True)
    if not job.sinks:
        return Asked(own, job.named, tuple(outputs))
    several = {MAIN: own, **{name: replace(job.named[name], identified=True) for name in job.sinks}}
    rest = {name: query for name, query in job.named.items() if name not in several}
    return Asked(QuerySet(several), rest, tuple(outputs))


def writers_of(job: Job, asked: Asked, columns: Mapping[str, Collection[str]]) -> dict[str, Writer]:
    """What writes each output of a streaming job.

    Args:
        job: streaming.
        asked: what it runs.
        columns: output -> its columns; that of what could not be read is called ``unread``.

    Raises:
        JobError: the key of records is no column; two outputs would write one place, or one what is read.
    """
    require_places(job)
    model = job.model
    main, *others = asked.matches
    writers = {main: match_writer(job, model.sink, list(columns[main]), "sink")}
    for name in others:
        section = job.sinks[name].output
        assert section is not None
        writers[name] = match_writer(job, section, list(columns[name]), "queries", name, "sink")
    if model.late is not None:
        writers[LATE] = row_writer(job, model.late, list(columns[LATE]), "late")
    if model.sink.timed_out is not None:
        left = model.sink.timed_out
        writers[asked.timed_out] = row_writer(job, left, list(columns[asked.timed_out]), "sink", "timed_out")
    rejected = model.rejected_output
    if rejected is not None:
        place = ("rejected",) if model.rejected is not None else ("sink", "rejected")
        writers["unread"] = row_writer(job, rejected, list(columns["unread"]), *place)
        if _shows_null_keys(job):
            if isinstance(rejected, RejectedSection):
                writers[REJECTED] = FolderWriter(job.path_of(rejected.path) / "null_keys", rejected.format or "jsonl")
            else:
                writers[REJECTED] = row_writer(job, rejected, list(columns[REJECTED]), *place)
    for name, section in policy_sections(model).items():
        if section is not None:
            writers[name] = FolderWriter(job.path_of(section.path), "jsonl")
    return writers


def require_places(job: Job) -> None:
    """Refuse outputs that would write one place, or what is read.

    Raises:
        JobError: they would.
    """
    model = job.model
    rejected = ("rejected",) if model.rejected is not None else ("sink", "rejected")
    sections: list[tuple[tuple[str, ...], Any]] = [
        (("sink",), model.sink),
        (("sink", "timed_out"), model.sink.timed_out),
        (rejected, model.rejected_output),
        (("late",), model.late),
        (("slack", "decisions"), policy_sections(model)[CLOSED]),
        (("slack", "fitted"), policy_sections(model)[FITTED]),
        *((("queries", name), section.output) for name, section in job.sinks.items()),
    ]
    taken: dict[object, str] = {}
    for place, section in sections:
        if section is None or (where := _where(job, section)) is None:
            continue
        name = ".".join(place)
        if where in taken:
            what = where if isinstance(where, Path) else f"the topic {section.topic}"
            raise _refused(job, place, f"[{name}] and [{taken[where]}] both write {what}")
        taken[where] = name
        if isinstance(where, Path):
            for source in model.file_sources:
                if any(is_listed(where / "batch-00000000.jsonl", read) for read in job.paths_of(source)):
                    raise _refused(job, place, f"[{name}] would write {where} into what [source] reads")


def _where(job: Job, section: Any) -> object | None:
    """The place that an output is written to; None for standard output."""
    if section.kind == "kafka":
        return (job.text_of(section.servers), section.topic)
    return None if section.path is None else real_path(job.path_of(section.path))


def _refused(job: Job, place: tuple[str, ...], problem: str) -> JobError:
    span = job.place(*place, "path") or job.place(*place)
    return JobError(
        problem,
        remedy="give each output a place of its own",
        text=job.text if span else None,
        span=span,
        origin=job.origin,
    )


def _shows_null_keys(job: Job) -> bool:
    rejected: RowOutput | None = job.model.rejected_output
    return isinstance(rejected, (RejectedSection, KafkaRejectedSection)) and rejected.null_keys
