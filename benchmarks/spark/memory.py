"""The memory of a process and all that it started, sampled while something runs."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def tree_rss_bytes(root: int) -> int:
    """Resident bytes of the process ``root`` and its descendants (Linux); shared pages count once for each.

    Spark's JVM is a child of the driver, its Python workers are children of the JVM.
    """
    children: dict[int, list[int]] = defaultdict(list)
    resident: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name of the command, in brackets, may hold spaces.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            pages = int((entry / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue  # it ended meanwhile
        children[int(fields[1])].append(int(entry.name))
        resident[int(entry.name)] = pages * _PAGE_BYTES
    total, left = 0, [root]
    while left:
        process = left.pop()
        total += resident.get(process, 0)
        left += children[process]
    return total


class PeakMemory:
    """The greatest memory of this process and its descendants while the context is open.

    Attributes:
        peak_bytes: 0 where there is no /proc.
    """

    def __init__(self, every_s: float = 0.05) -> None:
        self.peak_bytes = 0
        self._every_s = every_s
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        if not Path("/proc").is_dir():
            return
        while not self._done.wait(self._every_s):
            self.peak_bytes = max(self.peak_bytes, tree_rss_bytes(os.getpid()))
