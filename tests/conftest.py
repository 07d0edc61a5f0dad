"""Settings and the Spark session that tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What a test looks at is machine code, or plain Python where it says so, and not whichever is ready; so it is in the
# processes that tests start.
os.environ.setdefault("CEPHEID_JIT", "wait")

SOURCE = str(Path(__file__).resolve().parents[1] / "src")

# No deadline: the first example may compile a kernel or start a session.
_SLOW_START = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

# The default draws the same examples every time, so that a red run is about the change under test.
settings.register_profile("default", deadline=None, derandomize=True, suppress_health_check=_SLOW_START)
# `make fuzz`: new examples every time, from the seed on the command line.
settings.register_profile(
    "fuzz", deadline=None, derandomize=False, max_examples=1000, print_blob=True, suppress_health_check=_SLOW_START
)
settings.load_profile("default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses the session: `-m "not spark"` leaves it out."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


def _connector_jars(request: pytest.FixtureRequest) -> str:
    """What Spark must be started with where tests of Kafka are among those that run."""
    from cepheid.errors import SetupError
    from cepheid.spark.connectors import kafka_jars

    if not any("broker" in getattr(item, "fixturenames", ()) for item in request.session.items):
        return ""
    try:
        from scripts.kafka import jars

        jars()  # installs Maven where it is missing and may be
        return ",".join(str(jar) for jar in kafka_jars())
    except (ImportError, SetupError):  # the fixture `broker` tells
        return ""


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests: two cores, no web pages, and nothing left behind in the current folder."""
    # Imported here: most tests need no Spark.
    from pyspark.sql import SparkSession

    from cepheid.errors import SetupError
    from cepheid.spark.session import LOCAL_FILES, check_java

    try:
        check_java()
    except SetupError as error:
        pytest.skip(f"no Spark: {error}")
    folder = tmp_path_factory.mktemp("spark")
    # PySpark reads the interpreter of its workers from the environment, not from the session's settings.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The workers find what the tests find, also where cepheid is not installed.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
    session = (
        SparkSession.builder.master("local[2]")
        .config(map=LOCAL_FILES)
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
        .config("spark.jars", _connector_jars(request))
        .getOrCreate()
    )
    yield session
    session.stop()


_REPORTS: list[tuple[str, str]] = []


@pytest.fixture
def record_report() -> Callable[[str, str], None]:
    """A function that takes a title and a text to be shown at the end of the run."""
    return lambda title, text: _REPORTS.append((title, text))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests reported."""
    for title, text in _REPORTS:
        terminalreporter.section(title)
        terminalreporter.write_line(text)
