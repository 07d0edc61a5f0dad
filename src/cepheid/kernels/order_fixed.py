"""Puts matches of one length that one event decides in ascending order of their events (SEMANTICS 7.2)."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Ints


@kernel()
def _ascends(rows: Ints, begin: int, step: int, column: int, size: int) -> bool:
    """Whether ``size`` matches ascend in a column; the first at ``begin``, each further one ``step`` after it."""
    place = begin + column
    for _ in range(1, size):
        if rows[place] > rows[place + step]:
            return False
        place += step
    return True


@kernel()
def _sort_by(
    column: int,
    rows: Ints,
    begin: int,
    step: int,
    size: int,
    length: int,
    out: Ints,
    to: int,
    slots: Ints,
    seen: Ints,
    first_seen: int,
) -> None:
    """Sort ``size`` matches by one column, those that are equal in it as they were; the result begins at ``out[to]``.

    A partial match gives many matches on one event, so a column has few different values: each match goes to the place
    that is counted out for its value.

    Args:
        slots: zeros, before and after; more than the values are apart.
        seen: room for each different value, from ``first_seen`` on.
    """
    mask = len(slots) - 1
    n_seen = 0
    place = begin + column
    for _ in range(size):
        value = rows[place]
        if slots[value & mask] == 0:
            seen[first_seen + n_seen] = value
            n_seen += 1
        slots[value & mask] += 1
        place += step
    gap = 1
    while gap < n_seen // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n_seen):
            value = seen[first_seen + i]
            j = i
            while j >= gap and seen[first_seen + j - gap] > value:
                seen[first_seen + j] = seen[first_seen + j - gap]
                j -= gap
            seen[first_seen + j] = value
        gap //= 3
    free = to
    for i in range(n_seen):
        slot = seen[first_seen + i] & mask
        counted = slots[slot]
        slots[slot] = free
        free += counted * length
    for _ in range(size):
        slot = rows[begin + column] & mask
        put = slots[slot]
        for j in range(length):
            out[put + j] = rows[begin + j]
        slots[slot] = put + length
        begin += step
    for i in range(n_seen):
        slots[seen[first_seen + i] & mask] = 0


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
    room = n * length  # for the different values of a column
    while first < n:
        begin = first * length
        decider = positions[begin + length - 1]
        end = begin + length
        nearest = positions[begin]
        while end < n * length and positions[end + length - 1] == decider:
            nearest = min(nearest, positions[end])
            end += length
        size = (end - begin) // length
        if size > 1:
            if decider - nearest >= len(slots):
                return first
            source, step, copied = begin, length, False
            if positions[begin + length - 2] > positions[end - 2]:
                source, step = end - length, -length
            for column in range(length - 2, -1, -1):
                if copied:
                    if not _ascends(scratch, source, step, column, size):
                        _sort_by(column, scratch, source, step, size, length, positions, begin, slots, scratch, room)
                        source, step, copied = begin, length, False
                elif not _ascends(positions, source, step, column, size):
                    _sort_by(column, positions, source, step, size, length, scratch, 0, slots, scratch, room)
                    source, step, copied = 0, length, True
            if step < 0:
                for i in range(size // 2):
                    for j in range(length):
                        low, high = begin + i * length + j, end - (i + 1) * length + j
                        positions[low], positions[high] = positions[high], positions[low]
            if copied:
                for i in range(end - begin):
                    positions[begin + i] = scratch[i]
        first += size
    return n
