"""The figures as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib
import numpy as np

from benchmarks.figures.inev.experiments import Series

matplotlib.use("Agg")

from matplotlib import pyplot

RATIO = "transmission ratio, median"
MOST_IN_LINE = 72
"""Characters of a title that are as wide as the axes."""


def lines(
    series: Sequence[Series], path: Path, *, title: str, x: str, y: str = RATIO, logarithmic: bool = True
) -> None:
    """A line for each series, through its medians; the middle half of the runs is shaded.

    A logarithmic axis has no place for medians of 0: the legend tells where they are.
    """
    figure, axes = pyplot.subplots(figsize=(6.4, 4.2))
    logarithmic = logarithmic and any(value > 0 for line in series for value in line.medians())
    for line in series:
        values, medians = list(line.points), np.array(line.medians(), float)
        low, high = (np.array([np.quantile(found, part) for found in line.points.values()]) for part in (0.25, 0.75))
        name = line.name
        if logarithmic and (
            zeros := [f"{value:g}" for value, median in zip(values, medians, strict=True) if not median]
        ):
            name += f" (0 at {', '.join(zeros)})"
            medians[medians == 0], low[high == 0], high[high == 0] = np.nan, np.nan, np.nan
        (drawn,) = axes.plot(values, medians, marker="o", label=name)
        axes.fill_between(values, low, high, alpha=0.12, color=drawn.get_color())
    if logarithmic:
        axes.set_yscale("log")
    _finish(figure, axes, path, title, x, y)


def bars(groups: Mapping[str, Sequence[float]], path: Path, *, title: str, y: str = RATIO) -> None:
    """A box for each group of runs."""
    figure, axes = pyplot.subplots(figsize=(6.4, 4.2))
    axes.boxplot(list(groups.values()), tick_labels=list(groups), showfliers=False)
    _finish(figure, axes, path, title, "", y, legend=False)


def scatter(points: Sequence[tuple[float, float]], path: Path, *, title: str, x: str, y: str) -> None:
    """A point for each run."""
    figure, axes = pyplot.subplots(figsize=(6.4, 4.2))
    axes.scatter([one for one, _ in points], [other for _, other in points], s=14)
    _finish(figure, axes, path, title, x, y, legend=False)


def _finish(figure: Any, axes: Any, path: Path, title: str, x: str, y: str, *, legend: bool = True) -> None:
    axes.set_title("\n".join(line for part in title.splitlines() for line in wrap(part, MOST_IN_LINE)), fontsize=9)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if legend:
        axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)
