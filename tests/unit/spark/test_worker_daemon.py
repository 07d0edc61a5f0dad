"""What the daemon of Python workers says of errors."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cepheid.spark.worker_daemon import print_exc

# What PySpark's daemon does in a fork: to answer Spark, and to tell of what goes wrong.
WORKER = """
import os, socket, sys
from cepheid.spark import worker_daemon

def manager():
    left, right = socket.socketpair()
    right.close()
    out = left.makefile("wb")
    try:
        out.write(b"x")
        {fails}
    except BaseException:
        worker_daemon.daemon.traceback.print_exc()
        os._exit(1)

worker_daemon.daemon.manager = manager
worker_daemon.main()
"""


@pytest.mark.parametrize(("fails", "says"), [("out.flush()", ""), ("raise ValueError('no')", "ValueError: no")])
def test_that_spark_is_gone_is_no_error_of_a_worker(fails: str, says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WORKER.format(fails=fails)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert says in done.stderr
    assert bool(done.stderr) == bool(says)


def test_other_errors_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    for error, told in ((BrokenPipeError(32, "Broken pipe"), False), (KeyError("x"), True)):
        try:
            raise error
        except (OSError, KeyError):
            print_exc()
        assert ("Traceback" in capsys.readouterr().err) == told
