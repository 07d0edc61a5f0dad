"""CORE (complex event recognition in C++) by its Python package, which needs CPython 3.13.

CEQL has conditions on one event only, so of the workloads it has those without conditions between events: W0, and W5,
where what lies between a and c in their partition is anything but B and C.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.python_peer import PythonPeer

VERSION = "0.1.6"

_TYPES = ", ".join(f"EVENT {letter} {{ id:int, ts:primary_time, key:int }}" for letter in "ABCDE")
_STREAM = f"CREATE STREAM S {{ {_TYPES} }}"
# Its windows are open at their end, and times are whole milliseconds.
_REST = "PARTITION BY [key] WITHIN 1001 [ts] CONSUME BY NONE"
QUERIES = {
    "W0": f"SELECT x, y, z FROM S WHERE A as x; B as y; C as z {_REST}",
    "W5": f"SELECT x, y FROM S WHERE (A as x : (A OR D OR E) :+ : C as y) OR (A as x : C as y) {_REST}",
}


def prepare(workload: str, events: Path) -> Callable[[], Callable[[], str]]:
    """See `benchmarks.peers.child`."""
    import pycer

    def make_ready() -> Callable[[], str]:
        server = pycer.PyOfflineServer()
        ids = {event.name: event.id for event in server.declare_stream(_STREAM).events_info}
        stream = []
        with open(events.with_suffix(".csv"), encoding="ascii", newline="") as file:
            for id_, letter, ts, key, *_ in csv.reader(file):
                values = [pycer.PyIntValue(int(value)) for value in (id_, ts, key)]
                stream.append(pycer.PyEvent(ids[letter], values, values[1]))
        server.add_query(QUERIES[workload])

        def find() -> str:
            server.send_events(stream)
            return str(server.get_output())

        return find

    return make_ready


def digest(found: str) -> tuple[int, int]:
    """See `benchmarks.peers.child`: a line for each match, an event's first attribute being its id."""
    lines = [re.findall(r"attributes: \[(\d+)", line) for line in found.splitlines()]
    matches = [line for line in lines if line]
    return len(matches), sum(int(id_) for match in matches for id_ in match)


PEER = PythonPeer(
    "CORE",
    module="core_ceql",
    version=VERSION,
    scope="from event objects of its own in memory to every match as a line of text, which is how it gives them",
    n_events=dict.fromkeys(QUERIES, 100_000),
    requirements=(f"pycer=={VERSION}",),
    python_version="3.13",
)
