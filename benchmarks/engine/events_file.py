"""Writes the events of a workload to an Arrow file: ``python -m benchmarks.engine.events_file FILE N [--dense]``.

Drawing them takes the memory of a million events; a process that reads them shows its own peak.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any


def write_in_child(root: Path, folder: Path, n_events: int, *, dense: bool = False) -> Path:
    """Write events from a new process, so that this one imports no library; once for each kind.

    Args:
        root: the folder that holds ``benchmarks``.
        folder: where the file goes.
        n_events: how many.
        dense: ten keys instead of a hundred.
    """
    path = folder / f"events-{n_events}{'-dense' if dense else ''}.arrow"
    if not path.exists():
        command = [sys.executable, "-m", "benchmarks.engine.events_file", str(path), str(n_events)]
        subprocess.run([*command, *(["--dense"] if dense else [])], cwd=root, check=True)
    return path


def read(path: Path) -> Any:
    """The events as a pyarrow Table in memory."""
    from pyarrow import ipc

    with open(path, "rb") as file:
        return ipc.open_file(file).read_all()


def main() -> int:
    """Write one file."""
    from pyarrow import ipc

    from benchmarks.stream import stream

    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine.events_file")
    parser.add_argument("path", type=Path)
    parser.add_argument("n_events", type=int)
    parser.add_argument("--dense", action="store_true")
    given = parser.parse_args()
    table = stream(given.n_events, dense=given.dense).combine_chunks()
    with ipc.new_file(given.path, table.schema) as file:
        file.write_table(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
