"""Measures points: the cost of an event, and its work."""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.engine.measure import engine_on, set_on
from benchmarks.figures.scaling.cases import Case, Setting, events
from cepheid.engine.session import run
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.bind import bind
from cepheid.language.parser import parse

LEAST_S = 0.3
"""A query is run again until it has taken so long in all: the system counts processor time in steps of milliseconds."""

SLACK = 2.0
"""So much more than the work may the cost grow: other processes disturb, and caches fill."""


@dataclass(frozen=True)
class Point:
    """One workload in one setting.

    Attributes:
        workload: its name.
        axis: what grows.
        factor: how much.
        cost_us: time of the processor in the process itself, of an event. Not that of the system, which hands out
            memory for the matches: on a virtual machine it differs tenfold from run to run.
        work: of an event: one, and the partial and whole matches that end with it.
        n_matches: whole matches.
    """

    workload: str
    axis: str
    factor: int
    cost_us: float
    work: float
    n_matches: int


def counts(table: Any, case: Case, window_ms: int) -> list[int]:
    """The numbers of matches, of those of each beginning, and, of loops, of the parts of matches."""
    texts = case.texts(window_ms)
    found = [finds(table, queries)() for queries in texts]
    return [*found, n_taken(table, texts[0][""]) - 2 * found[0]] if case.loops else found


def finds(table: Any, queries: Mapping[str, str]) -> Callable[[], int]:
    """A function that finds the matches of a query, or of a set in one pass, and returns their number."""
    return engine_on(table, queries[""]) if "" in queries else set_on(table, queries)[0]


def n_taken(table: Any, query: str) -> int:
    """How many events the matches of a query have in all."""
    schema = schema_of(table, time="ts", time_unit="ms", type="type")
    return len(run(bind(parse(query), schema), read_events(table, schema)).positions)


def point(workload: str, case: Case, axis: str, factor: int, setting: Setting) -> Point:
    """Measure one."""
    table = events(setting)
    found = counts(table, case, setting.window_ms)
    find = finds(table, case.texts(setting.window_ms)[0])
    total_s, n_times = 0.0, 0
    while total_s < LEAST_S:
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        n_matches = find()
        total_s += resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
        n_times += 1
        if n_matches != found[0]:
            raise RuntimeError(f"{workload} finds {n_matches} matches after {found[0]} in the same events")
    n = setting.n_events
    return Point(workload, axis, factor, 1e6 * total_s / n_times / n, 1 + sum(found) / n, found[0])


def faults(points: list[Point], slack: float = SLACK) -> list[str]:
    """Where the cost grows more than the work, in words.

    Each point is held to the cheapest of those before it of its workload and axis: what that costs for each unit of
    work, and for an event where the work shrinks.

    Args:
        points: in the order in which they grow.
        slack: how many times as much a point may cost.
    """
    before: dict[tuple[str, str], list[Point]] = {}
    found = []
    for one in points:
        smaller = before.setdefault((one.workload, one.axis), [])
        may = min((p.cost_us * max(1.0, one.work / p.work) for p in smaller), default=one.cost_us)
        if one.cost_us > slack * may:
            found.append(
                f"{one.workload}, {one.axis} x{one.factor}: an event costs {one.cost_us:.2f} us, "
                f"{one.cost_us / may:.1f} times what its work asks for"
            )
        smaller.append(one)
    return found
