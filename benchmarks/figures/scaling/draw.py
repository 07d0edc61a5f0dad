"""Draws the cost of an event beside its work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.figures.scaling.measure import Point


def draw(points: list[Point], path: Path) -> None:
    """One panel for each thing that grows, one line for each workload; both axes are logarithmic.

    Args:
        points: in the order in which they grow.
        path: a PNG file.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = list(dict.fromkeys(point.axis for point in points))
    figure: Any
    figure, panels = pyplot.subplots(1, len(axes), figsize=(5 * len(axes), 4.5), squeeze=False, sharey=True)
    for panel, axis in zip(panels[0], axes, strict=True):
        for workload in dict.fromkeys(point.workload for point in points):
            line = [point for point in points if point.axis == axis and point.workload == workload]
            (drawn,) = panel.plot([p.work for p in line], [p.cost_us for p in line], marker="o", label=workload)
            for p in line:
                panel.annotate(f"×{p.factor}", (p.work, p.cost_us), fontsize=7, color=drawn.get_color())
        panel.set(xscale="log", yscale="log", title=f"{axis} grows")
        panel.set_xlabel("work of an event: 1 + partial + whole matches")
        panel.grid(visible=True, which="both", alpha=0.2)
    panels[0][0].set_ylabel("time of an event, µs")
    panels[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
