"""Tables and reports on a terminal; plain lines where there is none."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from cepheid.connectors.writing import rows_of, write_json_lines
from cepheid.job.closed import Closed
from cepheid.job.report import Report, Step

_VERBS = {"read": "reading", "match": "matching", "write": "writing"}
N_CELL_MAX = 60


def told() -> Console:
    """The console for what is said about the work, which is not its result: standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def watching() -> Iterator[Any]:
    """Something to hand to `cepheid.job.run.run` as ``progress``: a line that moves on a terminal, else nothing."""
    console = told()
    if not console.is_terminal:
        yield None
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as progress:
        task = progress.add_task("starting", total=None)

        def show(step: Step) -> None:
            progress.update(
                task, description=f"{_VERBS[step.stage]} {escape(step.text)}", completed=step.done, total=step.total
            )

        yield show


def show_matches(matches: Any, n_matches: int, n_rows: int) -> None:
    """The first ``n_rows`` matches as a table on a terminal; else all of them on standard output, as JSON lines."""
    console = Console(highlight=False)
    if not console.is_terminal:
        sys.stdout.flush()
        write_json_lines(matches, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    if n_rows == 0 or len(matches) == 0:
        return
    shown = matches.slice(0, n_rows)
    table = Table(header_style="bold")
    for name in shown.column_names:
        numeric = _is_number(shown.schema.field(name).type)
        table.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows_of(shown):
        table.add_row(*(escape(written(value)) for value in row.values()))
    console.print(table)
    if n_matches > len(shown):
        console.print(f"the first {len(shown):,} of {n_matches:,} matches", style="dim")


def written(value: object) -> str:
    """A value in a cell of a table."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}" if value == value else "NaN"
        case datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S") + (f".{value.microsecond:06}" if value.microsecond else "")
        case dict():
            text = ", ".join(f"{k}: {written(v)}" for k, v in value.items())
            return text if len(text) <= N_CELL_MAX else text[: N_CELL_MAX - 1] + "…"
        case list():
            text = "[" + ", ".join(written(v) for v in value) + "]"
            return text if len(text) <= N_CELL_MAX else text[: N_CELL_MAX - 2] + "…]"
        case _:
            return str(value)


def _is_number(arrow: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(arrow) or pa.types.is_floating(arrow) or pa.types.is_decimal(arrow))


def show_report(report: Report) -> None:
    """What a job did, in a few lines on standard error."""
    console = told()
    speed = f"{report.events_per_s:,.0f} events/s" if report.seconds > 0 else ""
    console.print(
        f"[bold]{report.n_matches:,}[/] {_plural('match', 'matches', report.n_matches)} "
        f"in [bold]{report.n_events:,}[/] {_plural('event', 'events', report.n_events)}"
        + (f", [bold red]{report.n_rejected:,} rejected[/]" if report.n_rejected else ", none rejected")
    )
    console.print(
        f"{report.seconds:.2f} s (reading {report.read_s:.2f}, matching {report.match_s:.2f}, "
        f"writing {report.write_s:.2f}), {speed}",
        style="dim",
    )
    if report.n_null_key:
        are = _plural("event is", "events are", report.n_null_key)
        console.print(f"{report.n_null_key:,} {are} in no partition: NULL in SAME", style="dim")
    if report.n_timed_out is not None:
        console.print(f"{report.n_timed_out:,} timed out: {escape(str(report.timed_out_sink))}")
    if report.n_late is not None:
        console.print(
            f"{report.n_late:,} {_plural('event', 'events', report.n_late)} came too late, and are in no match"
        )
    if (slack := report.slack_report) is not None and slack.mean_slack_us is not None:
        figures = Closed(slack.n_windows, slack.n_missed, slack.mean_slack_us, slack.n_gave_up, slack.n_unreceived)
        console.print(str(figures))
    for said, n in Counter(map(str, report.decisions)).items():
        console.print(escape(said if n == 1 else f"{n} tasks: {said}"), style="dim")
    for what, path in (("matches", report.sink), ("rejected", report.rejected_sink), ("late", report.late_sink)):
        if path is not None:
            console.print(f"{what}: {escape(str(path))}")
    for name, (path, n_matches) in report.others.items():
        found = f"{n_matches:,} {_plural('match', 'matches', n_matches)}"
        console.print(f"{escape(name)}: {found}, {escape(str(path))}")
    show_warnings(report.warnings)


def show_warnings(warnings: Any) -> None:
    """Warnings, each on standard error."""
    console = told()
    for warning in warnings:
        console.print(f"[yellow]warning:[/] {escape(str(warning))}")


def _plural(one: str, many: str, n: int) -> str:
    return one if n == 1 else many
