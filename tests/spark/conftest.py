"""One Spark session for all tests of this folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cepheid.errors import SetupError
from cepheid.spark.session import check_java

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here: `-m "not spark"` leaves it out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores, without its web pages, that leaves nothing behind in the current folder."""
    try:
        check_java()
    except SetupError as error:
        pytest.skip(f"no Spark: {error}")
    folder = tmp_path_factory.mktemp("spark")
    # PySpark reads the interpreter of its workers from the environment, not from the session's settings.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("cepheid-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "WARN")
        .getOrCreate()
    )
    yield session
    session.stop()
