"""What choosing the evaluation plan costs where nothing changes: ``python -m benchmarks.engine.adaptive`` prints rows.

A query whose eager plan is the best one and stays, with ``evaluation="adaptive"``: over a table, and in a Matcher that
takes it in parts. Statistics, the cost model and trials may take 2 % of the time. What they take is counted where they
are called: the CPU times of a run that chooses and of an eager one differ by more than that, as what else runs on the
machine will have it.
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
N_EVENTS, N_EVENTS_PUSHED = 8_000_000, 6_000_000
PART = 20_000
N_TIMES, N_TIMES_QUICK = 9, 5
N_WARM = 3
"""Runs that may find kernels without machine code: the first asks for it, and the next one calls it."""
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


class NotTriedError(RuntimeError):
    """No plan was tried, as it is where kernels have no machine code yet."""


@dataclass(frozen=True)
class Run:
    """A run that is ready to be timed.

    Attributes:
        rest: does what is timed, and gives the number of matches of all.
        n_events: of what is timed.
        trials: the share of the time that trials take, where they were made before.
    """

    rest: Callable[[], int]
    n_events: int
    trials: float = 0.0


def matched(table: Any, evaluation: str) -> Run:
    """All of a table."""
    import cepheid as cep

    settings = cep.Settings(evaluation=evaluation)
    return Run(lambda: len(cep.match(table, QUERY, **COLUMNS, settings=settings)), len(table))


def pushed(table: Any, evaluation: str) -> Run:
    """A stream that comes in parts, from when plans were tried, or of a fixed plan from the middle on.

    They are tried at once when there are events for it, for half a second, and not again before so long has passed
    that trials take `Options.most_cost_ratio` of all time: no run here is as long as that, so it is counted as that.

    Raises:
        RuntimeError: the plan was changed, so that something else is measured than what choosing costs.
        NotTriedError: none was tried in the first half.
    """
    import cepheid as cep
    from cepheid.policies.evaluation.adaptive import Options

    matcher = cep.Matcher(QUERY, **COLUMNS, slack=0, schema=table.schema, settings=cep.Settings(evaluation=evaluation))
    places = range(0, len(table), PART)
    adapts = evaluation == "adaptive"
    n = n_before = 0
    for at in places[: len(places) // 2]:
        n += len(matcher.push(table.slice(at, PART)))
        n_before += 1
        if adapts and any(one.tried for decision in matcher.decisions for one in decision.estimates):
            break
    else:
        if adapts:
            raise NotTriedError("no plan was tried")

    def rest() -> int:
        found = n + sum(len(matcher.push(table.slice(at, PART))) for at in places[n_before:])
        if any(decision.switches for decision in matcher.decisions):
            raise RuntimeError("the plan was changed")
        return found + len(matcher.close())

    return Run(rest, len(table) - n_before * PART, Options().most_cost_ratio if adapts else 0.0)


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


def compared(engine: str, run: Callable[[Any, str], Run], table: Any, n_times: int, *, quick: bool) -> Row:
    """The row of one way to run it.

    Its ratio is the share of the CPU time that choosing leaves, the median of the runs.

    Raises:
        RuntimeError: choosing was not asked for, so that what it takes is not seen.
    """
    right = run(table, "eager").rest()
    numbers = {_warm(run, table)}
    rates, shares = [], []
    for _ in range(n_times):
        ready = run(table, "adaptive")
        with counted() as choosing:
            wall, cpu = time.perf_counter(), time.process_time()
            numbers.add(ready.rest())
            wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
        if not choosing.n_calls:
            raise RuntimeError("nothing was to be chosen")
        rates.append((ready.n_events / wall_s, ready.n_events / cpu_s))
        shares.append(choosing.cpu_s / cpu_s + ready.trials)
    return Row(
        workload=NAME,
        engine=engine,
        events_per_s=max(by_wall for by_wall, _ in rates),
        events_per_cpu_s=max(by_cpu for _, by_cpu in rates),
        matches=numbers.pop() if len(numbers) == 1 else -1,
        right=right,
        peak_rss_bytes=peak_rss_bytes(),
        n_events=len(table),
        peer="eager",
        ratio=1 - median(shares),
        bar=LEAST_RATIO,
        quick=quick,
    )


def _warm(run: Callable[[Any, str], Run], table: Any) -> int:
    """Runs until kernels are loaded, and what the machine takes is known; the number of matches."""
    from cepheid.compiler.load import wait_for_kernels

    for _ in range(N_WARM):
        try:
            return run(table, "adaptive").rest()
        except NotTriedError:
            wait_for_kernels()
    return run(table, "adaptive").rest()


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
