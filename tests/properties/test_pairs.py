"""The engine gives what the oracle gives, on very many random pairs of a query and a stream."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cepheid.testing.fuzz import Coverage
from cepheid.testing.reports import coverage_from, coverage_table, never_compared

ROOT = Path(__file__).resolve().parents[2]
SEED = 20_240_131

Record = Callable[[str, str], None]


def compared(folder: Path, *arguments: str) -> Coverage:
    """What a run of scripts/fuzz.py compares; it must find nothing."""
    report = folder / "coverage.json"
    command = [sys.executable, str(ROOT / "scripts/fuzz.py"), "--seed", str(SEED), "--coverage", str(report)]
    ran = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return coverage_from(json.loads(report.read_text(encoding="utf-8")))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_pairs_on_kernels_in_plain_python(tmp_path: Path, record_report: Record):
    coverage = compared(tmp_path, "--no-jit", "--jobs", "2", "--pairs", "6000", "--minutes", "8")
    record_report("random pairs, kernels in plain Python", coverage_table(coverage))
    assert coverage.n_pairs >= 12_000
    assert not never_compared(coverage)
    assert coverage.n_planned > 200
    assert coverage.n_keyed > 500
    assert coverage.n_slow < coverage.n_pairs / 1000


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.timeout(900)
def test_pairs_on_compiled_kernels(tmp_path: Path, record_report: Record):
    coverage = compared(tmp_path, "--jit", "--jobs", "2", "--queries", "105", "--streams", "40", "--minutes", "8")
    record_report("random pairs, compiled kernels", coverage_table(coverage))
    assert coverage.n_queries >= 200
    assert coverage.n_pairs >= 200 * 40
