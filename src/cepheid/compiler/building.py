"""Machine code made in processes of their own, while this one goes on with the kernels as plain Python.

Compiling is Python's work for the most part, so a thread that did it would stop all others again and again; and only
the process that compiles imports Numba. It is told which kernels, writes each to its file as soon as it is made, and
ends with the last one, be its parent still there or not: the next process finds them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from cepheid.errors import SetupError
from cepheid.kernels.jit import COMPILING_VARIABLE

Key: TypeAlias = tuple[str, str, tuple[str, ...]]
"""A kernel: its module in `kernels`, its name, and the flags of `kernels.hooks` that are set."""

N_AT_ONCE = 2
"""Processes at a time: more would keep the processors from this one."""


def file_of(folder: Path, key: Key) -> Path:
    """Where the machine code of a kernel is kept."""
    module, name, flags = key
    return folder / ".".join((module, name, *flags))


class Builder:
    """What is being made.

    Attributes:
        n_made: kernels that have been made so far: whoever waits for one looks again when it is another number.
        failure: why some could not be made; None where nothing went wrong.
    """

    def __init__(self, folder: Path) -> None:
        """Begin with nothing.

        Args:
            folder: for machine code.
        """
        self.n_made = 0
        self.failure: str | None = None
        self._folder = folder
        self._in_work: set[Key] = set()
        self._lock = threading.Condition()
        self._slots = threading.Semaphore(N_AT_ONCE)

    def ask_for(self, keys: Sequence[Key]) -> None:
        """Begin to make some kernels, unless they are being made; the first of them takes longest."""
        with self._lock:
            new = [key for key in dict.fromkeys(keys) if key not in self._in_work]
            if not new or self.failure is not None:
                return
            self._in_work.update(new)
        n = min(N_AT_ONCE, len(new), os.cpu_count() or 1)
        parts = [new] if n == 1 else [new[:1], new[1:]]
        for part in parts:
            threading.Thread(target=self._make, args=(part,), daemon=True, name="cepheid compiles").start()

    def wait_for(self, keys: Sequence[Key], *, timeout_s: float | None = None) -> None:
        """Make some kernels, and wait until they are there.

        Args:
            keys: the kernels.
            timeout_s: give up waiting after so long; None for never.

        Raises:
            SetupError: they cannot be made.
        """
        self.wait_at_most(keys, timeout_s=timeout_s)
        if self.failure is not None:
            raise SetupError(f"the kernels cannot be compiled: {self.failure}", remedy=REMEDY)

    def wait_at_most(self, keys: Sequence[Key], *, timeout_s: float | None = None) -> None:
        """The same, but whoever waits goes on without them where they cannot be made."""
        self.ask_for(keys)
        end = None if timeout_s is None else time.monotonic() + timeout_s
        with self._lock:
            while self.failure is None and not self._in_work.isdisjoint(keys):
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return
                self._lock.wait(left)

    def wait_for_all(self, timeout_s: float | None = None) -> None:
        """Wait until everything is there that was asked for; see `wait_for`."""
        with self._lock:
            keys = list(self._in_work)
        self.wait_for(keys, timeout_s=timeout_s)

    def _make(self, keys: list[Key]) -> None:
        """Make kernels in another process."""
        paths = [path or os.getcwd() for path in sys.path]
        environment = {**os.environ, COMPILING_VARIABLE: "1", "PYTHONPATH": os.pathsep.join(paths)}
        # -P: modules are those of this process, and none that happens to lie in the current folder.
        command = [sys.executable, "-P", "-m", "cepheid.compiler.build", str(self._folder)]
        try:
            with (
                self._slots,
                subprocess.Popen(
                    [*command, *(":".join((module, name, *flags)) for module, name, flags in keys)],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    start_new_session=True,  # an interrupt is for this process, and what it has begun is of use later
                ) as process,
            ):
                assert process.stdout is not None
                assert process.stderr is not None
                left = iter(keys)
                for _ in process.stdout:  # a line for each kernel
                    self._done([next(left)])
                said = process.stderr.read().strip()
            failure = None if process.returncode == 0 else said.rpartition("\n")[2] or f"exit {process.returncode}"
        except OSError as error:
            failure = str(error)
        self._done(keys, failure)

    def _done(self, keys: Sequence[Key], failure: str | None = None) -> None:
        with self._lock:
            self.failure = self.failure or failure
            self.n_made += len(self._in_work.intersection(keys))
            self._in_work.difference_update(keys)
            self._lock.notify_all()


REMEDY = (
    "install Numba for this Python (pip install numba), and let sys.executable name the interpreter; "
    "or set CEPHEID_JIT=0 to run without machine code"
)
