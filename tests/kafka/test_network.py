"""Five sites against a broker: one is killed, the link of another is down for a while, and nothing is lost."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cepheid.job.network.deploy import deploy
from cepheid.job.network.load import load_network
from cepheid.job.network.run_local import LocalNetwork
from cepheid.network.flows import flows
from scripts.kafka import Broker, free_port
from tests.conftest import SOURCE
from tests.kafka.link import Link
from workloads.smart_grid.make_events import table

GRID = Path(__file__).resolve().parents[2] / "workloads" / "smart_grid"


@pytest.fixture
def far(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Link]]:
    """A broker with a way to it over a link that can be cut; ``broker`` says that there can be one."""
    port = free_port()
    link = Link(port)
    other = Broker(tmp_path_factory.mktemp("far"), far=(port, link.port))
    other.start()
    yield other, link
    other.stop()
    link.close()


@pytest.mark.timeout(1500)
def test_a_site_that_is_killed_and_a_link_that_is_down(
    far: tuple[Broker, Link], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, link = far
    monkeypatch.setenv("KAFKA_SERVERS", broker.servers)
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    job = load_network(GRID)
    deploy(job, job.plan(), tmp_path)
    south = tmp_path / "south.toml"
    south.write_text(re.sub(r"servers = .*", f'servers = "127.0.0.1:{link.port}"', south.read_text()))
    events = table(2.0)
    half = events.num_rows // 2
    network = LocalNetwork(tmp_path)
    assert len(network.sites) == 5
    said: list[str] = []
    try:
        network.start(said.append)
        said.clear()
        network.feed(events.slice(0, half), end=False)
        until = time.monotonic() + 600
        while not all("batch 1: " in site.log.read_text() for site in network.sites.values()):
            assert time.monotonic() < until, [site.last_words() for site in network.sites.values()]
            network.revive(said.append)
            time.sleep(1)
        link.cut()
        said.clear()
        network.sites["north"].kill()
        network.feed(events.slice(half), end=True)
        network.revive(said.append)
        assert said == ["the site north has ended, and goes on from its checkpoint"]
        time.sleep(20)
        link.mend()
        assert network.wait(said.append, timeout_s=700), [site.last_words() for site in network.sites.values()]
    finally:
        network.stop()
    report = network.report(events)
    assert report.centralized is not None
    assert all(report.centralized.values())
    assert dict(report.matches) == dict(report.centralized)
    assert report.n_rejected == 0
    # It pays, and is near what was planned: far more would go to one site.
    assert report.n_central is not None
    assert report.n_messages < report.n_central / 3
    assert {one.way for one in report.carried if one.n_rows} <= set(flows(network.graph))
