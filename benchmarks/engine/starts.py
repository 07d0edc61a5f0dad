"""The first query of a process, with and without machine code from an earlier one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.engine.events_file import write_in_child
from benchmarks.engine.one_core import unpin
from benchmarks.engine.rows import Row

N_EVENTS = 10_000
N_MATCHES = 650
"""Matches of W2 in them, by the oracle (see the tests)."""

N_TIMES = 3
MOST_IMPORT_S, MOST_EMPTY_S, MOST_FILLED_S = 0.5, 2.0, 0.5
COMPILED = ("W1strict", "W4", "W8", "W9", "W3, lazy", "EIRES Q1")
"""One query for each of the large kernels, and for most that are called by their address."""

MOST_COMPILED_S = 2.0
"""From the call on until all machine code of the query is there. No match waits for it."""


def starts(root: Path, folder: Path, *, quick: bool) -> tuple[list[Row], list[str]]:
    """The rows, and what else is wrong.

    Args:
        root: the folder that holds ``benchmarks``.
        folder: for events and machine code.
        quick: allow twice the seconds.
    """
    events = str(write_in_child(root, folder, N_EVENTS))
    caches = [folder / f"cache-{i}" for i in range(N_TIMES)]
    # The first process also writes Python's own bytecode, which is no part of the figure.
    _child(root, events, folder / "cache-before")
    empty = [_child(root, events, cache) for cache in caches]
    filled = [_child(root, events, cache) for cache in caches]
    made = {
        name: [_child(root, events, folder / f"cache-{name}-{i}", name) for i in range(N_TIMES)] for name in COMPILED
    }
    slack = 2.0 if quick else 1.0

    def row(workload: str, told: list[dict[str, Any]], what: str, most: float, n_matches: int | None = None) -> Row:
        return Row(
            workload=workload,
            engine="cepheid",
            events_per_s=None,
            matches=n_matches,
            peak_rss_bytes=None,
            bar=slack * most,
            n_events=None if n_matches is None else N_EVENTS,
            seconds=float(median(one[f"{what}_s"] for one in told)),
            cpu_seconds=float(median(one[f"{what}_cpu_s"] for one in told)) if f"{what}_cpu_s" in told[0] else None,
            right=None if n_matches is None else N_MATCHES,
            quick=quick,
        )

    rows = [
        row("import cepheid", empty + filled, "import", MOST_IMPORT_S),
        row("first query, empty cache", empty, "first", MOST_EMPTY_S, _agreed(empty)),
        row("first query, filled cache", filled, "first", MOST_FILLED_S, _agreed(filled)),
        row("machine code of W2", empty, "compiled", MOST_COMPILED_S),
        *(row(f"machine code of {name}", told, "compiled", MOST_COMPILED_S) for name, told in made.items()),
    ]
    brought = sorted({name for one in empty + filled for name in one["brought"]})
    return rows, [f"import cepheid also imports {', '.join(brought)}"] if brought else []


def _agreed(told: list[dict[str, Any]]) -> int:
    """The number of matches; one that is not right, where there is one."""
    return next((int(one["n_matches"]) for one in told if one["n_matches"] != N_MATCHES), N_MATCHES)


def _child(root: Path, events: str, cache: Path, workload: str = "W2") -> dict[str, Any]:
    """What a new process tells. It finds bytecode on disk, as installing a package leaves it there.

    It has all processors, as a user's has: kernels are compiled beside it.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.engine.first_query", events, workload],
        cwd=root,
        env={**kept, "CEPHEID_CACHE_DIR": str(cache), "CEPHEID_JIT": "1"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=unpin,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told
