"""The order of matches that all have the same number of events."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cepheid.compiler.load import order_kernel

FEW_MATCHES = 1 << 12
"""So many NumPy sorts faster than the kernel for it is compiled, or read from disk."""

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
    sort = order_kernel(varying=False)
    scratch = np.empty(n * (length + 1), np.int64)
    slots = np.zeros(FIRST_SLOTS, np.int64)
    done = 0
    while (done := sort(positions, length, done, n, scratch, slots)) < n:
        slots = np.zeros(4 * len(slots), np.int64)
    return positions
