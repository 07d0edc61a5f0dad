"""W11, sequences that get longer, in a process of its own: ``python -m benchmarks.engine.counted`` prints rows as JSON.

``SEQ(T1 e1, ..., Tn en)`` for n from 3 to 9 on a stream of n types, in windows of 100 events, all combinations: how
many matches there are, and the first 1,000 of them. The timer starts with an Arrow table in memory, and ends with the
number, or with the matches as a table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.engine.measure import Timed, peak_rss_bytes
from benchmarks.engine.rows import Row
from benchmarks.engine.workloads import N_EVENTS, N_EVENTS_QUICK

NAME = "W11"
LENGTHS = range(3, 10)
WINDOW_EVENTS = 100
LIMIT = 1_000
LEAST_RATIO = 0.5
"""An event of the longest sequence takes at most twice the time of one of the shortest."""

N_TIMES = 5

N_MATCHES: Mapping[int, Mapping[int, int]] = {
    N_EVENTS: {
        3: 179_615_186,
        4: 612_450_313,
        5: 1_204_694_811,
        6: 1_535_904_779,
        7: 1_371_928_448,
        8: 890_397_289,
        9: 446_626_681,
    },
    N_EVENTS_QUICK: {
        3: 17_960_189,
        4: 61_191_306,
        5: 120_698_083,
        6: 153_548_958,
        7: 137_606_154,
        8: 89_913_448,
        9: 45_528_110,
    },
}
"""Number of events -> length -> matches, by `n_by_loop`."""


def stream(length: int, n_events: int) -> Any:
    """Events of as many types as the sequence is long, drawn with equal chances; one each millisecond."""
    import numpy as np
    import pyarrow as pa

    from benchmarks.stream import SEED

    types = np.random.default_rng(SEED).integers(0, length, n_events)
    names = pa.array([f"T{number}" for number in range(1, length + 1)])
    return pa.table({"type": names.take(pa.array(types)), "ts": np.arange(n_events)})


def query(length: int) -> str:
    """The sequence."""
    elements = ", ".join(f"T{number} e{number}" for number in range(1, length + 1))
    return f"PATTERN SEQ({elements}) WITHIN {WINDOW_EVENTS} EVENTS POLICY any"


def n_by_loop(types: list[str], length: int) -> int:
    """The number of matches by a loop through the window of each last event, which is all that it knows of matches."""
    numbers = [int(name[1:]) - 1 for name in types]
    n_matches = 0
    for last, number in enumerate(numbers):
        if number != length - 1:
            continue
        ways = [0] * length
        for earlier in numbers[max(0, last - WINDOW_EVENTS + 1) : last]:
            ways[earlier] += 1 if earlier == 0 else ways[earlier - 1]
        n_matches += ways[length - 2]
    return n_matches


def measure(*, quick: bool) -> list[Row]:
    """The rows: for each length the number and the first matches, then how the longest compares with the shortest."""
    import cepheid as cep

    n_events = N_EVENTS_QUICK if quick else N_EVENTS
    rows: list[Row] = []
    rates: dict[tuple[str, int], float] = {}
    for length in LENGTHS:
        table, text = stream(length, n_events), query(length)
        options = {"time": "ts", "time_unit": "ms", "type": "type"}
        runs: dict[str, tuple[Callable[[], int], int]] = {
            "count": (lambda t=table, q=text, o=options: cep.count(t, q, **o), N_MATCHES[n_events][length]),
            "first 1,000": (lambda t=table, q=text, o=options: len(cep.match(t, q, limit=LIMIT, **o)), LIMIT),
        }
        for what, (find, right) in runs.items():
            timed = Timed(find)
            find()
            for _ in range(N_TIMES):
                timed.run()
            rates[what, length] = n_events / timed.wall_s
            rows.append(
                Row(
                    workload=f"{NAME}, {length} types",
                    engine=what,
                    events_per_s=n_events / timed.wall_s,
                    matches=timed.n_matches,
                    peak_rss_bytes=peak_rss_bytes(),
                    n_events=n_events,
                    events_per_cpu_s=n_events / timed.cpu_s,
                    right=right,
                    quick=quick,
                )
            )
    for what in ("count", "first 1,000"):
        ratio = rates[what, LENGTHS[-1]] / rates[what, LENGTHS[0]]
        rows.append(
            Row(
                workload=f"{NAME}, {LENGTHS[-1]} types",
                engine=what,
                events_per_s=rates[what, LENGTHS[-1]],
                matches=None,
                peak_rss_bytes=None,
                peer=f"{LENGTHS[0]} types",
                ratio=ratio,
                bar=LEAST_RATIO / 2 if quick else LEAST_RATIO,
                n_events=n_events,
                quick=quick,
            )
        )
    return rows


def main() -> int:
    """Measure."""
    from benchmarks.engine.one_core import print_rows

    return print_rows("counted", measure)


if __name__ == "__main__":
    sys.exit(main())
