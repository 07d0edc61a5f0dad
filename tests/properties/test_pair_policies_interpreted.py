"""`test_pair_policies` and those beside it in plain Python, where no variant of the kernels has to be compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_policies_that_look_at_pairs():
    names = ("test_pair_policies.py", "test_pair_policies_streams.py")
    tests = [str(Path(__file__).with_name(name)) for name in names]
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "CEPHEID_JIT": "0"}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
