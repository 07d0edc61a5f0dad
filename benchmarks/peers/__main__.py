"""The engine beside other engines on the same streams: ``python -m benchmarks.peers [--only PEER ...] [--quick]``.

Makes an environment for each peer below ``build/peers`` (kept for the next time), runs the workloads that it can
express, holds its matches to the right ones, and prints events per second and the engine's ratio to it. Exits with 1
where a ratio is below its bar or matches are wrong, with 3 where nothing is wrong but a peer cannot be had or run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.engine.one_core import pin
from benchmarks.engine.workloads import WORKLOADS
from benchmarks.peers import cepheid_engine, core_ceql, duckdb_sql, flink_cep, polars_join, python_loop
from benchmarks.peers.environments import ROOT
from benchmarks.peers.measured import Measured, Peer, Unavailable
from benchmarks.peers.report import HEADER, Row, bar_of, line

CEPHEID: Peer = cepheid_engine.PEER
PEERS: dict[str, list[Peer]] = {
    "flink": [flink_cep.PEER, flink_cep.UNKEYED],
    "core": [core_ceql.PEER],
    "duckdb": [duckdb_sql.PEER],
    "polars": [polars_join.PEER],
    "python": [python_loop.PEER],
}
EXIT_FAULT, EXIT_UNAVAILABLE = 1, 3


class Streams:
    """Prefixes of the streams of workloads, as files, each written once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, workload: str, n_events: int) -> Path:
        """The path without its ending of the first events of a workload's stream."""
        dense = WORKLOADS[workload].dense
        path = self.folder / f"events-{n_events}{'-dense' if dense else ''}"
        if not path.with_suffix(".csv").exists():
            command = [sys.executable, "-m", "benchmarks.peers.events_files", str(path), str(n_events)]
            subprocess.run([*command, *(["--dense"] if dense else [])], cwd=ROOT, check=True)
        return path


def row_of(workload: str, peer: Peer, found: Measured, right: Measured, engine_events_per_s: float | None) -> Row:
    """A row, its matches held to those of the engine and to the number that is known."""
    n_events = peer.n_events[workload]
    wrong = ""
    known = WORKLOADS[workload].n_matches.get(n_events, right.n_matches)
    if found.n_matches != known:
        wrong = f"{found.n_matches:,} matches, {known:,} are right"
    elif found.sum_of_ids != right.sum_of_ids:
        wrong = "as many matches as are right, but with other events"
    rate = n_events / found.cpu_s
    return Row(
        workload=workload,
        peer=peer.name,
        n_events=n_events,
        n_matches=found.n_matches,
        events_per_cpu_s=rate,
        events_per_s=n_events / found.wall_s,
        ratio=None if engine_events_per_s is None else engine_events_per_s / rate,
        bar=None if engine_events_per_s is None else bar_of(peer.name, workload),
        wrong=wrong,
    )


def rows_of(workload: str, peers: list[Peer], streams: Streams, *, quick: bool) -> tuple[list[Row], list[str]]:
    """The engine and its peers on a workload, printed as they come, and why others do not run."""
    rows: list[Row] = []
    missing: list[str] = []

    def add(row: Row) -> None:
        rows.append(row)
        print(line(row), flush=True)

    def measured(peer: Peer, n_events: int) -> Measured:
        return peer.measure(workload, streams.of(workload, n_events), quick=quick)

    n_events = CEPHEID.n_events[workload]
    right = {n_events: measured(CEPHEID, n_events)}
    events_per_s = n_events / right[n_events].cpu_s
    add(row_of(workload, CEPHEID, right[n_events], right[n_events], None))
    for peer in peers:
        n = peer.n_events.get(workload)
        if n is None:
            continue
        if n not in right:
            right[n] = CEPHEID.measure(workload, streams.of(workload, n), quick=True)
        try:
            found = measured(peer, n)
        except Unavailable as error:
            missing.append(f"{workload}: {error}")
            print(f"UNAVAILABLE {missing[-1]}", flush=True)
            continue
        add(row_of(workload, peer, found, right[n], events_per_s))
    return rows, missing


def made(names: list[str], build: Path) -> tuple[list[Peer], list[str]]:
    """The peers that can be had, and why others cannot."""
    peers, missing = [], []
    for name in names:
        try:
            for peer in PEERS[name]:
                peer.make(build)
            peers += PEERS[name]
        except Unavailable as error:
            missing.append(f"{name}: {error}")
    return peers, missing


def main() -> int:
    """Make, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="PEER", choices=PEERS, help=f"of {', '.join(PEERS)}")
    parser.add_argument("--workloads", nargs="+", metavar="WORKLOAD", choices=CEPHEID.n_events)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "peers", help="where environments are kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    given = parser.parse_args()
    processor = pin()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    CEPHEID.make(given.build)
    peers, missing = made(given.only or list(PEERS), given.build.resolve())
    for reason in missing:
        print(f"UNAVAILABLE {reason}", flush=True)
    where = "not tied to a processor" if processor is None else f"on processor {processor}"
    print(f"Each in processes of its own, {where}. What the timers include:")
    for peer in (CEPHEID, *peers):
        print(f"  {peer.name} {peer.version}".rstrip() + f": {peer.scope}")
    print("`cepheid is` compares events a second of CPU time; short streams are beginnings of the long ones.\n")
    print(HEADER, flush=True)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="cepheid-peers-") as folder:
        for workload in given.workloads or CEPHEID.n_events:
            more, failed = rows_of(workload, peers, Streams(Path(folder)), quick=given.quick)
            rows += more
            missing += failed
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    faults = [fault for row in rows for fault in row.faults()]
    for fault in faults:
        print(f"FAILED {fault}")
    if faults:
        return EXIT_FAULT
    return EXIT_UNAVAILABLE if missing else 0


if __name__ == "__main__":
    sys.exit(main())
