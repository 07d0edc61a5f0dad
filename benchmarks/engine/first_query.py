"""How long a new process waits for its first matches: ``python -m benchmarks.engine.first_query EVENTS WORKLOAD``.

EVENTS is an Arrow file. One line of JSON tells how long ``import cepheid`` took, which heavy libraries it brought, and
how long the query took from there on, all further imports and loading included. Where no machine code is there,
kernels run as plain Python meanwhile; the process ends when it has been made, and tells how long that took. Not
included is what any program with an Arrow table has done before: importing pyarrow and reading the file.
"""

import sys
import time

_HEAVY = ("numba", "pandas", "pyspark")


def main() -> int:
    """Measure both."""
    start, cpu_start = time.perf_counter(), time.process_time()
    import cepheid as cep

    told: dict[str, object] = {"import_cpu_s": time.process_time() - cpu_start, "import_s": time.perf_counter() - start}
    told["brought"] = [name for name in _HEAVY if name in sys.modules]

    import json
    from pathlib import Path

    from benchmarks.engine.events_file import read
    from benchmarks.engine.workloads import WORKLOADS

    table = read(Path(sys.argv[1]))
    query = WORKLOADS[sys.argv[2]].query
    start, cpu_start = time.perf_counter(), time.process_time()
    found = cep.match(table, query, time="ts", type="type", time_unit="ms")
    told |= {"first_cpu_s": time.process_time() - cpu_start, "first_s": time.perf_counter() - start}
    told["n_matches"] = len(found)
    from cepheid.compiler.load import wait_for_kernels

    wait_for_kernels()
    told["compiled_s"] = time.perf_counter() - start
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
