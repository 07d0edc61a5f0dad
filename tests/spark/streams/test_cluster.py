"""A standalone cluster of a master and two workers gives the matches that one process gives."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest

from tests.spark.streams.files import committed, write_part
from tests.spark.streams.processes import JOB, environment, require_java
from tests.spark.streams.test_streams import QUERY, cut, events, expected

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


@contextlib.contextmanager
def running(folder: Path, *arguments: str) -> Iterator[None]:
    """A daemon of Spark, killed at the end."""
    with (folder / "daemons.log").open("a") as log:
        process = subprocess.Popen(
            [str(SPARK_CLASS), *arguments],
            env={**environment(), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"},
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers of one core each."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    deploy, host = "org.apache.spark.deploy", ("--host", "127.0.0.1", "--webui-port", "0")
    address = f"spark://127.0.0.1:{port}"
    with contextlib.ExitStack() as stack:
        stack.enter_context(running(folder, f"{deploy}.master.Master", *host, "--port", str(port)))
        for number in range(2):
            work = ("-c", "1", "-m", "700m", "-d", str(folder / f"worker{number}"))
            stack.enter_context(running(folder, f"{deploy}.worker.Worker", *host, *work, address))
        until = time.monotonic() + 90
        while (folder / "daemons.log").read_text().count("Successfully registered with master") < 2:
            assert time.monotonic() < until, (folder / "daemons.log").read_text()[-4000:]
            time.sleep(0.2)
        yield address


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_workers_give_the_matches_of_one_process(tmp_path: Path):
    require_java()
    table = events(600, seed=9)
    for part in cut(table, 4):
        write_part(tmp_path / "in", part)
    with cluster(tmp_path) as address:
        done = subprocess.run(
            [sys.executable, str(JOB), str(tmp_path), address],
            env={**environment(), "SPARK_LOCAL_IP": "127.0.0.1"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
    assert (tmp_path / "daemons.log").read_text().count("Asked to launch executor") >= 2
    assert committed(tmp_path) == expected(table, QUERY, pa.compute.max(table["ts"]).as_py() - 5)
