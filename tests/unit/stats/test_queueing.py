"""The formulas of queues against what is known of them, and against a queue that is simulated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cepheid.stats.queueing import service_moments_s, utilization, waiting_s, waits_s


def test_mean_and_deviation_are_those_of_a_mixture():
    mean, deviation = service_moments_s([30.0, 10.0], [1.0, 5.0])
    assert mean == pytest.approx(2.0)
    assert deviation == pytest.approx(math.sqrt(0.75 * 1.0 + 0.25 * 9.0))  # not the sum of the roots: 2.366


def test_a_queue_of_exponential_services_waits_as_an_m_m_1():
    mean, rho = 0.5, 0.8
    assert waiting_s(rho / mean, mean, mean) == pytest.approx(rho * mean / (1 - rho))


def test_a_queue_of_constant_services_waits_half_as_long():
    assert waiting_s(1.6, 0.5, 0.0) == pytest.approx(0.8 * 0.5 / (1 - 0.8) / 2)


def test_a_simulated_queue_waits_as_the_formula_says():
    random, n = np.random.default_rng(11), 400_000
    services = np.where(random.random(n) < 0.8, 1.0, 6.0)
    arrivals = np.cumsum(random.exponential(1 / 0.35, n))
    waits, free_at = np.zeros(n), 0.0
    for i, (arrival, service) in enumerate(zip(arrivals.tolist(), services.tolist(), strict=True)):
        waits[i] = max(0.0, free_at - arrival)
        free_at = arrival + waits[i] + service
    mean, deviation = service_moments_s([0.8, 0.2], [1.0, 6.0])
    # Waits of neighbours depend on each other: at ρ = 0.7, over some hundred services.
    error = waits.std() / math.sqrt(n / 200)
    assert waits.mean() == pytest.approx(waiting_s(0.35, mean, deviation), abs=4 * error)


@pytest.mark.parametrize("rate", [2.0, 2.5, math.inf])
def test_from_full_utilization_on_the_wait_is_infinite(rate: float):
    assert waiting_s(rate, 0.5, 0.1) == math.inf


def test_where_nothing_comes_nothing_waits():
    assert service_moments_s([0.0, 0.0], [1.0, 2.0]) == (0.0, 0.0)
    assert waiting_s(0.0, 0.0, 0.0) == 0.0
    assert utilization(0.0, math.inf) == 0.0
    assert service_moments_s([1.0, 0.0], [1.0, math.inf]) == (1.0, 0.0)  # what never comes takes no time
    assert service_moments_s([1.0, 1.0], [1.0, math.inf]) == (math.inf, math.inf)


def test_waits_are_those_of_a_queue_that_is_played_through():
    random = np.random.default_rng(3)
    services, arrivals = random.exponential(1.0, 500), np.cumsum(random.exponential(1.1, 500))
    expected, free_at = [], 0.0
    for service, arrival in zip(services.tolist(), arrivals.tolist(), strict=True):
        expected.append(max(0.0, free_at - arrival))
        free_at = max(free_at, arrival) + service
    assert waits_s(services, arrivals) == pytest.approx(np.array(expected), abs=1e-9)
    assert waits_s(services[:1], arrivals[:1]).tolist() == [0.0]
