"""The jobs of sites find what one engine finds over all events, however their batches are cut and whatever fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.job.network.centralized import centralized_ids, events_in
from cepheid.job.network.load import load_network
from cepheid.job.network.sites import programs
from cepheid.network.flows import flows
from tests.unit.job.network.in_memory import InMemory
from workloads.smart_grid.make_events import table

GRID = Path(__file__).resolve().parents[4] / "workloads" / "smart_grid"


@pytest.mark.parametrize(
    ("seed", "fails"),
    [
        (1, 0.3),
        *(pytest.param(seed, 0.3, marks=pytest.mark.slow) for seed in (2, 3, 4)),
        pytest.param(5, 0.0, marks=pytest.mark.slow),
    ],
)
def test_the_same_matches_as_in_one_place(seed: int, fails: float) -> None:
    job = load_network(GRID)
    plan = job.plan()
    assert not plan.is_centralized
    sites = programs(job, plan.graph)
    assert len(sites) == 5
    events = table(0.8 if seed == 1 else 2.0, seed)
    network = InMemory(sites, seed, fails=fails)
    network.feed(events.to_pylist())
    network.run()
    wanted = centralized_ids(job, events_in(job, events))
    assert all(wanted.values())
    for name, ids in wanted.items():
        assert set(network.matches(f"grid.matches.{name}")) == ids
    links = {f"grid.link.{a}.{b}" for a, b in flows(plan.graph)}
    assert {topic for topic in network.topics if topic.startswith("grid.link.")} <= links
    assert "grid.rejected" not in network.topics
