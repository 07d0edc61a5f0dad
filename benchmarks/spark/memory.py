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
    return sum(rss_bytes_by_command(root).values())


def rss_bytes_by_command(root: int) -> dict[str, int]:
    """The same, told apart: ``self`` for ``root``, and the name of the command for all others together."""
    totals: dict[str, int] = defaultdict(int)
    for _, command, n_bytes in _tree(root):
        totals[command] += n_bytes
    return dict(totals)


def workers_pss_bytes(root: int) -> int:
    """What the descendants of ``root`` but the JVM hold, a page that several share counted once in all (Linux)."""
    total = 0
    for process, command, _ in _tree(root):
        if command in ("self", "java"):
            continue
        try:
            told = (Path("/proc") / str(process) / "smaps_rollup").read_text()
        except OSError:
            continue  # it ended meanwhile
        total += sum(int(line.split()[1]) * 1024 for line in told.splitlines() if line.startswith("Pss:"))
    return total


def _tree(root: int) -> list[tuple[int, str, int]]:
    """``root`` and its descendants: the process, its command (``self`` for ``root``), and its resident bytes."""
    children: dict[int, list[int]] = defaultdict(list)
    resident: dict[int, int] = {}
    commands: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name of the command, in brackets, may hold spaces.
            said, _, rest = (entry / "stat").read_text().rpartition(")")
            pages = int((entry / "statm").read_text().split()[1])
        except (OSError, IndexError):
            continue  # it ended meanwhile
        children[int(rest.split()[1])].append(int(entry.name))
        resident[int(entry.name)] = pages * _PAGE_BYTES
        commands[int(entry.name)] = said.partition("(")[2]
    found = []
    left = [root]
    while left:
        process = left.pop()
        found.append((process, "self" if process == root else commands.get(process, ""), resident.get(process, 0)))
        left += children[process]
    return found


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
