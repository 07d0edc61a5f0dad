"""What is run for each figure of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures.probslack.runs import (
    AVERAGE,
    BY_EVENT,
    IGNORE,
    LEARNING,
    ORACLE,
    OURS,
    PAPER,
    PERIOD,
    Run,
    measured,
    policy_of,
)
from cepheid.policies.slack.probabilistic import Fitting, ProbSlack
from cepheid.ports.slack import Closing, Guard, Kind, Learned
from cepheid.simulation.late_arrivals import STREAMS, Arrivals, changing, replay, synthetic

FREQUENCIES = (5, 10, 15, 20, 25, 30, 35, 40)
BUDGETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

Tell = Callable[[str], None]


def all_streams(seeds: Iterable[int], tell: Tell) -> list[Run]:
    """Figure 6: every stream and frequency, δ = 0.3."""
    found = []
    for stream in STREAMS:
        for seed in seeds:
            arrivals = synthetic(stream, np.random.default_rng((seed, STREAMS.index(stream))))
            for f in FREQUENCIES:
                found += measured((BY_EVENT, IGNORE, AVERAGE, PAPER, OURS, ORACLE), arrivals, stream, seed, f, 0.3)
        tell(f"figure 6: stream {stream}")
    return found


def by_frequency(seeds: Iterable[int], tell: Tell) -> list[Run]:
    """Figure 7: stream BB, δ = 0.1."""
    found = []
    for seed in seeds:
        arrivals = synthetic("BB", np.random.default_rng((seed, 1)))
        for f in FREQUENCIES:
            found += measured((BY_EVENT, IGNORE, *LEARNING, ORACLE), arrivals, "BB", seed, f, 0.1)
    tell("figure 7")
    return found


def by_budget(seeds: Iterable[int], tell: Tell) -> list[Run]:
    """Figure 8: stream BB, f = 30 ms."""
    found = []
    for seed in seeds:
        arrivals = synthetic("BB", np.random.default_rng((seed, 1)))
        for delta in BUDGETS:
            found += measured((BY_EVENT, IGNORE, *LEARNING, ORACLE), arrivals, "BB", seed, 30, delta)
    tell("figure 8")
    return found


@dataclass(frozen=True, eq=False)
class Series:
    """Slack in the course of time.

    Attributes:
        policy: its name.
        starts: int64, the time points at which stretches of 3,000 begin, ms.
        mean, least, greatest: float64, of the slack of the windows that end in each.
    """

    policy: str
    starts: NDArray[np.int64]
    mean: NDArray[np.float64]
    least: NDArray[np.float64]
    greatest: NDArray[np.float64]


STRETCH_MS = 3000


def through_changes(seeds: Iterable[int], tell: Tell) -> tuple[list[Run], list[Series], list[int]]:
    """Figure 9: distributions that change, f = 30, δ = 0.1: the runs, the series of the first, and when it changed."""
    found: list[Run] = []
    series: list[Series] = []
    changes: list[int] = []
    for number, seed in enumerate(seeds):
        arrivals = changing(np.random.default_rng((seed, 9)))
        found += measured((BY_EVENT, *LEARNING, ORACLE), arrivals, "changing", seed, 30, 0.1)
        if number == 0:
            n_each = len(arrivals) // 3
            changes = [int(arrivals.received[n_each]), int(arrivals.received[2 * n_each])]
            series = [_series(name, arrivals) for name in (BY_EVENT, PAPER, OURS)]
    tell("figure 9")
    return found, series, changes


def _series(name: str, arrivals: Arrivals) -> Series:
    outcome = replay(arrivals, policy_of(name, 0.1), 30)
    windows, slack = outcome.closed.each(outcome.grid)
    stretch = windows * 30 // STRETCH_MS
    numbers, first = np.unique(stretch, return_index=True)
    counts = np.diff(np.append(first, len(slack)))
    return Series(
        name,
        numbers * STRETCH_MS,
        np.add.reduceat(slack, first) / counts,
        np.minimum.reduceat(slack, first).astype(np.float64),
        np.maximum.reduceat(slack, first).astype(np.float64),
    )


class Watched(ProbSlack):
    """ProbSlack that counts what it holds and does."""

    def __init__(self, closing: Closing, fitting: Fitting) -> None:
        """Count nothing yet."""
        super().__init__(closing, fitting)
        self.fit_entries: list[int] = []
        self.cache_entries: list[int] = []
        self.eager_entries: list[int] = []
        self.n_waits = 0
        self._open = 0

    def learn(self, source: int) -> Learned:
        """See `ProbSlack`."""
        before, own = self.models[source], self.sources.known[source]
        held = own.gaps.n_entries + own.delays.n_entries
        learned = super().learn(source)
        if self.models[source] is not before:
            self.fit_entries.append(held)
            if before is not None:
                self.cache_entries.append(self._open)
            assert learned.edges is not None
            self.eager_entries.append(len(learned.edges))
            self._open = 0
        return learned

    def wait(self, source: int, edge: int) -> int:
        """See `ProbSlack`."""
        self.n_waits += 1
        self._open += 1
        return super().wait(source, edge)


@dataclass(frozen=True)
class Overhead:
    """What a run of ProbSlack holds and does (Table 1).

    Attributes:
        stream, f: of the run.
        fit_entries: entries of the two histograms, whenever a period was full.
        cache_entries: waits that were looked up in a period, each found once.
        eager_entries: waits that a cache would hold that is built with each model.
        n_updates: counts of values: two for each event.
        n_lookups: of waits.
        n_built: waits that were found.
        n_summed: products that the look-ups would have cost without the cache.
        n_decisions: events and windows.
    """

    stream: str
    f: int
    fit_entries: tuple[int, ...]
    cache_entries: tuple[int, ...]
    eager_entries: tuple[int, ...]
    n_updates: int
    n_lookups: int
    n_built: int
    n_summed: int
    n_decisions: int


def overhead(seeds: Iterable[int], tell: Tell) -> list[Overhead]:
    """Table 1: all streams and frequencies, δ = 0.3."""
    found = []
    for stream in STREAMS:
        for seed in seeds:
            arrivals = synthetic(stream, np.random.default_rng((seed, STREAMS.index(stream))))
            for f in FREQUENCIES:
                closing = Closing(Kind.LEARNED, guard=Guard.BUDGET, budget=0.3)
                policy = Watched(closing, Fitting(PERIOD, warm_up=PERIOD))
                closer = replay(arrivals, policy, f).closer
                found.append(
                    Overhead(
                        stream,
                        f,
                        tuple(policy.fit_entries),
                        tuple(policy.cache_entries),
                        tuple(policy.eager_entries),
                        2 * len(arrivals),
                        closer.n_lookups,
                        policy.n_waits,
                        closer.n_summed,
                        len(arrivals) + closer.n_closed,
                    )
                )
    tell("table 1")
    return found
