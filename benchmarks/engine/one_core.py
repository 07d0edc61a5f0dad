"""Ties a process to one processor and its libraries to one thread.

Imports no library: the number of threads must be in the environment before they are imported.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

_THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_READ_AT_IMPORT = ("numpy", "polars", "numba")


def pin() -> int | None:
    """Run on one processor from here on, child processes included; each library that is imported later on one thread.

    Arrow takes its number of threads from the processors that it may use; `limit_arrow` sets it as well.

    Returns:
        The number of the processor, or None where the system cannot tie a process to one.

    Raises:
        RuntimeError: a library that reads its number of threads when it is imported is there already.
    """
    early = [name for name in _READ_AT_IMPORT if name in sys.modules]
    if early:
        raise RuntimeError(f"{', '.join(early)} imported before the number of threads was set")
    for variable in _THREADS:
        os.environ[variable] = "1"
    if not hasattr(os, "sched_setaffinity"):
        return None
    # The last one: interrupts mostly go to the first.
    processor = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processor})
    return processor


def unpin() -> None:
    """Run on every processor again, as far as the system lets."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


def limit_arrow() -> None:
    """One thread for Arrow."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def print_rows(module: str, measure: Callable[..., Sequence[Any]]) -> int:
    """What a module that measures in a process of its own does as a program: its rows as JSON, on one processor.

    Args:
        module: what it is called in ``benchmarks.engine``.
        measure: takes ``quick`` and returns dataclasses.

    Returns:
        The exit code, 0.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.engine.{module}")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    pin()
    limit_arrow()
    print(json.dumps([asdict(row) for row in measure(quick=given.quick)]))
    return 0
