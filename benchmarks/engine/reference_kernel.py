"""W2 by hand in Numba: what the engine could reach if it knew the query and its events were numbers in arrays.

It stays as it is, so that its ratio to the engine tells of the engine alone. Its time has no Arrow in it: types are
codes, keys are places, all columns are int64 side by side, and room for partial matches and matches is there. It
allocates nothing; where room is missing it says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

WITHIN_MS = 1000
TYPES = {"A": 0, "B": 1, "C": 2}
OTHER = 3
FULL = -1
ROOM_FIRSTS, ROOM_PAIRS, ROOM_MATCHES = 256, 4096, 1_000_000

Ints = NDArray[np.int64]


@njit(boundscheck=False)
def matches_of(
    kinds: NDArray[np.int8],
    times: Ints,
    keys: Ints,
    values: Ints,
    firsts: Ints,
    pairs: Ints,
    counts: Ints,
    found: Ints,
    room_firsts: int,
    room_pairs: int,
    within: int,
) -> int:
    """All matches of ``SEQ(A a, B b, C c)`` of one key with rising v1 within a window, closed.

    Args:
        kinds: int8, (n,): 0, 1, 2 for A, B, C, else other types.
        times, keys, values: int64, (n,): ms, ascending; from 0; v1.
        firsts: int64, the A of each key that wait, ``room_firsts`` a key: event, its time, its v1.
        pairs: int64, the A and B of each key that wait, ``room_pairs`` a key: A, its time, B, its v1.
        counts: int64, (n_keys, 2) flat: how many of each wait; zero.
        found: int64, room for matches: three positions each.
        room_firsts, room_pairs: see above.
        within: ms.

    Returns:
        The number of matches, or FULL where room is missing.
    """
    n_words = 0
    for i in range(len(kinds)):
        kind = kinds[i]
        if kind > 2:
            continue
        key, value = keys[i], values[i]
        least = times[i] - within
        first_place, pair_place = key * room_firsts * 3, key * room_pairs * 4
        if kind == 0:
            n = counts[2 * key]
            if n == room_firsts:
                return FULL
            place = first_place + 3 * n
            firsts[place] = i
            firsts[place + 1] = times[i]
            firsts[place + 2] = value
            counts[2 * key] = n + 1
        elif kind == 1:
            # Those that are too old stand in front; the others move there.
            n, kept = counts[2 * key], 0
            n_pairs = counts[2 * key + 1]
            if n_pairs + n > room_pairs:
                return FULL
            for place in range(first_place, first_place + 3 * n, 3):
                start = firsts[place + 1]
                if start < least:
                    continue
                a, v = firsts[place], firsts[place + 2]
                to = first_place + 3 * kept
                firsts[to] = a
                firsts[to + 1] = start
                firsts[to + 2] = v
                kept += 1
                pair = pair_place + 4 * n_pairs
                pairs[pair] = a
                pairs[pair + 1] = start
                pairs[pair + 2] = i
                pairs[pair + 3] = value
                n_pairs += v < value
            counts[2 * key] = kept
            counts[2 * key + 1] = n_pairs
        else:
            n, kept = counts[2 * key + 1], 0
            if n_words + 3 * n > len(found):
                return FULL
            for pair in range(pair_place, pair_place + 4 * n, 4):
                a, start, b, v = pairs[pair], pairs[pair + 1], pairs[pair + 2], pairs[pair + 3]
                if start < least:
                    continue
                to = pair_place + 4 * kept
                pairs[to] = a
                pairs[to + 1] = start
                pairs[to + 2] = b
                pairs[to + 3] = v
                kept += 1
                # Written in any case, and kept where it is one: nothing to be foreseen.
                found[n_words] = a
                found[n_words + 1] = b
                found[n_words + 2] = i
                n_words += 3 * (v < value)
            counts[2 * key + 1] = kept
    return n_words // 3


def kernel_on(table: Any) -> tuple[Callable[[], int], Ints]:
    """The kernel on the events of a table.

    Args:
        table: a pyarrow Table with type (string), ts (ms, ascending), key (integers from 0) and v1.

    Returns:
        A function that finds the matches and returns their number, and where it leaves their positions.

    Raises:
        MemoryError: by the function, where room is missing for the events of a key or the matches.
    """
    kinds = np.array([TYPES.get(kind, OTHER) for kind in table["type"].to_pylist()], np.int8)
    times, keys, values = (table[name].to_numpy().astype(np.int64) for name in ("ts", "key", "v1"))
    n_keys = int(keys.max()) + 1
    firsts, pairs = np.zeros(n_keys * ROOM_FIRSTS * 3, np.int64), np.zeros(n_keys * ROOM_PAIRS * 4, np.int64)
    found, counts = np.zeros(3 * ROOM_MATCHES, np.int64), np.zeros(2 * n_keys, np.int64)

    def find() -> int:
        counts[:] = 0
        room = (ROOM_FIRSTS, ROOM_PAIRS, WITHIN_MS)
        n_matches = int(matches_of(kinds, times, keys, values, firsts, pairs, counts, found, *room))
        if n_matches == FULL:
            raise MemoryError("the reference kernel has no room for so many partial matches of a key, or matches")
        return n_matches

    return find, found
