"""Spark's connector for Kafka, which PySpark does not bring, for sessions that this package starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyspark

from cepheid.errors import SetupError
from cepheid.spark.maven import fetched, is_here, name_of

KAFKA_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
"""The artifact; its version is that of Spark."""

_ALSO_RUN = ("4.2.0",)
"""Versions of the connector that run on a later Spark, for where Maven has none of Spark's own version: 4.2.0 was
tested on Spark 4.3.0."""


def kafka_jars() -> list[Path]:
    """The jars of the connector that Spark lacks, fetched where they are not in the cache folder.

    Raises:
        SetupError: they cannot be fetched.
    """
    own = pyspark.__version__
    brought = {name_of(jar) for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar")}
    first: SetupError | None = None
    versions = [own, *(other for other in _ALSO_RUN if _numbers(other) < _numbers(own))]
    # Asking Maven for what it has not takes seconds: what is here goes before.
    for version in sorted(versions, key=lambda version: not is_here(f"{KAFKA_CONNECTOR}:{version}")):
        try:
            return fetched(f"{KAFKA_CONNECTOR}:{version}", without=brought)
        except SetupError as error:
            first = first or error
    assert first is not None
    raise first


def kafka_config(given: Mapping[str, str]) -> dict[str, str]:
    """What a new session needs to read and write Kafka: the jars, or where there is no Maven the names of the packages,
    which Spark then resolves by itself whenever it starts.

    Args:
        given: settings of the session. Where they name jars or packages, the connector is taken to be among them.
    """
    if "spark.jars" in given or "spark.jars.packages" in given:
        return {}
    try:
        return {"spark.jars": ",".join(str(jar) for jar in kafka_jars())}
    except SetupError:
        return {"spark.jars.packages": f"{KAFKA_CONNECTOR}:{pyspark.__version__}"}


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")[:3] if part.isdigit()]
