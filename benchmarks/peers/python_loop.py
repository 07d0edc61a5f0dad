"""The workloads as loops over events in plain Python, as one writes them by hand."""

from __future__ import annotations

import csv
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.peers.python_peer import PythonPeer

WITHIN_MS, WITHIN_W3_MS = 1000, 2000

Event = tuple[str, int, int, int, float]
"""Type, time in ms, key, v1, price."""

Match = tuple[int, ...]
"""The numbers of its events."""


def matches(events: Iterable[Event], within_ms: int = WITHIN_MS) -> list[Match]:
    """The matches of W2.

    Args:
        events: in the order of their time.
        within_ms: the window, closed.
    """
    firsts: defaultdict[int, deque[tuple[int, int, int]]] = defaultdict(deque)  # key -> (number, time, v1) of A
    pairs: defaultdict[int, list[tuple[int, int, int, int]]] = defaultdict(list)  # key -> (A, its time, B, its v1)
    found: list[Match] = []
    for number, (kind, time, key, value, _) in enumerate(events):
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


def all_matches(events: Iterable[Event]) -> list[Match]:
    """The matches of W0."""
    firsts: defaultdict[int, deque[tuple[int, int]]] = defaultdict(deque)  # key -> (number, time) of A
    pairs: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)  # key -> (A, its time, B)
    found: list[Match] = []
    for number, (kind, time, key, _, _) in enumerate(events):
        if kind == "A":
            firsts[key].append((number, time))
        elif kind == "B":
            open_firsts = firsts[key]
            while open_firsts and time - open_firsts[0][1] > WITHIN_MS:
                open_firsts.popleft()
            pairs[key] += [(a, start, number) for a, start in open_firsts]
        elif kind == "C":
            pairs[key] = still_open = [pair for pair in pairs[key] if time - pair[1] <= WITHIN_MS]
            found += [(a, b, number) for a, _, b in still_open]
    return found


def next_matches(events: Iterable[Event]) -> list[Match]:
    """The matches of W1: what is taken waits no more."""
    firsts: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)  # key -> (number, time, v1) of A
    pairs: defaultdict[int, list[tuple[int, int, int, int]]] = defaultdict(list)  # key -> (A, its time, B, its v1)
    found: list[Match] = []
    for number, (kind, time, key, value, _) in enumerate(events):
        if kind == "A":
            firsts[key].append((number, time, value))
        elif kind == "B":
            still_open = [first for first in firsts[key] if time - first[1] <= WITHIN_MS]
            firsts[key] = [first for first in still_open if first[2] >= value]
            pairs[key] += [(a, start, number, value) for a, start, least in still_open if least < value]
        elif kind == "C":
            waiting = [pair for pair in pairs[key] if time - pair[1] <= WITHIN_MS]
            pairs[key] = [pair for pair in waiting if pair[3] >= value]
            found += [(a, b, number) for a, _, b, least in waiting if least < value]
    return found


def priced_matches(events: Iterable[Event]) -> list[Match]:
    """The matches of W3."""
    firsts: defaultdict[int, deque[tuple[int, int, float]]] = defaultdict(deque)  # key -> (number, time, price) of A
    pairs: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)  # key -> (A, its time, B)
    found: list[Match] = []
    for number, (kind, time, key, _, price) in enumerate(events):
        if kind == "A":
            firsts[key].append((number, time, 0.75 * price))
        elif kind == "B":
            open_firsts = firsts[key]
            while open_firsts and time - open_firsts[0][1] > WITHIN_W3_MS:
                open_firsts.popleft()
            pairs[key] += [(a, start, number) for a, start, least in open_firsts if price > least]
        elif kind == "C":
            pairs[key] = still_open = [pair for pair in pairs[key] if time - pair[1] <= WITHIN_W3_MS]
            found += [(a, b, number) for a, _, b in still_open]
    return found


def loop_matches(events: Iterable[Event]) -> list[Match]:
    """The matches of W4."""
    firsts: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)  # key -> (number, time, v1) of A
    loops: defaultdict[int, list[tuple[int, int, list[int]]]] = defaultdict(list)  # key -> (time and v1 of A, A and Bs)
    found: list[Match] = []
    for number, (kind, time, key, value, _) in enumerate(events):
        if kind == "A":
            firsts[key].append((number, time, value))
        elif kind == "B":
            for _, least, taken in loops[key]:
                if least < value:
                    taken.append(number)
            still_open = [first for first in firsts[key] if time - first[1] <= WITHIN_MS]
            firsts[key] = [first for first in still_open if first[2] >= value]
            loops[key] += [(start, least, [a, number]) for a, start, least in still_open if least < value]
        elif kind == "C":
            found += [(*taken, number) for start, _, taken in loops.pop(key, ()) if time - start <= WITHIN_MS]
    return found


def without_matches(events: Iterable[Event]) -> list[Match]:
    """The matches of W5."""
    firsts: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # key -> (number, time) of A
    found: list[Match] = []
    for number, (kind, time, key, _, _) in enumerate(events):
        if kind == "A":
            firsts[key].append((number, time))
        elif kind == "B":
            firsts.pop(key, None)
        elif kind == "C":
            found += [(a, number) for a, start in firsts.pop(key, ()) if time - start <= WITHIN_MS]
    return found


FIND: dict[str, Callable[[Iterable[Event]], list[Match]]] = {
    "W0": all_matches,
    "W1": next_matches,
    "W2": matches,
    "W3": priced_matches,
    "W4": loop_matches,
    "W5": without_matches,
    "W2d": matches,
}


def prepare(workload: str, events: Path) -> Callable[[], Callable[[], Any]]:
    """See `benchmarks.peers.child`."""
    with open(events.with_suffix(".csv"), encoding="ascii", newline="") as file:
        stream: list[Event] = [
            (kind, int(ts), int(key), int(v1), float(price)) for _, kind, ts, key, v1, _, price in csv.reader(file)
        ]
    return lambda: lambda: FIND[workload](stream)


def digest(found: list[Match]) -> tuple[int, int]:
    """See `benchmarks.peers.child`."""
    return len(found), sum(map(sum, found))


PEER = PythonPeer(
    "plain Python",
    module="python_loop",
    scope="from a list of tuples in memory to a list of tuples of the matches' event numbers",
    n_events=dict.fromkeys(FIND, 100_000),
)
