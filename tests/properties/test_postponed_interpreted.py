"""`test_postponed` and its like for streams with kernels in plain Python, where no variant of them is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_open_predicates():
    here = Path(__file__)
    tests = [str(here.with_name(f"test_{name}.py")) for name in ("postponed", "postponed_streams")]
    root = here.parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "CEPHEID_JIT": "0"}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
