"""What a query gains by being written or fed another way: ``python -m benchmarks.engine.habits``.

Pairs of calls of `cepheid.match`, the slow one first. Both find the same matches, but for windows and policies. The
CPU time of each is the least of several runs in turn, on one processor and one thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

N_TIMES = 5
N_EVENTS = 1_000_000
N_EVENTS_SLOW = 100_000
ALL = "PATTERN SEQ(A a, B b, C c) WHERE {where} WITHIN {within} POLICY {policy}"
RISING = "SAME[key] AND a.v1 < b.v1 AND b.v1 < c.v1"
IDS = " RETURN a.id AS a, b.id AS b, c.id AS c"


@dataclass(frozen=True)
class Habit:
    """Two ways to ask.

    Attributes:
        what: the slow way, and the quick one.
        slow, quick: run them; each gives the number of its matches.
        same: whether both find the same.
    """

    what: str
    slow: Callable[[], int]
    quick: Callable[[], int]
    same: bool = True


def query(where: str = RISING, within: str = "1000 ms", policy: str = "any", returning: str = IDS) -> str:
    """The text of a query of three events."""
    return ALL.format(where=where, within=within, policy=policy) + returning


def found(table: Any, text: Any, order: str | None = None) -> Callable[[], int]:
    """A function that calls `cepheid.match` and returns the number of matches."""
    import cepheid as cep

    return lambda: len(cep.match(table, text, time="ts", type="type", time_unit="ms", order=order))


def habits(n_events: int = N_EVENTS, n_events_slow: int = N_EVENTS_SLOW) -> list[Habit]:
    """All pairs, on so many events of the benchmarks' stream; those that would take long on fewer."""
    import numpy as np
    import pyarrow as pa

    import cepheid as cep
    from benchmarks.stream import stream

    table = stream(n_events).combine_chunks()
    part = table.slice(0, n_events_slow)
    dense = stream(n_events_slow, dense=True).combine_chunks()
    text_keys = table.set_column(table.column_names.index("key"), "key", table["key"].cast(pa.string()))
    shuffled = table.take(np.random.default_rng(1).permutation(n_events))
    frame = table.to_pandas()
    few = table.slice(0, 1_000)
    parsed = cep.Query.parse(query())
    kept = query(f"{RISING} AND a.v1 > 50000")

    def filtered_later() -> int:
        matches = cep.match(table, query(returning=f"{IDS}, a.v1 AS v1"), time="ts", type="type", time_unit="ms")
        return int(np.count_nonzero(matches["v1"].to_numpy() > 50_000))

    hidden = "abs(a.key - b.key) = 0 AND abs(b.key - c.key) = 0 AND a.v1 < b.v1 AND b.v1 < c.v1"
    numbers = found(table, query())
    in_order, out_of_order = found(table, query(), "id"), found(shuffled, query(), "id")
    rising, combined = found(dense, query(policy="next")), found(dense, query())
    return [
        Habit("no RETURN -> three numbers in RETURN", found(table, query(returning="")), numbers),
        Habit("events out of order -> events in order of time", out_of_order, in_order),
        Habit("pandas -> Arrow", found(frame, query()), numbers),
        Habit("keys as text -> keys as numbers", found(text_keys, query()), numbers),
        Habit("a filter on the matches -> a condition of the query", filtered_later, found(table, kept)),
        Habit("equality in a function -> SAME[key]", found(part, query(hidden)), found(part, query())),
        Habit("WITHIN 10 s -> WITHIN 1 s", found(part, query(within="10 s")), found(part, query()), same=False),
        Habit("POLICY any -> POLICY next, dense", combined, rising, same=False),
        Habit("1,000 events, text -> the same, parsed once", found(few, query()), found(few, parsed)),
    ]


def main() -> int:
    """Measure and print; 1 where a pair finds other matches."""
    from benchmarks.engine.one_core import limit_arrow, pin

    pin()
    limit_arrow()
    from benchmarks.engine.measure import Timed

    wrong = []
    print(f"{'slow -> quick':<56}{'ms':>10}{'ms':>10}{'times':>8}")
    for habit in habits():
        slow, quick = Timed(habit.slow), Timed(habit.quick)
        quick.find()
        for _ in range(N_TIMES):
            quick.run()
            slow.run()
        ratio = slow.cpu_s / quick.cpu_s
        print(f"{habit.what:<56}{1e3 * slow.cpu_s:>10.1f}{1e3 * quick.cpu_s:>10.1f}{ratio:>8.1f}", flush=True)
        if habit.same and slow.n_matches != quick.n_matches:
            wrong.append(f"FAILED {habit.what}: {slow.n_matches:,} and {quick.n_matches:,} matches")
    for fault in wrong:
        print(fault)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
