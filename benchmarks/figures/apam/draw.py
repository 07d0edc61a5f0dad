"""Draws latency as the paper's Figures 4 to 6 do: a bar for each candidate plan, of waiting and of service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.figures.apam.experiments import plan_text
from benchmarks.figures.apam.measure import Measurements

N_PANELS = 4
LINES: dict[str, dict[str, Any]] = {
    "chosen": {"color": "#2ca02c", "linewidth": 6, "alpha": 0.35},
    "eager": {"color": "#1f77b4", "linestyle": "--"},
    "lazy": {"color": "#d62728", "linestyle": ":"},
}


def draw(one: Measurements, path: Path) -> None:
    """One figure: four rates, from slow to fast; the chosen plan is marked.

    Args:
        one: an experiment.
        path: a PNG file.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.patches import Patch
    from matplotlib.ticker import NullLocator

    points = [point for point in one.points if not point.saturated]
    shown = [points[round(i * (len(points) - 1) / (N_PANELS - 1))] for i in range(N_PANELS)]
    figure: Any
    figure, panels = pyplot.subplots(1, N_PANELS, figsize=(15, 3.8), sharey=True)
    least = min(one.service_s for point in shown for one in point.latencies.values()) * 1e6 / 5
    for panel, point in zip(panels, shown, strict=True):
        plans = sorted(point.latencies, key=lambda plan: len(plan_text(plan).split("/")[0]))
        waits = [1e6 * point.latencies[plan].waiting_s for plan in plans]
        services = [1e6 * point.latencies[plan].service_s for plan in plans]
        # On a logarithmic axis parts do not add up to a bar: they stand beside each other.
        at = range(len(plans))
        bars = panel.bar([i - 0.2 for i in at], [max(w, least) for w in waits], 0.4, label="waiting", color="#d98c5f")
        for bar, plan in zip(bars, plans, strict=True):
            if point.latencies[plan].utilization >= 1:  # as long as the stream is
                bar.set(hatch="////", edgecolor="white", linewidth=0)
        panel.bar([i + 0.2 for i in at], services, 0.4, label="service", color="#5f8fd9")
        labels = [f"[{plan_text(plan)}]" if plan == point.chosen else plan_text(plan) for plan in plans]
        panel.set_xticks(list(at), labels, rotation=30, fontsize=8)
        panel.set(yscale="log", title=f"{point.rate_per_s:,.0f} events/s (eager busy {point.utilization:.0%})")
        panel.yaxis.set_minor_locator(NullLocator())  # hundreds, over ten decades: they take seconds to lay out
        panel.title.set_fontsize(9)
        panel.grid(visible=True, axis="y", alpha=0.2)
        panel.set_axisbelow(True)
    most = max(one.latency_s for point in shown for one in point.latencies.values()) * 1e6
    panels[0].set_ylim(least, 1_000 * most)  # room for the legend
    panels[0].set_ylabel("µs")
    handles = [*panels[0].get_legend_handles_labels()[0], Patch(facecolor="#d98c5f", edgecolor="white", hatch="////")]
    told = ["waiting", "service", "waiting without end"]
    panels[0].legend(handles, told, fontsize=7, loc="upper left")
    figure.suptitle(f"Experiment {one.experiment.number}: latency of candidate plans; [chosen]", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def draw_rates(found: list[Measurements], path: Path) -> None:
    """Latency over the rate: eager, lazy, and what is chosen; a panel for each experiment."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import NullLocator

    figure: Any
    figure, panels = pyplot.subplots(1, len(found), figsize=(15, 4.2), squeeze=False)
    for panel, one in zip(panels[0], found, strict=True):
        points = sorted(one.points, key=lambda point: point.rate_per_s)
        rates = [point.rate_per_s for point in points]
        # What is chosen is mostly one of the others: a broad line below theirs.
        for name, style in LINES.items():
            plans = [{"eager": "eager", "lazy": point.lazy, "chosen": point.chosen}[name] for point in points]
            latencies = [1e6 * p.latencies[plan].latency_s for p, plan in zip(points, plans, strict=True)]
            panel.plot(rates, latencies, marker="o", markersize=3, label=name, **style)
        panel.set(xscale="log", yscale="log", title=f"Experiment {one.experiment.number}", xlabel="events/s")
        panel.yaxis.set_minor_locator(NullLocator())
        panel.grid(visible=True, which="both", alpha=0.2)
    panels[0][0].set_ylabel("latency, µs")
    panels[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
