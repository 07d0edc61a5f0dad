"""Single events, in a process of its own: ``python -m benchmarks.engine.push`` prints rows as JSON.

W2 in a `cepheid.Matcher`, each event pushed as a dict, first as fast as they go, then 20,000 a second. An event is
offered at its moment, whether or not the one before has come back: so the time until it has been pushed holds
whatever it had to wait, too.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.engine.measure import peak_rss_bytes
from benchmarks.engine.rows import Row
from benchmarks.engine.workloads import N_EVENTS_QUICK, WORKLOADS

NAME = "push"
OFFERED_PER_S = 20_000
N_EVENTS = N_EVENTS_QUICK
N_TIMES, N_TIMES_QUICK = 5, 2
N_WARM = 2_000
N_ROUNDS = 20
MOST_S = {50: 10e-6, 99: 100e-6}
"""Percent of the events -> the time in which so many have been pushed, at most."""


@dataclass(frozen=True)
class Pushed:
    """One run.

    Attributes:
        n_matches: matches that were given.
        wall_s: time of all pushes together.
        call_ns, offered_ns: of each event but the first `N_WARM`, the time of its call, and the time from the moment
            when it was offered until it had been pushed; int, ascending.
    """

    n_matches: int
    wall_s: float
    call_ns: Sequence[int]
    offered_ns: Sequence[int]


def push_all(events: list[dict[str, Any]], columns: Any, *, per_s: int | None) -> Pushed:
    """Push events into a new matcher.

    Args:
        events: of the benchmarks' stream.
        columns: their pyarrow Schema.
        per_s: how many are offered in a second; None for one after the other.
    """
    import cepheid as cep

    matcher = cep.Matcher(WORKLOADS["W2"].query, time="ts", type="type", time_unit="ms", slack=0, schema=columns)
    if (reason := matcher.batched_because) is not None:
        raise RuntimeError(f"single events take the road of batches: {reason}")
    gap_ns = 0 if per_s is None else 1_000_000_000 // per_s
    push, clock = matcher.push, time.perf_counter_ns
    n_matches = 0
    call_ns, offered_ns = [0] * len(events), [0] * len(events)
    # The benchmark's own objects are not looked through each time that Python collects garbage.
    gc.collect()
    gc.freeze()
    start = due = clock()
    for i, event in enumerate(events):
        begin = clock()
        while begin < due:
            begin = clock()
        n_matches += len(push(event))
        end = clock()
        call_ns[i], offered_ns[i] = end - begin, end - due
        due += gap_ns
    wall_s = (clock() - start) / 1e9
    gc.unfreeze()
    n_matches += len(matcher.close())
    return Pushed(n_matches, wall_s, sorted(call_ns[N_WARM:]), sorted(offered_ns[N_WARM:]))


def percentile_s(ascending_ns: Sequence[int], percent: int) -> float:
    """The time in which so many of the calls were done."""
    return ascending_ns[min(len(ascending_ns) - 1, len(ascending_ns) * percent // 100)] / 1e9


def measure(*, quick: bool, n_events: int = N_EVENTS) -> list[Row]:
    """The rows: events one after the other, then at a steady rate; of several runs the best one for each figure."""
    from benchmarks.stream import stream

    table = stream(n_events)
    events = table.to_pylist()
    right = WORKLOADS["W2"].n_matches.get(n_events)
    n_times = N_TIMES_QUICK if quick else N_TIMES
    slack = 2.0 if quick else 1.0
    closed = [push_all(events, table.schema, per_s=None) for _ in range(n_times)]
    steady = [push_all(events, table.schema, per_s=OFFERED_PER_S) for _ in range(n_times)]

    def row(engine: str, runs: list[Pushed], **more: Any) -> Row:
        found = {run.n_matches for run in runs}
        return Row(
            workload="W2, pushed singly",
            engine=engine,
            matches=found.pop() if len(found) == 1 else -1,
            peak_rss_bytes=peak_rss_bytes(),
            n_events=n_events,
            right=right,
            quick=quick,
            **more,
        )

    rows = [row("one by one", closed, events_per_s=n_events / min(run.wall_s for run in closed))]
    for percent in (50, 95, 99):
        most = MOST_S.get(percent)
        rows.append(
            row(
                f"call, p{percent}",
                steady,
                events_per_s=None,
                seconds=min(percentile_s(run.call_ns, percent) for run in steady),
                bar=None if most is None else slack * most,
            )
        )
    for percent in (50, 99):
        seconds = min(percentile_s(run.offered_ns, percent) for run in steady)
        rows.append(row(f"from offer, p{percent}", steady, events_per_s=None, seconds=seconds))
    return rows


def stages(n_events: int = N_EVENTS) -> dict[str, float]:
    """Where the time of a push goes: part -> us of CPU time for an event, the least of several rounds."""
    import cepheid as cep
    from benchmarks.stream import stream

    table = stream(n_events)
    events = table.to_pylist()
    matcher = cep.Matcher(WORKLOADS["W2"].query, time="ts", type="type", time_unit="ms", slack=0, schema=table.schema)
    half = n_events // 2
    for event in events[:half]:
        matcher.push(event)
    gc.collect()
    gc.freeze()
    singles, reader = matcher._singles, matcher._reader
    assert singles is not None
    assert reader is not None
    functions, columns, row_of = singles._functions, singles._columns, singles._row_of
    assert row_of is not None
    some = events[half : half + N_WARM]
    values = [reader.values(event) for event in some]
    match = ([columns.rows[0]] * 3, [0, 1, 2], [0, 0, 0])

    def least_us(call: Callable[[int], object]) -> float:
        found = []
        for _ in range(N_ROUNDS):
            start = time.thread_time_ns()
            for i in range(N_WARM):
                call(i)
            found.append((time.thread_time_ns() - start) / N_WARM / 1e3)
        return min(found)

    loop = least_us(lambda i: None)
    told = {
        "read the dict": least_us(lambda i: reader.values(some[i])),
        "its time": least_us(lambda i: reader.time_us(values[i])),
        "which elements take it, its key": least_us(
            lambda i: (functions.fit(values[i]), functions.partition(values[i]))
        ),
        "call the kernel, for nothing": least_us(lambda i: singles._step()),
        "a match as a dict": least_us(lambda i: row_of(match)),
    }
    told = {what: us - loop for what, us in told.items()}
    start = time.thread_time_ns()
    for event in events[half:]:
        matcher.push(event)
    gc.unfreeze()
    return {**told, "a whole push, on average": (time.thread_time_ns() - start) / (n_events - half) / 1e3}


def main() -> int:
    """Measure."""
    from benchmarks.engine.one_core import limit_arrow, pin

    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine.push")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--stages", action="store_true", help="where the time goes, in place of the rows")
    given = parser.parse_args()
    pin()
    limit_arrow()
    if given.stages:
        for what, us in stages().items():
            print(f"{what:<34}{us:>6.2f} us")
        return 0
    print(json.dumps([asdict(row) for row in measure(quick=given.quick)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
