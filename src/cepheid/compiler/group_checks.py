"""What matches of a group under NOT are checked for in each gap, as rows that the kernel reads (`kernels.layout`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheid.events.column import BoolArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CheckRows:
    """The rows for which checks are made of the matches of one group, match after match.

    Attributes:
        matches: int64, (n,): the number of the match; ascending.
        checks: int64, (n,): the number of the check.
        events: int64, (n,): the position in the batch of the event that may close a loop; -1 where a condition must
            hold, -2 for all events before the match that may close a loop.
        n_taken: int64, (n, number of variables): how many events of each variable lie before that event.
        tried: int64, (n,): which of these the condition is tried on; -1: none.
        empty: bool, as ``n_taken``: where there are none, the variable took nothing on a branch that was taken.
        closing: for each check, where in the batch an event may close its loop, as far as itself tells; bool.
        partitions: int64, for each event of the batch, -1 where it is in none.
    """

    matches: Ints
    checks: Ints
    events: Ints
    n_taken: Ints
    tried: Ints
    empty: BoolArray
    closing: Sequence[BoolArray]
    partitions: Ints

    @property
    def read(self) -> BoolArray:
        """Where in the batch events stand that may close a loop."""
        found = np.zeros(len(self.partitions), np.bool_)
        for closing in self.closing:
            found |= closing
        return found & (self.partitions >= 0)


HOLDS, BEFORE_MATCH = -1, -2
"""In place of the position of an event: see `CheckRows.events`."""


def joined_rows(parts: Sequence[CheckRows], n_matches: Sequence[int]) -> CheckRows:
    """The rows of matches that were found in several ways, as one.

    Args:
        parts: of each way.
        n_matches: how many it found.
    """
    first = np.cumsum([0, *n_matches])
    return CheckRows(
        np.concatenate([part.matches + before for part, before in zip(parts, first[:-1], strict=True)]),
        np.concatenate([part.checks for part in parts]),
        np.concatenate([part.events for part in parts]),
        np.concatenate([part.n_taken for part in parts]),
        np.concatenate([part.tried for part in parts]),
        np.concatenate([part.empty for part in parts]),
        parts[0].closing,
        parts[0].partitions,
    )


def shared_ranges(
    rows: CheckRows, matches: Sequence[int], firsts: Ints, selected: Ints | None, windows: Ints | None, n: int
) -> tuple[Ints, Ints, Ints]:
    """The events that may close a loop before the first event of a match, once for all matches that they concern.

    Args:
        rows: the checks.
        matches: the rows that ask for them.
        firsts: int64, for each of these: the first event of the match, as the kernel numbers it.
        selected, windows: of the events that the kernel sees: their positions, and their windows; see `write_groups`.
        n: how many the kernel sees.

    Returns:
        for each row the first of them and that after the last, int64; and for each of them the event, and the number of
        a row that asks for it: int64, (number of them, 2).
    """
    positions = np.arange(n) if selected is None else selected
    partitions = rows.partitions[positions]
    if windows is not None and n:
        partitions = np.where(partitions < 0, -1, partitions * (int(windows.max()) + 1 - int(windows.min())))
        partitions = np.where(partitions < 0, -1, partitions + windows - int(windows.min()))
    keys = np.unique(partitions, return_inverse=True)[1].reshape(-1) * n + np.arange(n)
    ranges = np.zeros((len(matches), 2), np.int64)
    blocks: dict[tuple[int, bytes], tuple[int, Ints]] = {}
    found: list[Ints] = [np.zeros((0, 2), np.int64)]
    n_found = 0
    for i, row in enumerate(matches):
        block = int(rows.checks[row]), rows.empty[row].tobytes()
        if block not in blocks:
            events = np.flatnonzero(rows.closing[block[0]][positions] & (partitions >= 0))
            events = events[np.argsort(keys[events])]
            blocks[block] = n_found, keys[events]
            found.append(np.stack((events, np.full(len(events), row)), axis=1))
            n_found += len(events)
        begin, own = blocks[block]
        key = int(keys[firsts[i]])
        ranges[i] = begin + np.searchsorted(own, [key - key % n, key])
    return ranges[:, 0], ranges[:, 1], np.concatenate(found)
