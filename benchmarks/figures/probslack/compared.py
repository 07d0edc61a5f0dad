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
    SILENCE,
    SPENDING,
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


@dataclass(frozen=True)
class Claim:
    """Something that has to hold.

    Attributes:
        what: it says.
        holds: whether it does.
        figures: by how much, as text.
    """

    what: str
    holds: bool
    figures: str


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


def _slack(runs: Iterable[Run], name: str) -> float:
    return mean(chosen(runs, policy=name))


def _mer(runs: Iterable[Run], name: str) -> float:
    return mean(chosen(runs, policy=name), "mer")


def _each(runs: list[Run], name: str, by: str, what: str) -> list[float]:
    values = sorted({getattr(run, by) for run in runs})
    return [mean(chosen(runs, policy=name, **{by: value}), what) for value in values]


def _ratios(runs: list[Run], name: str, by: str) -> list[float]:
    pairs = zip(_each(runs, BY_EVENT, by, "slack"), _each(runs, name, by, "slack"), strict=True)
    return [by_event / slack if slack > 0 else float("inf") for by_event, slack in pairs]


def rows_all(runs: list[Run]) -> list[Row]:
    """Figure 6."""

    def greatest(name: str) -> float:
        return max(mean(chosen(runs, policy=name, stream=s), "mer") for s in {run.stream for run in runs})

    return [
        Row("fig. 6  MER, mean (%)", "13.7", f"{100 * _mer(runs, PAPER):.1f}", f"{100 * _mer(runs, OURS):.1f}"),
        Row(
            "fig. 6  MER, greatest of a stream (%)", "20", f"{100 * greatest(PAPER):.1f}", f"{100 * greatest(OURS):.1f}"
        ),
        Row("fig. 6  MER of BL-IG (%)", "35", f"{100 * _mer(runs, IGNORE):.1f}"),
        Row("fig. 6  MER of BL-AD (%)", "5", f"{100 * _mer(runs, AVERAGE):.1f}"),
        *(
            Row(
                f"fig. 6  times faster than {other}",
                paper,
                times(_slack(runs, PAPER), _slack(runs, other)),
                times(_slack(runs, OURS), _slack(runs, other)),
            )
            for other, paper in ((BY_EVENT, "7.6"), (AVERAGE, "2.1"))
        ),
        Row(
            "fig. 6  gain over BL-ED, times BL-AD's",
            f"{PAPER_GAIN:.2f}",
            *(
                f"{gain_over(_slack(runs, n), _slack(runs, AVERAGE), _slack(runs, BY_EVENT)):.2f}"
                for n in (PAPER, OURS)
            ),
        ),
    ]


def rows_by_frequency(runs: list[Run]) -> list[Row]:
    """Figure 7."""
    printed, ours = (_ratios(runs, name, "f") for name in (PAPER, OURS))
    return [
        Row("fig. 7  MER, mean (%)", "8", f"{100 * _mer(runs, PAPER):.1f}", f"{100 * _mer(runs, OURS):.1f}"),
        Row(
            "fig. 7  times faster than BL-ED",
            "1.9",
            times(_slack(runs, PAPER), _slack(runs, BY_EVENT)),
            times(_slack(runs, OURS), _slack(runs, BY_EVENT)),
        ),
        Row("fig. 7  times faster than BL-ED, least over f", "1.2", f"{min(printed):.1f}", f"{min(ours):.1f}"),
        Row("fig. 7  MER of BL-IG, times ProbSlack's", "3.7", f"{_mer(runs, IGNORE) / _mer(runs, PAPER):.1f}"),
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
        values = _each(runs, name, "delta", what)
        return f"{factor * values[0]:.1f} to {factor * values[-1]:.1f}"

    return [
        Row("fig. 8  MER (%)", "6.7 to 55.7", range_of(PAPER, "mer", 100), range_of(OURS, "mer", 100)),
        Row("fig. 8  mean slack (ms)", "10 to -10", range_of(PAPER, "slack", 1), range_of(OURS, "slack", 1)),
        Row("fig. 8  mean slack of Oracle (ms)", "-7.2 to -28.3", range_of(ORACLE, "slack", 1)),
        Row("fig. 8  MER of BL-IG (%)", "30", f"{100 * _mer(runs, IGNORE):.1f}"),
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
        Row("fig. 9  MER (%)", "6.7", f"{100 * _mer(runs, PAPER):.1f}", f"{100 * _mer(runs, OURS):.1f}"),
        Row(
            "fig. 9  times faster than BL-ED",
            "5.4",
            times(_slack(runs, PAPER), _slack(runs, BY_EVENT)),
            times(_slack(runs, OURS), _slack(runs, BY_EVENT)),
        ),
    ]


def rows_umts(by_frequency: list[Run], by_budget: list[Run]) -> list[Row]:
    """Figures 10 and 11, whose data is other than the paper's."""
    found = []
    for figure, runs, by, mer, faster, oracle in (
        ("fig. 10", by_frequency, "f", "19", "1.49", "3.1"),
        ("fig. 11", by_budget, "delta", "below δ", "4.5", "4.5"),
    ):
        found += [
            Row(f"{figure}  MER (%)", mer, f"{100 * _mer(runs, PAPER):.1f}", f"{100 * _mer(runs, OURS):.1f}"),
            Row(
                f"{figure}  times faster than BL-ED (slack)",
                faster,
                times(_slack(runs, PAPER), _slack(runs, BY_EVENT)),
                times(_slack(runs, OURS), _slack(runs, BY_EVENT)),
            ),
            Row(
                f"{figure}  gain of Oracle, times ProbSlack's",
                oracle,
                f"{oracle_distance(runs, PAPER, by):.2f}",
                f"{oracle_distance(runs, OURS, by):.2f}",
            ),
        ]
    return found


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


def rows_estimators(by_frequency: list[Run], by_budget: list[Run]) -> list[str]:
    """What the estimators, fits and guards differ in, as lines of a table."""
    lines = [f"{'stream BB':<24}{'MER, δ = 0.1':>14}{'slack, δ = 0.1':>16}{'to Oracle, f':>14}{'to Oracle, δ':>14}"]
    for name in LEARNING:
        lines.append(
            f"{name:<24}{100 * _mer(by_frequency, name):>12.1f} %{_slack(by_frequency, name):>13.2f} ms"
            f"{oracle_distance(by_frequency, name, 'f'):>14.2f}{oracle_distance(by_budget, name, 'delta'):>14.2f}"
        )
    return lines


def claims_budget(runs: list[Run], where: str) -> list[Claim]:
    """MER is within the budget in the mean over seeds, and by one window in every run."""
    found = []
    for name in LEARNING:
        own = chosen(runs, policy=name)
        if not own:
            continue
        # A trace is there once: as printed, the policy keeps to the budget in the mean over all of them.
        by = ("f", "delta") if name == PAPER and len({run.seed for run in own}) == 1 else ("stream", "f", "delta")
        cells = {tuple(getattr(run, key) for key in by): run.delta for run in own}
        over = max(
            mean(chosen(own, **dict(zip(by, cell, strict=True))), "mer") - delta for cell, delta in cells.items()
        )
        worst = max((run.mer - run.delta) * run.n_windows for run in own)
        if name == PAPER:  # its guard acts when misses are known, which may be several windows late
            found.append(Claim(f"{where}: {name}: mean MER at most δ", over <= 0, f"most over it: {over:+.4f}"))
            continue
        found.append(
            Claim(
                f"{where}: {name}: mean MER at most δ, each run at most δ and a window",
                over <= 0 and worst <= 1,
                f"most over it: {over:+.4f}, windows over it in a run: {worst:+.1f}",
            )
        )
    return found


def claims_all(runs: list[Run]) -> list[Claim]:
    """Figure 6: the paper's factors, and what they say of gains over BL-ED, where slacks may be negative."""
    gains = {
        name: gain_over(_slack(runs, name), _slack(runs, AVERAGE), _slack(runs, BY_EVENT)) for name in (PAPER, OURS)
    }
    return [
        *(
            Claim(
                f"fig. 6: {name}: gains {PAPER_GAIN:.2f} times as much over BL-ED as BL-AD",
                gain >= PAPER_GAIN,
                f"{gain:.2f}",
            )
            for name, gain in gains.items()
        ),
        *(
            Claim(
                f"fig. 6: {name}: mean slack {factor} times less than {other}",
                at_least(_slack(runs, name), _slack(runs, other), factor),
                f"{_slack(runs, name):.2f} ms and {_slack(runs, other):.2f} ms",
            )
            for name in (PAPER, OURS)
            for other, factor in ((BY_EVENT, 7.6), (AVERAGE, 2.1))
        ),
    ]


def claims_by_frequency(runs: list[Run]) -> list[Claim]:
    """Figure 7."""
    found = [
        Claim(
            "fig. 7: MER of ProbSlack as printed about 8 %",
            0.06 <= _mer(runs, PAPER) <= 0.1,
            f"{_mer(runs, PAPER):.3f}",
        )
    ]
    for name in (PAPER, OURS):
        slack, by_event = _slack(runs, name), _slack(runs, BY_EVENT)
        least = min(_ratios(runs, name, "f"))
        distance = oracle_distance(runs, name, "f")
        found += [
            Claim(
                f"fig. 7: {name}: 1.9 times faster than BL-ED, and 1.2 times at each f",
                at_least(slack, by_event, 1.9) and least >= 1.2,
                f"{slack:.2f} ms and {by_event:.2f} ms; {least:.2f}",
            ),
            Claim(f"fig. 7: {name}: Oracle gains at most 3 times more", distance <= 3, f"{distance:.2f}"),
        ]
    better = {name: oracle_distance(runs, name, "f") for name in (PAPER, SILENCE, SPENDING)}
    found.append(
        Claim(
            "fig. 7: what hears the silence is nearer to Oracle, and misses less",
            better[SILENCE] < better[PAPER]
            and better[SPENDING] < better[PAPER]
            and _mer(runs, SILENCE) < _mer(runs, PAPER),
            ", ".join(f"{name} {distance:.2f}" for name, distance in better.items()),
        )
    )
    return found


def claims_by_budget(runs: list[Run]) -> list[Claim]:
    """Figure 8."""
    return [
        Claim(f"fig. 8: {name}: Oracle gains at most twice as much", distance <= 2, f"{distance:.2f}")
        for name in (PAPER, OURS)
        for distance in (oracle_distance(runs, name, "delta"),)
    ]


def claims_changing(runs: list[Run]) -> list[Claim]:
    """Figure 9."""
    slack, by_event = _slack(runs, OURS), _slack(runs, BY_EVENT)
    return [
        Claim("fig. 9: 5.4 times faster than BL-ED", at_least(slack, by_event, 5.4), f"{slack:.2f}, {by_event:.2f} ms")
    ]


def claims_umts(runs: list[Run], figure: str) -> list[Claim]:
    """Figures 10 and 11."""
    found = []
    for value in sorted({(run.f, run.delta) for run in runs}):
        here = chosen(runs, f=value[0], delta=value[1])
        took = {name: mean(chosen(here, policy=name), "completion") for name in (BY_EVENT, OURS)}
        found.append(
            Claim(
                f"{figure}: f = {value[0]}, δ = {value[1]}: 1.31 times faster than BL-ED to complete",
                took[BY_EVENT] >= 1.31 * took[OURS],
                f"{took[OURS]:.0f} ms and {took[BY_EVENT]:.0f} ms",
            )
        )
    return found


def rows_spark(by_frequency: list[Run], by_budget: list[Run]) -> list[Row]:
    """Figures 12 and 13, whose data is other than the paper's."""
    found = []
    for figure, runs, paper in (("fig. 12", by_frequency, "1.31"), ("fig. 13", by_budget, "1.46")):
        took = {name: mean(chosen(runs, policy=name), "completion") for name in (BY_EVENT, IGNORE, AVERAGE, OURS)}
        found += [
            Row(f"{figure}  times faster than BL-ED to complete", paper, "", f"{took[BY_EVENT] / took[OURS]:.2f}"),
            Row(
                f"{figure}  completion of BL-ED, BL-AD, BL-IG (ms)",
                "",
                "",
                ", ".join(f"{took[name]:.0f}" for name in (BY_EVENT, AVERAGE, IGNORE)),
            ),
            Row(
                f"{figure}  completion of ProbSlack (ms)", "315" if figure == "fig. 12" else "", "", f"{took[OURS]:.0f}"
            ),
            Row(
                f"{figure}  the same, had no window closed before its end (ms)",
                "",
                "",
                f"{mean(chosen(runs, policy=OURS), 'by_end'):.0f}",
            ),
            Row(f"{figure}  mean slack of ProbSlack (ms)", "", "", f"{_slack(runs, OURS):.0f}"),
            Row(
                f"{figure}  windows that it closed before their ends (%)",
                "",
                "",
                f"{100 * _early(runs):.0f}",
            ),
            Row(f"{figure}  MER (%)", "below δ", "", f"{100 * _mer(runs, OURS):.1f}"),
            Row(f"{figure}  MER of BL-IG (%)", "98", "", f"{100 * _mer(runs, IGNORE):.1f}"),
        ]
    return found


def _early(runs: list[Run]) -> float:
    own = chosen(runs, policy=OURS)
    return mean(own, "n_early") / mean(own, "n_windows")


def claims_spark(runs: list[Run], figure: str) -> list[Claim]:
    """Figures 12 and 13: at most as slow as BL-ED by the paper's factor, and within the budget in every run."""
    found = []
    for f, delta in sorted({(run.f, run.delta) for run in runs}):
        here = {run.policy: run for run in chosen(runs, f=f, delta=delta)}
        ours, by_event, ignore = here[OURS], here[BY_EVENT], here[IGNORE]
        found.append(
            Claim(
                f"{figure} on Spark: f = {f}, δ = {delta}: 1.31 times faster than BL-ED, MER below BL-IG's and δ",
                by_event.completion >= 1.31 * ours.completion
                and ours.mer < ignore.mer
                and (ours.mer - delta) * ours.n_windows <= 1,
                f"{by_event.completion:.0f}, {ours.completion:.0f} and {ignore.completion:.0f} ms; "
                f"MER {ours.mer:.3f} and {ignore.mer:.3f}",
            )
        )
        found.append(
            Claim(
                f"{figure} on Spark: f = {f}, δ = {delta}: with all windows open to their ends, ProbSlack is between "
                "BL-IG and BL-ED to complete",
                ignore.by_end <= ours.by_end <= by_event.by_end and ours.completion <= ours.by_end,
                f"{ignore.by_end:.0f}, {ours.by_end:.0f} and {by_event.by_end:.0f} ms; "
                f"{ours.n_early / ours.n_windows:.0%} of its windows are closed before their ends",
            )
        )
    return found


def claims_overhead(found: list[Overhead]) -> list[Claim]:
    """Table 1."""
    lookups = max(run.n_lookups / run.n_decisions for run in found)
    entries = max(max(run.cache_entries, default=0) for run in found)
    return [
        Claim("table 1: look-ups per decision O(1)", lookups <= 2, f"at most {lookups:.2f}"),
        Claim("table 1: at most tens of entries in the cache", entries <= 42, f"at most {entries}"),
    ]
