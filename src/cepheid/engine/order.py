"""The order of matches (SEMANTICS 7.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.load import order_kernel

FEW_MATCHES = 1 << 8
"""So many NumPy sorts in 6 us, and 4,096 in 53 us; a kernel is read from disk once, in 0.3 ms. The bound is chosen."""

FIRST_SLOTS = 1 << 12


def in_order(positions: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """Matches in the order of SEMANTICS 7.2: by the event that decided them, which is the last, then by their events.

    Args:
        positions: int64, (n * length,), match after match, those that one event decides together, in the order of
            these events. May be changed in place.
        length: events of a match.

    Returns:
        The same matches in order.
    """
    n = len(positions) // length
    if length == 1 or n < 2:
        return positions
    if n <= FEW_MATCHES:
        rows = positions.reshape(n, length)
        order = np.lexsort((*rows.T[-2::-1], rows[:, -1]))
        return rows[order].reshape(-1)
    sort = order_kernel(n, varying=False)
    scratch = np.empty(n * (length + 1), np.int64)
    slots = np.zeros(FIRST_SLOTS, np.int64)
    done = 0
    while (done := sort(positions, length, done, n, scratch, slots)) < n:
        slots = np.zeros(4 * len(slots), np.int64)
    return positions


def varying_order(
    positions: NDArray[np.int64],
    taken: NDArray[np.int64],
    starts: NDArray[np.int64],
    decided: NDArray[np.int64],
    deciders: NDArray[np.int64],
    windows: NDArray[np.int64] | None = None,
    *,
    scattered: bool,
    ambiguous: bool,
) -> NDArray[np.int64]:
    """The numbers of matches of varying length in their order, each match once.

    Args:
        positions, taken: int64, (m,): the events of one match after the other, and the variables that they bind.
        starts: int64, (n + 1,): where each match begins among them.
        decided: int64, (n,): when it was decided, us.
        deciders: int64, (n,): by which event, or -1: by the time.
        windows: int64, (n,): the window of each, where windows slide; the last thing that tells matches apart.
        scattered: those of one decision point may not stand side by side.
        ambiguous: a match may stand there twice.
    """
    n = len(decided)
    order = np.empty(max(1, 2 * n), np.int64)
    order[:n] = np.arange(n)
    if scattered and n:
        deciders = _by_decision(decided, deciders, windows, order)
    order_kernel(n, varying=True)(positions, taken, starts, deciders, n, order)
    order = order[:n]
    return order[distinct(positions, taken, starts, windows, order)] if ambiguous else order


def _by_decision(
    decided: NDArray[np.int64],
    deciders: NDArray[np.int64],
    windows: NDArray[np.int64] | None,
    order: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Put matches in the order of their decision points; gives each the number of its point.

    A match that an event decides comes before those that the time of that event decides (SEMANTICS 7.2).

    Args:
        decided: int64, (n,), us.
        deciders: int64, (n,): the event that decided, or -1 for the time.
        windows: int64, (n,), or None: those of a point come in the order of these.
        order: int64, (at least n,): gets the order.
    """
    n = len(decided)
    late = deciders < 0
    least = () if windows is None else (windows,)
    in_order = np.lexsort((*least, deciders, late, decided))
    order[:n] = in_order
    same = (
        (decided[in_order[1:]] == decided[in_order[:-1]])
        & (late[in_order[1:]] == late[in_order[:-1]])
        & (deciders[in_order[1:]] == deciders[in_order[:-1]])
    )
    points = np.empty(n, np.int64)
    points[in_order] = np.concatenate((np.zeros(1, np.int64), np.cumsum(~same)))
    return points


def distinct(
    positions: NDArray[np.int64],
    taken: NDArray[np.int64],
    starts: NDArray[np.int64],
    windows: NDArray[np.int64] | None,
    order: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Where matches in their order bind something that none before them binds: equal ones are reported once."""
    n = len(order)
    is_new = np.ones(len(starts) - 1, np.bool_)
    # All in one order by what they bind; both sorts are stable, so of equal ones the first stays first.
    by_content = np.empty(max(1, 2 * n), np.int64)
    by_content[:n] = order if windows is None else order[np.argsort(windows[order], kind="stable")]
    order_kernel(n, varying=True)(positions, taken, starts, np.zeros(n, np.int64), n, by_content)
    one, other = by_content[: max(0, n - 1)], by_content[1:n]
    lengths = np.diff(starts)
    alike = lengths[one] == lengths[other]
    if windows is not None:
        alike &= windows[one] == windows[other]
    one, other = one[alike], other[alike]
    if len(one):
        begins = np.cumsum(lengths[one]) - lengths[one]
        entry = np.arange(lengths[one].sum())
        a, b = (entry + np.repeat(starts[which] - begins, lengths[one]) for which in (one, other))
        equal = np.logical_and.reduceat((positions[a] == positions[b]) & (taken[a] == taken[b]), begins)
        is_new[other[equal]] = False
    return is_new[order]


def first_of_each(groups: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first match of each group, in their order.

    Args:
        groups: int64, (n,): the group of each match.
        order: int64: numbers of matches.
    """
    _, first = np.unique(groups[order], return_index=True)
    return order[np.sort(first)]
