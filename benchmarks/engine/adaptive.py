"""What choosing the evaluation plan costs where nothing changes: ``python -m benchmarks.engine.adaptive`` prints rows.

A query whose eager plan is the best one and stays, with ``evaluation="eager"`` and ``"adaptive"`` in turn in one
process: over a table, and in a Matcher that takes it in parts. Statistics, the cost model and trials may take 2 % of
the time. What they take is counted where they are called: the CPU times of two runs differ by more than that, as what
else runs on the machine will have it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.engine.measure import peak_rss_bytes
from benchmarks.engine.rows import Row

NAME = "adaptive"
N_EVENTS, N_EVENTS_PUSHED = 8_000_000, 3_000_000
PART = 20_000
N_TIMES, N_TIMES_QUICK = 9, 5
LEAST_RATIO = 0.98
QUERY = (
    "PATTERN SEQ(A a, B b, C c) WHERE SAME[k] AND a.x < b.x AND b.x < c.x WITHIN 40 ms POLICY any "
    "RETURN a.x AS a, c.x AS c"
)
COLUMNS = {"time": "ts", "type": "type", "time_unit": "us"}


def stream(n_events: int) -> Any:
    """Events of eight types and a thousand keys, one each microsecond."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(1)
    names = pa.array(list("ABCDEFGH"))
    return pa.table(
        {
            "ts": np.arange(n_events),
            "type": names.take(pa.array(random.integers(0, len(names), n_events))),
            "k": random.integers(0, 1_000, n_events),
            "x": random.integers(0, 10_000, n_events),
        }
    )


def matched(table: Any, evaluation: str) -> Callable[[], int]:
    """What gives the number of matches in a table."""
    import cepheid as cep

    return lambda: len(cep.match(table, QUERY, **COLUMNS, settings=cep.Settings(evaluation=evaluation)))


def pushed(table: Any, evaluation: str) -> Callable[[], int]:
    """The same of a stream that comes in parts and has run for a while: its first third has been pushed.

    By then plans may have been tried for the first time, which is done at once and not again before a hundred times as
    long has passed.

    Raises:
        RuntimeError: the plan was changed, so that something else is measured than what choosing costs.
    """
    import cepheid as cep

    matcher = cep.Matcher(QUERY, **COLUMNS, slack=0, schema=table.schema, settings=cep.Settings(evaluation=evaluation))
    places = range(0, len(table), PART)
    n_first = len(places) // 3
    for at in places[:n_first]:
        matcher.push(table.slice(at, PART))

    def rest() -> int:
        n = sum(len(matcher.push(table.slice(at, PART))) for at in places[n_first:])
        if any(decision.switches for decision in matcher.decisions):
            raise RuntimeError("the plan was changed")
        if evaluation == "adaptive" and not matcher.decisions:
            raise RuntimeError("nothing was chosen")
        return n + len(matcher.close())

    return rest


@dataclass
class Choosing:
    """CPU seconds that choosing took, and how often it was asked to."""

    cpu_s: float = 0.0
    n_calls: int = 0


@contextmanager
def counted() -> Iterator[Choosing]:
    """Counts what choosing takes, by the way into it: of a table, and of each part of a stream.

    That the events before are held for trials, and let go, is in there, too.
    """
    from cepheid.engine import adapting

    found = Choosing()

    def timed(called: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            start = time.thread_time()
            try:
                return called(*args, **named)
            finally:
                found.cpu_s += time.thread_time() - start
                found.n_calls += 1

        return call

    stepped, decided = adapting.Adapting.stepped, adapting.decided
    adapting.Adapting.stepped, adapting.decided = timed(stepped), timed(decided)  # type: ignore[method-assign]
    try:
        yield found
    finally:
        adapting.Adapting.stepped, adapting.decided = stepped, decided  # type: ignore[method-assign]


def compared(
    engine: str, run: Callable[[Any, str], Callable[[], int]], table: Any, n_times: int, *, quick: bool
) -> Row:
    """The row of one way to run it.

    Its ratio is the share of the CPU time that choosing leaves, the median of the runs.

    Raises:
        RuntimeError: choosing was not asked for, so that what it takes is not seen.
    """
    walls: dict[str, list[float]] = {"eager": [], "adaptive": []}
    cpus: dict[str, list[float]] = {"eager": [], "adaptive": []}
    right = run(table, "eager")()
    shares = []
    numbers = {run(table, "adaptive")()}  # these load kernels, and what the machine was found to take
    for _ in range(n_times):
        for evaluation, times in walls.items():
            prepared = run(table, evaluation)
            with counted() as choosing:
                wall, cpu = time.perf_counter(), time.process_time()
                numbers.add(prepared())
                times.append(time.perf_counter() - wall)
                cpus[evaluation].append(time.process_time() - cpu)
            if (choosing.n_calls > 0) != (evaluation == "adaptive"):
                raise RuntimeError(f"{evaluation}: choosing was called {choosing.n_calls} times")
            if choosing.n_calls:
                shares.append(choosing.cpu_s / cpus[evaluation][-1])
    least = {evaluation: min(times) for evaluation, times in cpus.items()}
    n_timed = len(table) if run is matched else len(table) - PART * (len(range(0, len(table), PART)) // 3)
    return Row(
        workload=NAME,
        engine=engine,
        events_per_s=n_timed / min(walls["adaptive"]),
        events_per_cpu_s=n_timed / least["adaptive"],
        matches=numbers.pop() if len(numbers) == 1 else -1,
        right=right,
        peak_rss_bytes=peak_rss_bytes(),
        n_events=len(table),
        peer="eager",
        ratio=1 - median(shares),
        bar=LEAST_RATIO,
        quick=quick,
    )


def measure(*, quick: bool, n_events: int = N_EVENTS, n_pushed: int = N_EVENTS_PUSHED) -> list[Row]:
    """The rows: a table, and a stream in parts."""
    n_times = N_TIMES_QUICK if quick else N_TIMES
    table = stream(max(n_events, n_pushed))
    return [
        compared("match", matched, table.slice(0, n_events), n_times, quick=quick),
        compared("Matcher", pushed, table.slice(0, n_pushed), n_times, quick=quick),
    ]


def main() -> int:
    """Measure."""
    from benchmarks.engine.one_core import print_rows

    return print_rows("adaptive", measure)


if __name__ == "__main__":
    sys.exit(main())
