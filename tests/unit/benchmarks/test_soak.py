"""The soak of a stream fails where a curve rises, and only there."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

pytest.importorskip("pyspark")

from benchmarks.spark.memory import rss_bytes_by_command, workers_pss_bytes
from benchmarks.spark.soak import CURVES, MovingKeys, Sample, draw, growth, verdict

ONE = Sample(0, 1e9, 5e8, 4e8, 2e8, 3e8, 5e6, 4e7, 8000, 1.5, 1.0, 1.2, 0)


def run(**rises: float) -> list[Sample]:
    """A run of ten minutes whose curves are level but for small noise, or rise within the second half by a share."""
    random = np.random.default_rng(1)
    samples = []
    for seconds in range(600):
        share = 1 + 0.01 * random.standard_normal()
        values = {name: getattr(ONE, name) * share * (1 + rises.get(name, 0) * seconds / 300) for name in CURVES}
        samples.append(replace(ONE, seconds=seconds, **values))
    return samples


def test_a_level_run_is_flat():
    lines, flat = verdict(run())
    assert flat
    assert len(lines) == len(CURVES)
    assert not any("GROWS" in line for line in lines)


@pytest.mark.parametrize("name", CURVES)
def test_each_curve_that_rises_is_told(name: str):
    lines, flat = verdict(run(**{name: 1.0}))
    assert not flat
    assert [line for line in lines if "GROWS" in line] == [line for line in lines if line.startswith(CURVES[name].said)]


def test_growth_is_that_of_the_second_half():
    seconds = list(range(200))
    assert growth(seconds, [0.0] * 100 + [5.0] * 100) == pytest.approx(0)
    assert growth(seconds, [1.0] * 100 + list(np.linspace(1, 2, 100))) == pytest.approx(2 / 3, rel=0.01)
    # A curve that was never told is not taken for a level one.
    assert math.isnan(growth(seconds, [math.nan] * 200))


def test_keys_come_and_go(tmp_path: Path):
    feeder = MovingKeys(tmp_path, 5_000, n_keys=1_000)
    first = feeder.events(1e9, 0.2)
    for _ in range(60):
        last = feeder.events(1e9, 0.2)
    assert first.schema == last.schema
    assert pc.max(first["key"]).as_py() < pc.min(last["key"]).as_py()


def test_memory_of_workers_is_that_of_children():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert rss_bytes_by_command(os.getpid())["self"] > 10e6
        assert workers_pss_bytes(os.getpid()) > 0
        assert workers_pss_bytes(child.pid) == 0
    finally:
        child.communicate(b"\n")


@pytest.mark.slow
def test_the_picture_says_its_units(tmp_path: Path):
    pytest.importorskip("matplotlib")
    draw(run()[::60], tmp_path / "soak.png", "a run")
    assert (tmp_path / "soak.png").stat().st_size > 20_000
