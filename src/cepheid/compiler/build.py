"""Makes machine code: ``python -m cepheid.compiler.build FOLDER MODULE:NAME[:FLAG...]...``; see `compiler.building`."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from cepheid.compiler.building import Key, file_of
from cepheid.compiler.load import source_of
from cepheid.compiler.machine_code import MachineCode, assembled
from cepheid.kernels.jit import OPTIMIZATION, OPTIMIZATION_OBSERVED, Compilable


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


def main() -> int:
    """Make what the command line names; prints a line for each."""
    folder, *names = sys.argv[1:]
    gc.disable()  # a sixth of the time, to find that what Numba knows is in use
    told = True
    for text in names:
        module, name, *flags = text.split(":")
        key = (module, name, tuple(flags))
        made(key).save(file_of(Path(folder), key))
        if told:
            try:
                sys.stdout.write(f"{text}\n")
                sys.stdout.flush()
            except BrokenPipeError:
                told = False  # whoever asked has ended; the next process is glad of the others
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
