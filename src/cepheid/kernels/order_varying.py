"""Puts matches of varying length that one event decides in ascending order of their events (SEMANTICS 7.2)."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Ints


@kernel(inline=True)
def _before_varying(positions: Ints, elements: Ints, offsets: Ints, a: int, b: int) -> bool:
    """Ascending events, a shorter match before its extensions, then variables in the order of the text."""
    i, j = offsets[a], offsets[b]
    end_i, end_j = offsets[a + 1], offsets[b + 1]
    while i < end_i and j < end_j:
        if positions[i] != positions[j]:
            return positions[i] < positions[j]
        i += 1
        j += 1
    if (i < end_i) != (j < end_j):
        return j < end_j
    i, j = offsets[a], offsets[b]
    while i < end_i:
        if elements[i] != elements[j]:
            return elements[i] < elements[j]
        i += 1
        j += 1
    return False


@kernel()
def _sort_varying(
    positions: Ints, elements: Ints, offsets: Ints, first: int, last: int, order: Ints, half: int
) -> None:
    run = 1
    source, target = 0, half
    while run < last - first:
        for begin in range(first, last, 2 * run):
            middle = min(begin + run, last)
            end = min(begin + 2 * run, last)
            i, j = begin, middle
            for out in range(begin, end):
                if i < middle and (
                    j >= end or not _before_varying(positions, elements, offsets, order[source + j], order[source + i])
                ):
                    order[target + out] = order[source + i]
                    i += 1
                else:
                    order[target + out] = order[source + j]
                    j += 1
        source, target = target, source
        run *= 2
    if source != 0:
        for i in range(first, last):
            order[i] = order[source + i]


@kernel(entry=True)
def order_varying(positions: Ints, elements: Ints, offsets: Ints, deciders: Ints, n: int, order: Ints) -> None:
    """The order of ``n`` matches of varying length, within groups that the same event decides.

    Args:
        order: int64, (2 * n,): the numbers of the matches in the first n, those of a group side by side; they come
            out in order.
    """
    first = 0
    while first < n:
        last = first + 1
        while last < n and deciders[order[last]] == deciders[order[first]]:
            last += 1
        _sort_varying(positions, elements, offsets, first, last, order, n)
        first = last
