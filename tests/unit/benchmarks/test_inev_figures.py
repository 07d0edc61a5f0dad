"""A figure of INEv is drawn. `make ci` runs them all, and asserts their claims."""

from __future__ import annotations

from pathlib import Path

from benchmarks.figures.inev import draw
from benchmarks.figures.inev.experiments import Series


def test_a_figure_is_drawn(tmp_path: Path):
    line = Series("up to 0.01", {1.1: [1e-6, 1e-5, 1e-4], 2.0: [0.1, 0.2, 0.3]})
    draw.lines([line], tmp_path / "made" / "figure6a.png", title="one query", x="event skew")
    assert (tmp_path / "made" / "figure6a.png").stat().st_size > 10_000
