"""Figures 10 and 11 on real delays: phones that report every half second over UMTS, with the clocks of both ends.

The paper's own data set (buses in Dublin) is not to be had. These are sets D-1 to D-5 of JR-DIGITAL's ooo-dataset
(CC BY-SA 4.0): 46,800 events of 7 to 9 phones in 5 sessions. Each phone in each session is a stream of its own, as each
bus is in the paper. With 1,200 events, a stream is too short for periods of 10,000.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.figures.cores import Tell, on_all_cores
from benchmarks.figures.probslack.experiments import BUDGETS
from benchmarks.figures.probslack.runs import AVERAGE, BY_EVENT, IGNORE, LEARNING, ORACLE, Run, Stream
from cepheid.simulation.late_arrivals import Arrivals

FILE = "iot_late_arrivals_umts/ooo_umts_d1_d5.csv.gz"
FREQUENCIES = (200, 400, 600, 800, 1000)
PERIOD, WARM_UP = 300, 64
POLICIES = (BY_EVENT, IGNORE, AVERAGE, *LEARNING, ORACLE)


def data_folder() -> Path:
    """``CEPHEID_DATA``, or the folder of data beside the repository."""
    named = os.environ.get("CEPHEID_DATA")
    return Path(named) if named else Path(__file__).resolve().parents[4] / "shared" / "data"


def traces() -> dict[str, Arrivals] | None:
    """Phone and session -> its events, in the order in which they were received, ms; None where the data is absent."""
    path = data_folder() / FILE
    if not path.is_file():
        return None
    rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            name = f"{row['session']} {row['device']}"
            rows[name].append((int(row["rts_server_ms"]), int(row["gts_detect_ms"])))
    found = {}
    for name, events in sorted(rows.items()):
        received, generated = np.array(sorted(events), np.int64).T
        found[name] = Arrivals(generated, received)
    return found


def evaluate(
    arrivals: dict[str, Arrivals],
    tell: Tell,
    frequencies: tuple[int, ...] = FREQUENCIES,
    budgets: tuple[float, ...] = BUDGETS,
) -> tuple[list[Run], list[Run]]:
    """Figures 10 (all policies, δ = 0.2) and 11 (f = 400 ms): a task for each trace, on all cores."""
    tasks = [(name, events, frequencies, budgets) for name, events in arrivals.items()]
    every = on_all_cores(_task, tasks, tell, [f"trace {name}" for name in arrivals])
    return [run for by_f, _ in every for run in by_f], [run for _, by_delta in every for run in by_delta]


def _task(task: tuple[str, Arrivals, tuple[int, ...], tuple[float, ...]]) -> tuple[list[Run], list[Run]]:
    name, events, frequencies, budgets = task
    begin = int(events.generated.min())
    stream = Stream(events, name, 0, lambda f: begin // f + 1, PERIOD, WARM_UP, completion=True)
    by_f = [run for f in frequencies for run in stream.runs(POLICIES, f, 0.2)]
    by_delta = [run for delta in budgets for run in stream.runs(POLICIES, 400, delta)]
    return by_f, by_delta
