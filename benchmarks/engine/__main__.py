"""Events per second of the engine, on one core: ``python -m benchmarks.engine [--quick] [--json FILE]``.

Each workload runs in a process of its own, tied to one processor and one thread. Prints a table, writes the same rows
as JSON, and exits with 1 where a bar is missed or a number of matches is wrong.
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

from benchmarks.engine import adaptive, counted, many_keys, push
from benchmarks.engine.events_file import write_in_child
from benchmarks.engine.measure import N_TIMES, N_TIMES_QUICK
from benchmarks.engine.one_core import pin
from benchmarks.engine.rows import HEADER, Row, line
from benchmarks.engine.starts import starts
from benchmarks.engine.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parents[2]
_OF_THEIR_OWN = {counted.NAME: "counted", push.NAME: "push", adaptive.NAME: "adaptive"}
"""Workloads that a module of this folder measures by itself."""

NAMES = (*WORKLOADS, *many_keys.NAMES, *_OF_THEIR_OWN)
"""Of the workloads, in the order in which they run."""


def rows_of(name: str, folder: Path, *, quick: bool) -> list[Row]:
    """The rows of a workload, measured in a new process; its events lie in ``folder``."""
    if name in _OF_THEIR_OWN:
        command = [sys.executable, "-m", f"benchmarks.engine.{_OF_THEIR_OWN[name]}"]
    elif name in many_keys.NAMES:
        command = [sys.executable, "-m", "benchmarks.engine.many_keys", name]
    else:
        workload = WORKLOADS[name]
        events = write_in_child(ROOT, folder, workload.n_events(quick=quick), dense=workload.dense)
        command = [sys.executable, "-m", "benchmarks.engine.measure", name, str(events)]
    done = subprocess.run(
        [*command, *(["--quick"] if quick else [])], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return [Row(**row) for row in json.loads(done.stdout)]


def introduction(processor: int | None, *, quick: bool) -> str:
    """What the figures are, above the table."""
    where = "not tied to a processor (this system cannot)" if processor is None else f"on processor {processor}"
    n_times = N_TIMES_QUICK if quick else N_TIMES
    text = (
        f"One thread, {where}. From an Arrow table with types as text to every match as a row of positions;\n"
        f"the best wall time of {n_times} after a warm-up, each workload in a process of its own. Polars gives\n"
        "the same rows in any order, as does the kernel by hand, which starts from numbers in arrays. Both run in\n"
        "turn with the engine, and are compared by CPU time. Starts are medians of new processes.\n"
    )
    if quick:
        text += "Quick: shorter streams, so rates are held to half of their bar, and starts to twice their seconds.\n"
    return text


def measured(folder: Path, only: list[str] | None, *, quick: bool) -> tuple[list[Row], list[str]]:
    """All rows, printed as they come, and what is wrong beside them."""
    rows: list[Row] = []

    def add(more: list[Row]) -> None:
        rows.extend(more)
        for row in more:
            print(line(row), flush=True)

    for name in only or NAMES:
        add(rows_of(name, folder, quick=quick))
    if only:
        return rows, []
    more, wrong = starts(ROOT, folder, quick=quick)
    add(more)
    return rows, wrong


def main() -> int:
    """Measure, print, write; 1 where something is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="100,000 events, fewer repetitions, half the bars")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    parser.add_argument("--only", nargs="+", metavar="WORKLOAD", choices=NAMES, help="these workloads, no starts")
    given = parser.parse_args()
    processor = pin()
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(path).resolve()) for path in paths)
    print(introduction(processor, quick=given.quick))
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="cepheid-benchmark-") as name:
        rows, wrong = measured(Path(name), given.only, quick=given.quick)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    wrong = [fault for row in rows for fault in row.faults()] + wrong
    # A row that compares two engines repeats the count of one of them.
    for fault in dict.fromkeys(wrong):
        print(f"FAILED {fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
