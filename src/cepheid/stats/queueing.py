"""One server, events that come at random, services of any distribution: how long an event waits (M/G/1).

Source: APAM, section 4.1, after Medhi, Stochastic Models in Queueing Theory. Deviation: Eq. 5 prints a sum of square
roots; the standard deviation is the square root of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def service_moments_s(rates_per_s: Sequence[float], services_s: Sequence[float]) -> tuple[float, float]:
    """The mean of the service time, E[ST], and its standard deviation, σ_ST, over events of several types.

    Args:
        rates_per_s: λ_E of each type.
        services_s: E[ST_E] of each type.

    Returns:
        both in seconds; zeros where nothing comes, infinities where a type that comes takes for ever.

    Source: APAM, Eqs. 4 and 5.
    """
    total = math.fsum(rates_per_s)
    coming = [(rate, service) for rate, service in zip(rates_per_s, services_s, strict=True) if rate > 0]
    if not total > 0:
        return 0.0, 0.0
    mean = math.fsum(rate / total * service for rate, service in coming)
    if math.isinf(mean):
        return math.inf, math.inf
    return mean, math.sqrt(math.fsum(rate / total * (service - mean) ** 2 for rate, service in coming))


def utilization(arrival_rate_per_s: float, mean_service_s: float) -> float:
    """ρ = λ / μ: the share of its time that the server works; from 1 on, the queue grows without end."""
    return arrival_rate_per_s * mean_service_s if arrival_rate_per_s > 0 and mean_service_s > 0 else 0.0


def waiting_s(arrival_rate_per_s: float, mean_service_s: float, deviation_s: float) -> float:
    """The mean time that an event waits in the queue, E[QWT].

    Args:
        arrival_rate_per_s: λ, of all types together.
        mean_service_s, deviation_s: see `service_moments_s`.

    Returns:
        seconds; infinity where ρ >= 1.

    Source: APAM, Eq. 3.
    """
    rho = utilization(arrival_rate_per_s, mean_service_s)
    if rho == 0.0:
        return 0.0
    if not rho < 1.0:
        return math.inf
    variation = deviation_s / mean_service_s  # c_ST = μ σ_ST
    return rho * mean_service_s / (2 * (1 - rho)) * (1 + variation**2)


def waits_s(services_s: NDArray[np.float64], arrivals_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """How long each event waits, first come, first served, where services are known.

    The work that is left when an event comes is the sum of (service - gap) over the events before it, less the least of
    these sums so far (Lindley).

    Args:
        services_s: of each event; shape (n,), n > 0.
        arrivals_s: when it comes; shape (n,), ascending.
    """
    sums = np.concatenate([[0.0], np.cumsum(services_s[:-1] - np.diff(arrivals_s))])
    waits: NDArray[np.float64] = sums - np.minimum.accumulate(sums)
    return waits
