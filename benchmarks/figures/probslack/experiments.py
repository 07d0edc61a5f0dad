"""What is run for the figures of the paper that are in virtual time: 6 to 9, and table 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures.cores import Tell, on_all_cores
from benchmarks.figures.probslack.runs import (
    AVERAGE,
    BY_EVENT,
    IGNORE,
    LEARNING,
    ORACLE,
    OURS,
    PAPER,
    PERIOD,
    SILENCE,
    WORDED,
    Run,
    Stream,
    policy_of,
)
from cepheid.policies.slack.probabilistic import Fitting, ProbSlack
from cepheid.ports.slack import Closing, Guard, Kind, Learned
from cepheid.simulation.late_arrivals import STREAMS, Arrivals, changing, replay, synthetic

FREQUENCIES = (5, 10, 15, 20, 25, 30, 35, 40)
BUDGETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


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


def _overhead(name: str, f: int, arrivals: Arrivals) -> Overhead:
    closing = Closing(Kind.LEARNED, guard=Guard.BUDGET, budget=0.3)
    policy = Watched(closing, Fitting(PERIOD, warm_up=PERIOD))
    closer = replay(arrivals, policy, f).closer
    return Overhead(
        name,
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


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What was run in virtual time.

    Attributes:
        every: figure 6.
        by_f, by_delta: figures 7 and 8.
        changing: figure 9.
        series: its course, of the first seed.
        changes: when the distributions changed there, ms.
        held: table 1.
    """

    every: list[Run] = field(default_factory=list)
    by_f: list[Run] = field(default_factory=list)
    by_delta: list[Run] = field(default_factory=list)
    changing: list[Run] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    held: list[Overhead] = field(default_factory=list)


CHANGING = "changing"
OUTAGES = (200, 1000, 3000)


def outages() -> list[Run]:
    """Stream BB, f = 30 ms, where nothing arrives for some time (`Run.f`, ms): what came out in it arrives at its end.

    A source that is silent for longer than it ever was is taken to have nothing to say, by the paper and by us.
    """
    usual = synthetic("BB", np.random.default_rng((0, 1)), N_OUTAGE)
    found = []
    for length in OUTAGES:
        begin = int(usual.generated[N_OUTAGE // 2])
        held = (usual.generated >= begin) & (usual.generated < begin + length)
        received = np.where(held, np.maximum(usual.received, begin + length), usual.received)
        arrivals = Arrivals(usual.generated, np.maximum.accumulate(received))
        for delta in (0.01, 0.1):
            runs = Stream(arrivals, "outage", 0).runs((PAPER, OURS, SILENCE), 30, delta)
            found += [replace(run, f=length) for run in runs]
    return found


N_OUTAGE = 20_000


def evaluate(seeds: Sequence[int], n_overhead: int, tell: Tell) -> Evaluated:
    """All of it: a task for each stream and seed, on all cores.

    Args:
        seeds: of the streams.
        n_overhead: the first so many of them tell what is held and done, too.
        tell: of what is done.
    """
    # The stream of figures 7 and 8 takes longest, so it comes first.
    names = sorted((*STREAMS, CHANGING), key=lambda name: name != "BB")
    tasks = [(name, seed, seed == seeds[0], seed in seeds[:n_overhead]) for name in names for seed in seeds]
    every = on_all_cores(_task, tasks, tell, [f"stream {name}, seed {seed}" for name, seed, *_ in tasks])
    found = Evaluated()
    for one in sorted(every, key=lambda one: STREAMS.index(one.every[0].stream) if one.every else len(STREAMS)):
        for each in fields(Evaluated):
            getattr(found, each.name).extend(getattr(one, each.name))
    return found


def _task(task: tuple[str, int, bool, bool]) -> Evaluated:
    name, seed, tells_course, tells_overhead = task
    if name == CHANGING:
        arrivals = changing(np.random.default_rng((seed, 9)))
        runs = Stream(arrivals, CHANGING, seed).runs((BY_EVENT, *LEARNING, ORACLE), 30, 0.1)
        if not tells_course:
            return Evaluated(changing=runs)
        n_each = len(arrivals) // 3
        changes = [int(arrivals.received[n_each]), int(arrivals.received[2 * n_each])]
        series = [_series(policy, arrivals) for policy in (BY_EVENT, PAPER, OURS)]
        return Evaluated(changing=runs, series=series, changes=changes)
    arrivals = synthetic(name, np.random.default_rng((seed, STREAMS.index(name))))
    stream = Stream(arrivals, name, seed)
    found = Evaluated()
    for f in FREQUENCIES:  # figure 6
        found.every.extend(stream.runs((BY_EVENT, IGNORE, AVERAGE, PAPER, OURS, ORACLE), f, 0.3))
    if name == "BB":
        for f in FREQUENCIES:
            found.by_f.extend(stream.runs((BY_EVENT, IGNORE, *LEARNING, ORACLE, WORDED), f, 0.1))
        for delta in BUDGETS:
            found.by_delta.extend(stream.runs((BY_EVENT, IGNORE, *LEARNING, ORACLE, WORDED), 30, delta))
    if tells_overhead:
        found.held.extend(_overhead(name, f, arrivals) for f in FREQUENCIES)
    return found
