"""``cepheid network site`` and ``run``."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from rich.table import Table

from cepheid.cli.show import told
from cepheid.errors import CepheidError, SetupError
from cepheid.job.network.deploy import PLAN, deploy, load_site
from cepheid.job.network.load import NetworkJob, load_network
from cepheid.job.network.run_local import LocalNetwork, LocalReport
from cepheid.job.network.site_job import run_site_job


class UnequalError(CepheidError):
    """The sites found other matches than one engine over all events."""


def run_one_site(path: Path) -> None:
    """Run the job of a site."""
    console = told()
    run_site_job(load_site(path), lambda line: console.print(line, markup=False, highlight=False))


def run_network(folder: Path, *, events: Path | None, out: Path | None, servers: str | None) -> None:
    """Run all sites of a folder, or of a network file, which is deployed first."""
    console = told()

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False)

    if not os.path.isfile(folder / PLAN):
        job = load_network(folder)
        made = out or Path(tempfile.mkdtemp(prefix="cepheid-network-"))
        deploy(job, job.plan(), made)
        say(f"deployed in {made}")
        folder = made
    network = LocalNetwork(folder, servers)
    table = None if events is None else read_events_of(network.job, events)
    say(f"{len(network.sites)} sites, broker {network.topics.servers}, logs in {folder / 'logs'}")
    try:
        network.start(say)
        if table is not None:
            say(f"{network.feed(table):,} records to the sources")
        network.wait(say)
    except KeyboardInterrupt:
        say("stopping all sites")
    finally:
        network.stop()
    _show(network.report(table), say)


def read_events_of(job: NetworkJob, path: Path) -> Any:
    """A table of events from a Parquet or JSON lines file.

    Raises:
        SetupError: there is no such file.
        JobError: it lacks the columns of the network.
    """
    import pyarrow as pa
    import pyarrow.json as pj
    import pyarrow.parquet as pq

    if not os.path.exists(path):
        raise SetupError(f"there is no file {path}", remedy="correct --events")
    try:
        table = pq.read_table(path) if path.suffix == ".parquet" else pj.read_json(path)
        missing = [name for name in (*job.columns.names, job.model.events.site) if name not in table.column_names]
        if missing:
            raise job.error(
                f"{path} has no column {missing[0]!r}",
                f"its columns are {', '.join(table.column_names)}; correct [events]",
                "events",
            )
        return table
    except pa.ArrowException as error:
        raise SetupError(f"{path} cannot be read: {error}", remedy="give a Parquet or JSON lines file") from error


def _show(report: LocalReport, say: Any) -> None:
    table = Table("link", "messages", "expected", "again", "announcements", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for one in report.carried:
        table.add_row(
            f"{one.way[0]} → {one.way[1]}",
            f"{one.n_rows:,}",
            f"{one.expected:,.0f}" if report.centralized is not None else "",
            f"{one.n_again:,}",
            f"{one.n_announced:,}",
        )
    told().print(table, markup=False)
    total = f"{report.n_messages:,} messages on all links"
    if report.n_central is not None:
        total += f"; all events at one site would have been {report.n_central:,}"
    say(total)
    if report.n_rejected:
        say(f"{report.n_rejected:,} records were no events or came too late")
    for name, ids in report.matches.items():
        said = f"{name}: {len(ids):,} matches"
        if report.centralized is not None:
            same = report.centralized[name] == ids
            said += (
                ", those of one engine over all events" if same else f", and {len(report.centralized[name]):,} there"
            )
        say(said)
    if not report.is_equal:
        raise UnequalError("the sites found other matches than one engine over all events")
