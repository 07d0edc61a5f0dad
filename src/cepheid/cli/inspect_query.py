"""``cepheid check`` and ``cepheid explain``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cepheid.cli.infer import inferred
from cepheid.cli.schema_file import read_schema, serves
from cepheid.cli.show import show_warnings, told, watching
from cepheid.connectors.writing import write_text
from cepheid.errors import NotSupportedError
from cepheid.job.load import load
from cepheid.job.parameters import parameter_values
from cepheid.job.run import read
from cepheid.language.bound import BoundQuery
from cepheid.language.check import check
from cepheid.language.parameters import with_parameters
from cepheid.plan.draw import to_mermaid, to_svg, to_text
from cepheid.plan.explain import explain
from cepheid.plan.supported import require_supported
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
        require_supported(bound)
    except NotSupportedError as error:
        if inspected.is_job:
            raise
        warnings.append(f"{error.message}; the query is well formed all the same")
    print(f"{path}: fine")
    for name, dtype in bound.parameters.items():
        print(f"  parameter :{name} is of the type {dtype}")
    _tell_assumed(inspected.assumed)
    show_warnings(warnings)


def explain_path(path: Path, schema: Path | None, *, svg: Path | None, mermaid: bool) -> None:
    """Show the query or job in ``path`` on standard output, or draw it into the file ``svg``."""
    inspected = _inspect(path, schema)
    explanation = explain(inspected.bound)
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
        job = load(path)
        with watching() as progress:
            _, bound = read(job, progress)
        values = parameter_values(bound, job.model.parameters)
        missing = [name for name in bound.parameters if name not in values]
        if not missing or any(name not in bound.parameters for name in values):
            with_parameters(bound, values)
        warnings = [f"the job has no value for :{name}: give it as --param {name}=VALUE" for name in missing]
        return _Inspected(bound, (), warnings, is_job=True)
    query = Query.from_file(path)
    # A folder of queries has one file of schemas, in it or above it.
    beside = (p for p in (path.parent / _BESIDE, path.parent.parent / _BESIDE) if serves(p, path))
    schema = schema or next(beside, None)
    if schema is not None:
        known, catalog = read_schema(schema, path)
        return _Inspected(query.bind(known, catalog), (), (), is_job=False)
    known, catalog, assumed = inferred(query.tree)
    return _Inspected(query.bind(known, catalog), assumed, (), is_job=False)


def _tell_assumed(assumed: Sequence[str]) -> None:
    if assumed:
        told().print(f"no schema was given (--schema); assumed from the query: {', '.join(assumed)}", style="dim")
