"""``cepheid run``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cepheid.cli.show import show_matches, show_report, watching
from cepheid.job.load import load
from cepheid.job.run import run


def run_job(
    path: Path,
    *,
    engine: str | None,
    query: Path | None,
    parameters: Mapping[str, str],
    limit: int | None,
    n_events: int | None,
) -> None:
    """Run the job in ``path``; see the command for the arguments."""
    job = load(path)
    if query is not None:
        job = job.with_query(query)
    if engine is not None:
        job = job.with_engine(engine)
    with watching() as progress:
        report = run(job, progress, parameters=parameters, n_events=n_events, limit=limit)
    if report.sink is None:
        n_rows = job.model.sink.rows if limit is None else limit
        show_matches(report.matches, report.n_matches, n_rows)
    show_report(report)
