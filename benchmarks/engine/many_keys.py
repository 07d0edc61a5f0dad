"""W2k and W3c, joins over many keys, in a process of its own: ``python -m benchmarks.engine.many_keys W2k``.

Prints rows as JSON. The timer starts with an Arrow table in memory, and ends with every match as a row of positions;
or, where the events come in steps, with the matches of all steps as tables.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import asdict, replace
from typing import Any

from benchmarks.engine.measure import Timed, engine_on, peak_rss_bytes
from benchmarks.engine.rows import Row

N_TIMES = 3

# --- W2k: text keys that come and go ------------------------------------------------------------------
N_KEYS, N_KEYS_QUICK = 1_000_000, 100_000
EVENTS_PER_KEY = 3
ALIVE_MS = 10_000
"""As long as the window of the query."""

STEP_EVENTS = 100_000
KEYS_QUERY = "PATTERN SEQ(A a, B b, C c) WHERE SAME[key] AND a.v1 < b.v1 AND b.v1 < c.v1 WITHIN 10 s POLICY any"

# --- W3c: a key between the first two, another one between the last two -----------------------------------
N_EVENTS, N_EVENTS_QUICK = 1_000_000, 100_000
N_VALUES = 10_000
WINDOW_EVENTS = 50_000
CHAINED_QUERY = f"PATTERN SEQ(A a, B b, C c) WHERE a.k1 = b.k1 AND b.k2 = c.k2 WITHIN {WINDOW_EVENTS} EVENTS POLICY any"

N_MATCHES = {
    "W2k": {N_KEYS * EVENTS_PER_KEY: 1_379, N_KEYS_QUICK * EVENTS_PER_KEY: 141},
    "W3c": {N_EVENTS: 97_098, N_EVENTS_QUICK: 6_735},
}
"""Workload -> number of events -> matches, by `n_keyed_by_loop` and `n_chained_by_loop`."""

BARS = {"W2k": 2.5e6, "W3c": 2e6}
NAMES = tuple(BARS)
"""Of the workloads, in the order in which they run."""


def short_lived_keys(n_keys: int) -> Any:
    """Three events of each key, a new key each millisecond, each alive for ten seconds; types with equal chances."""
    import numpy as np
    import pyarrow as pa

    from benchmarks.stream import SEED, TYPES

    random = np.random.default_rng(SEED)
    births = np.arange(n_keys)[:, None]
    times = (births + random.integers(0, ALIVE_MS + 1, (n_keys, EVENTS_PER_KEY))).reshape(-1)
    order = np.argsort(times, kind="stable")
    names = pa.array([f"customer-{number:07d}" for number in range(n_keys)])
    kinds = random.integers(0, len(TYPES), len(order))
    return pa.table(
        {
            "type": pa.array(TYPES).take(pa.array(kinds)),
            "ts": times[order],
            "key": names.take(pa.array(order // EVENTS_PER_KEY)),
            "v1": random.integers(1, 100_001, len(order)).astype(np.int32),
        }
    )


def n_keyed_by_loop(table: Any) -> int:
    """The number of matches of W2k, by a loop over the three events of each key."""
    of_key: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for key, kind, value in zip(*(table.column(name).to_pylist() for name in ("key", "type", "v1")), strict=True):
        of_key[key].append((kind, value))
    n_matches = 0
    for events in of_key.values():
        # A key has three events and lives as long as the window: they are the match, or there is none.
        kinds, values = zip(*events, strict=True)
        n_matches += kinds == ("A", "B", "C") and values[0] < values[1] < values[2]
    return n_matches


def chained_keys(n_events: int) -> Any:
    """Events with two keys that have nothing to do with each other, one each millisecond."""
    import numpy as np
    import pyarrow as pa

    from benchmarks.stream import SEED, TYPES

    random = np.random.default_rng(SEED)
    kinds = random.integers(0, len(TYPES), n_events)
    k1, k2 = (random.integers(0, N_VALUES, n_events).astype(np.int32) for _ in range(2))
    return pa.table({"type": pa.array(TYPES).take(pa.array(kinds)), "ts": np.arange(n_events), "k1": k1, "k2": k2})


def n_chained_by_loop(table: Any) -> int:
    """The number of matches of W3c, by a loop that keeps the first events by k1 and the pairs by k2."""
    firsts: dict[int, list[int]] = defaultdict(list)
    pairs: dict[int, list[int]] = defaultdict(list)
    n_matches = 0
    columns = (table.column(name).to_pylist() for name in ("type", "k1", "k2"))
    for place, (kind, k1, k2) in enumerate(zip(*columns, strict=True)):
        oldest = place - WINDOW_EVENTS + 1
        if kind == "A":
            firsts[k1].append(place)
        elif kind == "B":
            firsts[k1] = [first for first in firsts[k1] if first >= oldest]
            pairs[k2] += firsts[k1]
        elif kind == "C":
            pairs[k2] = [first for first in pairs[k2] if first >= oldest]
            n_matches += len(pairs[k2])
    return n_matches


class Steps:
    """W2k in a `cepheid.Matcher`, some events at a time.

    Attributes:
        bytes_before, bytes_after: what the matcher held before the first event, and after ten seconds without any.
    """

    def __init__(self, table: Any) -> None:
        self.table = table
        self.bytes_before = self.bytes_after = -1

    def find(self) -> int:
        """All events, and then quiet; the number of matches."""
        import cepheid as cep

        table = self.table
        matcher = cep.Matcher(KEYS_QUERY, schema=table.schema, time="ts", time_unit="ms", type="type", slack=0)
        self.bytes_before = matcher.gauge().n_bytes
        n_matches = 0
        for start in range(0, len(table), STEP_EVENTS):
            n_matches += len(matcher.push(table.slice(start, STEP_EVENTS)))
        quiet_ms = table["ts"][-1].as_py() + ALIVE_MS + 1
        n_matches += len(matcher.advance(quiet_ms))
        self.bytes_after = matcher.gauge().n_bytes
        return n_matches


def measure(name: str, *, quick: bool) -> list[Row]:
    """The rows of W2k, at once and in steps, or of W3c."""
    if name == "W2k":
        table = short_lived_keys(N_KEYS_QUICK if quick else N_KEYS)
        steps = Steps(table)
        runs = {"cepheid": engine_on(table, KEYS_QUERY), "cepheid, in steps": steps.find}
    else:
        table, steps = chained_keys(N_EVENTS_QUICK if quick else N_EVENTS), None
        runs = {"cepheid": engine_on(table, CHAINED_QUERY)}
    rows = []
    for which, find in runs.items():
        timed = Timed(find)
        timed.find()
        for _ in range(N_TIMES):
            timed.run()
        rows.append(
            Row(
                workload=name,
                engine=which,
                events_per_s=len(table) / timed.wall_s,
                matches=timed.n_matches,
                peak_rss_bytes=peak_rss_bytes(),
                bar=BARS[name] / (2 if quick else 1),
                n_events=len(table),
                events_per_cpu_s=len(table) / timed.cpu_s,
                right=N_MATCHES[name][len(table)],
                quick=quick,
            )
        )
    if steps is not None:
        rows[-1] = replace(rows[-1], held_bytes=steps.bytes_after, held_bytes_before=steps.bytes_before)
    return rows


def main() -> int:
    """Measure."""
    from benchmarks.engine.one_core import limit_arrow, pin

    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine.many_keys")
    parser.add_argument("workload", choices=NAMES)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    pin()
    limit_arrow()
    print(json.dumps([asdict(row) for row in measure(given.workload, quick=given.quick)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
