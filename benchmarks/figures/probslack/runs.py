"""Runs of policies on streams, and what is told of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cepheid.policies.slack.baselines import Baseline
from cepheid.policies.slack.oracle import known_slack, oracle_slack
from cepheid.policies.slack.probabilistic import Fitting, ProbSlack
from cepheid.ports.slack import Closing, Grid, Guard, Kind, SlackPolicy
from cepheid.simulation.late_arrivals import Arrivals, Outcome, replay

BY_EVENT, IGNORE, AVERAGE, ORACLE = "BL-ED", "BL-IG", "BL-AD", "Oracle"
PAPER, OURS, SILENCE, SLIDING, SPENDING = (
    "ProbSlack as printed",
    "ProbSlack",
    "ProbSlack, silence",
    "ProbSlack, sliding",
    "ProbSlack, spending",
)
LEARNING = (PAPER, OURS, SILENCE, SLIDING, SPENDING)

PERIOD = 10_000


@dataclass(frozen=True)
class Run:
    """One policy on one stream.

    Attributes:
        policy: its name.
        stream, seed: of the stream.
        f, delta: the slide in ms, and the budget.
        mer: the ratio of windows that miss an event.
        slack: the mean slack, ms.
        n_windows: that were closed.
        completion: the mean completion time, ms; NaN where it was not asked for.
        by_end: what that were if no window was closed before its end, ms.
        n_early: windows that were closed before their ends.
    """

    policy: str
    stream: str
    seed: int
    f: int
    delta: float
    mer: float
    slack: float
    n_windows: int
    completion: float = float("nan")
    by_end: float = float("nan")
    n_early: int = 0


def policy_of(name: str, delta: float, period: int = PERIOD, warm_up: int = 256) -> SlackPolicy:
    """A policy by its name in the figures.

    Args:
        name: one of the constants above, but for Oracle.
        delta: the budget.
        period: T, events.
        warm_up: events before the first model of ours; the paper waits for a whole period.
    """
    makers: dict[str, Callable[[], SlackPolicy]] = {
        BY_EVENT: lambda: Baseline(Closing(Kind.EVENTS)),
        IGNORE: lambda: Baseline(Closing(Kind.DELAY)),
        AVERAGE: lambda: Baseline(Closing(Kind.MEAN_DELAY)),
        PAPER: lambda: ProbSlack(
            Closing(Kind.LEARNED, guard=Guard.KNOWN, budget=delta), Fitting(period, warm_up=period)
        ),
        OURS: lambda: _ours(delta, Fitting(period, warm_up)),
        SILENCE: lambda: _ours(delta, Fitting(period, warm_up, estimator="silence")),
        SLIDING: lambda: _ours(delta, Fitting(period, warm_up, n_stretches=10)),
        SPENDING: lambda: _ours(delta, Fitting(period, warm_up, estimator="silence"), spends=True),
    }
    return makers[name]()


def _ours(delta: float, fitting: Fitting, *, spends: bool = False) -> ProbSlack:
    return ProbSlack(Closing(Kind.LEARNED, guard=Guard.BUDGET, budget=delta, spends=spends), fitting)


def measured(
    names: Iterable[str],
    arrivals: Arrivals,
    stream: str,
    seed: int,
    f: int,
    delta: float,
    *,
    first: int = 1,
    period: int = PERIOD,
    warm_up: int = 256,
    completion: bool = False,
) -> list[Run]:
    """Run policies on one stream."""
    found = []
    for name in names:
        if name == ORACLE:
            found.append(_oracle(arrivals, stream, seed, f, delta, first))
            continue
        outcome = replay(arrivals, policy_of(name, delta, period, warm_up), f, first=first)
        took = outcome.completion(arrivals) if completion else float("nan")
        found.append(_run(name, stream, seed, f, delta, outcome, took))
    return found


def _run(name: str, stream: str, seed: int, f: int, delta: float, outcome: Outcome, took: float) -> Run:
    return Run(
        name, stream, seed, f, delta, outcome.miss_ratio, outcome.mean_slack, outcome.closer.n_closed, completion=took
    )


def _oracle(arrivals: Arrivals, stream: str, seed: int, f: int, delta: float, first: int) -> Run:
    grid = Grid(f, f)
    windows = np.arange(first, int(arrivals.generated.max()) // f + 1)
    known = known_slack(grid, windows, arrivals.generated, arrivals.received)
    slack, given_up = oracle_slack(known, f, delta)
    return Run(ORACLE, stream, seed, f, delta, float(given_up.mean()), float(slack.mean()), len(windows))


def mean(runs: Iterable[Run], what: str = "slack") -> float:
    """The mean of a field over runs."""
    return float(np.mean([getattr(run, what) for run in runs]))


def chosen(runs: Iterable[Run], **wanted: object) -> list[Run]:
    """The runs with these fields."""
    return [run for run in runs if all(getattr(run, name) == value for name, value in wanted.items())]
