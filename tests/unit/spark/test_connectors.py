"""Which version of Spark's connector for Kafka is taken where Maven has none of Spark's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.errors import SetupError

pytest.importorskip("pyspark")

from cepheid.spark import connectors


@pytest.mark.parametrize(
    ("spark", "asked"),
    [
        ("4.3.0", ["4.3.0", "4.2.0"]),
        ("4.2.0", ["4.2.0"]),
        ("4.0.1", ["4.0.1", "4.0.0"]),
        ("4.1.0", ["4.1.0"]),  # the connector of 4.0 was not tested on it, and that of 4.2 is a later one
        ("4.4.0", ["4.4.0"]),
    ],
)
def test_only_connectors_that_were_tested_on_a_spark_run_on_it(
    monkeypatch: pytest.MonkeyPatch, spark: str, asked: list[str]
) -> None:
    found = []

    def none(artifact: str, *, without: object) -> list[Path]:
        found.append(artifact.rpartition(":")[2])
        raise SetupError(f"{artifact} is not there")

    monkeypatch.setattr(connectors.pyspark, "__version__", spark)
    monkeypatch.setattr(connectors, "fetched", none)
    monkeypatch.setattr(connectors, "is_here", lambda artifact: False)
    with pytest.raises(SetupError, match=f":{spark} is not there"):
        connectors.kafka_jars()
    assert found == asked


def test_what_is_here_goes_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors.pyspark, "__version__", "4.0.1")
    monkeypatch.setattr(connectors, "fetched", lambda artifact, *, without: [Path(artifact)])
    monkeypatch.setattr(connectors, "is_here", lambda artifact: artifact.endswith(":4.0.0"))
    assert connectors.kafka_jars() == [Path(f"{connectors.KAFKA_CONNECTOR}:4.0.0")]
