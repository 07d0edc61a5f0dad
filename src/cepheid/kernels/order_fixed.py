"""Puts matches of one length that one event decides in ascending order of their events (SEMANTICS 7.2)."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Ints


@kernel()
def _after(positions: Ints, length: int, a: int, b: int) -> bool:
    """Whether match ``a`` comes after match ``b``, by their events from the third on."""
    for j in range(2, length):
        x = positions[a * length + j]
        y = positions[b * length + j]
        if x != y:
            return x > y
    return False


@kernel(entry=True)
def sort_fixed(positions: Ints, length: int, n: int, scratch: Ints, order: Ints) -> None:
    """Sort ``n`` matches of ``length`` events each, within groups that have the same last event.

    Shellsort on the first two events of a match in one word: groups are small, and nearly in order in stretches.

    Args:
        positions: int64, (n * length,), below 2**31 each, changed in place.
        scratch: int64, (n * length,): room for a copy of the groups that are moved.
        order: int64, (2 * n,): room for numbers of matches, and for the words.
    """
    first = 0
    while first < n:
        last = first + 1
        decider = positions[first * length + length - 1]
        while last < n and positions[last * length + length - 1] == decider:
            last += 1
        size = last - first
        if size > 1:
            for i in range(size):
                order[i] = first + i
                order[n + i] = (positions[(first + i) * length] << 31) + positions[(first + i) * length + 1]
            gap = 1
            while gap < size // 3:
                gap = 3 * gap + 1
            while gap > 0:
                for i in range(gap, size):
                    moved, word = order[i], order[n + i]
                    j = i
                    while j >= gap and order[n + j - gap] >= word:
                        if length > 3 and order[n + j - gap] == word:
                            if not _after(positions, length, order[j - gap], moved):
                                break
                        order[n + j] = order[n + j - gap]
                        order[j] = order[j - gap]
                        j -= gap
                    order[n + j] = word
                    order[j] = moved
                gap //= 3
            if length == 3:  # the words and the decider are all there is
                for i in range(size):
                    positions[(first + i) * 3] = order[n + i] >> 31
                    positions[(first + i) * 3 + 1] = order[n + i] & 0x7FFFFFFF
            else:
                for i in range(size):
                    for j in range(length):
                        scratch[i * length + j] = positions[order[i] * length + j]
                for i in range(size * length):
                    positions[first * length + i] = scratch[i]
        first = last
