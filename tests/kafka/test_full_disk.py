"""The disk of a checkpoint that is full: a clear message, and with room again the job goes on with the same batch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.job_process import JobProcess

JOB = """
[source]
path = "in"
format = "jsonl"
time = "ts"
columns = { n = "int" }

[query]
text = "PATTERN SEQ(* a, * b) WHERE b.n = a.n + 1 WITHIN 2 s RETURN a.n AS n"

[sink]
path = "found"

[stream]
checkpoint = "small/checkpoint"
watermark = "0 s"
trigger = "available now"

[spark]
"spark.sql.shuffle.partitions" = "1"
"spark.driver.memory" = "1g"
"""


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if sys.platform != "linux" or os.getuid() or subprocess.run(mount, check=False).returncode:
        pytest.skip("a small disk can only be made by root on Linux")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.timeout(600)
def test_a_full_disk_is_told_and_nothing_is_lost(small: Path, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(
        "\n".join(f'{{"ts": "2024-05-01T10:00:0{n}Z", "n": {n}}}' for n in range(9))
    )
    filler = small / "filler"
    free = os.statvfs(small)
    filler.write_bytes(b"x" * (free.f_bavail * free.f_bsize - 16 * 1024))  # room for the beginning
    job = JobProcess(tmp_path / "job.toml", {})
    assert job.ended() == 1, job.said
    assert "error: the disk of the checkpoint or of the files is full" in job.said, job.said
    filler.unlink()
    job = JobProcess(tmp_path / "job.toml", {})
    assert job.ended() == 0, job.said
    lines = [line for file in sorted((tmp_path / "found").glob("*")) for line in file.read_text().splitlines()]
    # The last event still waits for the watermark to pass it.
    assert lines == [f'{{"n": {n}}}' for n in range(7)]
