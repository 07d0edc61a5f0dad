"""What a network file (``NETWORK.toml``) may say: sites, links, events, queries, and how often things happen."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from cepheid.connectors.column_types import Form, column_type
from cepheid.job.model import QuerySection
from cepheid.job.section import Length, Name, Names, Section, TimeUnit, TypeName, as_list

MOST_IN_NAME = 60


def _in_topics(value: str) -> str:
    if len(value) > MOST_IN_NAME or not re.fullmatch(r"[A-Za-z0-9_]+(-[A-Za-z0-9_]+)*", value):
        raise ValueError(
            f"{value!r} cannot be part of the names of topics and files; use letters, digits, _ and single - between "
            f"them, {MOST_IN_NAME} at most"
        )
    return value


def _two(value: list[str]) -> list[str]:
    if len(value) != 2:
        raise ValueError(f'a link joins two sites, and here are {len(value)}; write links = [["north", "south"]]')
    return value


def _rate(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | dict | None):
        raise ValueError(
            f"{value!r} is no rate; write rate = 10.0, events of a source in one window, or rate = {{north = 10.0}}"
        )
    return value


def _two_types(value: list[str]) -> list[str]:
    if len(set(value)) != 2 or len(value) != 2:
        raise ValueError('a selectivity is that of two types; write types = ["A", "B"]')
    return value


def _some(value: dict[str, Any]) -> dict[str, Any]:
    if not value:
        raise ValueError("there is no query; add [queries.NAME] with text = or file =")
    return value


Site: TypeAlias = Annotated[str, AfterValidator(_in_topics)]
"""The name of a site, or of the network; it is part of names of topics and files."""

QueryName: TypeAlias = Annotated[str, AfterValidator(_in_topics)]
"""The name of a query; its matches have a topic."""

Part: TypeAlias = Annotated[float, Field(ge=0, le=1)]


class NetworkSection(Section):
    """``[network]``: the sites and how they are linked.

    Attributes:
        name: begins the names of all topics.
        sites: their names.
        links: pairs of sites; a link carries messages both ways.
        statistics: files with further ``[types]``, ``[[selectivities]]`` and ``[[in_matches]]``, as ``cepheid network
            stats`` writes them; what the network file says goes before.
    """

    name: Site = "network"
    sites: Annotated[list[Site], Field(min_length=1)]
    links: list[Annotated[list[Site], AfterValidator(_two)]]
    statistics: Names | None = None


class EventsSection(Section):
    """``[events]``: what an event is, at every site.

    Attributes:
        time: the column of event time.
        time_unit: what its numbers count since 1970; ISO 8601 texts where it is not given.
        type: the column of the event type.
        order: the columns that tell each event from all others, and order events of one time: its identity travels with
            an event.
        site: the column with the site at which an event arose, in tables of all events.
        columns: name -> type.
    """

    time: Name
    time_unit: TimeUnit | None = None
    type: Name
    order: Names
    site: Name = "site"
    columns: dict[Name, TypeName]

    @model_validator(mode="after")
    def _roles(self) -> EventsSection:
        if self.time == self.type:
            raise ValueError(f"time and type are one column, {self.time}; name the column of each")
        if len(set(self.order)) < len(self.order):
            raise ValueError(f"order names a column twice ({', '.join(self.order)}); name each once")
        kind = self.columns.get(self.type)
        if kind is not None and column_type(kind).form is not Form.TEXT:
            raise ValueError(f"the column of the event type, {self.type}, is of type {kind}; it is to be text")
        return self


class TypeSection(Section):
    """``[types.NAME]``: where events of a type arise, and how often.

    Attributes:
        sources: the sites at which they do.
        rate: events at each source in one window, or for each source its own. Planning takes their mean, as the
            paper does; a plan stays correct whatever the rates are.
    """

    sources: list[Site] | None = None
    rate: Annotated[float | dict[Site, float] | None, BeforeValidator(_rate)] = None


class SelectivitySection(Section):
    """``[[selectivities]]``: the part of the pairs of events of two types that fit together in the queries."""

    types: Annotated[list[Name], AfterValidator(_two_types)]
    value: Part


class InMatchesSection(Section):
    """``[[in_matches]]``: the part of the events of a type that are in some match of a projection.

    Attributes:
        projection: its pattern, as the plan prints it: ``SEQ(A, C)``.
        type: of the events.
        value: the part.
    """

    projection: Name
    type: Name
    value: Part


class PlanSection(Section):
    """``[plan]``: how a plan is sought.

    Attributes:
        xi: the latency of one partial match, in hops.
        max_latency: no plan may take longer; that of all events at one site where it is not given.
        exclude_conflicts: never split by a type that a query before sends as events.
        share: queries use each other's projections.
    """

    xi: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    max_latency: Annotated[float, Field(ge=0)] | None = None
    exclude_conflicts: bool = False
    share: bool = True


class DeploySection(Section):
    """``[deploy]``: how the jobs of the sites run.

    Attributes:
        servers: of the broker: ``host:port``, several with commas between.
        delay: how much later than newer ones of its site an event may come to its site.
        trigger: how often a site looks at what has come.
        spark: settings of the sites' Spark sessions.
    """

    servers: Name = "localhost:9092"
    delay: Length = "0 s"
    trigger: Length = "1 s"
    spark: dict[Name, str] = {}


class StatisticsFile(Section):
    """What ``cepheid network stats`` writes."""

    types: dict[Name, TypeSection] = {}
    selectivities: list[SelectivitySection] = []
    in_matches: list[InMatchesSection] = []


class NetworkFile(StatisticsFile):
    """A network file; its keys are its attributes.

    Attributes:
        network: sites and links.
        events: what an event is.
        types: where events of each type arise, and how often.
        queries: by name.
        parameters: of the queries, by name.
        selectivities, in_matches: how much fits together; 1, resp. equal shares of it, where nothing is said.
        plan: how a plan is sought.
        deploy: how the jobs of the sites run.
    """

    network: NetworkSection
    events: EventsSection
    queries: Annotated[dict[QueryName, QuerySection], AfterValidator(_some)]
    parameters: dict[Name, object] = {}
    plan: PlanSection = PlanSection()
    deploy: DeploySection = DeploySection()

    @model_validator(mode="before")
    @classmethod
    def _tables(cls, said: object) -> object:
        if isinstance(said, dict):
            for key in ("selectivities", "in_matches"):
                if key in said:
                    said[key] = as_list(said[key])
        return said
