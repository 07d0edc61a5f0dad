"""The engine itself, as the peers are run, in the environment of the caller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.engine.workloads import WORKLOADS
from benchmarks.peers.python_peer import PythonPeer

NAMES = ("W0", "W1", "W2", "W3", "W4", "W5", "W2d")
N_TIMES = 10


def prepare(workload: str, events: Path) -> Callable[[], Callable[[], Any]]:
    """See `benchmarks.peers.child`."""
    from benchmarks.engine.events_file import read
    from benchmarks.engine.one_core import limit_arrow
    from cepheid.engine.session import run
    from cepheid.events.ingest import read_events, schema_of
    from cepheid.language.bind import bind
    from cepheid.language.parser import parse

    limit_arrow()
    table = read(events.with_suffix(".arrow"))
    schema = schema_of(table, time="ts", time_unit="ms", type="type")
    bound = bind(parse(WORKLOADS[workload].query), schema)
    return lambda: lambda: run(bound, read_events(table, schema))


def digest(found: Any) -> tuple[int, int]:
    """See `benchmarks.peers.child`. The events lie in the order of their ids, so places are ids."""
    return len(found), int(found.positions.sum())


PEER = PythonPeer(
    "cepheid",
    module="cepheid_engine",
    scope="from an Arrow table in memory, types as text, to every match as a row of positions in the order of matches",
    n_events={name: WORKLOADS[name].n_events(quick=False) for name in NAMES},
    own_environment=False,
    n_times=N_TIMES,
)
