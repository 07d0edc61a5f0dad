"""``cepheid``: run a job, check or explain a query, see a demonstration.

What a command needs is imported when it runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from cepheid import __version__
from cepheid.cli.network import network
from cepheid.cli.standard_output import Commands, OutputError
from cepheid.errors import CepheidError

_MOST = 2**63 - 1  # rows that a table can have


class Engine(StrEnum):
    """What runs a job."""

    LOCAL = "local"
    SPARK = "spark"


class App(typer.Typer):
    """The command line, with errors shown as they are meant: message, place, remedy, and no traceback."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command of ``sys.argv``; ends the process."""
        # As an exception it lets files that are being written be taken away again.
        signal.signal(signal.SIGTERM, _end)
        format_before = warnings.formatwarning
        warnings.formatwarning = _formatted  # type: ignore[assignment]
        try:
            return super().__call__(*args, **kwargs)
        except CepheidError as error:
            if os.environ.get("CEPHEID_TRACEBACK"):
                raise
            print(f"error: {error}", file=sys.stderr)
            sys.exit(1)
        except OutputError as error:
            error.leave()
        finally:
            warnings.formatwarning = format_before


def _formatted(message: Warning | str, *_: object) -> str:
    """A warning as one line: which line of Python gave it tells a user of the command line nothing."""
    return f"warning: {message}\n"


def _end(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


app = App(
    name="cepheid",
    cls=Commands,
    help="Detect patterns of events in tables and streams.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.add_typer(network)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"cepheid {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Detect patterns of events in tables and streams."""


@app.command()
def run(
    job: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file.")],
    engine: Annotated[Engine | None, typer.Option(help="What runs it, in place of what the job says.")] = None,
    query: Annotated[Path | None, typer.Option(help="A query file in place of the one that the job names.")] = None,
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A parameter of the query; may be given again.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, max=_MOST, help="Write or show only the first so many matches.")
    ] = None,
    events: Annotated[
        int | None, typer.Option(min=0, max=_MOST, help="Read only the first so many events of each source.")
    ] = None,
) -> None:
    """Run a job: read its events, find the matches, write them."""
    from cepheid.cli.run_job import run_job

    run_job(
        job,
        engine=None if engine is None else engine.value,
        query=query,
        parameters=_parameters(param or []),
        limit=limit,
        n_events=events,
    )


@app.command()
def check(
    path: Annotated[Path, typer.Argument(metavar="QUERY_OR_JOB", help="A query (*.cep) or a job (*.toml).")],
    schema: Annotated[Path | None, typer.Option(help="A file that tells the columns of the events.")] = None,
) -> None:
    """Check a query, or a job and its query against its data, without running it."""
    from cepheid.cli.inspect_query import check_path

    check_path(path, schema)


@app.command()
def explain(
    path: Annotated[Path, typer.Argument(metavar="QUERY", help="A query (*.cep) or a job (*.toml).")],
    svg: Annotated[Path | None, typer.Option(help="Draw it into this SVG file.")] = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print it as a Mermaid diagram.")] = False,
    schema: Annotated[Path | None, typer.Option(help="A file that tells the columns of the events.")] = None,
    evaluation: Annotated[
        str, typer.Option(metavar="PLAN", help='When the work is done: eager, lazy, adaptive, or "b c/d a".')
    ] = "eager",
) -> None:
    """Show how a query runs: its automaton, and where each condition is tested."""
    if svg is not None and mermaid:
        raise typer.BadParameter("choose one of --svg and --mermaid")
    from cepheid.cli.inspect_query import explain_path

    explain_path(path, schema, svg=svg, mermaid=mermaid, evaluation=evaluation)


@app.command()
def demo(
    margin: Annotated[int, typer.Option(min=0, help="Minutes by which each delay exceeds the one before.")] = 30,
    svg: Annotated[Path | None, typer.Option(help="Draw the pattern into this SVG file, too.")] = None,
) -> None:
    """Find delays that grow from flight to flight of one aircraft, in all flights that left New York in 2013."""
    from cepheid.cli.demonstrate import demonstrate

    demonstrate(margin, svg)


def _parameters(texts: list[str]) -> dict[str, str]:
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--param")
        values[name.strip().removeprefix(":")] = value
    return values


if __name__ == "__main__":
    app()
