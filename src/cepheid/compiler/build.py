"""Makes machine code: ``python -m cepheid.compiler.build FOLDER AT_ONCE LINE...``; see `compiler.building`.

A line, of the command or on the standard input, names kernels, MODULE:NAME[:FLAG...] with spaces between them, for a
process of its own; so many are at work at once. Each is a fork of this one, which has imported Numba for all of them. A
line on the standard output names a kernel that is made. After an empty line, or the end of the input, what was asked
for is still made.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import sys
import traceback
from collections import deque
from pathlib import Path
from typing import Any

from cepheid.compiler.building import Key, file_of, key_of
from cepheid.compiler.load import source_of
from cepheid.compiler.machine_code import MachineCode, assembled
from cepheid.kernels.jit import OPTIMIZATION, OPTIMIZATION_OBSERVED, Compilable

SMALLEST: Key = ("signatures", "no_helper", ())

LOOKS_S, IDLE_LOOKS_S = 0.01, 1.0
"""Between two looks for a fork that has ended, and for whoever asked."""


def made(key: Key) -> MachineCode:
    """The machine code of a kernel."""
    optimization = OPTIMIZATION_OBSERVED if "OBSERVED" in key[2] else OPTIMIZATION
    config: Any = importlib.import_module("numba.core.config")
    # Numba reads these as it compiles. The kernels branch all the time: vectorizing gains nothing and costs half of the
    # time to compile.
    config.OPT = type(config.OPT)(optimization)
    config.LOOP_VECTORIZE = config.SLP_VECTORIZE = 0
    compilable: Compilable = source_of(*key).compilable
    return assembled(*compilable.compiled(), compilable.kinds, optimization)


def _make(folder: Path, texts: list[str]) -> None:
    told = True
    for text in texts:
        key = key_of(text)
        made(key).save(file_of(folder, key))
        if told:
            try:
                os.write(sys.stdout.fileno(), f"{text}\n".encode())
            except BrokenPipeError:
                told = False  # whoever asked has ended; the next process is glad of the others


def _begun(folder: Path, line: str) -> int:
    """A process that makes the kernels of a line."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        _make(folder, line.split())
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, a fork may not go on where this process stood
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def looks_s(n_lines: int, n_running: int, at_once: int) -> float:
    """How long to wait for a further line: not at all where a fork can begin with one that is there."""
    if n_lines and n_running < at_once:
        return 0.0
    return LOOKS_S if n_running else IDLE_LOOKS_S


def main() -> int:
    """Make what is asked for; 1 where something cannot be made."""
    folder, at_once = Path(sys.argv[1]), int(sys.argv[2])
    gc.disable()  # a sixth of the time, to find that what Numba knows is in use
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whoever asked may ignore it, and then no fork can be waited for
    asked_by = os.getppid()
    importlib.import_module("cepheid.kernels.pipeline").optimize_once()
    made(SMALLEST)  # what Numba makes ready when it first compiles is there for all
    asks, rest, lines, n_running = True, b"", deque(sys.argv[3:]), 0
    while asks or lines or n_running:
        if asks and select.select([sys.stdin], [], [], looks_s(len(lines), n_running, at_once))[0]:
            read = os.read(sys.stdin.fileno(), 1 << 16)
            *whole, rest = (rest + read).split(b"\n")
            asks = bool(read) and b"" not in whole
            lines.extend(line.decode() for line in whole if line)
        elif asks and os.getppid() != asked_by:  # it has ended, and a fork of it has the other end of the input still
            asks = False
        while n_running:
            can_begin = asks or (lines and n_running < at_once)
            ended = os.waitpid(-1, os.WNOHANG if can_begin else 0)
            if not ended[0]:
                break
            n_running -= 1
            if ended[1]:
                if os.WIFSIGNALED(ended[1]):
                    sys.stderr.write(f"the compiler was ended by signal {os.WTERMSIG(ended[1])}\n")
                return 1
        while lines and n_running < at_once:
            _begun(folder, lines.popleft())
            n_running += 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
