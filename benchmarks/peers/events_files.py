"""Writes the first events of a stream: ``python -m benchmarks.peers.events_files PATH N [--dense]``.

PATH.arrow is for what reads Arrow, PATH.csv (no heading; id, type, ts, key, v1, v2, price) for what does not.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main() -> int:
    """Write both."""
    import pyarrow.csv as pc
    from pyarrow import ipc

    from benchmarks.stream import stream

    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.events_files")
    parser.add_argument("path", type=Path)
    parser.add_argument("n_events", type=int)
    parser.add_argument("--dense", action="store_true")
    given = parser.parse_args()
    table = stream(given.n_events, dense=given.dense).combine_chunks()
    with ipc.new_file(given.path.with_suffix(".arrow"), table.schema) as file:
        file.write_table(table)
    options = pc.WriteOptions(include_header=False, quoting_style="none")
    pc.write_csv(table, given.path.with_suffix(".csv"), write_options=options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
