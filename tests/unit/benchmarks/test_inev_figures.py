"""A figure of INEv is drawn, and no plan beats what is said to be impossible. `make ci` runs the figures."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.figures.inev import draw, experiments
from benchmarks.figures.inev.experiments import Series
from cepheid.network.generate import NetworkSettings
from cepheid.network.planner import PlanSettings, plan_workload


def test_a_figure_is_drawn(tmp_path: Path):
    line = Series("up to 0.01", {1.1: [1e-6, 1e-5, 1e-4], 2.0: [0.1, 0.2, 0.3]})
    draw.lines([line], tmp_path / "made" / "figure6a.png", title="one query", x="event skew")
    assert (tmp_path / "made" / "figure6a.png").stat().st_size > 10_000


@pytest.mark.parametrize("seed", range(6))
def test_no_plan_sends_less_than_its_first_join_must(seed: int):
    workload = experiments.drawn(seed, NetworkSettings(n_nodes=9, n_types=5, skew=1.2 + seed / 10), 0.01)
    plan = plan_workload(workload, PlanSettings(max_latency=math.inf))
    assert 0 < experiments.first_join(workload) <= plan.cost
