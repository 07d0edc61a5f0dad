"""`cepheid run` as a process that can be waited for, stopped and killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import SOURCE


class JobProcess:
    """A job that runs.

    Attributes:
        lines: what it has said so far.
    """

    def __init__(self, job: Path, environment: Mapping[str, str]) -> None:
        """Start it.

        Args:
            job: its file.
            environment: what it needs besides that of the tests.
        """
        self.lines: list[str] = []
        # What stands there already goes before: it may be another PySpark.
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), SOURCE]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cepheid", "run", str(job)],
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "400", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def said(self) -> str:
        """All that it has said."""
        return "\n".join(self.lines)

    def wait_for(self, pattern: str, timeout_s: float = 240) -> re.Match[str]:
        """Wait until it has said something.

        Raises:
            AssertionError: it has not, in time or before its end.
        """
        until = time.monotonic() + timeout_s
        while True:
            ended = self._process.poll() is not None and not self._reader.is_alive()
            found = re.search(pattern, self.said)
            if found:
                return found
            assert not ended, f"it ended with {self._process.returncode} and never said {pattern!r}:\n{self.said}"
            assert time.monotonic() < until, f"it has not said {pattern!r}:\n{self.said}"
            time.sleep(0.1)

    def kill(self) -> None:
        """End it and all that it started, as a power cut would."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self.ended()

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Ask it to end; returns its exit code."""
        self._process.send_signal(how)
        return self.ended()

    def ended(self, timeout_s: float = 240) -> int:
        """Wait for its end; returns its exit code."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            raise AssertionError(f"it does not end:\n{self.said}") from None
        self._reader.join(30)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code
