"""`test_postponed` with kernels in plain Python, where no variant of them has to be compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_open_predicates():
    tests = Path(__file__).with_name("test_postponed.py")
    root = tests.parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", str(tests)]
    environment = {**os.environ, "CEPHEID_JIT": "0"}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
