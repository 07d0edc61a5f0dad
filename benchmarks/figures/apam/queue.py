"""One server in virtual time: events arrive at random, and each is served as long as it was measured to take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.figures.apam.services import Floats, Services
from cepheid.stats.queueing import waits_s

BLOCK = 100_000
"""Events of a block: fifty windows, so that one has little to do with the next."""

N_ERRORS = 3.0
"""See `ratio_between`."""

SEED = 0
"""One arrival process is played through: how long events wait hangs on the services far more than on arrivals."""


@dataclass(frozen=True, eq=False)
class Latency:
    """What events that end a match wait and are served, on average, in seconds.

    Attributes:
        waiting_s, service_s: E[QWT_TFE] and E[ST_TFE].
        utilization: of all events: arrival rate times mean service time.
        sums_s, counts: of each block of the events, their latencies together, and how many they are.
    """

    waiting_s: float
    service_s: float
    utilization: float
    sums_s: Floats
    counts: Floats

    @property
    def latency_s(self) -> float:
        """E[L]."""
        return self.waiting_s + self.service_s

    def without_each_block_s(self) -> Floats:
        """The latency of all blocks but one, for each."""
        left: Floats = (self.sums_s.sum() - self.sums_s) / (self.counts.sum() - self.counts)
        return left


@lru_cache(4)
def _arrivals(n: int) -> Floats:
    return np.cumsum(np.random.default_rng(SEED).exponential(1.0, n))


def arrivals(n: int, rate_per_s: float) -> Floats:
    """Times of arrival of a Poisson process, in seconds: at any rate the same one, faster or slower."""
    return _arrivals(n) / rate_per_s


def latency(services: Services, rate_per_s: float) -> Latency:
    """The latency where events come at a rate."""
    which = services.counted
    waits = waits_s(services.service_s, arrivals(len(services.service_s), rate_per_s))[which]
    taken = services.service_s[which]
    block = np.flatnonzero(which) // BLOCK
    sums, counts = np.bincount(block, waits + taken).astype(np.float64), np.bincount(block).astype(np.float64)
    return Latency(float(waits.mean()), float(taken.mean()), rate_per_s * services.mean_s, sums, counts)


def ratio_between(one: Latency, others: list[Latency]) -> tuple[float, float]:
    """The ratio of a latency and the least of some others, less and more three standard errors.

    By leaving out one block after the other (the jackknife), of the logarithm. The same blocks are left out of all
    plans: a burst is one to most of them. The mean of endless streams lies in between in 99 of 100 cases where no block
    stands out; of blocks whose latencies are squares of exponential ones, in 98 where they are twenty, and in 95 where
    they are seven. With two errors it lies outside in one of ten, and there are some thirty points.
    """
    least = np.min([other.without_each_block_s() for other in others], axis=0)
    logs = np.log(one.without_each_block_s() / least)
    n = len(logs)
    off = N_ERRORS * float(np.sqrt((n - 1) / n * np.square(logs - logs.mean()).sum()))
    middle = float(np.log(one.latency_s / min(other.latency_s for other in others)))
    return float(np.exp(middle - off)), float(np.exp(middle + off))
