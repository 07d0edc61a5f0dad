"""Tasks that do not depend on each other, in as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Tell = Callable[[str], None]
Task = TypeVar("Task")
Found = TypeVar("Found")


def workers(most: int | None = None) -> ProcessPoolExecutor:
    """A process for each core that may be used, and no more than so many."""
    n_cores = len(os.sched_getaffinity(0))
    n_workers = n_cores if most is None else min(n_cores, most)
    return ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn"))


def on_all_cores(
    function: Callable[[Task], Found], tasks: Sequence[Task], tell: Tell, names: Sequence[str]
) -> list[Found]:
    """What a function makes of each task, in their order.

    Args:
        function: a function of a module.
        tasks: that can be sent to another process.
        tell: of what is done.
        names: of the tasks, told as they are done.
    """
    found = []
    with workers(len(tasks)) as pool:
        for name, one in zip(names, pool.map(function, tasks), strict=True):
            found.append(one)
            tell(name)
    return found
