"""The workloads as self joins in DuckDB.

An equi-join cannot look for times within a window, so time is cut into buckets as wide as the window, as in
`polars_join`: events that are looked for lie in their own bucket and in the one before. Where the next event is asked
for, ASOF JOIN finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import locked
from benchmarks.peers.python_peer import PythonPeer

VERSION = "2.0.1"

_EVENTS = """
WITH a AS (SELECT id, key, ts, v1, price, ts // {within} AS place FROM events WHERE type = 'A'),
     b AS (SELECT id, key, ts, v1, price, unnest([ts // {within}, ts // {within} - 1]) AS place
           FROM events WHERE type = 'B'),
     c AS (SELECT id, key, ts, v1, unnest([ts // {within}, ts // {within} - 1]) AS place
           FROM events WHERE type = 'C')
"""
_PAIR = "a.key = b.key AND a.place = b.place AND a.id < b.id AND b.ts - a.ts <= {within}"
_TRIPLE = "a.key = c.key AND a.place = c.place AND b.id < c.id AND c.ts - a.ts <= {within}"

_ALL = f"{_EVENTS} SELECT a.id, b.id, c.id FROM a JOIN b ON {_PAIR} {{pair}} JOIN c ON {_TRIPLE} {{triple}}"

# The first b that qualifies, then the first c that does.
_NEXT = f"""
{_EVENTS},
ab AS (SELECT a.id AS a_id, any_value(a.key) AS key, any_value(a.ts) AS ts, any_value(a.place) AS place,
              min(b.id) AS b_id, arg_min(b.v1, b.id) AS v1
       FROM a JOIN b ON {_PAIR} AND a.v1 < b.v1 GROUP BY a.id)
SELECT ab.a_id, ab.b_id, min(c.id)
FROM ab JOIN c ON ab.key = c.key AND ab.place = c.place AND ab.b_id < c.id AND c.ts - ab.ts <= {{within}}
     AND ab.v1 < c.v1
GROUP BY ab.a_id, ab.b_id
"""

# All b that qualify before the first c behind the first of them.
_LOOP = f"""
{_EVENTS},
ab AS (SELECT a.id AS a_id, a.key, a.ts, b.id AS b_id FROM a JOIN b ON {_PAIR} AND a.v1 < b.v1),
firsts AS (SELECT a_id, any_value(key) AS key, any_value(ts) AS ts, min(b_id) AS b_id FROM ab GROUP BY a_id),
ends AS (SELECT id, key, ts FROM events WHERE type = 'C'),
closed AS (SELECT firsts.a_id, ends.id AS c_id
           FROM firsts ASOF JOIN ends ON firsts.key = ends.key AND firsts.b_id < ends.id
           WHERE ends.ts - firsts.ts <= {{within}})
SELECT a_id, list(ab.b_id ORDER BY ab.b_id), any_value(closed.c_id)
FROM ab JOIN closed USING (a_id) WHERE ab.b_id < closed.c_id GROUP BY a_id
"""

_WITHOUT = """
WITH a AS (SELECT id, key, ts FROM events WHERE type = 'A'),
     b AS (SELECT id, key FROM events WHERE type = 'B'),
     c AS (SELECT id, key, ts FROM events WHERE type = 'C'),
     ac AS (SELECT a.id AS a_id, a.key, c.id AS c_id
            FROM a ASOF JOIN c ON a.key = c.key AND a.id < c.id WHERE c.ts - a.ts <= {within})
SELECT ac.a_id, ac.c_id FROM ac ASOF LEFT JOIN b ON ac.key = b.key AND ac.a_id < b.id
WHERE b.id IS NULL OR b.id > ac.c_id
"""

_RISING = _ALL.format(within="{within}", pair="AND a.v1 < b.v1", triple="AND b.v1 < c.v1")
QUERIES = {
    "W0": _ALL.format(within=1000, pair="", triple=""),
    "W1": _NEXT.format(within=1000),
    "W2": _RISING.format(within=1000),
    "W3": _ALL.format(within=2000, pair="AND b.price > 0.75 * a.price", triple=""),
    "W4": _LOOP.format(within=1000),
    "W5": _WITHOUT.format(within=1000),
    "W2d": _RISING.format(within=1000),
}


def prepare(workload: str, events: Path) -> Callable[[], Callable[[], Any]]:
    """See `benchmarks.peers.child`."""
    import duckdb
    from pyarrow import ipc

    with open(events.with_suffix(".arrow"), "rb") as file:
        table = ipc.open_file(file).read_all()
    connection = duckdb.connect(config={"threads": 1})
    connection.register("events", table)
    return lambda: lambda: connection.sql(QUERIES[workload]).to_arrow_table()


def digest(found: Any) -> tuple[int, int]:
    """See `benchmarks.peers.child`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = [column.combine_chunks() for column in found.columns]
    flat = [pc.list_flatten(column) if pa.types.is_list(column.type) else column for column in columns]
    return len(found), sum(pc.sum(column).as_py() or 0 for column in flat)


PEER = PythonPeer(
    "DuckDB",
    module="duckdb_sql",
    version=VERSION,
    scope="from an Arrow table in memory, types as text, to an Arrow table of the matches' event ids in any order",
    n_events={name: 100_000 if name == "W2d" else 1_000_000 for name in QUERIES},
    requirements=(f"duckdb=={VERSION}", locked("pyarrow")),
)
