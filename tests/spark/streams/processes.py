"""Drivers in processes of their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from cepheid.errors import SetupError
from cepheid.spark.session import check_java

ROOT = Path(__file__).resolve().parents[3]
JOB = ROOT / "tests" / "spark" / "streams" / "killed_job.py"


def environment() -> dict[str, str]:
    """The environment of a driver that knows nothing of the session of the tests."""
    mine = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        # What stands there already goes before: it may be another PySpark.
        "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT / "src"), str(ROOT)])),
    }
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_REMOTE"):
        mine.pop(name, None)
    return mine


def require_java() -> None:
    """Skip where there is none."""
    try:
        check_java()
    except SetupError as error:
        pytest.skip(f"no Spark: {error}")
