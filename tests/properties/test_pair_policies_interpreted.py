"""`test_pair_policies` and those beside it in plain Python, where no variant of the kernels has to be compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def require_passes(*names: str) -> None:
    """Run tests of this folder in a process of its own."""
    tests = [str(Path(__file__).with_name(name)) for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "CEPHEID_JIT": "0"}
    root = Path(__file__).parents[2]
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_policies_that_look_at_pairs():
    require_passes("test_pair_policies.py", "test_pair_policies_paused.py", "test_pair_policies_postponed.py")


@pytest.mark.slow
def test_policies_in_streams_and_under_evaluation_plans():
    require_passes("test_pair_policies_streams.py", "test_pair_policies_plans.py")
