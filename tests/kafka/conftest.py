"""A broker that the tests of this folder share. All of them are slow: it is a Java process of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cepheid.errors import SetupError

if TYPE_CHECKING:
    from scripts.kafka import Broker

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)


def _or_skip(reason: str) -> None:
    """Without Maven Central there is no Kafka; in continuous integration that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that runs."""
    pytest.importorskip("confluent_kafka", reason="the Kafka client of the tests is not installed")
    from cepheid.spark.connectors import kafka_jars
    from cepheid.spark.session import check_java
    from scripts.kafka import Broker

    try:
        check_java()
        broker = Broker(tmp_path_factory.mktemp("kafka"))
        kafka_jars()
        broker.start()
    except SetupError as error:
        _or_skip(f"no Kafka: {error}")
    yield broker
    broker.stop()


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """The name of a new topic of two partitions."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)
    broker.create(name, 2)
    return name
