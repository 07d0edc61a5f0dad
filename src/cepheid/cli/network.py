"""``cepheid network``: plan, deploy and run queries that are split over the sites of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from cepheid.cli.standard_output import Commands

network = typer.Typer(
    name="network",
    cls=Commands,
    help="Split queries over the sites of a network.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_NETWORK = typer.Argument(metavar="NETWORK.toml", help="The network file, or the folder with its network.toml.")


_PICTURES = {".svg", ".png", ".pdf", ".jpg", ".jpeg", ".gif", ".html"}
"""What ends like that is meant as a picture's file, and told where it cannot be."""


class _PlanCommand(TyperCommand):
    """``--svg`` without a file draws NAME.svg in the current folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the arguments."""
        if "--svg" in args:
            place = args.index("--svg") + 1
            if place == len(args) or Path(args[place]).suffix.lower() not in _PICTURES:
                args = [*args[:place], "", *args[place:]]
        return super().parse_args(ctx, args)


@network.command(cls=_PlanCommand)
def plan(
    path: Annotated[Path, _NETWORK],
    svg: Annotated[
        str | None,
        typer.Option(metavar="[FILE.svg]", help="Draw it into this file; without one, into the network's NAME.svg."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="PLAN.json", help="Write the plan into this file.")] = None,
) -> None:
    """Plan which parts of the queries are evaluated at which site, and what is sent along which links."""
    if svg and not svg.lower().endswith(".svg"):
        raise typer.BadParameter(f"{svg}: the picture is SVG; name FILE.svg")
    from cepheid.cli.network_show import plan_network

    plan_network(path, svg=svg, out=out)


@network.command()
def stats(
    path: Annotated[Path, _NETWORK],
    events: Annotated[Path, typer.Option(metavar="TABLE", help="Events of the past, of all sites: Parquet or JSON.")],
    out: Annotated[
        Path | None, typer.Option(metavar="STATISTICS.toml", help="Write them here; default standard output.")
    ] = None,
) -> None:
    """Estimate rates and selectivities from events of the past, on Spark."""
    from cepheid.cli.network_stats import estimate

    estimate(path, events, out)


@network.command()
def deploy(
    path: Annotated[Path, _NETWORK],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the jobs of the sites go.")],
) -> None:
    """Plan, and write a streaming job for each site."""
    from cepheid.cli.network_show import deploy_network

    deploy_network(path, out)


@network.command()
def site(path: Annotated[Path, typer.Argument(metavar="SITE.toml", help="The job of a site.")]) -> None:
    """Run the streaming job of one site until it is stopped."""
    from cepheid.cli.network_run import run_one_site

    run_one_site(path)


@network.command()
def run(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What deploy wrote, or a network file.")],
    local: Annotated[bool, typer.Option("--local", help="All sites as processes of this machine.")] = False,
    events: Annotated[
        Path | None,
        typer.Option(metavar="TABLE", help="Feed these events, wait for the end, and compare with one engine."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where a network file is deployed; default a new folder.")
    ] = None,
    servers: Annotated[str | None, typer.Option(help="The broker, in place of that of the network file.")] = None,
) -> None:
    """Run all sites on this machine against a broker; count the messages on each link."""
    if not local:
        raise typer.BadParameter(
            "sites on other machines are started there: cepheid network site SITE.toml; here only --local"
        )
    from cepheid.cli.network_run import run_network

    run_network(folder, events=events, out=out, servers=servers)
