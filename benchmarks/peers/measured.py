"""What a peer tells, and what it is when there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Unavailable(Exception):
    """A peer cannot be had here; the message says what was tried, what it said, and what would help."""


@dataclass(frozen=True)
class Measured:
    """A workload on a prefix of its stream.

    Attributes:
        n_matches: how many were found.
        sum_of_ids: the numbers of the events of all matches, added up. With ``n_matches`` it tells a wrong match from
            a right one where their count happens to agree.
        wall_s: the best wall time of the timed region.
        cpu_s: the best CPU time of the process in it, all of its threads; not always of the same run.
    """

    n_matches: int
    sum_of_ids: int
    wall_s: float
    cpu_s: float


class Peer(Protocol):
    """Something that finds the matches of workloads.

    Attributes:
        name: as the table shows it.
        version: of what runs.
        scope: what its timer includes.
        n_events: workload -> length of its stream; what it cannot express is left out.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def scope(self) -> str: ...
    @property
    def n_events(self) -> Mapping[str, int]: ...

    def make(self, build: Path) -> None:
        """Make its environment below ``build``, or find it there.

        Raises:
            Unavailable: it cannot be made.
        """

    def measure(self, workload: str, events: Path, *, quick: bool) -> Measured:
        """Run a workload.

        Args:
            workload: one of ``n_events``.
            events: the stream without the ending: an Arrow file ``.arrow`` and the same as ``.csv``.
            quick: fewer repetitions.

        Raises:
            Unavailable: what was made does not run.
        """
