"""One server in virtual time: events arrive at random, and each is served as long as it was measured to take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures.apam.services import Floats, Services
from cepheid.stats.queueing import waits_s

BLOCK = 100_000
"""Events of a block: as many as plans are tried on."""


@dataclass(frozen=True)
class Latency:
    """What events that end a match wait and are served, on average, in seconds.

    Attributes:
        waiting_s, service_s: E[QWT_TFE] and E[ST_TFE].
        utilization: of all events: arrival rate times mean service time.
        usual_s: the latency in a usual block of the events: the median of the means of all blocks.
    """

    waiting_s: float
    service_s: float
    utilization: float
    usual_s: float

    @property
    def latency_s(self) -> float:
        """E[L]."""
        return self.waiting_s + self.service_s


def arrivals(n: int, rate_per_s: float, seed: int) -> Floats:
    """Times of arrival of a Poisson process, in seconds. The same seed gives the same process, faster or slower."""
    times: Floats = np.cumsum(np.random.default_rng(seed).exponential(1.0, n)) / rate_per_s
    return times


def counted(services: Services) -> NDArray[np.bool_]:
    """The events whose latency counts: those that end a match, after the first ones, by which the plan is chosen."""
    found = services.ends.copy()
    found[: services.n_warm] = False
    return found


def latency(services: Services, rate_per_s: float, seeds: range) -> Latency:
    """The latency over several arrival processes; the first events of the stream warm up."""
    which = counted(services)
    n = len(services.service_s)
    waits = np.mean([waits_s(services.service_s, arrivals(n, rate_per_s, seed))[which] for seed in seeds], axis=0)
    taken = services.service_s[which]
    blocks = (np.flatnonzero(which) - services.n_warm) // BLOCK
    means = [(waits + taken)[blocks == block].mean() for block in np.unique(blocks)]
    return Latency(float(waits.mean()), float(taken.mean()), rate_per_s * services.mean_s, float(np.median(means)))
