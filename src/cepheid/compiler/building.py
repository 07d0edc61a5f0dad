"""Machine code made in processes of their own, while this one goes on with the kernels as plain Python.

Compiling is Python's work for the most part, so a thread that did it would stop all others again and again; and only
the processes that compile import Numba, one of them for all others, as long as there is something to make. They write
each kernel to its file as soon as it is made, and end with the last one, be whoever asked still there or not: the next
process finds them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TypeAlias

from cepheid.errors import SetupError
from cepheid.kernels.jit import COMPILING_VARIABLE

Key: TypeAlias = tuple[str, str, tuple[str, ...]]
"""A kernel: its module in `kernels`, its name, and the flags of `kernels.hooks` that are set."""

N_AT_ONCE = 2
"""Processes at a time: more would keep the processors from this one."""

RETRY_S = 60.0
"""So long after a failure it is worth another try: what has ended the compiler may have been a lack of memory or room
that is over, and a stream runs for weeks."""

IDLE_S = 2.0
"""A compiler ends that has had nothing to make for so long. What the end of a query needs is asked for late."""


def text_of(key: Key) -> str:
    """A kernel as `compiler.build` reads it."""
    module, name, flags = key
    return ":".join((module, name, *flags))


def key_of(text: str) -> Key:
    """The kernel that `text_of` wrote."""
    module, name, *flags = text.split(":")
    return module, name, tuple(flags)


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
        self._failed_s = 0.0
        self._folder = folder
        self._in_work: set[Key] = set()
        self._lock = threading.Condition()
        self._at_once = min(N_AT_ONCE, _n_processors())
        self._lines: list[str] = []  # that no compiler has been told of
        self._compiler: IO[str] | None = None  # where to tell it; what is in work is all in the work of this one
        self._begins = False
        self._idle: threading.Timer | None = None

    def ask_for(self, keys: Sequence[Key]) -> None:
        """Begin to make some kernels, unless they are being made; the first of them takes longest."""
        with self._lock:
            new = [key for key in dict.fromkeys(keys) if key not in self._in_work]
            if not new or self.failure is not None:
                return
            self._stay()
            self._in_work.update(new)
            # What stands together shares helpers; the small ones at the end are for whichever process is done first.
            half = 1 + len(new) // 2
            for part in [new[:1], new[1:half], *([key] for key in new[half:])] if self._at_once > 1 else [new]:
                self._lines += [" ".join(map(text_of, part))] * bool(part)
            if self._compiler is not None:
                self._tell(self._compiler)
            elif not self._begins:
                try:
                    threading.Thread(target=self._run, daemon=True, name="cepheid compiles").start()
                    self._begins = True
                except RuntimeError as error:  # there are too many threads
                    self._fail(str(error))

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

    @property
    def is_worth_another(self) -> bool:
        """Whether something went wrong, and that is long ago."""
        return self.failure is not None and time.monotonic() - self._failed_s > RETRY_S

    def wait_for_all(self, timeout_s: float | None = None) -> None:
        """Wait until everything is there that was asked for; see `wait_for`."""
        with self._lock:
            keys = list(self._in_work)
        self.wait_for(keys, timeout_s=timeout_s)

    def _tell(self, compiler: IO[str]) -> None:
        """Tell the compiler what to make; with the lock."""
        try:
            compiler.writelines(f"{line}\n" for line in self._lines)
            compiler.flush()
        except (OSError, ValueError):
            pass  # it has ended, or its input is closed by now: `_run` tells why
        self._lines.clear()

    def _run(self) -> None:
        """Let a process make what is asked for, until there is nothing left."""
        compiler, failure = None, None
        try:
            with tempfile.TemporaryFile("w+", errors="replace") as errors, self._started(errors) as process:
                compiler = process.stdin
                assert compiler is not None
                assert process.stdout is not None
                with self._lock:
                    self._compiler, self._begins = compiler, False
                    self._tell(compiler)
                for line in process.stdout:
                    self._made(line.strip(), compiler)
                process.wait()
                errors.seek(0)
                failure = errors.read().strip().rpartition("\n")[2] or _how_it_ended(process.returncode)
        except Exception as error:  # noqa: BLE001 - whoever waits has to hear of it
            failure = f"{type(error).__name__}: {error}"
        with self._lock:
            if self._compiler is compiler:  # else it was told to end, and another one may be at work
                self._compiler, self._begins = None, False
                if self._in_work:
                    self._fail(failure or "the compiler has ended")

    def _started(self, errors: IO[str]) -> subprocess.Popen[str]:
        """A process that makes what it is told, and writes errors to a file."""
        if not sys.executable:
            raise FileNotFoundError("sys.executable names no interpreter")
        paths = [os.fspath(path) or os.getcwd() for path in sys.path]
        environment = {**os.environ, COMPILING_VARIABLE: "1", "PYTHONPATH": os.pathsep.join(paths)}
        # -P: modules are those of this process, and none that happens to lie in the current folder.
        with self._lock:
            lines, self._lines = self._lines, []
        # What is asked for first is on the command line, so that it is made though this process ends right now.
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "cepheid.compiler.build", str(self._folder), str(self._at_once), *lines],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,  # an interrupt is for this process, and what it has begun is of use later
        )

    def _made(self, text: str, compiler: IO[str]) -> None:
        with self._lock:
            for key in [key for key in self._in_work if text_of(key) == text]:  # else it is no name of a kernel
                self.n_made += 1
                self._in_work.discard(key)
            if not self._in_work:
                self._stay()
                self._idle = threading.Timer(IDLE_S, self._end, (compiler,))
                self._idle.daemon = True
                self._idle.start()
            self._lock.notify_all()

    def _stay(self) -> None:
        """Let no compiler end; with the lock."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _end(self, compiler: IO[str]) -> None:
        """Let a compiler end that has nothing to make."""
        with self._lock:
            if not self._in_work and self._compiler is compiler:
                # Its input may have no end: a fork of this process would have it open, too.
                self._lines, self._compiler = [""], None
                self._tell(compiler)

    def _fail(self, failure: str) -> None:
        """Nothing can be made; with the lock."""
        if self.failure is None:
            self.failure, self._failed_s = failure, time.monotonic()
        self._in_work.clear()
        self._lines.clear()
        self._lock.notify_all()


def _n_processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _how_it_ended(code: int) -> str:
    return f"the compiler was ended by signal {-code}" if code < 0 else f"the compiler has ended with exit code {code}"


REMEDY = (
    "see that Numba can be imported in this Python (pip install numba), that sys.executable names the interpreter, and "
    "that there is room on disk and in memory; or set CEPHEID_JIT=0 to run without machine code"
)
