"""How long a new process waits for its first matches: ``python -m benchmarks.engine.first_query EVENTS WORKLOAD``.

EVENTS: an Arrow file. WORKLOAD: one of `workloads`, ``W3, lazy`` (variables wait for the last event), or ``EIRES Q1``
(conditions wait for a store; over the first few of the events). A line of JSON tells how long ``import cepheid`` took,
which heavy libraries it brought, and how long the query took from there on, all further imports and loading included.
Where no machine code is there, kernels run as plain Python meanwhile; the process ends when it has been made, and tells
how long that took. Not included is what any program with an Arrow table has done before: importing pyarrow and reading
the file.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEAVY = ("numba", "pandas", "pyspark")


EIRES_Q1 = """
PATTERN SEQ(A a, B b, C c, D d, B e, C f, A g, D h)
WHERE SAME[key] AND a.v1 = REMOTE elements[d.v1] AND a.v2 = h.v2 AND b.v1 = REMOTE elements[h.v1]
WITHIN 8 min POLICY any
"""
"""Q1 of EIRES (Listing 2)."""

N_REMOTE = 300


class _Elements:
    """A store that answers once it is waited for."""

    def __init__(self) -> None:
        self._asked: dict[tuple[object, ...], object] = {}

    def ask(self, keys: Sequence[tuple[object, ...]]) -> None:
        self._asked.update({key: key[0] for key in keys})

    def answers(self) -> dict[tuple[object, ...], object]:
        return {}

    def wait(self, keys: Sequence[tuple[object, ...]]) -> dict[tuple[object, ...], object]:
        come, self._asked = self._asked, {}
        return come


def _catalog() -> Any:
    import cepheid as cep
    from cepheid.events.types import INT

    return cep.Catalog(stores={"elements": cep.Store("elements", key=(INT,), fields={"": INT}, source=_Elements())})


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

    options: dict[str, Any] = {}
    table, (name, _, evaluation) = read(Path(sys.argv[1])), sys.argv[2].partition(", ")
    if name == "EIRES Q1":
        query, table, options["catalog"] = EIRES_Q1, table[:N_REMOTE], _catalog()
    else:
        query = WORKLOADS[name].query
    if evaluation:
        options["settings"] = cep.Settings(evaluation=evaluation)
    start, cpu_start = time.perf_counter(), time.process_time()
    found = cep.match(table, query, time="ts", type="type", time_unit="ms", **options)
    told |= {"first_cpu_s": time.process_time() - cpu_start, "first_s": time.perf_counter() - start}
    told["n_matches"] = len(found)
    from cepheid.compiler.load import wait_for_kernels

    wait_for_kernels()
    told["compiled_s"] = time.perf_counter() - start
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
