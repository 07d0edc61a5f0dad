"""A site's process ends with all that it started."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from cepheid.job.network.run_local import SiteProcess


def runs(process: int) -> bool:
    """It is there, and no mere entry that waits to be taken off."""
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text("ascii").rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="tells by /proc what still runs")
def test_what_a_site_that_ended_left_behind_is_ended(tmp_path: Path, monkeypatch):
    starter = tmp_path / "starter"
    starter.write_text("#!/bin/sh\nsleep 60 &\necho $!\n", encoding="utf-8")
    starter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(starter))
    site = SiteProcess(tmp_path / "site.toml", tmp_path / "site.log")
    site.start()
    assert site.ended(10)
    left = int(site.last_words())
    assert runs(left)
    site.kill()
    deadline = time.monotonic() + 10
    while runs(left) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not runs(left)
