"""Streams whose events are late: ProbSlack's synthetic ones (section 4.2), in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from cepheid.engine.closing import Closed, Closer
from cepheid.ports.slack import Grid, SlackPolicy

Int64Array = NDArray[np.int64]

STREAMS = ("CB", "BB", "BZ", "ZB", "ZZ")
"""Gaps that are constant, binomial or of a power law, and delays that are binomial or of a power law."""

N_EVENTS = 100_000


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Events of one source.

    Attributes:
        generated, received: int64, (n,), in the order in which they were received.
    """

    generated: Int64Array
    received: Int64Array

    def __len__(self) -> int:
        return len(self.generated)


def binomial(rng: Generator, p: float, least: int, greatest: int, n: int) -> Int64Array:
    """B(p, least, greatest) of the paper: int64, (n,)."""
    drawn: Int64Array = least + rng.binomial(greatest - least, p, n)
    return drawn


def zipf(rng: Generator, exponent: float, least: int, greatest: int, n: int) -> Int64Array:
    """Zipf on a range, the least value the most frequent: int64, (n,)."""
    weights = np.arange(1, greatest - least + 2, dtype=np.float64) ** -exponent
    drawn: Int64Array = least + rng.choice(len(weights), n, p=weights / weights.sum())
    return drawn


def synthetic(name: str, rng: Generator, n: int = N_EVENTS) -> Arrivals:
    """One of the five streams of the paper.

    The printed means do not all hold: Zipf(1.1) on [15, 35] has 19.26 and Zipf(0.2) on [1, 11] has 5.56.

    Args:
        name: of `STREAMS`.
        rng: draws it.
        n: events.
    """
    gaps, delays = _gaps(name[0], rng, n), _delays(name[1], rng, n)
    generated = np.cumsum(gaps).astype(np.int64)
    return Arrivals(generated, generated + delays)


def _gaps(kind: str, rng: Generator, n: int) -> Int64Array:
    if kind == "C":
        return np.full(n, 20)
    return binomial(rng, 0.25, 15, 35, n) if kind == "B" else zipf(rng, 1.1, 15, 35, n)


def _delays(kind: str, rng: Generator, n: int) -> Int64Array:
    return binomial(rng, 0.5, 1, 11, n) if kind == "B" else zipf(rng, 0.2, 1, 11, n)


def changing(rng: Generator, n_each: int = N_EVENTS // 3) -> Arrivals:
    """Three distributions, one after the other (figure 9).

    Gaps of 20 with delays B(0.5, 1, 11); gaps B(0.25, 20, 40) with delays B(0.5, 6, 15); stream BZ.
    """
    gaps = [np.full(n_each, 20), binomial(rng, 0.25, 20, 40, n_each), binomial(rng, 0.25, 15, 35, n_each)]
    delays = [
        binomial(rng, 0.5, 1, 11, n_each),
        binomial(rng, 0.5, 6, 15, n_each),
        zipf(rng, 0.2, 1, 11, n_each),
    ]
    generated = np.cumsum(np.concatenate(gaps)).astype(np.int64)
    return Arrivals(generated, generated + np.concatenate(delays))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a policy did on a stream.

    Attributes:
        closer: its counts.
        closed: the windows.
        grid: the windows that were asked for.
    """

    closer: Closer
    closed: Closed
    grid: Grid

    @property
    def miss_ratio(self) -> float:
        """MER: the ratio of closed windows that miss an event."""
        return self.closer.n_missed / self.closer.n_closed

    @property
    def mean_slack(self) -> float:
        """The mean slack of windows, in ticks."""
        return self.closer.slack_sum / self.closer.n_closed

    def completion(self, arrivals: Arrivals) -> float:
        """CT: from the generation of an event to when its window is closed, on average, in ticks.

        Events that came when their window was closed count as they came.
        """
        windows, slack = self.closed.each(self.grid)
        closed_at = windows * self.grid.slide + self.grid.nominal + slack
        own = -((self.grid.phase - arrivals.generated) // self.grid.slide) - windows[0]
        inside = (own >= 0) & (own < len(windows))
        at = np.maximum(closed_at[own[inside]], arrivals.received[inside])
        return float((at - arrivals.generated[inside]).mean())


def replay(arrivals: Arrivals, policy: SlackPolicy, slide: int, size: int | None = None, *, first: int = 1) -> Outcome:
    """Run a policy over a stream.

    Args:
        arrivals: the events.
        policy: it has seen none.
        slide: f, ticks.
        size: l, ticks; f by default.
        first: the number of the first window.
    """
    grid = Grid(slide, size or slide)
    closer = Closer(policy, grid, first=first)
    closed = closer.receive(np.zeros(len(arrivals), np.int64), arrivals.generated, arrivals.received)
    return Outcome(closer, closed, grid)
