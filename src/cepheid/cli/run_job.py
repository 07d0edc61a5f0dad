"""``cepheid run``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cepheid.cli.show import show_matches, show_report, show_warnings, told, watching
from cepheid.errors import JobError
from cepheid.job.load import Job, load
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
    if job.model.stream is not None:
        _run_stream(job, parameters, has_bounds=limit is not None or n_events is not None)
        return
    with watching() as progress:
        report = run(job, progress, parameters=parameters, n_events=n_events, limit=limit)
    if report.sink is None:
        n_rows = job.model.file_sink.rows if limit is None else limit
        show_matches(report.matches, report.n_matches, n_rows)
    show_report(report)


def _run_stream(job: Job, parameters: Mapping[str, str], *, has_bounds: bool) -> None:
    from cepheid.job.streaming import run_stream

    if has_bounds:
        raise JobError(
            "--limit and --events are for jobs that end, and this one is a stream",
            remedy='leave them out; trigger = "available now" under [stream] ends when all that is there has been read',
            origin=job.origin,
        )
    console = told()

    def say(line: str) -> None:
        console.print(line, markup=False)

    report = run_stream(job, say, lambda warning: show_warnings([warning]), parameters=parameters)
    totals = report.totals
    say(
        f"{'stopped' if report.stopped else 'done'} after {totals.n_batches:,} batches: {totals.n_events:,} events, "
        f"{totals.n_matches:,} matches, {totals.n_late:,} late, {totals.n_rejected:,} rejected"
        + ("" if totals.last_batch is None else f"; the last batch was {totals.last_batch}")
    )
