"""``cepheid check`` and ``cepheid explain``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cepheid.cli.infer import inferred
from cepheid.cli.query_files import with_sources
from cepheid.cli.schema_file import read_schema, serves
from cepheid.cli.show import show_warnings, told, watching
from cepheid.connectors.writing import write_text
from cepheid.errors import NotSupportedError
from cepheid.job.load import Job, load
from cepheid.job.no_matches import why_none
from cepheid.job.parameters import parameters_of, values_for
from cepheid.job.run import read
from cepheid.job.stream_schema import declared_schema
from cepheid.job.streaming import require_possible
from cepheid.language.bound import BoundQuery
from cepheid.language.check import check
from cepheid.language.parameters import with_parameters
from cepheid.plan.build import build
from cepheid.plan.draw import to_mermaid, to_svg, to_text
from cepheid.plan.explain import explain
from cepheid.query import Query

_BESIDE = "schemas.toml"


@dataclass(frozen=True)
class _Inspected:
    """A query bound to a schema.

    Attributes:
        bound: the query.
        assumed: what was assumed of its columns, where there was no schema; else empty.
        warnings: what is odd about the job.
        is_job: it came from a job, with its data.
    """

    bound: BoundQuery
    assumed: Sequence[str]
    warnings: Sequence[str]
    is_job: bool


def check_path(path: Path, schema: Path | None) -> None:
    """Check the query or job in ``path``; says whether it is fine, and on standard error what is odd."""
    inspected = _inspect(path, schema)
    bound = inspected.bound
    warnings = [*inspected.warnings, *(warning.render(bound.text) for warning in check(bound))]
    try:
        _require_runs(bound)
    except NotSupportedError as error:
        if inspected.is_job:
            raise
        warnings.append(f"{error.message}; the query is well formed all the same")
    print(f"{path}: fine")
    for name, dtype in bound.parameters.items():
        print(f"  parameter :{name} is of the type {dtype}")
    _tell_assumed(inspected.assumed)
    show_warnings(warnings)


def explain_path(path: Path, schema: Path | None, *, svg: Path | None, mermaid: bool, evaluation: str) -> None:
    """Show the query or job in ``path`` on standard output, or draw it into the file ``svg``."""
    inspected = _inspect(path, schema)
    explanation = explain(inspected.bound, evaluation)
    if svg is not None:
        write_text(to_svg(explanation), svg)
        told().print(f"drawn into {svg}", markup=False)
    elif mermaid:
        sys.stdout.write(to_mermaid(explanation))
    else:
        width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
        sys.stdout.write(to_text(explanation, width=width))
    _tell_assumed(inspected.assumed)


def _inspect(path: Path, schema: Path | None) -> _Inspected:
    if path.suffix == ".toml":
        return _inspect_job(path)
    query = Query.from_file(path)
    sources = with_sources(query, path)
    others = {name: other for name, (other, _) in sources.items()}
    # What reads events: the query itself, or the last one of FROM.
    reader, reader_path = [(query, path), *sources.values()][-1]
    # A folder of queries has one file of schemas, in it or above it.
    beside = (p for p in (path.parent / _BESIDE, path.parent.parent / _BESIDE) if serves(p, reader_path))
    schema = schema or next(beside, None)
    if schema is not None:
        known, catalog = read_schema(schema, reader_path)
        return _Inspected(query.bind(known, replace(catalog, queries=others)), (), (), is_job=False)
    known, catalog, assumed = inferred(reader.tree, *(q.tree for q in (query, *others.values()) if q is not reader))
    return _Inspected(query.bind(known, replace(catalog, queries=others)), assumed, (), is_job=False)


def _require_runs(bound: BoundQuery) -> None:
    """Make the automata of a query, and of those that its events come from: what has none cannot run."""
    for one in bound.chain[::-1]:
        build(one)


def _inspect_job(path: Path) -> _Inspected:
    job = load(path)
    if job.model.stream is not None:
        return _inspect_stream(job)
    with watching() as progress:
        events, bound = read(job, progress)
    more = {name: job.named[name].bind(events.schema, job.catalog) for name in job.sinks}
    both = replace(bound, parameters={**parameters_of(more), **bound.parameters})
    values = values_for(job, both)
    missing = [name for name in both.parameters if name not in values]
    warnings = [f"the job has no value for :{name}: give it as --param {name}=VALUE" for name in missing]
    if not missing:
        for one in (bound, *more.values()):
            with_parameters(one, {name: values[name] for name in one.parameters})
        for query, one in ((job.query, bound), *((job.named[name], more[name]) for name in more)):
            told = [warning.message for warning in check(one)]
            reasons = why_none(job, query, events.tables, events.schema, values)
            warnings += [reason for reason in reasons if not any(message in reason for message in told)]
    for name, one in more.items():
        _require_runs(one)
        warnings += [f"[queries.{name}] {warning.render(one.text)}" for warning in check(one)]
    return _Inspected(bound, (), warnings, is_job=True)


def _inspect_stream(job: Job) -> _Inspected:
    """A streaming job, against the events that it declares: none is read."""
    require_possible(job)
    schema = declared_schema(job)
    bound = job.query.bind(schema, job.catalog)
    more = {name: job.named[name].bind(schema, job.catalog) for name in job.sinks}
    both = replace(bound, parameters={**parameters_of(more), **bound.parameters})
    values = values_for(job, both)
    missing = [name for name in both.parameters if name not in values]
    warnings = [f"the job has no value for :{name}: give it as --param {name}=VALUE" for name in missing]
    if not missing:
        for one in (bound, *more.values()):
            with_parameters(one, {name: values[name] for name in one.parameters})
    check(bound, stream=True)  # what would keep more and more is refused
    for name, one in more.items():
        _require_runs(one)
        warnings += [f"[queries.{name}] {warning.render(one.text)}" for warning in check(one, stream=True)]
    return _Inspected(bound, (), warnings, is_job=True)


def _tell_assumed(assumed: Sequence[str]) -> None:
    if assumed:
        told().print(f"no schema was given (--schema); assumed from the query: {', '.join(assumed)}", style="dim")
