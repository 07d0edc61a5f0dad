"""The matches in a sink are those of an undisturbed run, whatever is killed in between."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import cepheid as cep
from tests.spark.streams import killed_job
from tests.spark.streams.files import committed, write_part
from tests.spark.streams.processes import JOB, environment, require_java
from tests.spark.streams.test_streams import cut, events

N_FILES = 5
"""Micro-batches that are new to each driver."""
N_DRIVERS = 4
"""Drivers that are killed."""
N_WORKERS = 16
"""Python workers that are killed."""
SEED = 20240601


@contextlib.contextmanager
def driver(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A driver in a process group of its own, which has started its query; killed at the end."""
    with (folder / "driver.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, str(JOB), str(folder), "local[2,100]"],  # a task whose worker was killed is tried again
            env=environment(),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n", (folder / "driver.log").read_text()[-4000:]
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def n_commits(folder: Path) -> int:
    """Micro-batches that are done."""
    commits = folder / "checkpoint" / "commits"
    return sum(entry.name.isdigit() for entry in commits.iterdir()) if commits.is_dir() else 0


def workers_of(root: int) -> list[int]:
    """The Python workers of a driver: processes that the daemon has forked."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                commands[int(entry.name)] = (entry / "cmdline").read_bytes()

    def belongs(process: int) -> bool:
        while process in parents and process != root:
            process = parents[process]
        return process == root

    daemons = {p for p, command in commands.items() if b"pyspark.daemon" in command}
    return [p for p in daemons if parents[p] in daemons and belongs(p)]


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the processes to kill in /proc")
def test_kills_at_any_moment_change_no_match(tmp_path: Path, record_report):
    require_java()
    table = events(N_FILES * N_DRIVERS * 40, seed=5)
    parts = cut(table, N_FILES * N_DRIVERS)
    moments = random.Random(SEED)
    n_drivers = n_workers = 0
    for number in range(N_DRIVERS):
        for part in parts[number * N_FILES :][:N_FILES]:
            write_part(tmp_path / "in", part)
        with driver(tmp_path) as process:
            # Somewhere in its third micro-batch, or before, where a worker is killed in each of the others.
            before, wanted = n_commits(tmp_path), (number + 1) * N_WORKERS // N_DRIVERS
            until = time.monotonic() + 100
            while process.poll() is None and time.monotonic() < until:
                time.sleep(moments.uniform(0.05, 0.6))
                done = n_commits(tmp_path) - before
                workers = workers_of(process.pid)
                if workers and n_workers < wanted - 2 + min(done, 2):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(moments.choice(workers), signal.SIGKILL)
                        n_workers += 1
                elif done >= 2:
                    break
            time.sleep(moments.uniform(0.0, 1.0))
            n_drivers += process.poll() is None
    with driver(tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n", (tmp_path / "driver.log").read_text()[-4000:]
    got = committed(tmp_path)
    matcher = cep.Matcher(killed_job.QUERY, schema=table.schema, **killed_job.COLUMNS)
    matcher.push(table)
    last = pa.compute.max(table["ts"]).as_py()
    right = Counter(tuple(row.values()) for row in matcher.advance(last - 5).to_pylist())
    assert len(right) > 50
    assert got == right
    record_report("Kills", f"{n_drivers} drivers and {n_workers} Python workers were killed; {len(right)} matches")
    assert n_drivers + n_workers >= 20
