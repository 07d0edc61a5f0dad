"""``cepheid network stats``."""

from __future__ import annotations

import sys
from pathlib import Path

from cepheid.cli.show import told
from cepheid.connectors.writing import write_text
from cepheid.job.network import statistics
from cepheid.job.network.load import load_network


def estimate(path: Path, events: Path, out: Path | None) -> None:
    """Estimate, and write what a network file reads; see the command for the arguments."""
    console = told()
    job = load_network(path, without_statistics=True)
    if out is not None:
        job.require_others([out])
    found = statistics.estimate(
        job,
        events,
        lambda line: console.print(line, markup=False, highlight=False),
    )
    if out is None:
        sys.stdout.write(found.text())
        return
    write_text(found.text(), out)
    console.print(f"statistics: {out}", markup=False)
