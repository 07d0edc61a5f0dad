"""A job from its files to its files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.connectors.column_types import column_type
from cepheid.connectors.files import FileSource, FileTable, read_files
from cepheid.connectors.locations import is_listed, real_path
from cepheid.connectors.places import places
from cepheid.connectors.rejected import REJECTED_SCHEMA
from cepheid.connectors.writing import check_writable, writing
from cepheid.errors import DataError, JobError, QueryError, SchemaError
from cepheid.events.ingest import schema_of
from cepheid.events.merge import read_tables
from cepheid.events.schema import Schema
from cepheid.job.columns import columns_of_all
from cepheid.job.engines import Found, match_local, match_spark
from cepheid.job.load import Job
from cepheid.job.model import SourceSection, policy_sections
from cepheid.job.no_matches import why_none
from cepheid.job.parameters import parameters_of, require_all, values_for
from cepheid.job.report import Report, Step
from cepheid.language.bound import BoundQuery

Progress = Callable[[Step], None]


@dataclass(frozen=True)
class Events:
    """The events of a job.

    Attributes:
        tables: the event type of each source that names one, else None -> its table.
        schema: of all of them.
        rejected: rows that could not be read, as `REJECTED_SCHEMA` says.
        n_bytes: read, after unpacking.
        files: what each source is, and what was read of it.
    """

    tables: Mapping[str | None, Any]
    schema: Schema
    rejected: Any
    n_bytes: int
    files: Sequence[tuple[FileSource, FileTable]]

    @property
    def n_rows(self) -> int:
        """Rows of all tables."""
        return sum(len(table) for table in self.tables.values())


def read(job: Job, progress: Progress | None = None, n_events: int | None = None) -> tuple[Events, BoundQuery]:
    """The events of a job, and its query bound to them.

    Args:
        job: whose sources are read; only the columns that its query needs.
        progress: is told of each file.
        n_events: read only so many rows of each source; None for all.

    Raises:
        SetupError, DataError, SchemaError: the files cannot be read.
        QueryError: the query does not fit them.
        JobError: the engine of the job cannot do what it asks for.
    """
    job.require_engine()
    needed = columns_of_all(query.tree for query in (job.query, *job.named.values()))
    if needed is not None and (slack := job.model.slack) is not None:
        needed = needed | {slack.received} | ({slack.per} if slack.per else set())
        needed = None if job.model.late is not None else needed  # late events come with all columns
    if job.model.timed_out_file is not None:
        needed = None  # what timed out comes with all columns of its events
    events = _events(job, needed, progress, n_events)
    try:
        return events, job.query.bind(events.schema, job.catalog)
    except QueryError:
        if needed is None:
            raise
        # The remedy names the columns there are: it must know those that were not needed, too.
        whole = _events(job, None, None, n_events)
        return whole, job.query.bind(whole.schema, job.catalog)


def run(
    job: Job,
    progress: Progress | None = None,
    *,
    parameters: Mapping[str, str] | None = None,
    n_events: int | None = None,
    limit: int | None = None,
) -> Report:
    """Run a job: read, match, write.

    Args:
        job: from `cepheid.job.load.load`.
        progress: is called whenever a step begins.
        parameters: values for parameters of the query, as texts; they go before those of the job file.
        n_events: read only the first so many rows of each source; None for all.
        limit: write (or show) only the first so many matches; None for all.

    Raises:
        CepheidError: whatever keeps the job from being done. Files that were there before are then still there.
    """
    job.require_engine()  # before the sinks, whose check makes folders
    _check_sinks(job)
    began = time.perf_counter()
    events, bound = read(job, progress, n_events)
    others = list(job.sinks)
    more = parameters_of({name: job.named[name].bind(events.schema, job.catalog) for name in others})
    bound = replace(bound, parameters={**more, **bound.parameters})
    values = values_for(job, bound, parameters)
    require_all(bound, values)
    read_s = time.perf_counter() - began

    _tell(progress, Step("match", f"{events.n_rows:,} events"))
    began = time.perf_counter()
    timed_out = job.model.timed_out_file is not None
    if job.model.runs_on == "spark":
        found = match_spark(
            events.tables,
            job.query,
            events.schema,
            values,
            named=job.named,
            others=others,
            timed_out=timed_out,
            settings=job.model.settings.settings,
            slack=job.model.slack,
        )
    else:
        null_keys = job.model.rejected_events is not None and job.model.rejected_events.null_keys
        found = match_local(
            events.tables,
            job.query,
            events.schema,
            values,
            null_keys=null_keys,
            named=job.named,
            others=others,
            timed_out=timed_out,
            settings=job.model.settings.settings,
            slack=job.model.slack,
        )
    match_s = time.perf_counter() - began

    began = time.perf_counter()
    matches = found.matches if limit is None else found.matches.slice(0, limit)
    rejected = pa.concat_tables([events.rejected, _placed(found, events)])
    more_matches = {name: table if limit is None else table.slice(0, limit) for name, table in found.others.items()}
    sink, rejected_sink, timed_out_sink, late_sink, _, _, *more_sinks = _write(
        job, matches, rejected, found, more_matches, progress
    )
    return Report(
        n_events=events.n_rows - len(found.rejected),
        n_matches=found.n_matches,
        n_rejected=len(rejected),
        n_null_key=found.n_null_key,
        n_bytes=events.n_bytes,
        read_s=read_s,
        match_s=match_s,
        write_s=time.perf_counter() - began,
        matches=matches,
        rejected=rejected,
        engine=job.model.runs_on,
        sink=sink,
        rejected_sink=rejected_sink,
        timed_out_sink=timed_out_sink,
        n_timed_out=None if found.timed_out is None else len(found.timed_out),
        n_late=None if found.late is None else len(found.late),
        late_sink=late_sink,
        slack_report=found.slack_report,
        decisions=found.decisions,
        warnings=(
            *_warnings(events, found, rejected, rejected_sink),
            *_why_none(job, events, values, found),
        ),
        others={
            name: (path, len(found.others[name]))
            for name, path in zip(others, more_sinks, strict=True)
            if path is not None
        },
    )


def _tell(progress: Progress | None, step: Step) -> None:
    if progress is not None:
        progress(step)


def _check_sinks(job: Job) -> None:
    """A file that cannot or must not be written is told before the work, not after it."""
    taken: dict[Path, str] = {}
    more = [(f"queries.{name}", section) for name, section in job.sinks.items()]
    model = job.model
    rejected = "rejected" if model.sink.rejected is None else "sink.rejected"
    own = (
        ("sink", model.file_sink),
        (rejected, model.rejected_events),
        ("sink.timed_out", model.timed_out_file),
        ("late", model.late_file),
        *((f"slack, {name}", section) for name, section in policy_sections(model).items()),
    )
    for name, section in (*own, *more):
        if section is None or section.path is None:
            continue
        path = job.path_of(section.path)
        check_writable(path)
        for source in job.model.file_sources:
            for read in job.paths_of(source):
                if is_listed(path, read):
                    raise JobError(
                        f"[{name}] would write {path} into what [source] reads: {read}",
                        remedy="give it a path of its own: events are never written over, nor matches read as events",
                        origin=job.origin,
                    )
        real = real_path(path)
        if real in job.reads:
            raise JobError(
                f"[{name}] would write over {path}, which the job is made of",
                remedy="give it a path of its own",
                origin=job.origin,
            )
        if real in taken:
            raise JobError(
                f"[{name}] and [{taken[real]}] both write {path}",
                remedy="give each a path of its own",
                origin=job.origin,
            )
        taken[real] = name


def _events(job: Job, needed: set[str] | None, progress: Progress | None, n_events: int | None) -> Events:
    tables: dict[str | None, Any] = {}
    rejected = [REJECTED_SCHEMA.empty_table()]
    files: list[tuple[FileSource, FileTable]] = []
    n_bytes = 0
    for section in job.model.file_sources:
        only = None if needed is None else needed | {*section.order} | ({section.type} if section.type else set())

        def told(path: Path, number: int, total: int) -> None:
            _tell(progress, Step("read", path.name, number, total))

        source = _file_source(job, section)
        found = read_files(source, only, told)
        files.append((source, found))
        tables[section.event] = found.table if n_events is None else found.table.slice(0, n_events)
        rejected.append(found.rejected)
        n_bytes += found.n_bytes
    try:
        schema = _schema(job, tables)
    except SchemaError as error:
        raise _without_rows(job, tables, pa.concat_tables(rejected)) or error from None
    return Events(tables, schema, pa.concat_tables(rejected), n_bytes, files)


def _without_rows(job: Job, tables: Mapping[str | None, Any], rejected: Any) -> DataError | None:
    """What there is to say if a column is missed because there are no rows; None if there are some."""
    if any(len(table) for table in tables.values()):
        return None
    sources = ", ".join(path for section in job.model.file_sources for path in section.path)
    if not len(rejected):
        return DataError(
            f"{sources}: no event is in it, nor a header that names columns", remedy="is it the right file, and whole?"
        )
    first = rejected.slice(0, 1).to_pylist()[0]
    return DataError(
        f"{sources}: none of its {len(rejected)} rows can be read; {_place_of(first)}: {first['reason']}",
        remedy="JSON lines have one object on each line; correct the file, or its format",
    )


def _place_of(rejected: Mapping[str, Any]) -> str:
    return f"{rejected['file']}, line {rejected['line']}" if rejected["line"] else str(rejected["file"])


def _placed(found: Found, events: Events) -> Any:
    """The rejected events of an engine with the files and lines that they come from."""
    rows = found.rejected_rows
    at: dict[int, tuple[str, int | None]] = {}
    n_before = 0
    for (source, read), table in zip(events.files, events.tables.values(), strict=True):
        here = [row for row in rows if n_before <= row < n_before + len(table)]
        at.update(zip(here, places(source, read, [row - n_before for row in here]), strict=True))
        n_before += len(table)
    columns = {name: found.rejected[name] for name in REJECTED_SCHEMA.names}
    columns["file"] = pa.array([at[row][0] for row in rows], pa.string())
    columns["line"] = pa.array([at[row][1] for row in rows], pa.int64())
    return pa.table(columns, schema=REJECTED_SCHEMA)


def _file_source(job: Job, section: SourceSection) -> FileSource:
    return FileSource(
        paths=job.paths_of(section),
        format=section.format,
        columns={name: column_type(kind) for name, kind in section.columns.items()},
        time=section.time,
        time_unit=section.time_unit,
        time_format=section.time_format,
        csv=section.csv.options,
    )


def _schema(job: Job, tables: Mapping[str | None, Any]) -> Schema:
    first = job.model.file_sources[0]
    if None in tables:
        return schema_of(
            tables[None], time=first.time, time_unit=first.time_unit, type=first.type, order=tuple(first.order)
        )
    named = {name: table for name, table in tables.items() if name is not None}
    return read_tables(named, time=first.time, time_unit=first.time_unit, order=tuple(first.order))[1]


def _write(
    job: Job, matches: Any, rejected: Any, found: Found, others: Mapping[str, Any], progress: Progress | None
) -> list[Path | None]:
    """The files of all, or of none where one of them cannot be written."""
    paths: list[Path | None] = []
    more = [(job.sinks[name], table) for name, table in others.items()]
    with ExitStack() as files:
        model = job.model
        report = found.slack_report
        told = {} if report is None else {"closed": report.decisions, "fitted": report.fitted}
        own = (
            (model.file_sink, matches),
            (model.rejected_events, rejected),
            (model.timed_out_file, found.timed_out),
            (model.late_file, found.late),
            *((section, told.get(name)) for name, section in policy_sections(model).items()),
        )
        for section, table in (*own, *more):
            if section is None or section.path is None:
                paths.append(None)
                continue
            path = job.path_of(section.path)
            _tell(progress, Step("write", path.name))
            files.enter_context(writing(table, path, section.format))
            paths.append(path)
    return paths


def _warnings(events: Events, found: Found, rejected: Any, rejected_sink: Path | None) -> tuple[str, ...]:
    warnings = []
    if len(rejected) and events.n_rows == len(found.rejected):
        first = rejected.slice(0, 1).to_pylist()[0]
        warnings.append(f"every row was rejected; the first because: {first['reason']} ({_place_of(first)})")
    elif len(rejected) and rejected_sink is None:
        warnings.append('rejected rows are only counted; to see them add [rejected] with path = "rejected.csv"')
    return tuple(warnings)


def _why_none(job: Job, events: Events, values: Mapping[str, object], found: Found) -> Iterator[str]:
    """Why queries that found nothing could not, for those of which that is known."""
    if not found.n_matches:
        yield from why_none(job, job.query, events.tables, events.schema, values)
    for name, matches in found.others.items():
        if not len(matches):
            yield from why_none(job, job.named[name], events.tables, events.schema, values)
