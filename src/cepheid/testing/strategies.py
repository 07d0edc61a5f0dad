"""Hypothesis: random queries, and streams in which they find matches.

    @given(examples(Features.ENGINE_1))
    def test(example): ...

Queries are made as text, so that a failing one can be read and run as it is printed. Everything is drawn from
small domains, the simplest first, so that matches happen and failing examples shrink.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from cepheid.errors import QueryError
from cepheid.events.schema import Schema
from cepheid.events.types import FLOAT, INT, TEXT, TIMESTAMP, decimal, list_of, set_of
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery, Catalog, Store
from cepheid.language.parser import parse
from cepheid.language.tree import And, AnyOf, Attribute, Event, Not, Or, Pattern, Repeat, Seq
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies_choices import Choices, Drawn
from cepheid.testing.strategies_features import Features
from cepheid.testing.strategies_functions import REGISTERED
from cepheid.testing.strategies_queries import query_text

__all__ = ["CATALOG", "SCHEMA", "Example", "Features", "examples", "queries", "queries_with_text", "streams"]

SECOND_US = 1_000_000

TYPES = ("A", "B", "C", "D")

SCHEMA = Schema(
    fields={
        "ts": TIMESTAMP,
        "kind": TEXT,
        "k": INT,
        "x": INT,
        "f": FLOAT,
        "d": decimal(6, 2),
        "s": TEXT,
        "l": list_of(INT),
    },
    time="ts",
    type="kind",
    types=TYPES,
)
"""The events of every example."""

STORES: Mapping[str, Mapping[object, object]] = {
    "levels": {1: {"top": 2, "known": frozenset({0, 1})}, 2: {"top": None}},
    "pairs": {(1, 1): 1, (1, 2): 0},
}
"""What these stores hold; keys are missing, fields too, and one is NULL."""

CATALOG = Catalog(
    stores={
        "levels": Store("levels", (INT,), {"top": INT, "known": set_of(INT)}, STORES["levels"]),
        "pairs": Store("pairs", (INT, INT), {"": INT}, STORES["pairs"]),
    },
    functions=REGISTERED,
)
"""The stores that queries with `Features.REMOTE` read, and the functions that some with `Features.FUNCTIONS` call."""


@dataclass(frozen=True)
class Example:
    """A query with a stream.

    Attributes:
        text: of the query.
        bound: the query, bound to `SCHEMA`.
        events: in the order of arrival, which need not be that of time.
        stores: what REMOTE reads.
    """

    text: str
    bound: BoundQuery
    events: tuple[OracleEvent, ...]
    stores: Mapping[str, Mapping[object, object]] = field(default_factory=lambda: STORES)

    def __repr__(self) -> str:
        rows = "\n".join(
            f"  {event.time / SECOND_US:g} {event.source}:{event.order} {event.type} "
            + " ".join(f"{name}={event.values[name]}" for name in DOMAINS)
            for event in self.events
        )
        return f"Example(\n{self.text}\n{rows}\n)"

    def _repr_pretty_(self, printer: RepresentationPrinter, cycle: bool) -> None:
        """How Hypothesis shows a failing example."""
        printer.text(repr(self))


# --- queries ----------------------------------------------------------------------------------------


@st.composite
def query_texts(draw: st.DrawFn, features: Features) -> str:
    """The text of a query over `SCHEMA`; most can be bound."""
    return query_text(Drawn(draw), features)


@st.composite
def queries_with_text(draw: st.DrawFn, features: Features = Features.ALL) -> tuple[str, BoundQuery]:
    """Queries that `SCHEMA` and `CATALOG` allow, with their text."""
    text = query_text(Drawn(draw), features)
    try:
        return text, bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
    except QueryError:
        reject()


def queries(features: Features = Features.ALL) -> st.SearchStrategy[BoundQuery]:
    """Queries that `SCHEMA` and `CATALOG` allow, of the parts of the language in ``features``."""
    return queries_with_text(features).map(lambda pair: pair[1])


# --- streams ----------------------------------------------------------------------------------------


def walks(choices: Choices, pattern: Pattern) -> Iterator[str]:
    """The event types of a sequence of events that has the shape of ``pattern``."""
    match pattern:
        case Event():
            yield choices.pick(pattern.types or TYPES)
        case Not():
            return
        case Or():
            yield from walks(choices, choices.pick(pattern.parts))
        case AnyOf():
            for part in choices.permuted(pattern.parts)[: pattern.count]:
                yield from walks(choices, part)
        case And():
            for part in choices.permuted(pattern.parts):
                yield from walks(choices, part)
        case Seq():
            for part in pattern.parts:
                yield from walks(choices, part)
        case Repeat():
            most = pattern.minimum + 2 if pattern.maximum is None else min(pattern.maximum, pattern.minimum + 2)
            for _ in range(choices.integer(pattern.minimum, most)):
                yield from walks(choices, pattern.part)


def stream(
    choices: Choices,
    bound: BoundQuery,
    features: Features = Features.ALL,
    n_most: int = 12,
    shuffled: bool = False,
) -> tuple[OracleEvent, ...]:
    """Events for a query over `SCHEMA`: the shape of its pattern once or twice, and others between.

    Args:
        choices: what decides.
        bound: the query.
        features: NULLS, NANS and SOURCES count here.
        n_most: events at most.
        shuffled: they arrive in any order, not in that of time.
    """
    types: list[str] = []
    for _ in range(choices.integer(1, 2)):
        for event_type in walks(choices, bound.pattern):
            if choices.integer(0, 5) == 5:
                types.append(choices.pick(TYPES))
            types.append(event_type)
    read = _attributes(bound)
    time = 0
    rows: list[tuple[int, str, dict[str, object]]] = []
    n_usual = choices.pick((4, 4, 1))
    for event_type in types[:n_most]:
        time += SECOND_US * choices.pick((1, 0, 1, 1, 2, 3))
        rows.append((time, event_type, {"ts": time, "kind": event_type, **_values(choices, features, read, n_usual)}))
    arrived = choices.permuted(rows) if shuffled else rows
    sources = ("left", "right") if Features.SOURCES in features else ("events",)
    return tuple(
        OracleEvent(at, (number,), choices.pick(sources), event_type, values)
        for number, (at, event_type, values) in enumerate(arrived)
    )


@st.composite
def streams(
    draw: st.DrawFn,
    bound: BoundQuery,
    features: Features = Features.ALL,
    n_most: int = 12,
    shuffled: bool = False,
) -> tuple[OracleEvent, ...]:
    """See `stream`."""
    return stream(Drawn(draw), bound, features, n_most, shuffled)


def _attributes(bound: BoundQuery) -> set[str]:
    """The attributes that the query reads."""
    return {node.path[0] for node in bound.types if isinstance(node, Attribute)}


DOMAINS: Mapping[str, tuple[object, ...]] = {
    "k": (1, 1, 1, 2),
    "x": (1, 1, 2, 0, 3),
    "f": (1.5, 0.0, 2.0, 1.0, -0.0, -1.5),
    "d": (Decimal("1.50"), Decimal("0.25"), Decimal("2.00"), Decimal("-1.00")),
    "s": ("a", "b", "ab", "", "ä"),
    "l": ((1,), (), (0, 2), (1, None)),
}
"""Attribute -> its values, the commonest first."""


def _values(choices: Choices, features: Features, read: set[str], n_usual: int) -> dict[str, object]:
    """The attributes of an event; those that the query does not read are always the same.

    Args:
        choices: what decides.
        features: NULLS and NANS count here.
        read: the attributes that the query reads.
        n_usual: how much more often a usual value comes than a special one.
    """
    values: dict[str, object] = {name: domain[0] for name, domain in DOMAINS.items()}
    for name, domain in DOMAINS.items():
        if name in read:
            options = domain * n_usual
            if Features.NANS in features and name == "f":
                options += (math.nan, math.nan, math.inf)
            if Features.NULLS in features:
                options += (None,)
            values[name] = choices.pick(options)
    return values


@st.composite
def examples(draw: st.DrawFn, features: Features = Features.ALL, n_most: int = 12, shuffled: bool = False) -> Example:
    """A query and a stream for it."""
    text, bound = draw(queries_with_text(features))
    events = draw(streams(bound, features, n_most, shuffled))
    return Example(text, bound, events)
