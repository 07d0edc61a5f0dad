"""What a site of a network does, as data: shipped to the worker that does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cepheid.events.schema import Schema
from cepheid.language.bound import BoundQuery


@dataclass(frozen=True)
class Topics:
    """Where a site reads and writes.

    Attributes:
        source: events as they arise at the site; None where none do.
        from_links: neighbour -> what it sends here.
        to_links: neighbour -> what is sent there.
        matches: query -> its matches.
        progress: how far the queries evaluated at sites have come.
        rejected: what could not be read, or came too late.
    """

    source: str | None
    from_links: Mapping[str, str]
    to_links: Mapping[str, str]
    matches: Mapping[str, str]
    progress: str
    rejected: str

    @property
    def read(self) -> tuple[str, ...]:
        """All that are read."""
        return (*(() if self.source is None else (self.source,)), *self.from_links.values())


@dataclass(frozen=True)
class Source:
    """Events of a type that arise at the site.

    Attributes:
        vertex: its number in the plan.
        type: of the events.
        admits: queries of one event, one of which finds each event that is of use to a query of the workload.
    """

    vertex: int
    type: str
    admits: tuple[BoundQuery, ...]


@dataclass(frozen=True)
class Evaluation:
    """An engine that joins.

    Attributes:
        name: of the query whose matches it tells; "" for a projection, whose matches are only sent on.
        bound: what it evaluates.
        parts: name of each input -> the variables that its rows bind.
        types: variable -> its type.
        sends: its matches are the output of the vertex.
    """

    name: str
    bound: BoundQuery
    parts: Mapping[str, tuple[str, ...]]
    types: Mapping[str, str]
    sends: bool


@dataclass(frozen=True)
class Stage:
    """A projection that is evaluated at the site.

    Attributes:
        vertex: its number in the plan.
        before: the vertices whose output it joins.
        feeds: such a vertex -> the type of single events, or "" for whole matches -> the part that they are for.
        evaluations: its engines: one for each query that it is, or one for what it sends.
        selector: the types whose events it sends; None for whole matches.
        longest_us: the longest time from the first event of a match to the last.
    """

    vertex: int
    before: tuple[int, ...]
    feeds: Mapping[int, Mapping[str, str]]
    evaluations: tuple[Evaluation, ...]
    selector: tuple[str, ...] | None
    longest_us: int


@dataclass(frozen=True)
class SiteProgram:
    """What a site does.

    Attributes:
        site: its name.
        columns: of events, as a pyarrow Schema.
        schema: of events.
        sources: the events that arise here.
        stages: what is evaluated here, inputs before what is made of them.
        ways: vertex -> the neighbours to which its output goes on from here.
        topics: where the site reads and writes.
        delay_us: how much later than newer ones of this site an event may come to it.
        plan: tells this plan from others; a state is of use to one of them.
    """

    site: str
    columns: Any
    schema: Schema
    sources: tuple[Source, ...]
    stages: tuple[Stage, ...]
    ways: Mapping[int, tuple[str, ...]]
    topics: Topics
    delay_us: int
    plan: str
