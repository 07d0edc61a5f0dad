"""Events of a Delta table, and matches in another: each is there once, whenever the driver is killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepheid.errors import SetupError
from cepheid.spark.connectors import delta_config
from tests.spark.streams.files import write_part
from tests.spark.streams.processes import environment, require_java
from tests.spark.streams.test_streams import QUERY, cut, events, expected

DRIVER = Path(__file__).with_name("delta_job.py")
JOB = f"""
[source]
kind = "delta"
path = "events"
time = "ts"
time_unit = "ms"
type = "kind"
order = ["id"]
columns = {{ id = "int", key = "int", v = "int" }}
options = {{ maxFilesPerTrigger = "1" }}

[query]
text = "{QUERY}"

[sink]
kind = "delta"
path = "found"

[stream]
checkpoint = "checkpoint"
watermark = "4 ms"
trigger = "available now"

[spark]
"spark.sql.shuffle.partitions" = "2"
"spark.databricks.delta.snapshotPartitions" = "1"
"""
N_KILLS = 2
SEED = 20240602


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.timeout(900)
def test_each_match_is_in_the_table_once(tmp_path: Path):
    require_java()
    try:
        delta_config({})
    except SetupError as error:
        pytest.skip(error.message)
    (tmp_path / "job.toml").write_text(JOB)
    table = events(240, seed=11)
    for part in cut(table, 5):
        write_part(tmp_path / "in", part)
    moments = random.Random(SEED)
    n_killed = 0
    for attempt in range(N_KILLS + 1):
        process = _driver(tmp_path)
        try:
            if attempt < N_KILLS:
                n_before = _n_versions(tmp_path / "found")
                until = time.monotonic() + 250
                # Somewhere in the micro-batches after the first one that it writes.
                while process.poll() is None and _n_versions(tmp_path / "found") <= n_before < 4:
                    assert time.monotonic() < until, (tmp_path / "driver.log").read_text()[-4000:]
                    time.sleep(0.02)
                time.sleep(moments.uniform(0.0, 0.6))
                n_killed += process.poll() is None
            else:
                process.wait(timeout=300)
                assert process.returncode == 0, (tmp_path / "driver.log").read_text()[-4000:]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert n_killed >= 2
    last = pa.compute.max(table["ts"]).as_py()
    assert _rows(tmp_path / "found") == expected(table, QUERY, last - 5)


def _driver(folder: Path) -> subprocess.Popen[str]:
    with (folder / "driver.log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, str(DRIVER), str(folder)],
            env=environment(),
            cwd=folder,
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )


def _n_versions(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*[0-9].json")))


def _rows(table: Path) -> Counter[tuple[object, ...]]:
    """The rows of a Delta table from which nothing was ever taken, but for their ``match_id``."""
    files: list[str] = []
    for version in sorted((table / "_delta_log").glob("*[0-9].json")):
        for line in version.read_text().splitlines():
            said = json.loads(line)
            assert "remove" not in said
            files += [said["add"]["path"]] if "add" in said else []
    found: Counter[tuple[object, ...]] = Counter()
    ids = set()
    for file in files:
        for row in pq.read_table(table / file).to_pylist():
            ids.add(row.pop("match_id"))
            found[tuple(row.values())] += 1
    assert len(ids) == sum(found.values())
    return found
