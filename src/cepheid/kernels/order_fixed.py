"""Puts the matches that one event decides in ascending order of their events (SEMANTICS 7.2)."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Ints

INSERTION = 12  # groups up to this size are sorted in place


@kernel(inline=True)
def _before(positions: Ints, length: int, a: int, b: int) -> bool:
    """Whether match ``a`` comes before match ``b``; both have ``length`` events."""
    for j in range(length):
        x = positions[a * length + j]
        y = positions[b * length + j]
        if x != y:
            return x < y
    return False


@kernel()
def _sort_numbers(positions: Ints, length: int, size: int, order: Ints, half: int) -> int:
    """Merge sort of the ``size`` numbers at the front of ``order``; gives where the result begins."""
    run = min(INSERTION, size)
    for begin in range(0, size, run):
        end = min(begin + run, size)
        for i in range(begin + 1, end):
            moved = order[i]
            j = i - 1
            while j >= begin and _before(positions, length, moved, order[j]):
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = moved
    source, target = 0, half
    while run < size:
        for begin in range(0, size, 2 * run):
            middle = min(begin + run, size)
            end = min(begin + 2 * run, size)
            i, j = begin, middle
            for out in range(begin, end):
                if i < middle and (j >= end or not _before(positions, length, order[source + j], order[source + i])):
                    order[target + out] = order[source + i]
                    i += 1
                else:
                    order[target + out] = order[source + j]
                    j += 1
        source, target = target, source
        run *= 2
    return source


@kernel(entry=True)
def sort_fixed(positions: Ints, length: int, n: int, scratch: Ints, order: Ints) -> None:
    """Sort ``n`` matches of ``length`` events each, within groups that have the same last event.

    Args:
        positions: int64, (n * length,), changed in place.
        scratch: int64, (n * length,): room for a copy of the groups that are moved.
        order: int64, (2 * n,): room for numbers of matches.
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
            source = _sort_numbers(positions, length, size, order, n)
            for i in range(size):
                match = order[source + i]
                for j in range(length):
                    scratch[i * length + j] = positions[match * length + j]
            for i in range(size * length):
                positions[first * length + i] = scratch[i]
        first = last
