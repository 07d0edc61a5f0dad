"""Puts matches of one length that one event decides in ascending order of their events (SEMANTICS 7.2)."""

from __future__ import annotations

from cepheid.kernels.index import at
from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Ints


@kernel()
def _ascends(rows: Ints, begin: int, step: int, column: int, size: int) -> bool:
    """Whether ``size`` matches ascend in a column; the first at ``begin``, each further one ``step`` after it."""
    place = begin + column
    for _ in range(1, size):
        if rows[at(place)] > rows[at(place + step)]:
            return False
        place += step
    return True


@kernel()
def _sort_by(
    column: int, rows: Ints, begin: int, step: int, size: int, length: int, out: Ints, to: int, slots: Ints, seen: Ints
) -> None:
    """Sort ``size`` matches by one column, those that are equal in it as they were; the result begins at ``out[to]``.

    A partial match gives many matches on one event, so a column has few different values: each match goes to the place
    that is counted out for its value.

    Args:
        slots: zeros, before and after; more than the values are apart.
        seen: room for each different value.
    """
    mask = len(slots) - 1
    n_seen = 0
    place = begin + column
    for _ in range(size):
        value = rows[at(place)]
        if slots[at(value & mask)] == 0:
            seen[at(n_seen)] = value
            n_seen += 1
        slots[at(value & mask)] += 1
        place += step
    gap = 1
    while gap < n_seen // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n_seen):
            value = seen[at(i)]
            j = i
            while j >= gap and seen[at(j - gap)] > value:
                seen[at(j)] = seen[at(j - gap)]
                j -= gap
            seen[at(j)] = value
        gap //= 3
    free = to
    for i in range(n_seen):
        slot = seen[at(i)] & mask
        counted = slots[at(slot)]
        slots[at(slot)] = free
        free += counted * length
    for _ in range(size):
        slot = rows[at(begin + column)] & mask
        put = slots[at(slot)]
        for j in range(length):
            out[at(put + j)] = rows[at(begin + j)]
        slots[at(slot)] = put + length
        begin += step
    for i in range(n_seen):
        slots[at(seen[at(i)] & mask)] = 0


@kernel(entry=True)
def sort_fixed(positions: Ints, length: int, first: int, n: int, scratch: Ints, slots: Ints) -> int:
    """Sort the matches ``first`` to before ``n``, of ``length`` events each, within groups of the same last event.

    Column by column, the last one first. Kernels emit the matches of an event with the newest partial matches first, so
    most groups are read backwards, and only some columns are left to be sorted.

    Args:
        positions: int64, (n * length,), not negative, changed in place.
        scratch: int64, (n * length + n,): room for a copy of a group, and for the different values of a column.
        slots: int64, zeros, as many as a power of two; more than any event of a match is away from the last one.

    Returns:
        ``n``; or the match at which to go on with more slots.
    """
    seen = scratch[n * length :]
    while first < n:
        begin = first * length
        decider = positions[at(begin + length - 1)]
        end = begin + length
        nearest = positions[at(begin)]
        while end < n * length and positions[at(end + length - 1)] == decider:
            nearest = min(nearest, positions[at(end)])
            end += length
        size = (end - begin) // length
        if size > 1:
            if decider - nearest >= len(slots):
                return first
            source, step, copied = begin, length, False
            if positions[at(begin + length - 2)] > positions[at(end - 2)]:
                source, step = end - length, -length
            for column in range(length - 2, -1, -1):
                if copied:
                    if not _ascends(scratch, source, step, column, size):
                        _sort_by(column, scratch, source, step, size, length, positions, begin, slots, seen)
                        source, step, copied = begin, length, False
                elif not _ascends(positions, source, step, column, size):
                    _sort_by(column, positions, source, step, size, length, scratch, 0, slots, seen)
                    source, step, copied = 0, length, True
            if step < 0:
                for i in range(size // 2):
                    for j in range(length):
                        low, high = begin + i * length + j, end - (i + 1) * length + j
                        positions[at(low)], positions[at(high)] = positions[at(high)], positions[at(low)]
            if copied:
                for i in range(end - begin):
                    positions[at(begin + i)] = scratch[at(i)]
        first += size
    return n
