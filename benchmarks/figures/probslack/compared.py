"""The paper's averages beside ours, and the claims that have to hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from benchmarks.figures.probslack.experiments import Overhead
from benchmarks.figures.probslack.runs import (
    AVERAGE,
    BY_EVENT,
    IGNORE,
    LEARNING,
    ORACLE,
    OURS,
    PAPER,
    WORDED,
    Run,
    chosen,
    mean,
)


@dataclass(frozen=True)
class Row:
    """One number of the paper.

    Attributes:
        what: it is.
        paper: as printed, as text.
        printed: ours, with the policy as the paper prints it.
        ours: with our guard and warm-up; empty where that makes no difference.
    """

    what: str
    paper: str
    printed: str
    ours: str = ""


def times(slack: float, other: float) -> str:
    """How many times less a mean slack is than another: their ratio, which means nothing for one that is negative."""
    return f"{other / slack:.2f}" if slack > 0 else f"mean slack {slack:.1f} ms"


def at_least(slack: float, other: float, factor: float) -> bool:
    """Whether a mean slack is so many times less than another; a negative one is less than any part of it."""
    return slack <= other / factor


PAPER_GAIN = (7.6 - 1) / (7.6 - 2.1)
"""What the paper's factors of figure 6 say of `gain_over`: with s of BL-ED, ProbSlack's slack is s / 7.6, and BL-AD's
2.1 times that."""


def gain_over(slack: float, other: float, by_event: float) -> float:
    """How many times more a policy gains over BL-ED than another one does: defined for negative slacks, too.

    ``(SL(BL-ED) - SL(policy)) / (SL(BL-ED) - SL(other))``.
    """
    return (by_event - slack) / (by_event - other)


def oracle_distance(runs: list[Run], name: str, by: str) -> float:
    """How many times more Oracle gains over BL-ED than a policy does: the mean over what varies.

    ``(SL(BL-ED) - SL(Oracle)) / (SL(BL-ED) - SL(policy))`` of the mean slacks of all seeds, so that negative slack
    counts as the paper counts it.
    """
    ratios = []
    for value in sorted({getattr(run, by) for run in runs}):
        here = chosen(runs, **{by: value})
        by_event = mean(chosen(here, policy=BY_EVENT))
        gained = by_event - mean(chosen(here, policy=name))
        ratios.append((by_event - mean(chosen(here, policy=ORACLE))) / gained)
    return float(np.mean(ratios))


def slack_of(runs: Iterable[Run], name: str) -> float:
    return mean(chosen(runs, policy=name))


def mer_of(runs: Iterable[Run], name: str) -> float:
    return mean(chosen(runs, policy=name), "mer")


def each_of(runs: list[Run], name: str, by: str, what: str) -> list[float]:
    values = sorted({getattr(run, by) for run in runs})
    return [mean(chosen(runs, policy=name, **{by: value}), what) for value in values]


def ratios_of(runs: list[Run], name: str, by: str) -> list[float]:
    pairs = zip(each_of(runs, BY_EVENT, by, "slack"), each_of(runs, name, by, "slack"), strict=True)
    return [by_event / slack if slack > 0 else float("inf") for by_event, slack in pairs]


def rows_all(runs: list[Run]) -> list[Row]:
    """Figure 6."""

    def greatest(name: str) -> float:
        return max(mean(chosen(runs, policy=name, stream=s), "mer") for s in {run.stream for run in runs})

    return [
        Row("fig. 6  MER, mean (%)", "13.7", f"{100 * mer_of(runs, PAPER):.1f}", f"{100 * mer_of(runs, OURS):.1f}"),
        Row(
            "fig. 6  MER, greatest of a stream (%)", "20", f"{100 * greatest(PAPER):.1f}", f"{100 * greatest(OURS):.1f}"
        ),
        Row("fig. 6  MER of BL-IG (%)", "35", f"{100 * mer_of(runs, IGNORE):.1f}"),
        Row("fig. 6  MER of BL-AD (%)", "5", f"{100 * mer_of(runs, AVERAGE):.1f}"),
        *(
            Row(
                f"fig. 6  times faster than {other}",
                paper,
                times(slack_of(runs, PAPER), slack_of(runs, other)),
                times(slack_of(runs, OURS), slack_of(runs, other)),
            )
            for other, paper in ((BY_EVENT, "7.6"), (AVERAGE, "2.1"))
        ),
        Row(
            "fig. 6  gain over BL-ED, times BL-AD's",
            f"{PAPER_GAIN:.2f}",
            *(
                f"{gain_over(slack_of(runs, n), slack_of(runs, AVERAGE), slack_of(runs, BY_EVENT)):.2f}"
                for n in (PAPER, OURS)
            ),
        ),
    ]


def rows_by_frequency(runs: list[Run]) -> list[Row]:
    """Figure 7."""
    printed, ours = (ratios_of(runs, name, "f") for name in (PAPER, OURS))
    return [
        Row("fig. 7  MER, mean (%)", "8", f"{100 * mer_of(runs, PAPER):.1f}", f"{100 * mer_of(runs, OURS):.1f}"),
        Row(
            "fig. 7  times faster than BL-ED",
            "1.9",
            times(slack_of(runs, PAPER), slack_of(runs, BY_EVENT)),
            times(slack_of(runs, OURS), slack_of(runs, BY_EVENT)),
        ),
        Row("fig. 7  times faster than BL-ED, least over f", "1.2", f"{min(printed):.1f}", f"{min(ours):.1f}"),
        Row("fig. 7  MER of BL-IG, times ProbSlack's", "3.7", f"{mer_of(runs, IGNORE) / mer_of(runs, PAPER):.1f}"),
        Row(
            "fig. 7  gain of Oracle, times ProbSlack's",
            "3",
            f"{oracle_distance(runs, PAPER, 'f'):.2f}",
            f"{oracle_distance(runs, OURS, 'f'):.2f}",
        ),
    ]


def rows_by_budget(runs: list[Run]) -> list[Row]:
    """Figure 8."""

    def range_of(name: str, what: str, factor: float) -> str:
        values = each_of(runs, name, "delta", what)
        return f"{factor * values[0]:.1f} to {factor * values[-1]:.1f}"

    return [
        Row("fig. 8  MER (%)", "6.7 to 55.7", range_of(PAPER, "mer", 100), range_of(OURS, "mer", 100)),
        Row("fig. 8  mean slack (ms)", "10 to -10", range_of(PAPER, "slack", 1), range_of(OURS, "slack", 1)),
        Row("fig. 8  mean slack of Oracle (ms)", "-7.2 to -28.3", range_of(ORACLE, "slack", 1)),
        Row("fig. 8  the same, had it begun with BL-ED's slack", "", range_of(WORDED, "slack", 1)),
        Row("fig. 8  MER of BL-IG (%)", "30", f"{100 * mer_of(runs, IGNORE):.1f}"),
        Row(
            "fig. 8  gain of Oracle, times ProbSlack's",
            "2",
            f"{oracle_distance(runs, PAPER, 'delta'):.2f}",
            f"{oracle_distance(runs, OURS, 'delta'):.2f}",
        ),
    ]


def rows_changing(runs: list[Run]) -> list[Row]:
    """Figure 9."""
    return [
        Row("fig. 9  MER (%)", "6.7", f"{100 * mer_of(runs, PAPER):.1f}", f"{100 * mer_of(runs, OURS):.1f}"),
        Row(
            "fig. 9  times faster than BL-ED",
            "5.4",
            times(slack_of(runs, PAPER), slack_of(runs, BY_EVENT)),
            times(slack_of(runs, OURS), slack_of(runs, BY_EVENT)),
        ),
    ]


def rows_umts(runs: list[Run], figure: str) -> list[Row]:
    """Figure 10 or 11, whose data is other than the paper's."""
    by, mer, faster, oracle = ("f", "19", "1.49", "3.1") if figure == "fig. 10" else ("delta", "below δ", "4.5", "4.5")
    return [
        Row(f"{figure}  MER (%)", mer, *(f"{100 * mer_of(runs, name):.1f}" for name in (PAPER, OURS))),
        Row(
            f"{figure}  times faster than BL-ED (slack)",
            faster,
            *(times(slack_of(runs, name), slack_of(runs, BY_EVENT)) for name in (PAPER, OURS)),
        ),
        Row(
            f"{figure}  gain of Oracle, times ProbSlack's",
            oracle,
            *(f"{oracle_distance(runs, name, by):.2f}" for name in (PAPER, OURS)),
        ),
    ]


def rows_overhead(found: list[Overhead]) -> list[Row]:
    """Table 1. The paper evaluates COND at every time point, ours once for each event and window."""

    def entries(name: str) -> str:
        values = [value for run in found for value in getattr(run, name)]
        return f"{np.mean(values):.1f}, at most {max(values)}"

    def per(name: str, by: str) -> str:
        ratios = [getattr(run, name) / getattr(run, by) for run in found]
        return f"{np.mean(ratios):.3f}, at most {max(ratios):.3f}"

    return [
        Row("table 1  entries of the fit, both histograms", "27, at most 42", entries("fit_entries")),
        Row("table 1  entries of the cache, lazy", "1.6, at most 7", entries("cache_entries")),
        Row("table 1  entries of the cache, built at once", "3, at most 7", entries("eager_entries")),
        Row("table 1  look-ups per decision", "1", per("n_lookups", "n_decisions")),
        Row("table 1  products per decision, no cache", "about 10", per("n_summed", "n_decisions")),
        Row("table 1  waits found per event", "below 0.001", per("n_built", "n_decisions")),
    ]


ORACLE_SAID = """\
Gain of Oracle, times a policy's: (SL(BL-ED) - SL(Oracle)) / (SL(BL-ED) - SL(policy)), the mean of it over what varies.
Oracle closes a window when its last event has come, and gives up at -f the windows that would take longest. The paper
says that it begins with the slack of BL-ED instead. That is never below 0 and is told above: it does not come to the
paper's figures, and what is used here does."""


def rows_estimators(by_frequency: list[Run], by_budget: list[Run]) -> list[str]:
    """What the estimators, fits and guards differ in, as lines of a table."""
    lines = [f"{'stream BB':<24}{'MER, δ = 0.1':>14}{'slack, δ = 0.1':>16}{'to Oracle, f':>14}{'to Oracle, δ':>14}"]
    for name in LEARNING:
        lines.append(
            f"{name:<24}{100 * mer_of(by_frequency, name):>12.1f} %{slack_of(by_frequency, name):>13.2f} ms"
            f"{oracle_distance(by_frequency, name, 'f'):>14.2f}{oracle_distance(by_budget, name, 'delta'):>14.2f}"
        )
    return lines


def rows_spark(runs: list[Run], figure: str) -> list[Row]:
    """Figure 12 or 13, whose data is other than the paper's."""
    took = {name: mean(chosen(runs, policy=name), "completion") for name in (BY_EVENT, IGNORE, AVERAGE, OURS)}
    by_end = mean(chosen(runs, policy=OURS), "by_end")
    is_12 = figure == "fig. 12"
    faster = f"{took[BY_EVENT] / took[OURS]:.2f}"
    baselines = ", ".join(f"{took[name]:.0f}" for name in (BY_EVENT, AVERAGE, IGNORE))
    return [
        Row(f"{figure}  times faster than BL-ED to complete", "1.31" if is_12 else "1.46", "", faster),
        Row(f"{figure}  completion of BL-ED, BL-AD, BL-IG (ms)", "", "", baselines),
        Row(f"{figure}  completion of ProbSlack (ms)", "315" if is_12 else "", "", f"{took[OURS]:.0f}"),
        Row(f"{figure}  the same, had no window closed early (ms)", "", "", f"{by_end:.0f}"),
        Row(f"{figure}  mean slack of ProbSlack (ms)", "", "", f"{slack_of(runs, OURS):.0f}"),
        Row(f"{figure}  windows that it closed before their ends (%)", "", "", f"{100 * _early(runs):.0f}"),
        Row(f"{figure}  MER (%)", "below δ", "", f"{100 * mer_of(runs, OURS):.1f}"),
        Row(f"{figure}  MER of BL-IG (%)", "98", "", f"{100 * mer_of(runs, IGNORE):.1f}"),
    ]


def _early(runs: list[Run]) -> float:
    own = chosen(runs, policy=OURS)
    return mean(own, "n_early") / mean(own, "n_windows")


def lines_outages(runs: list[Run]) -> list[str]:
    """What an outage brings over the budget, as lines of a table: here MER is not held to it."""
    lines = [
        f"{'windows over δ after an outage of':<36}" + "".join(f"{f'{f} ms':>12}" for f in sorted({r.f for r in runs}))
    ]
    for name in dict.fromkeys(run.policy for run in runs):
        for delta in sorted({run.delta for run in runs}):
            own = sorted(chosen(runs, policy=name, delta=delta), key=lambda run: run.f)
            over = "".join(f"{(run.mer - delta) * run.n_windows:>+12.1f}" for run in own)
            lines.append(f"{f'{name}, δ = {delta}, of {own[0].n_windows}':<36}{over}")
    return lines
