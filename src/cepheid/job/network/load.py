"""Network files read and checked: what is wrong is told with its line, its key and a remedy."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pydantic import ValidationError

from cepheid.connectors.column_types import Form, column_type
from cepheid.connectors.locations import is_file, real_path, resolve
from cepheid.connectors.writing import check_writable
from cepheid.errors import CepheidError, JobError, NetworkError
from cepheid.events.arrow_types import data_type
from cepheid.events.schema import Schema
from cepheid.job.load import invalid, not_toml, place_of
from cepheid.job.model import QuerySection
from cepheid.job.network.model import (
    EventsSection,
    NetworkFile,
    StatisticsFile,
    TypeSection,
)
from cepheid.job.parameters import parameter_values
from cepheid.job.section import Section
from cepheid.language.bound import BoundQuery
from cepheid.language.parameters import with_parameters
from cepheid.network.from_query import PlannedQuery, planned_queries
from cepheid.network.model import MOST_EVENTS, EventNetwork
from cepheid.network.planner import Plan, PlanSettings, plan_workload
from cepheid.network.queries import NetworkQuery, Selectivities, Workload
from cepheid.query import Query

_F = TypeVar("_F", bound=Section)
_UTC = pa.timestamp("us", "UTC")


@dataclass(frozen=True, eq=False)
class NetworkJob:
    """A network file that has been checked.

    Attributes:
        model: what the file says.
        statistics: what the files that it names say.
        queries: by name, as they were read.
        bounds: the same over the events, parameters replaced by values.
        text: of the file, into which errors point.
        base: the folder that its paths are relative to.
        origin: the name of the file.
    """

    model: NetworkFile
    statistics: tuple[StatisticsFile, ...]
    queries: Mapping[str, Query]
    bounds: Mapping[str, BoundQuery]
    text: str
    base: Path
    origin: str

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read."""
        queries = (section.file for section in self.model.queries.values() if section.file is not None)
        statistics = self.model.network.statistics or () if self.statistics else ()
        behind = (*statistics, *queries)
        return (self.base / Path(self.origin).name, *(Path(resolve(name, self.base)) for name in behind))

    def require_others(self, paths: Sequence[Path]) -> None:
        """Test that files can be written, before anything is: none of them was read, or is named twice.

        Raises:
            JobError: one of them.
            SetupError: one cannot be written.
        """
        read, named = {real_path(path) for path in self.files}, set[Path]()
        for path in paths:
            if real_path(path) in read:
                raise JobError(f"{path} would be written over, and the network is read from it", remedy="name another")
            if real_path(path) in named:
                raise JobError(f"two files are to be written to {path}", remedy="name two")
            named.add(real_path(path))
        for path in paths:
            check_writable(path)

    def error(self, problem: str, remedy: str | None, *keys: str) -> JobError:
        """A fault of the file, shown where a key stands."""
        span = place_of(self.text, keys)
        return JobError(problem, remedy=remedy, text=self.text if span else None, span=span, origin=self.origin)

    @cached_property
    def planned(self) -> tuple[PlannedQuery, ...]:
        """The queries as planning sees them.

        Raises:
            NetworkError: one cannot be split.
        """
        try:
            return planned_queries(self.bounds)
        except NetworkError as error:
            error.origin = error.origin or self.origin
            raise

    @property
    def columns(self) -> Any:
        """The events as a pyarrow Schema; times are UTC in microseconds, or the numbers that they are."""
        return columns_of(self.model.events)

    @property
    def schema(self) -> Schema:
        """The events as queries see them."""
        return schema_of(self.model.events)

    def types(self) -> dict[str, TypeSection]:
        """Type -> its sources and rates, those of the network file before those of statistics."""
        found: dict[str, TypeSection] = {}
        for file in (self.model, *self.statistics):
            for kind, said in file.types.items():
                have = found.get(kind, TypeSection())
                found[kind] = TypeSection(
                    sources=have.sources if have.sources is not None else said.sources,
                    rate=have.rate if have.rate is not None else said.rate,
                )
        return found

    def network(self, *, require_rates: bool = True) -> EventNetwork:
        """The network.

        Args:
            require_rates: a type without rate is an error; else its rate is 0.

        Raises:
            JobError: a type has no sources or no rate, or rates for other sites.
            NetworkError: it falls into parts, or names what there is not.
        """
        sources, rates = {}, {}
        for kind, said in self.types().items():
            if said.sources is None:
                raise self.error(f"the type {kind} has no sources", 'add: sources = ["SITE"]', "types", kind)
            sources[kind] = tuple(said.sources)
            if said.rate is None:
                if require_rates:
                    raise self.error(
                        f"the rate of {kind} is missing",
                        "say how many events a source has in one window, rate = 10.0, or let cepheid network stats "
                        "find out",
                        *("types", kind),
                    )
                rates[kind] = 0.0
            else:
                rates[kind] = self._mean(kind, said.rate, sources[kind])
        section = self.model.network
        edges = tuple((one, other) for one, other in section.links)
        try:
            return EventNetwork(tuple(section.sites), edges, sources, rates)
        except NetworkError as error:
            error.origin = error.origin or self.origin
            raise

    def _mean(self, kind: str, rate: float | dict[str, float], sources: tuple[str, ...]) -> float:
        if not isinstance(rate, dict):
            return rate
        for site in rate:
            if site not in sources:
                raise self.error(
                    f"{site} has a rate of {kind}, and is no source of it", "name it among the sources", "types", kind
                )
        for site in sources:
            if site not in rate:
                raise self.error(f"the rate of {kind} at {site} is missing", "add it", "types", kind)
        for site, value in rate.items():
            if not 0 <= value <= MOST_EVENTS:
                raise self.error(
                    f"the rate of {kind} at {site} is {value}",
                    f"a rate is a number from 0 to {MOST_EVENTS:g}",
                    *("types", kind),
                )
        return sum(rate.values()) / len(rate) if rate else 0.0

    def selectivities(self) -> Selectivities:
        """How much fits together."""
        pairs: dict[frozenset[str], float] = {}
        single: dict[tuple[str, str], float] = {}
        for file in (self.model, *self.statistics):
            for pair in file.selectivities:
                pairs.setdefault(frozenset(pair.types), pair.value)
            for one in file.in_matches:
                single.setdefault((one.projection, one.type), one.value)
        return Selectivities(pairs, single)

    def workload(self, *, require_rates: bool = True) -> Workload:
        """The queries on the network; errors are those of `network` and `planned`."""
        queries = tuple(one.network_query for one in self.planned)
        network = self.network(require_rates=require_rates)
        for query in queries:
            for kind in sorted(query.types):
                if kind not in network.sources:
                    raise self.error(
                        f"no site of the network is a source of {kind}, which the query {query.name} needs",
                        f"add [types.{kind}] with its sources",
                        *("queries", query.name),
                    )
        self._require_known(network, queries)
        return Workload(network, queries, self.selectivities())

    def _require_known(self, network: EventNetwork, queries: Sequence[NetworkQuery]) -> None:
        """Refuse what the network file says of types and projections that there are not: it would count for nothing."""
        for pair in self.model.selectivities:
            for kind in pair.types:
                self._require_type(network, kind, "selectivities")
        if not self.model.in_matches:
            return
        known = {one.name for query in queries for one in (*query.projections(), query.planned)}
        for one in self.model.in_matches:
            self._require_type(network, one.type, "in_matches")
            if one.projection not in known:
                near = get_close_matches(one.projection, known, 1)
                remedy = f"did you mean {near[0]!r}?" if near else "write it as the plan prints it: SEQ(A, C)"
                raise self.error(f"no query has the projection {one.projection!r}", remedy, "in_matches")

    def _require_type(self, network: EventNetwork, kind: str, *keys: str) -> None:
        if kind not in network.sources:
            near = get_close_matches(kind, network.sources, 1)
            remedy = f"did you mean {near[0]!r}?" if near else f"the types are {', '.join(sorted(network.sources))}"
            raise self.error(f"there is no type {kind!r}", remedy, *keys)

    def plan(self) -> Plan:
        """The plan for the workload."""
        said = self.model.plan
        settings = PlanSettings(
            xi=said.xi, max_latency=said.max_latency, exclude_conflicts=said.exclude_conflicts, share=said.share
        )
        return plan_workload(self.workload(), settings)


def columns_of(events: EventsSection) -> Any:
    """The columns of events as a pyarrow Schema."""
    kinds = {name: column_type(text) for name, text in events.columns.items()}
    kinds.setdefault(events.time, column_type("timestamp" if events.time_unit is None else "int"))
    kinds.setdefault(events.type, column_type("text"))
    return pa.schema([(n, _UTC if kind.form is Form.TIMESTAMP else kind.arrow) for n, kind in kinds.items()])


def schema_of(events: EventsSection) -> Schema:
    """Events as queries see them.

    Raises:
        SchemaError: time, type or order name no column.
    """
    fields = {field.name: data_type(field.type) for field in columns_of(events)}
    return Schema(fields, time=events.time, time_unit=events.time_unit, type=events.type, order=tuple(events.order))


def load_network(path: Path | str, *, without_statistics: bool = False) -> NetworkJob:
    """The network in a file, or in the ``network.toml`` of a folder.

    Args:
        path: of the file or folder.
        without_statistics: leave the files of statistics alone that it names: they may not be there yet.

    Raises:
        JobError: the file cannot be read, is not TOML, or says something that it cannot mean.
        QueryError: a query cannot be read, or does not fit the events.
    """
    path = Path(path)
    if os.path.isdir(path):
        path = path / "network.toml"
    origin, base = str(path), real_path(path).parent
    text, model = _read(path, NetworkFile)
    names = () if without_statistics else model.network.statistics or ()
    statistics = tuple(_read(Path(resolve(name, base)), StatisticsFile)[1] for name in names)
    queries = {name: _query(name, section, text, origin, base) for name, section in model.queries.items()}
    try:
        schema = schema_of(model.events)
    except CepheidError as error:
        span = place_of(text, ("events",))
        raise JobError(error.message, remedy=error.remedy, text=text, span=span, origin=origin) from error
    bounds = {name: query.bind(schema) for name, query in queries.items()}
    known = {name for bound in bounds.values() for name in bound.parameters}
    for name in model.parameters:
        if name not in known:
            raise JobError(
                f"no query has a parameter :{name}",
                remedy="the parameters are: " + (", ".join(sorted(known)) or "none"),
                text=text,
                span=place_of(text, ("parameters", name)),
                origin=origin,
            )
    filled = {name: _with_values(bound, model.parameters) for name, bound in bounds.items()}
    return NetworkJob(model, statistics, queries, filled, text, base, origin)


def _with_values(bound: BoundQuery, said: Mapping[str, object]) -> BoundQuery:
    if not bound.parameters:
        return bound
    own = {name: value for name, value in said.items() if name in bound.parameters}
    return with_parameters(bound, parameter_values(bound, own))


def _read(path: Path, root: type[_F]) -> tuple[str, _F]:
    what = "network file" if root is NetworkFile else "file of statistics"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise JobError(f"the {what} cannot be read: {reason}", remedy="correct the path", origin=str(path)) from error
    except UnicodeDecodeError as error:
        raise JobError(
            f"the {what} is not text in UTF-8: byte {error.start} fits no character",
            remedy="network files are TOML, saved as UTF-8",
            origin=str(path),
        ) from error
    try:
        said = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except json.JSONDecodeError as error:
        raise JobError(f"not JSON: {error}", remedy="deploy the network again", origin=str(path)) from error
    except tomllib.TOMLDecodeError as error:
        raise not_toml(error, text, str(path)) from error
    except ValueError as error:  # a number of thousands of digits
        raise JobError(f"not TOML: {error}", remedy="write shorter numbers", origin=str(path)) from error
    except RecursionError:
        raise JobError(f"the {what} is nested too deeply", remedy="is it one?", origin=str(path)) from None
    try:
        return text, root.model_validate(said)
    except ValidationError as error:
        raise invalid(error, text, str(path), root=root, examples=_EXAMPLES, named=NAMED) from None


def _query(name: str, section: QuerySection, text: str, origin: str, base: Path) -> Query:
    if section.text is not None:
        return Query.parse(section.text, f"{origin} [queries.{name}]")
    path = Path(resolve(section.file or "", base))
    if not is_file(path):
        raise JobError(
            f"there is no query file {path}",
            remedy="correct file =, which is relative to the folder of the network file",
            text=text,
            span=place_of(text, ("queries", name, "file")),
            origin=origin,
        )
    return Query.from_file(path)


_EXAMPLES = {
    "network": 'add: [network] with sites = ["north", "south"] and links = [["north", "south"]]',
    "sites": 'add: sites = ["north", "south"]',
    "links": 'add: links = [["north", "south"]]',
    "events": 'add: [events] with time = "ts", type = "kind", order = ["site", "number"] and columns',
    "columns": 'add: columns = {ts = "timestamp", kind = "text"}',
    "order": 'add: order = ["site", "number"], the columns that tell each event from all others',
    "type": 'add: type = "kind", the column of the event type',
    "time": 'add: time = "ts", the column of event time',
    "queries": 'add: [queries.NAME] with file = "name.cep"',
}


NAMED: Mapping[str, type[Section]] = {"types": TypeSection, "queries": QuerySection}
"""Sections whose keys are names of the user's -> what each of them is."""
