"""How long a query takes to go on from a checkpoint that holds a million events, beside one that holds nothing.

Each start is a process of its own, which has one micro-batch of a thousand events to do. Both go on from the same
checkpoint several times, in turn; the median of each counts.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark.figures import Figure

N_RETAINED = 1_000_000
N_NEW = 1_000
BAR_MORE_S = 10.0
N_TIMES = 3
LONGEST_S = 280


def measure_restart(folder: Path, n_retained: int = N_RETAINED) -> list[Figure]:
    """Run both up to a stop, and on from there, again and again."""
    part = f"restart, {n_retained:,} held"
    state_bytes: dict[str, int] = {}
    took_s: dict[str, list[float]] = {"empty": [], "full": []}
    for name, n_before in (("empty", 0), ("full", n_retained)):
        own = folder / name
        (own / "in").mkdir(parents=True)
        # With nothing held there is a checkpoint, too: of events that no variable takes.
        pq.write_table(_events(0, n_before or N_NEW, "A" if n_before else "D"), own / "in" / "before.parquet")
        state_bytes[name] = _run(own)["state_bytes"]
        (own / "checkpoint").rename(own / "stopped")
        pq.write_table(_events(n_retained, N_NEW, "B"), own / "in" / "new.parquet")
    for _ in range(N_TIMES):
        for name, found in took_s.items():
            own = folder / name
            shutil.copytree(own / "stopped", own / "checkpoint")
            found.append(_run(own)["seconds"])
            shutil.rmtree(own / "checkpoint")
    empty_s, full_s = (statistics.median(found) for found in took_s.values())
    return [
        Figure(part, "start to end, nothing held, s", empty_s),
        Figure(part, "start to end, s", full_s),
        Figure(part, "more than with nothing held, s", full_s - empty_s, BAR_MORE_S),
        Figure(part, "state, MB", state_bytes["full"] / 1e6),
    ]


def _events(first: int, n: int, type: str) -> pa.Table:
    random = np.random.default_rng(first + n)
    number = np.arange(first, first + n)
    return pa.table(
        {
            "id": number,
            "type": pa.array([type] * n, pa.string()),
            "ts": pa.array(number * 1000).cast(pa.timestamp("us", "UTC")),
            "key": random.integers(0, 100_000, n).astype(np.int32),
            "v1": random.integers(1, 100_001, n).astype(np.int32),
        }
    )


def _run(folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.spark.restart_job", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    said: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return said
