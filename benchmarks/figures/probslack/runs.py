"""Runs of policies on streams, and what is told of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cepheid.policies.slack.baselines import Baseline
from cepheid.policies.slack.oracle import known_slack, oracle_slack
from cepheid.policies.slack.probabilistic import Fitting, ProbSlack
from cepheid.ports.slack import Closing, Grid, Guard, Kind, SlackPolicy
from cepheid.simulation.late_arrivals import Arrivals, replay

BY_EVENT, IGNORE, AVERAGE, ORACLE = "BL-ED", "BL-IG", "BL-AD", "Oracle"
WORDED = "Oracle as worded"
"""Oracle that begins with the slack of BL-ED, as the paper's text says; its figures show another (`known_slack`)."""
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


@dataclass(eq=False)
class Stream:
    """A stream that policies are run on; what was run once is not run again.

    Attributes:
        arrivals: its events.
        name, seed: of the stream.
        first: the number of the first window, of f ms; a function of f.
        period, warm_up: see `policy_of`.
        completion: whether completion times are told.
    """

    arrivals: Arrivals
    name: str
    seed: int
    first: Callable[[int], int] = lambda f: 1
    period: int = PERIOD
    warm_up: int = 256
    completion: bool = False
    _runs: dict[tuple[str, int, float], Run] = field(default_factory=dict)
    _known: dict[tuple[str, int], NDArray[np.int64]] = field(default_factory=dict)

    def runs(self, names: Iterable[str], f: int, delta: float) -> list[Run]:
        """Run policies on it.

        Args:
            names: of the policies, see `policy_of`, and of both kinds of Oracle.
            f: ms from one window to the next, and the length of each.
            delta: the budget.
        """
        found = []
        for name in names:
            # Those that know no budget do the same with each.
            key = (name, f, 0.0 if name in (BY_EVENT, IGNORE, AVERAGE) else delta)
            if key not in self._runs:
                is_oracle = name in (ORACLE, WORDED)
                self._runs[key] = self._oracle(name, f, delta) if is_oracle else self._replayed(name, f, delta)
            found.append(replace(self._runs[key], delta=delta))
        return found

    def _replayed(self, name: str, f: int, delta: float) -> Run:
        policy = policy_of(name, delta, self.period, self.warm_up)
        outcome = replay(self.arrivals, policy, f, first=self.first(f))
        took = outcome.completion(self.arrivals) if self.completion else float("nan")
        closer = outcome.closer
        return self._run(name, f, delta, outcome.miss_ratio, outcome.mean_slack, closer.n_closed, took)

    def _oracle(self, name: str, f: int, delta: float) -> Run:
        if (name, f) not in self._known:
            self._known[name, f] = self._slack_by_event(f) if name == WORDED else self._least_slack(f)
        slack, given_up = oracle_slack(self._known[name, f], f, delta)
        return self._run(name, f, delta, float(given_up.mean()), float(slack.mean()), len(slack))

    def _least_slack(self, f: int) -> NDArray[np.int64]:
        windows = np.arange(self.first(f), int(self.arrivals.generated.max()) // f + 1)
        return known_slack(Grid(f, f), windows, self.arrivals.generated, self.arrivals.received)

    def _slack_by_event(self, f: int) -> NDArray[np.int64]:
        outcome = replay(self.arrivals, policy_of(BY_EVENT, 0.0), f, first=self.first(f))
        return outcome.closed.each(outcome.grid)[1]

    def _run(
        self, name: str, f: int, delta: float, mer: float, slack: float, n_windows: int, took: float = float("nan")
    ) -> Run:
        return Run(name, self.name, self.seed, f, delta, mer, slack, n_windows, completion=took)


def mean(runs: Iterable[Run], what: str = "slack") -> float:
    """The mean of a field over runs."""
    return float(np.mean([getattr(run, what) for run in runs]))


def chosen(runs: Iterable[Run], **wanted: object) -> list[Run]:
    """The runs with these fields."""
    return [run for run in runs if all(getattr(run, name) == value for name, value in wanted.items())]
