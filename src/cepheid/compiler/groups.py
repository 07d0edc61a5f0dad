"""The matches of groups under NOT, as the kernel reads them (`kernels.layout`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cepheid.kernels import layout as k
from cepheid.plan.automaton import Automaton

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupMatches:
    """The matches of what stands under one NOT.

    Attributes:
        offsets: int64, (n + 1,): where each begins in ``positions``.
        positions: int64: the positions in the batch of their events.
        names: the variable of each of these events.
        windows: int64, (n,): the number of the sliding window of each, or None.
    """

    offsets: Ints
    positions: Ints
    names: Sequence[str]
    windows: Ints | None


def write_groups(
    automaton: Automaton,
    found: Mapping[int, GroupMatches],
    n: int,
    selected: Ints | None,
    windows: Ints | None,
    begin: int,
) -> Ints:
    """The table of the groups.

    Args:
        automaton: the plan.
        found: element of a NOT of a group -> its matches.
        n: number of events that the kernel sees.
        selected: their positions in the batch; None for all.
        windows: of each, the number of its sliding window, or None.
        begin: where the table begins in ``ints``.
    """
    negated = automaton.elements[automaton.n_positive :]
    slots = {v.variable: v.slot for v in automaton.variables if v.slot is not None}
    parts: list[Ints] = [np.full(len(negated) * k.GROUP_HEADER, -1, np.int64)]
    header = parts[0].reshape(len(negated), k.GROUP_HEADER)
    at = begin + len(parts[0])
    for b, element in enumerate(negated):
        if element.index not in found:
            continue
        assert element.inner is not None
        first = min(slots[name] for name in element.inner.variables)
        width = 1 + len(element.inner.variables)
        matches = found[element.index]
        numbers = _numbers(matches, selected, windows)
        owners = np.repeat(np.arange(len(matches.offsets) - 1), np.diff(matches.offsets))
        columns = np.array([1 + slots[name] - first for name in matches.names], np.int64)
        rows = np.full((len(matches.offsets) - 1, width), -1, np.int64)
        rows[owners, columns] = numbers
        rows[:, 0] = numbers[matches.offsets[:-1]]
        lasts = numbers[matches.offsets[1:] - 1]
        rows = rows[np.argsort(lasts, kind="stable")]
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(lasts, minlength=n))))
        header[b] = at, at + len(ends), width, first
        parts += [ends, rows.reshape(-1)]
        at += len(ends) + rows.size
    return np.concatenate(parts)


def _numbers(matches: GroupMatches, selected: Ints | None, windows: Ints | None) -> Ints:
    """The events of matches as the kernel numbers them."""
    if selected is None:
        return matches.positions
    first = np.searchsorted(selected, matches.positions)
    if windows is None or matches.windows is None:
        return first
    # The copies of an event stand side by side, one for each window that holds it.
    own = np.repeat(matches.windows, np.diff(matches.offsets))
    return np.asarray(first + own - windows[first], np.int64)
