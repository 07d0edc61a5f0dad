"""A workload of a Python peer in its own process: ``python -m benchmarks.peers.child MODULE WORKLOAD EVENTS N OUT``.

Runs in the peer's environment, so it imports nothing but Python's own and the peer's module. ``prepare(workload,
events)`` of the module gives a function that makes ready what is timed: a function that finds the matches. ``digest``
of what that returns gives their number and the sum of their events' numbers. OUT is written as JSON.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from pathlib import Path


def main() -> int:
    """Run it N times and write the best times."""
    module_name, workload, events, n_times, out = sys.argv[1:]
    module = importlib.import_module(f"benchmarks.peers.{module_name}")
    make_ready = module.prepare(workload, Path(events))
    wall_s, cpu_s, digests = float("inf"), float("inf"), set()
    for _ in range(int(n_times)):
        find = make_ready()
        gc.collect()
        start, cpu_start = time.perf_counter(), time.process_time()
        found = find()
        cpu_end, end = time.process_time(), time.perf_counter()
        wall_s, cpu_s = min(wall_s, end - start), min(cpu_s, cpu_end - cpu_start)
        digests.add(module.digest(found))
        del found
    if len(digests) != 1:
        print(f"{module_name} finds other matches each time: {digests}", file=sys.stderr)
        return 1
    n_matches, sum_of_ids = digests.pop()
    told = {"n_matches": n_matches, "sum_of_ids": sum_of_ids, "wall_s": wall_s, "cpu_s": cpu_s}
    Path(out).write_text(json.dumps(told), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
