"""W2 as a loop over events in plain Python, as one writes it by hand."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

WITHIN_MS = 1000

Event = tuple[str, int, int, int]
"""Type, time in ms, key, v1."""


def matches(events: Iterable[Event], within_ms: int = WITHIN_MS) -> list[tuple[int, int, int]]:
    """The numbers of the events of each match of W2.

    Args:
        events: in the order of their time.
        within_ms: the window, closed.
    """
    firsts: defaultdict[int, deque[tuple[int, int, int]]] = defaultdict(deque)  # key -> (number, time, v1) of A
    pairs: defaultdict[int, list[tuple[int, int, int, int]]] = defaultdict(list)  # key -> (A, its time, B, its v1)
    found = []
    for number, (kind, time, key, value) in enumerate(events):
        if kind == "A":
            firsts[key].append((number, time, value))
        elif kind == "B":
            open_firsts = firsts[key]
            while open_firsts and time - open_firsts[0][1] > within_ms:
                open_firsts.popleft()
            pairs[key] += [(a, start, number, value) for a, start, least in open_firsts if least < value]
        elif kind == "C":
            pairs[key] = still_open = [pair for pair in pairs[key] if time - pair[1] <= within_ms]
            found += [(a, b, number) for a, _, b, least in still_open if least < value]
    return found
