"""Which matches AFTER MATCH keeps, and when each is known to be kept (SEMANTICS 6)."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import Ints


@kernel(entry=True)
def keep_matches(
    partitions: Ints,
    firsts: Ints,
    onward: Ints,
    points: Ints,
    end_partitions: Ints,
    end_firsts: Ints,
    end_points: Ints,
    waiting: Ints,
    kept: Ints,
    known: Ints,
) -> int:
    """Go through the candidates in the order in which they are taken.

    One that starts before the frontier is discarded; a kept one sets it. It is known when all starts between the
    frontier and its own have ended, and not before the one kept before it.

    Args:
        partitions, firsts: int64, (n,): of each candidate; the numbers of partitions ascend, and within one the numbers
            of first events, which are not negative.
        onward: int64, (n,): where the frontier stands after it.
        points: int64, (n,): the moment at which it is decided, as numbers that ascend with time, not negative.
        end_partitions, end_firsts, end_points: int64, (m,): when starts ended, in the order of partitions and first
            events.
        waiting: int64, (m,): room.
        kept, known: int64, (n,): get the number of each candidate that is kept, and the moment when that is known.

    Returns:
        how many are kept.
    """
    n, m = len(firsts), len(end_firsts)
    n_kept = 0
    frontier = latest = 0
    following = 0  # of the ends
    # The ends between the frontier and a start, without those that a later one outlasts: their moments fall.
    head = tail = 0
    for i in range(n):
        if i == 0 or partitions[i] != partitions[i - 1]:
            frontier = latest = 0
            head = tail
            while following < m and end_partitions[following] != partitions[i]:
                following += 1
        if firsts[i] < frontier:
            continue
        while following < m and end_partitions[following] == partitions[i] and end_firsts[following] < firsts[i]:
            while tail > head and end_points[waiting[tail - 1]] <= end_points[following]:
                tail -= 1
            waiting[tail] = following
            tail += 1
            following += 1
        while head < tail and end_firsts[waiting[head]] < frontier:
            head += 1
        latest = max(latest, points[i])
        if head < tail:
            latest = max(latest, end_points[waiting[head]])
        kept[n_kept] = i
        known[n_kept] = latest
        n_kept += 1
        frontier = onward[i]
    return n_kept
