"""Where the time of a query goes: ``python -m benchmarks.engine.stages W2 W4 W2d [--returning "a.id AS a"]``.

Runs a workload as `cepheid.match` does, from an Arrow table to a table of matches, on one processor and one thread. For
each it prints the CPU time of each stage in ms, and what the kernel did: events that it saw, pairs of an event and a
partial match that it looked at, partial matches that it made. A stage's time is its own: what a stage inside it takes
is not counted twice. The run with the least total of several is shown; each workload runs in a process of its own.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.engine.workloads import WORKLOADS

N_TIMES = 7
REST = "rest"
STAGES = {
    "plan": [("cepheid.engine.session", "prepare")],
    "Arrow to arrays": [("cepheid.events.ingest", "read_events")],
    "types": [("cepheid.compiler.keyed_events", "fits_by_type"), ("cepheid.compiler.columns", "fitting_by_type")],
    "columns and keys": [("cepheid.engine.session", "keyed_events_of"), ("cepheid.engine.session", "events_of")],
    "room": [("cepheid.engine.session", "Pool"), ("cepheid.engine.keyed", "_room"), ("cepheid.engine.keyed", "_grown")],
    "stepping": [
        ("cepheid.engine.session", "step_keyed"),
        ("cepheid.engine.session", "step_over"),
        ("cepheid.engine.session", "fire_until"),
    ],
    "order": [("cepheid.engine.session", "in_order"), ("cepheid.engine.session", "written")],
    "match_id": [("cepheid.engine.output", "match_ids")],
    "result": [("cepheid.engine.output", "assemble")],
}
"""Stage -> the functions of which it is made, by the names under which they are called."""


class Clock:
    """CPU time by stage; stages may lie in each other."""

    def __init__(self, now_ns: Callable[[], int] = time.process_time_ns) -> None:
        self.spent_ns: defaultdict[str, int] = defaultdict(int)
        self._now_ns = now_ns
        self._stages = [REST]
        self._since_ns = now_ns()

    def _charge(self) -> None:
        now_ns = self._now_ns()
        self.spent_ns[self._stages[-1]] += now_ns - self._since_ns
        self._since_ns = now_ns

    @contextmanager
    def within(self, stage: str) -> Iterator[None]:
        """Charge what is done in here to a stage."""
        self._charge()
        self._stages.append(stage)
        try:
            yield
        finally:
            self._charge()
            self._stages.pop()

    def wrapped(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """The function, its time charged to a stage."""

        def timed(*args: Any, **more: Any) -> Any:
            with self.within(stage):
                return function(*args, **more)

        return timed


def ready(table: Any, query: str) -> Callable[[], tuple[int, Any]]:
    """A function that runs a query on a table as `cepheid.match` does; gives the number of matches and the work."""
    from cepheid.engine import output, session
    from cepheid.events import ingest
    from cepheid.language.bind import bind
    from cepheid.language.parser import parse

    schema = ingest.schema_of(table, time="ts", time_unit="ms", type="type")
    bound = bind(parse(query), schema)

    def find() -> tuple[int, Any]:
        work = session.Work()
        batch = ingest.read_events(table, schema)
        matches = session.run(bound, batch, work=work)
        return len(output.assemble(bound, batch, matches)), work

    return find


def stages_of(find: Callable[[], Any]) -> tuple[Mapping[str, float], Any]:
    """What each stage takes in one run, ms of CPU time, and what the run returns."""
    clock = Clock()
    with ExitStack() as patches:
        for stage, functions in STAGES.items():
            for module_name, name in functions:
                module = importlib.import_module(module_name)
                patches.enter_context(patch.object(module, name, clock.wrapped(getattr(module, name), stage)))
        gc.collect()
        clock.spent_ns.clear()
        with clock.within(REST):
            clock.spent_ns.clear()
            found = find()
    return {stage: clock.spent_ns[stage] / 1e6 for stage in (*STAGES, REST)}, found


def least(find: Callable[[], Any], n_times: int) -> tuple[Mapping[str, float], Any]:
    """The run that takes least in all, after a warm-up."""
    find()
    runs = [stages_of(find) for _ in range(n_times)]
    return min(runs, key=lambda run: sum(run[0].values()))


def lines(name: str, n_matches: int, work: Any, stages_ms: Mapping[str, float]) -> str:
    """A run as text: what was done, then ms and share of each stage."""
    total = sum(stages_ms.values())
    told = [
        f"{name}: {work.n_events:,} events, {n_matches:,} matches, {total:.1f} ms",
        f"  the kernel saw {work.n_stepped:,} events, looked at {work.n_tried:,} pairs, "
        f"made {work.n_created:,} partial matches",
        *(f"  {stage:<18}{ms:>9.1f} ms{100 * ms / total:>6.0f} %" for stage, ms in stages_ms.items()),
    ]
    return "\n".join(told)


def main() -> int:
    """Measure and print."""
    from benchmarks.engine.one_core import limit_arrow, pin

    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine.stages", description=__doc__.split("\n")[0])
    single = [name for name, workload in WORKLOADS.items() if workload.query]
    parser.add_argument("workloads", nargs="+", metavar="WORKLOAD", choices=single)
    parser.add_argument("--returning", metavar="COLUMNS", help="what stands behind RETURN; default: no RETURN")
    given = parser.parse_args()
    if len(given.workloads) > 1:
        returning = ["--returning", given.returning] if given.returning else []
        for name in given.workloads:
            command = [sys.executable, "-m", "benchmarks.engine.stages", name, *returning]
            subprocess.run(command, check=True)
        return 0
    pin()
    limit_arrow()
    from benchmarks.stream import stream

    (name,) = given.workloads
    workload = WORKLOADS[name]
    table = stream(workload.n_events(quick=False), dense=workload.dense).combine_chunks()
    query = workload.query if given.returning is None else f"{workload.query} RETURN {given.returning}"
    stages_ms, (n_matches, work) = least(ready(table, query), N_TIMES)
    print(lines(name, n_matches, work, stages_ms), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
