"""``cepheid demo``: delays that grow from flight to flight of one aircraft."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cepheid.cli.show import show_report, told, watching
from cepheid.connectors.writing import write_text
from cepheid.job.load import load
from cepheid.job.run import read, run
from cepheid.plan.draw import to_svg, to_text
from cepheid.plan.explain import explain

N_WORST = 12


def demonstrate(margin: int, svg: Path | None) -> None:
    """Find the chains, show the worst, and draw the pattern.

    Args:
        margin: minutes by which each delay exceeds the one before.
        svg: a file for the drawing, or None.
    """
    console = Console(highlight=False)
    with as_file(files("cepheid.cli") / "demo") as folder:
        job = load(folder / "job.toml")
        with watching() as progress:
            report = run(job, progress, parameters={"margin": str(margin)})
        console.print(escape(job.query.text.strip()), style="cyan", soft_wrap=True)
        console.print()
        _show_worst(console, report.matches)
        console.print()
        explanation = explain(read(job, n_events=0)[1])
    console.print(escape(to_text(explanation, width=console.width).rstrip()), soft_wrap=True)
    console.print()
    show_report(report)
    if svg is not None:
        write_text(to_svg(explanation), svg)
        told().print(f"the pattern is drawn in {svg}", markup=False)
    else:
        told().print("with --svg FILE the pattern is drawn as a picture, too", style="dim")


def _show_worst(console: Console, matches: Any) -> None:
    """The chains with the greatest delay at their end, one line each."""
    worst = matches.sort_by([("late_3", "descending"), ("first_hour", "ascending")]).slice(0, N_WORST)
    title = f"The worst {len(worst)} of {len(matches):,} chains of growing delays"
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("day", "aircraft", "airline"):
        table.add_column(name, no_wrap=True)
    for flight in ("first", "second", "third"):
        table.add_column(flight, no_wrap=True)
        table.add_column("late", justify="right", no_wrap=True)
    for chain in worst.to_pylist():
        cells = [f"{chain['first_hour']:%d %b}", chain["aircraft"], chain["carrier"]]
        for n in (1, 2, 3):
            cells += [f"{chain[f'from_{n}']}–{chain[f'to_{n}']}", _hours(chain[f"late_{n}"])]
        table.add_row(*(escape(cell) for cell in cells))
    console.print(table)


def _hours(minutes: float) -> str:
    hours, rest = divmod(round(minutes), 60)
    return f"{hours} h {rest:02}" if hours else f"{rest} min"
