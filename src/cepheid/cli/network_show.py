"""``cepheid network plan`` and ``deploy``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from cepheid.cli.show import told
from cepheid.connectors.writing import write_text
from cepheid.job.network.deploy import deploy
from cepheid.job.network.load import NetworkJob, load_network
from cepheid.job.network.plan_file import write_plan
from cepheid.network.flows import flows, placements, together
from cepheid.network.picture import plan_svg
from cepheid.network.planner import Plan


def plan_network(path: Path, *, svg: str | None, out: Path | None) -> None:
    """Plan, show, and write what is asked for; see the command for the arguments."""
    job = load_network(path)
    picture = None if svg is None else Path(svg or f"{job.model.network.name}.svg")
    job.require_others([path for path in (out, picture) if path is not None])
    plan = job.plan()
    show_plan(job, plan)
    console = told()
    if out is not None:
        write_plan(job, plan, out)
        console.print(f"plan: {out}", markup=False)
    if picture is not None:
        write_text(plan_svg(plan, f"{job.model.network.name}: {', '.join(job.queries)}"), picture)
        console.print(f"picture: {picture}", markup=False)


def deploy_network(path: Path, out: Path) -> None:
    """Plan, show, and write the jobs of the sites."""
    job = load_network(path)
    plan = job.plan()
    show_plan(job, plan)
    for written in deploy(job, plan, out):
        told().print(f"cepheid network site {written}", markup=False)


def show_plan(job: NetworkJob, plan: Plan) -> None:
    """Print what a plan costs, what is evaluated where, and what flows."""
    console = Console(highlight=False, soft_wrap=True)
    if plan.is_centralized:
        console.print(
            f"the plan is the centralized one, all events at {plan.centralized.node}: {plan.reason}", markup=False
        )
    console.print(
        f"{plan.cost:,.6g} messages on all links in one window; all events at {plan.centralized.node}: "
        f"{plan.centralized.cost:,.6g}; ratio {plan.ratio:.4g}",
        markup=False,
        highlight=False,
    )
    console.print(
        f"latency {plan.latency:.6g} of at most "
        f"{job.model.plan.max_latency if job.model.plan.max_latency is not None else plan.centralized.latency:.6g} "
        "(hops, and a share for each partial match)",
        markup=False,
        highlight=False,
    )
    table = Table("site", "evaluates", box=None, pad_edge=False)
    for node, texts in placements(plan.graph).items():
        for number, text in enumerate(texts):
            table.add_row(str(node) if number == 0 else "", text)
    console.print(table, markup=False)
    table = Table("link", "messages a window", "of", box=None, pad_edge=False)
    table.columns[1].justify = "right"
    for way, found in flows(plan.graph).items():
        for number, (what, rate) in enumerate(together(found).items()):
            table.add_row(f"{way[0]} → {way[1]}" if number == 0 else "", f"{rate:,.4g}", what)
    console.print(table, markup=False)
