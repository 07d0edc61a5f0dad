"""Figure 11 of INEv: the rates of its networks, and plans beside centralized ones."""

from __future__ import annotations

import pytest

from benchmarks.figures.inev import engines


def test_rates_keep_their_differences_and_fit_into_a_trace():
    network = engines.drawn_network(0, 1.1)
    rates = [network.global_rate(kind) for kind in network.sources]
    assert max(rates) == pytest.approx(engines.MOST_EVENTS)
    assert min(rates) >= 4.0


def test_a_plan_that_sends_little_leaves_little_to_the_busiest_site():
    found = engines.carried(4)
    assert found is not None
    assert found.n_matches > 0
    assert found.ratio < 0.5
    assert found.load < 0.8
    assert found.latency > 0.5
