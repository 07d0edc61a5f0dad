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
    n_workers = min(len(os.sched_getaffinity(0)), len(tasks))
    found = []
    with ProcessPoolExecutor(n_workers, multiprocessing.get_context("spawn")) as pool:
        for name, one in zip(names, pool.map(function, tasks), strict=True):
            found.append(one)
            tell(name)
    return found
