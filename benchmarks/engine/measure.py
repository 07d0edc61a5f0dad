"""One workload in a process of its own: ``python -m benchmarks.engine.measure W2 EVENTS`` prints its rows as JSON.

EVENTS is an Arrow file (`benchmarks.engine.events_file`). The timer starts with an Arrow table in memory whose type
column is text, and ends with every match as a row of positions. The query has been parsed and bound before.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.engine.events_file import read
from benchmarks.engine.rows import Row
from benchmarks.engine.workloads import N_EVENTS_QUICK, WORKLOADS, Workload

N_TIMES, N_TIMES_QUICK = 9, 5
N_TIMES_SET = 3


@dataclass
class Timed:
    """The best times of something that is run several times, and how many matches it finds."""

    find: Callable[[], int]
    wall_s: float = float("inf")
    cpu_s: float = float("inf")
    n_matches: int = -1

    def run(self) -> None:
        """Run once more."""
        gc.collect()
        start, cpu_start = time.perf_counter(), time.process_time()
        self.n_matches = self.find()
        cpu_end, end = time.process_time(), time.perf_counter()
        self.wall_s = min(self.wall_s, end - start)
        self.cpu_s = min(self.cpu_s, cpu_end - cpu_start)


def peak_rss_bytes() -> int:
    """The most memory that this process has had resident."""
    status = Path("/proc/self/status")
    if status.exists():
        # The peak that getrusage reports for a child begins with that of its parent on Linux.
        for entry in status.read_text(encoding="ascii").splitlines():
            if entry.startswith("VmHWM:"):
                return int(entry.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def engine_on(table: Any, query: str) -> Callable[[], int]:
    """A function that finds the matches of a query in a table and returns their number."""
    from cepheid.engine.session import run
    from cepheid.events.ingest import read_events, schema_of
    from cepheid.language.bind import bind
    from cepheid.language.parser import parse

    schema = schema_of(table, time="ts", time_unit="ms", type="type")
    bound = bind(parse(query), schema)

    def find() -> int:
        return len(run(bound, read_events(table, schema)))

    return find


def set_on(table: Any, queries: Mapping[str, str]) -> tuple[Callable[[], int], Callable[[], int]]:
    """Functions that find the matches of queries in a table, in one pass and one by one, and return their number."""
    from cepheid.engine.session import run
    from cepheid.engine.together import run_together
    from cepheid.events.ingest import read_events, schema_of
    from cepheid.query import QuerySet

    schema = schema_of(table, time="ts", time_unit="ms", type="type")
    bounds = QuerySet(queries).bind(schema)

    def together() -> int:
        return sum(len(found.matches) for found in run_together(bounds, read_events(table, schema)).values())

    def one_by_one() -> int:
        return sum(len(run(bound, read_events(table, schema))) for bound in bounds.values())

    return together, one_by_one


def measure_set(name: str, workload: Workload, table: Any, *, quick: bool) -> list[Row]:
    """The rows of a set of queries: in one pass, and one by one."""
    n_events = len(table)
    together, one_by_one = (Timed(find) for find in set_on(table, workload.queries))
    together.find()
    together.run()
    peak = peak_rss_bytes()
    for _ in range(N_TIMES_SET):
        for timed in (together, one_by_one):
            timed.run()

    def row(which: str, timed: Timed, **more: Any) -> Row:
        return Row(
            workload=name,
            engine=which,
            events_per_s=n_events / timed.wall_s,
            matches=timed.n_matches,
            n_events=n_events,
            events_per_cpu_s=n_events / timed.cpu_s,
            right=workload.n_matches[n_events],
            quick=quick,
            **more,
        )

    ratio = one_by_one.wall_s / together.wall_s
    # Short streams are for counts: what each query costs by itself weighs more than events.
    bar = None if quick else workload.least_ratio
    return [
        row(f"{len(workload.queries)} in one pass", together, peak_rss_bytes=peak),
        row("one by one", one_by_one, peak_rss_bytes=None),
        row("in one pass", together, peak_rss_bytes=peak, peer="one by one", ratio=ratio, bar=bar),
    ]


def measure(name: str, workload: Workload, table: Any, *, quick: bool) -> list[Row]:
    """The rows of a workload on its events: the engine, and its peers where it has some."""
    if workload.queries:
        return measure_set(name, workload, table, quick=quick)
    n_events = len(table)
    right = workload.n_matches[n_events]
    slack = 0.5 if quick else 1.0
    engine = Timed(engine_on(table, workload.query))
    engine.find()
    engine.run()
    peak = peak_rss_bytes()
    peers = _peers(table) if workload.peers else {}
    bars = {"Polars": workload.least_ratio, "kernel by hand": workload.least_reference_ratio}
    for peer in peers.values():
        peer.find()
    for _ in range((N_TIMES_QUICK if quick else N_TIMES) - 1):
        for timed in (engine, *peers.values()):
            timed.run()

    def row(which: str, timed: Timed, **more: Any) -> Row:
        return Row(
            workload=name,
            engine=which,
            events_per_s=n_events / timed.wall_s,
            matches=timed.n_matches,
            n_events=n_events,
            events_per_cpu_s=n_events / timed.cpu_s,
            right=right,
            quick=quick,
            **more,
        )

    bar = workload.bar_events_per_s
    rows = [row("cepheid", engine, peak_rss_bytes=peak, bar=None if bar is None else slack * bar)]
    for which, timed in peers.items():
        rows.append(row(which, timed, peak_rss_bytes=None))
    for which, timed in peers.items():
        least = bars.get(which)
        rows.append(
            row(
                "cepheid",
                engine,
                peak_rss_bytes=peak,
                peer=which,
                ratio=timed.cpu_s / engine.cpu_s,
                bar=None if least is None else slack * least,
            )
        )
    if peers:
        rows.append(_python_row(name, table.slice(0, N_EVENTS_QUICK), workload, quick=quick))
    return rows


def _peers(table: Any) -> dict[str, Timed]:
    from benchmarks.engine import reference_kernel
    from benchmarks.peers import polars_join

    by_hand, _ = reference_kernel.kernel_on(table)
    return {
        "kernel by hand": Timed(by_hand),
        "Polars": Timed(lambda: len(polars_join.matches(table))),
        "Polars, plain": Timed(lambda: len(polars_join.matches_plainly(table))),
    }


def _python_row(name: str, table: Any, workload: Workload, *, quick: bool) -> Row:
    """The loop in Python on the first events, for information."""
    from benchmarks.peers import python_loop

    events = list(zip(*(table.column(c).to_pylist() for c in ("type", "ts", "key", "v1", "price")), strict=True))
    loop = Timed(lambda: len(python_loop.matches(events)))
    for _ in range(3):
        loop.run()
    return Row(
        workload=name,
        engine="loop in Python",
        events_per_s=len(events) / loop.wall_s,
        matches=loop.n_matches,
        peak_rss_bytes=None,
        n_events=len(events),
        events_per_cpu_s=len(events) / loop.cpu_s,
        right=workload.n_matches[len(events)],
        quick=quick,
    )


def main() -> int:
    """Measure one workload."""
    from benchmarks.engine.one_core import limit_arrow, pin

    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine.measure")
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("events", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    pin()
    limit_arrow()
    rows = measure(given.workload, WORKLOADS[given.workload], read(given.events), quick=given.quick)
    print(json.dumps([asdict(row) for row in rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
