"""Settings and the Spark session that tests share."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
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


ON_SPARK = [Path(__file__).resolve().parent / name for name in ("spark", "kafka")]
"""Folders in which every test needs Spark."""

USES_SPARK = re.compile(r"\bmark\.spark\b|[(,] ?spark[:,)]|\(\"spark\"\)")
"""What a file has, elsewhere, that has tests which do."""


@cache
def _may_need_spark(path: Path) -> bool:
    return any(folder in path.parents for folder in ON_SPARK) or bool(USES_SPARK.search(path.read_text("utf-8")))


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs Spark: `-m "not spark"` leaves it out."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or any(folder in item.path.parents for folder in ON_SPARK):
            item.add_marker(pytest.mark.spark)
        assert not item.get_closest_marker("spark") or _may_need_spark(item.path), f"see USES_SPARK: {item.path}"


@pytest.hookimpl(optionalhook=True)  # there is none where xdist is not installed
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Where tests have several processes (`-n 2`), one of them has all that needs Spark: a session takes seconds."""
    from xdist.scheduler import LoadScopeScheduling

    class SparkInOne(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if _may_need_spark(config.rootpath / nodeid.partition("::")[0]) else nodeid

    return SparkInOne(config, log)


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
    from cepheid.spark.session import LOCAL_FILES, check_java, worker_sockets

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
        .config(map={**LOCAL_FILES, **worker_sockets()})
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


REPORT = "report"
"""What a test reports is among its properties: they come to the process that sums up, whichever has run the test."""


@pytest.fixture
def record_report(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """A function that takes a title and a text to be shown at the end of the run."""
    return lambda title, text: request.node.user_properties.append((REPORT, f"{title}\n{text}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests reported."""
    for one in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        for name, value in one.user_properties:
            if name == REPORT and one.when == "call":
                title, _, text = value.partition("\n")
                terminalreporter.section(title)
                terminalreporter.write_line(text)
