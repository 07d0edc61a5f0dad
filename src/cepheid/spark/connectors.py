"""Spark's connector for Kafka and Delta's library, which PySpark does not bring, for sessions started here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyspark

from cepheid.errors import SetupError
from cepheid.spark.maven import fetched, is_here, name_of

KAFKA_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
"""The artifact; its version is that of Spark."""

DELTA_LIBRARY = "io.delta:delta-spark_2.13"

_DELTA_OF = {"4.0": "4.0.1"}
"""Version of Spark -> the version of Delta that was tested with it."""

_DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

_ALSO_RUN = {"4.2.0": "4.3", "4.0.0": "4.0"}
"""Versions of the connector that run on a later Spark, for where Maven has none of Spark's own version -> the Spark on
which each was tested last."""


def kafka_jars() -> list[Path]:
    """The jars of the connector that Spark lacks, fetched where they are not in the cache folder.

    Raises:
        SetupError: they cannot be fetched.
    """
    own = pyspark.__version__
    brought = _brought()
    first: SetupError | None = None
    also = [
        one for one, last in _ALSO_RUN.items() if _numbers(one) < _numbers(own) and _numbers(own)[:2] <= _numbers(last)
    ]
    versions = [own, *also]
    # Asking Maven for what it has not takes seconds: what is here goes before.
    for version in sorted(versions, key=lambda version: not is_here(f"{KAFKA_CONNECTOR}:{version}")):
        try:
            return fetched(f"{KAFKA_CONNECTOR}:{version}", without=brought)
        except SetupError as error:
            first = first or error
    assert first is not None
    raise first


def delta_config(given: Mapping[str, str]) -> dict[str, str]:
    """What a new session needs to read and write Delta tables.

    Args:
        given: settings of the session. Where they name jars or packages, Delta's library is taken to be among them.

    Raises:
        SetupError: no Delta is known that runs with this PySpark.
    """
    if "spark.jars" in given or "spark.jars.packages" in given:
        return dict(_DELTA_SETTINGS)
    version = _DELTA_OF.get(".".join(pyspark.__version__.split(".")[:2]))
    if version is None:
        raise SetupError(
            f"no version of Delta is known to run with PySpark {pyspark.__version__}",
            remedy="use PySpark 4.0, or name a version that does: spark.jars.packages = "
            f'"{DELTA_LIBRARY}:VERSION" under [spark]',
        )
    artifact = f"{DELTA_LIBRARY}:{version}"
    try:
        jars = fetched(artifact, without=_brought())
    except SetupError:
        return {"spark.jars.packages": artifact, **_DELTA_SETTINGS}
    return {"spark.jars": ",".join(str(jar) for jar in jars), **_DELTA_SETTINGS}


def together(*configs: Mapping[str, str]) -> dict[str, str]:
    """Settings of a session that needs several libraries: their jars and packages in one list."""
    merged: dict[str, str] = {}
    for config in configs:
        for name, value in config.items():
            joins = name in merged and name in ("spark.jars", "spark.jars.packages")
            merged[name] = f"{merged[name]},{value}" if joins else value
    return merged


def _brought() -> set[str]:
    """The names of the jars that PySpark brings."""
    return {name_of(jar) for jar in (Path(pyspark.__file__).parent / "jars").glob("*.jar")}


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
