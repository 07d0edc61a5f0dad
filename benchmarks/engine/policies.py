"""What a policy that looks at pairs costs, and does nothing: ``python -m benchmarks.engine.policies [WORKLOAD ...]``.

The general kernel steps over the events of a workload without a policy, and with stubs that change nothing: one wants
all that there is and orders none of it, which may cost a tenth; the others have their work counted, keep apart what
never comes, observe, or do all of that. The CPU time of each is the least of several runs in turn, on one processor and
one thread, in several processes: where machine code comes to lie in a process decides over up to a third of the time of
a kernel.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.engine.events_file import read, write_in_child
from benchmarks.engine.one_core import limit_arrow, pin
from benchmarks.engine.workloads import N_EVENTS, N_EVENTS_DENSE, WORKLOADS

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("W0", "W2", "W4", "W5", "W6", "W2d")
STUBS = ("none", "nothing", "work", "guard, all through", "guard", "observing", "all")
BAR = 1.10  # of the kernel alone, for the one that does nothing
N_PROCESSES = 5
N_TIMES = 5


def stubs() -> dict[str, Any]:
    """By name, a policy that changes nothing; None for no policy."""
    import numpy as np

    from cepheid.ports.pairs import Cells, Guard, Orders, Seen, Wanted

    class Stub:
        def __init__(self, wanted: Wanted, *, guards: bool = False, observes: bool = False) -> None:
            self.wanted = wanted
            self._guards, self._observes = guards, observes

        def begin(self, cells: Cells) -> Orders:
            """Keep apart nothing, or pairs of an event type that is not there."""
            if not self._guards:
                return Orders(observe=self._observes)
            utilities = np.ones(cells.shape, np.int64)
            utilities[-1, 0, -1] = 0
            return Orders(Guard(utilities, threshold=0), observe=self._observes)

        def look(self, seen: Seen) -> Orders:
            """Go on."""
            return Orders()

    def wanted(**what: bool) -> Wanted:
        return Wanted(n_bins=8, bin_events=64, **what)

    return {
        "none": None,
        "nothing": Stub(wanted(guard=True, observe=True, work=True)),
        "work": Stub(wanted(work=True)),
        "guard, all through": Stub(wanted(guard=True)),
        "guard": Stub(wanted(guard=True), guards=True),
        "observing": Stub(wanted(observe=True), observes=True),
        "all": Stub(wanted(guard=True, observe=True, work=True), guards=True, observes=True),
    }


def stepping(table: Any, query: str, policy: Any) -> Callable[[], tuple[float, float]]:
    """A function that steps over the events, and tells the seconds for the columns and for the kernel."""
    from cepheid.compiler.columns import events_of
    from cepheid.engine.asked import Asked
    from cepheid.engine.caps import Caps
    from cepheid.engine.pool import Pool
    from cepheid.engine.session import fire_until, prepare, step_over
    from cepheid.engine.settings import DEFAULTS
    from cepheid.events.ingest import read_events, schema_of
    from cepheid.language.bind import bind
    from cepheid.language.parser import parse

    schema = schema_of(table, time="ts", time_unit="ms", type="type")
    compiled = prepare(bind(parse(query), schema), wanted=None if policy is None else policy.wanted)
    vars(compiled)["chain"] = None  # all run on the same kernel, and not on the one for chains

    def step() -> tuple[float, float]:
        batch = read_events(table, schema)
        start = time.process_time()
        events = events_of(compiled, batch, {})
        ready = time.process_time()
        pool = Pool(compiled)
        asked = None if policy is None else Asked(compiled, policy, pool)
        pool.set_events(events)
        gc.collect()
        begin = time.process_time()
        step_over(compiled, events, pool, None, Caps(compiled, DEFAULTS), asked)
        fire_until(compiled, events, pool, None, None, asked)
        return ready - start, time.process_time() - begin

    return step


def measured(path: Path, query: str) -> dict[str, tuple[float, float]]:
    """Of each stub, the least seconds for the columns and for the kernel."""
    table = read(path)
    steps = {name: stepping(table, query, policy) for name, policy in stubs().items()}
    best = dict.fromkeys(steps, (float("inf"), float("inf")))
    for _ in range(N_TIMES):
        for name, step in steps.items():
            columns, kernel = step()
            best[name] = min(best[name][0], columns), min(best[name][1], kernel)
    return best


def main() -> int:
    """Print the table; in a child process, the seconds of one workload as JSON."""
    pin()
    if sys.argv[1:2] == ["--child"]:
        limit_arrow()
        print(json.dumps(measured(Path(sys.argv[2]), WORKLOADS[sys.argv[3]].query)))
        return 0
    print(f"Kernel alone, and with the columns that it needs: times those without a policy; the least of {N_PROCESSES}")
    print(f"processes and {N_TIMES} runs in each.\n")
    reached = True
    print(f"{'':6}{'none, ms':>10}" + "".join(f"{name:>20}" for name in STUBS[1:]))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory(prefix="cepheid-benchmark-") as folder:
        for name in sys.argv[1:] or NAMES:
            dense = WORKLOADS[name].dense
            path = write_in_child(ROOT, Path(folder), N_EVENTS_DENSE if dense else N_EVENTS, dense=dense)
            command = [sys.executable, "-m", "benchmarks.engine.policies", "--child", str(path), name]
            runs = [
                json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout)
                for _ in range(N_PROCESSES)
            ]
            best = {stub: [min(run[stub][i] for run in runs) for i in (0, 1)] for stub in STUBS}
            none = best["none"]
            ratios = [(best[s][1] / none[1], sum(best[s]) / sum(none)) for s in STUBS[1:]]
            cells = "".join(f"{kernel:>12.2f} ({whole:.2f})" for kernel, whole in ratios)
            print(f"{name:6}{none[1] * 1e3:>10.1f}{cells}", flush=True)
            reached = reached and ratios[0][0] <= BAR
    print(f"\nThe stub that does nothing, kernel alone: {'' if reached else 'NOT '}at most {BAR:.2f} in each.")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
