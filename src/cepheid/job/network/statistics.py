"""Rates and selectivities from events of the past: ``cepheid network stats``, a batch job of Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from cepheid.errors import DataError, SetupError
from cepheid.events.schema import TIME_UNITS
from cepheid.job.network.load import NetworkJob
from cepheid.language.printer import print_query
from cepheid.network.from_query import PlannedQuery
from cepheid.network.patterns import Interleaving
from cepheid.network.queries import Projection
from cepheid.plan.projection import project
from cepheid.query import Query

MOST_TYPES = 3
"""Projections of more types are not looked for; what is in their matches is taken from their selectivity."""


@dataclass(frozen=True)
class Statistics:
    """What was estimated.

    Attributes:
        rates: type -> site -> events of use to some query in one window, on average.
        pairs: two types -> the part of their pairs within a window, in the order that the query asks for, that fit
            together; where queries ask differently, the largest.
        in_matches: (projection as text, type) -> the part of the events of the type that are in one of its matches.
        n_windows: the time of the events in windows.
    """

    rates: Mapping[str, Mapping[str, float]]
    pairs: Mapping[tuple[str, str], float]
    in_matches: Mapping[tuple[str, str], float]
    n_windows: float

    def text(self) -> str:
        """As a network file reads it."""
        lines = [f"# From events of {self.n_windows:.6g} windows."]
        for kind, of_sites in self.rates.items():
            rates = ", ".join(f"{_text(site)} = {_number(rate)}" for site, rate in sorted(of_sites.items()))
            lines += ["", f"[types.{_text(kind)}]", f"rate = {{{rates}}}"]
        for pair, value in self.pairs.items():
            kinds = ", ".join(map(_text, pair))
            lines += ["", "[[selectivities]]", f"types = [{kinds}]", f"value = {_number(value)}"]
        for (projection, kind), value in self.in_matches.items():
            lines += ["", "[[in_matches]]", f"projection = {_text(projection)}", f"type = {_text(kind)}"]
            lines += [f"value = {_number(value)}"]
        return "\n".join(lines) + "\n"


def estimate(job: NetworkJob, path: Path, say: Callable[[str], None]) -> Statistics:
    """Estimate what planning needs from a table of events of all sites.

    Args:
        job: the network; rates that it names are not read.
        path: a Parquet file or folder, or JSON lines.
        say: takes a line for each query that is looked at.

    Raises:
        SetupError: there is no such file.
        JobError: it lacks columns, or events arise where their type has no source.
        DataError: it has no time from its first to its last event.
    """
    from cepheid.spark.history import EventTable, admitted_by_site, counted, span_us
    from cepheid.spark.session import local_session

    said = job.model.events
    session = local_session("cepheid-network-stats", config={"spark.sql.session.timeZone": "UTC"})
    table = EventTable(_read(session, job, path), said.time, said.time_unit, said.type, tuple(said.order))
    workload = job.workload(require_rates=False)
    window_us = job.planned[0].window_us
    n_windows = span_us(table, None if said.time_unit is None else TIME_UNITS[said.time_unit]) / window_us
    if n_windows <= 0:
        raise DataError(f"{path} has no two events of different times", remedy="rates need events over some time")
    rates: dict[str, dict[str, float]] = {}
    n_events: dict[str, int] = {}
    for kind in sorted(workload.types):
        say(f"events of {kind}")
        singles = [_single(query, kind) for query in job.planned if kind in query.variables]
        found = admitted_by_site(table, singles, said.site)
        sources = [str(site) for site in workload.network.sources[kind]]
        foreign = sorted(set(found) - set(sources))
        if foreign:
            raise job.error(
                f"events of {kind} arise at {foreign[0]}, which is no source of it",
                f"name {foreign[0]} among its sources",
                *("types", kind),
            )
        n_events[kind] = sum(found.values())
        rates[kind] = {site: found.get(site, 0) / n_windows for site in sources}
    pairs: dict[tuple[str, str], float] = {}
    in_matches: dict[tuple[str, str], float] = {}
    for query in job.planned:
        for projection in _projections(query):
            say(f"{query.name}: {projection}")
            variables = {query.variables[kind]: kind for kind in sorted(projection.bound)}
            matches = counted(table, _query(query, projection), list(variables))
            for variable, kind in variables.items():
                if n_events[kind]:
                    part = min(1.0, matches.n_events[variable] / n_events[kind])
                    key = (projection.name, kind)
                    in_matches[key] = max(in_matches.get(key, 0.0), part)
            if len(projection.bound) == 2 and not projection.negated:
                one, other = sorted(projection.bound)
                value = _selectivity(projection, matches.n_matches / n_windows, rates)
                pairs[one, other] = max(pairs.get((one, other), 0.0), value)
    return Statistics(rates, pairs, in_matches, n_windows)


def _read(session: Any, job: NetworkJob, path: Path) -> Any:
    if not path.exists():
        raise SetupError(f"there is no file {path}", remedy="correct --events")
    frame = session.read.json(str(path)) if path.suffix in (".json", ".jsonl") else session.read.parquet(str(path))
    needed = (*job.columns.names, job.model.events.site)
    for name in needed:
        if name not in frame.columns:
            raise job.error(
                f"{path} has no column {name!r}",
                f"its columns are {', '.join(frame.columns)}; correct [events]",
                "events",
            )
    said = job.model.events
    if said.time_unit is None and dict(frame.dtypes)[said.time] == "string":
        frame = frame.withColumn(said.time, frame[said.time].cast("timestamp"))
    return frame


def _single(query: PlannedQuery, kind: str) -> tuple[str, Query]:
    variable = query.variables[kind]
    bound = project(query.bound, [variable])
    return next(iter(bound.variables)), Query.parse(print_query(bound.query))


def _query(query: PlannedQuery, projection: Projection) -> Query:
    return Query.parse(print_query(query.projected(projection).query))


def _projections(query: PlannedQuery) -> list[Projection]:
    """Those of few types, all pairs of positive types among them."""
    kinds = sorted(query.network_query.types - query.network_query.negated)
    pairs = [query.network_query.projection(frozenset(pair)) for pair in combinations(kinds, 2)]
    others = [one for one in query.network_query.projections() if 2 < len(one.types) <= MOST_TYPES]
    return [*pairs, *others]


def _selectivity(projection: Projection, rate: float, rates: Mapping[str, Mapping[str, float]]) -> float:
    """σ by which the model of rates (INEv, section 3.2) gives the rate that was measured."""
    whole = 1.0
    for kind in projection.bound:
        whole *= sum(rates[kind].values())
    if isinstance(projection.pattern, Interleaving):
        whole *= len(projection.pattern.parts)
    return min(1.0, rate / whole) if whole else 1.0


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    text = f"{value:.6g}"
    return text if any(c in text for c in ".en") else f"{text}.0"
