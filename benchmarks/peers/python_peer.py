"""Peers that are Python modules: each runs in a process and an environment of its own (`benchmarks.peers.child`)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.environments import ROOT, python_of, run, virtual_environment
from benchmarks.peers.measured import Measured

N_TIMES, N_TIMES_QUICK = 4, 2


@dataclass
class PythonPeer:
    """See `benchmarks.peers.measured.Peer`.

    Attributes:
        module: its module in ``benchmarks.peers``, which has ``prepare`` and ``digest`` and imports nothing but
            Python's own at its top.
        requirements: what its environment has.
        python_version: the CPython that it needs, as ``3.13``; empty for that of this process.
        own_environment: False for what runs in the environment of this process.
        n_times: how often a workload runs.
    """

    name: str
    module: str
    scope: str
    n_events: Mapping[str, int]
    requirements: tuple[str, ...] = ()
    version: str = ""
    python_version: str = ""
    own_environment: bool = True
    n_times: int = N_TIMES
    _python: str = field(default="", init=False)

    def make(self, build: Path) -> None:
        """Make the environment."""
        if not self.own_environment:
            self._python = sys.executable
            return
        python = python_of(self.python_version) if self.python_version else sys.executable
        self._python = str(virtual_environment(build, self.module, self.requirements, python))

    def measure(self, workload: str, events: Path, *, quick: bool) -> Measured:
        """Run a workload in a new process."""
        told = events.with_name(f"{events.name}-{self.module}-{workload}.json")
        n_times = min(self.n_times, N_TIMES_QUICK) if quick else self.n_times
        command = [self._python, "-m", "benchmarks.peers.child", self.module, workload, events, str(n_times), told]
        # The environment's own packages and this checkout, but for what else the caller's path has.
        path = os.environ.get("PYTHONPATH", "") if not self.own_environment else str(ROOT)
        # Run where it may leave files: one peer writes logs to where it is started.
        run(self.name, ["env", "-C", told.parent, *map(str, command)], env={**os.environ, "PYTHONPATH": path})
        return Measured(**json.loads(told.read_text(encoding="ascii")))
