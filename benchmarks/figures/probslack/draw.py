"""Draws figures like 6 to 13 of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures.probslack.compared import Row
from benchmarks.figures.probslack.experiments import Series
from benchmarks.figures.probslack.runs import (
    AVERAGE,
    BY_EVENT,
    IGNORE,
    ORACLE,
    OURS,
    PAPER,
    SILENCE,
    SPENDING,
    Run,
    chosen,
)

COLORS = {
    BY_EVENT: "tab:blue",
    IGNORE: "tab:gray",
    AVERAGE: "tab:brown",
    PAPER: "tab:orange",
    OURS: "tab:red",
    SILENCE: "tab:purple",
    SPENDING: "tab:pink",
    ORACLE: "tab:green",
}


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _save(figure: Any, rows: list[Row], path: Path) -> None:
    """Write a figure, and below it the paper's numbers beside ours."""
    lines = [f"{'':<52}{'paper':>16}{PAPER:>26}{OURS:>28}"]
    lines += [f"{row.what.split('  ', 1)[1]:<52}{row.paper:>16}{row.printed:>26}{row.ours:>28}" for row in rows]
    width, height = figure.get_size_inches()
    below = 0.018 * width * len(lines) + 0.1
    figure.set_size_inches(width, height + below)
    figure.text(0.01, 0.01, "\n".join(lines), family="monospace", fontsize=0.95 * width, va="bottom")
    figure.tight_layout(rect=(0, below / (height + below), 1, 1))
    figure.savefig(path, dpi=150)
    _pyplot().close(figure)


def bars(runs: list[Run], rows: list[Row], path: Path) -> None:
    """Figure 6: MER and mean slack of each stream over all frequencies, with the least and the greatest of a run."""
    pyplot = _pyplot()
    figure, panels = pyplot.subplots(2, 1, figsize=(9, 7), sharex=True)
    streams = list(dict.fromkeys(run.stream for run in runs))
    names = (BY_EVENT, IGNORE, AVERAGE, PAPER, OURS)
    width = 0.8 / len(names)
    for panel, what, factor in ((panels[0], "mer", 100), (panels[1], "slack", 1)):
        for number, name in enumerate(names):
            values = [
                factor * np.array([getattr(r, what) for r in chosen(runs, policy=name, stream=s)]) for s in streams
            ]
            means = np.array([v.mean() for v in values])
            spread = np.array([[m - v.min(), v.max() - m] for m, v in zip(means, values, strict=True)]).T
            at = np.arange(len(streams)) + (number - (len(names) - 1) / 2) * width
            panel.bar(at, means, width, yerr=spread, label=name, color=COLORS[name], capsize=2)
        panel.grid(axis="y", alpha=0.3)
    panels[0].axhline(30, color="black", linestyle="--", linewidth=1, label="δ")
    panels[0].set_ylabel("MER, %")
    panels[0].set_ylim(0, 110)
    panels[1].set_ylabel("mean slack, ms")
    panels[1].set_xticks(np.arange(len(streams)), streams)
    panels[0].legend(ncol=3, fontsize=8)
    panels[0].set_title("all f, δ = 0.3; bars: least and greatest of a run")
    _save(figure, rows, path)


def lines(runs: list[Run], by: str, title: str, rows: list[Row], path: Path, *, what: str = "slack") -> None:
    """Figures 7, 8, 10 and 11: MER and another figure by what varies, with the least and the greatest of a seed.

    Args:
        runs: those of the figure.
        by: the field that varies.
        title: above it.
        rows: the paper's numbers.
        path: a PNG file.
        what: the field of the second panel.
    """
    pyplot = _pyplot()
    figure, panels = pyplot.subplots(2, 1, figsize=(7, 7.5), sharex=True)
    at = sorted({getattr(run, by) for run in runs})
    names = [name for name in COLORS if chosen(runs, policy=name)]
    for panel, field, factor in ((panels[0], "mer", 100), (panels[1], what, 1)):
        for name in names:
            values = [
                factor * np.array([getattr(run, field) for run in chosen(runs, policy=name, **{by: value})])
                for value in at
            ]
            if not np.isfinite(np.concatenate(values)).all():
                continue
            means = [v.mean() for v in values]
            panel.plot(at, means, marker="o", markersize=4, label=name, color=COLORS[name])
            if by == "f" or field == "mer":
                panel.fill_between(
                    at, [v.min() for v in values], [v.max() for v in values], alpha=0.1, color=COLORS[name]
                )
        panel.grid(alpha=0.3)
    budgets = [100 * value for value in at] if by == "delta" else [100 * runs[0].delta] * len(at)
    panels[0].plot(at, budgets, color="black", linestyle="--", linewidth=1, label="δ")
    panels[0].set_ylabel("MER, %")
    panels[0].set_title(title)
    panels[0].legend(ncol=2, fontsize=8)
    panels[1].set_ylabel("mean slack, ms" if what == "slack" else "mean completion time, ms")
    panels[1].set_xlabel("f, ms" if by == "f" else "δ")
    _save(figure, rows, path)


def course(series: list[Series], changes: list[int], rows: list[Row], path: Path) -> None:
    """Figure 9: slack in the course of time, mean, least and greatest of 3,000 ms."""
    pyplot = _pyplot()
    figure, panels = pyplot.subplots(len(series), 1, figsize=(9, 2.6 * len(series)), sharex=True, sharey=True)
    for panel, one in zip(panels, series, strict=True):
        minutes = one.starts / 60_000
        panel.fill_between(minutes, one.least, one.greatest, alpha=0.25, color=COLORS[one.policy], linewidth=0)
        panel.plot(minutes, one.mean, color=COLORS[one.policy], linewidth=1, label=one.policy)
        for change in changes:
            panel.axvline(change / 60_000, color="black", linestyle="--", linewidth=1)
        panel.set_ylabel("slack, ms")
        panel.grid(alpha=0.3)
        panel.legend(loc="upper right", fontsize=8)
    panels[0].set_title("f = 30 ms, δ = 0.1; dashed: the distributions change")
    panels[-1].set_xlabel("time, minutes")
    _save(figure, rows, path)
