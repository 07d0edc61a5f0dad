"""cep.detect over Spark Connect, with a server that the session starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cepheid.errors import SetupError
from cepheid.spark.session import check_java

JOB = Path(__file__).with_name("connect_job.py")
SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.mark.slow
def test_detect_works_over_spark_connect(tmp_path: Path):
    pytest.importorskip("zstandard", reason="PySpark's Connect client needs zstandard")
    try:
        check_java()
    except SetupError as error:
        pytest.skip(f"no Spark: {error}")
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")]),
    }
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_REMOTE"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, str(JOB), str(tmp_path)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    # Types come in turn, so a match is a triple; the first two are below the limits.
    expected = [[i, i + 2] for i in range(0, 300, 3)]
    assert found["class"].startswith("pyspark.sql.connect")
    assert found["keyed"] == found["by_type"] == [pair for pair in expected if pair[0] > 5]
    assert found["unkeyed"] == [pair for pair in expected if pair[0] + 1 > 5]
    assert found["n_events"] == 300
    assert found["n_decided_at_first"] == 0
    assert found["stream"] == found["keyed"]
