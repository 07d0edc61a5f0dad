"""The process that makes machine code: it is there as long as it is needed, and whatever ends it is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import cepheid
from cepheid.compiler import build, building
from cepheid.compiler.building import Builder, Key, file_of
from cepheid.errors import SetupError
from cepheid.kernels.jit import ENABLED

pytestmark = pytest.mark.skipif(not ENABLED, reason="kernels run as plain Python: CEPHEID_JIT is 0")

SMALL: Key = ("signatures", "no_helper", ())
OTHER: Key = ("signatures", "no_free", ())
LONG: Key = ("advance", "advance", ())


def compilers(folder: Path) -> list[int]:
    """The processes that compile for a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"cepheid.compiler.build" in words and str(folder).encode() in words:
            found.append(int(process.name))
    return found


def soon(folder: Path, n: int) -> bool:
    """Whether so many are there before long."""
    end = time.monotonic() + 20
    while len(compilers(folder)) != n and time.monotonic() < end:
        time.sleep(0.05)
    return len(compilers(folder)) == n


@pytest.fixture
def builder(tmp_path: Path) -> Iterator[Builder]:
    made = Builder(tmp_path)
    yield made
    for process in compilers(tmp_path):
        os.kill(process, signal.SIGKILL)


needs_proc = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are told by /proc")


@needs_proc
def test_one_process_serves_all_that_is_asked_for_and_then_ends(builder: Builder, tmp_path: Path) -> None:
    builder.wait_for([SMALL])
    process = min(compilers(tmp_path))  # beside it a fork may be about to end
    builder.wait_for([OTHER])
    assert min(compilers(tmp_path)) == process
    assert soon(tmp_path, 0), "it has been idle for long enough"
    file_of(tmp_path, SMALL).unlink()
    builder.wait_for([SMALL])
    assert file_of(tmp_path, SMALL).exists(), "another one begins"
    assert builder.n_made == 3


def test_what_is_asked_for_is_begun_at_once() -> None:
    assert build.looks_s(n_lines=2, n_running=0, at_once=2) == 0.0
    assert build.looks_s(n_lines=1, n_running=1, at_once=2) == 0.0
    assert build.looks_s(n_lines=1, n_running=2, at_once=2) == build.looks_s(0, 1, 2) == build.LOOKS_S
    assert build.looks_s(n_lines=0, n_running=0, at_once=2) == build.IDLE_LOOKS_S > build.LOOKS_S


@needs_proc
def test_an_idle_compiler_that_is_killed_is_replaced(builder: Builder, tmp_path: Path) -> None:
    builder.wait_for([SMALL])
    os.kill(min(compilers(tmp_path)), signal.SIGKILL)
    assert soon(tmp_path, 0)
    end = time.monotonic() + 20
    while builder._compiler is not None and time.monotonic() < end:
        time.sleep(0.01)
    builder.wait_for([OTHER])
    assert builder.failure is None


@needs_proc
@pytest.mark.parametrize("which", [0, -1], ids=["the compiler", "its fork"])
def test_a_compiler_that_is_killed_at_work_is_a_failure_that_is_told(
    builder: Builder, tmp_path: Path, which: int
) -> None:
    builder.ask_for([LONG])
    assert soon(tmp_path, 2)
    os.kill(sorted(compilers(tmp_path))[which], signal.SIGKILL)
    if which == 0:  # the fork goes on, and holds the output open, until it has made what it was told
        builder.wait_at_most([LONG])
        assert file_of(tmp_path, LONG).exists()
        return
    with pytest.raises(SetupError, match=r"ended by signal 9.*\n.*memory"):
        builder.wait_for([LONG])


@pytest.mark.parametrize("executable", [None, "", "/nothing/here/python"])
def test_without_an_interpreter_nobody_waits_for_ever(
    builder: Builder, monkeypatch: pytest.MonkeyPatch, executable: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(SetupError, match=r"sys\.executable names no interpreter|No such file"):
        builder.wait_for([SMALL])


def test_paths_may_be_objects_and_others_may_talk(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, Path("/nothing")])
    monkeypatch.setenv("PYTHONVERBOSE", "1")  # more on the standard error than a pipe holds
    monkeypatch.setenv("NUMBA_DUMP_IR", "1")  # lines on the standard output that name no kernel
    builder.wait_for([SMALL], timeout_s=120)
    assert builder.n_made == 1


def in_new_process(code: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(cepheid.__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": source, **more}
    command = [sys.executable, "-c", code, str(folder)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=120)


IN_A_SERVER = """
import signal, sys
from pathlib import Path
from cepheid.compiler.building import Builder
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
builder = Builder(Path(sys.argv[1]))
builder.wait_for([("signatures", "no_helper", ())])
builder.wait_for([("signatures", "no_free", ()), ("signatures", "no_ending", ())])
print(builder.n_made, builder.failure)
"""


def test_signals_of_children_may_be_ignored(tmp_path: Path) -> None:
    assert in_new_process(IN_A_SERVER, tmp_path).stdout.split() == ["3", "None"]


THAT_LEAVES_A_FORK = """
import os, sys, time
from pathlib import Path
from cepheid.compiler.building import Builder
builder = Builder(Path(sys.argv[1]))
builder.wait_for([("signatures", "no_helper", ())])
if not os.fork():
    os.close(1), os.close(2)
    time.sleep(30)
os._exit(0)
"""


@needs_proc
def test_a_compiler_ends_with_whoever_asked_though_a_fork_of_it_lives_on(tmp_path: Path) -> None:
    begin = time.monotonic()
    in_new_process(THAT_LEAVES_A_FORK, tmp_path)
    assert soon(tmp_path, 0)
    assert time.monotonic() - begin < 25


@needs_proc
def test_a_compiler_is_asked_just_as_it_ends(builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "IDLE_S", 0.0)
    for _ in range(5):
        builder.wait_for([SMALL, OTHER])
    assert builder.failure is None
    assert builder.n_made == 10
