"""Hypothesis: random queries, and streams in which they find matches.

    @given(examples(Features.ENGINE_1))
    def test(example): ...

Queries are made as text, so that a failing one can be read and run as it is printed. Everything is drawn from
small domains, the simplest first, so that matches happen and failing examples shrink.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Mapping, Sequence
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
from cepheid.testing.strategies_conditions import Name, condition, pick
from cepheid.testing.strategies_features import Features
from cepheid.testing.strategies_functions import REGISTERED

__all__ = ["CATALOG", "SCHEMA", "Example", "Features", "examples", "queries", "queries_with_text", "streams"]

SECOND_US = 1_000_000

MOST_NAMES = 6
"""Elements after which a pattern gets no further group or loop."""

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

CATALOG = Catalog(
    stores={
        "levels": Store("levels", (INT,), {"top": INT, "known": set_of(INT)}),
        "pairs": Store("pairs", (INT, INT), {"": INT}),
    },
    functions=REGISTERED,
)
"""The stores that queries with `Features.REMOTE` read, and the functions that some with `Features.FUNCTIONS` call."""

STORES: Mapping[str, Mapping[object, object]] = {
    "levels": {1: {"top": 2, "known": frozenset({0, 1})}, 2: {"top": None}},
    "pairs": {(1, 1): 1, (1, 2): 0},
}
"""What these stores hold; keys are missing, fields too, and one is NULL."""


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


@dataclass
class Draft:
    """A pattern that grows.

    Attributes:
        draw: of the strategy.
        features: what may be used.
        policy: of the query.
        names: of the elements so far.
        repeated: how many loops of groups are around.
        negated: a NOT is around.
    """

    draw: st.DrawFn
    features: Features
    policy: str
    names: list[Name] = field(default_factory=list)
    repeated: int = 0
    negated: bool = False

    def has(self, feature: Features) -> bool:
        """True where ``feature`` may be used."""
        return feature in self.features

    def one_of(self, options: Sequence[str]) -> str:
        """One of ``options``."""
        return pick(self.draw, options)

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def sequence(self, n_most: int, top: bool = False) -> str:
        """``SEQ(...)`` of one to ``n_most`` parts, and NOTs where they may stand."""
        parts: list[str] = []
        n_parts = self.draw(st.integers(2 if top and self.chance(2) else 1, n_most))
        for index in range(n_parts):
            at_end = index == 0
            allowed = self.has(Features.NOT_ENDS if at_end else Features.NOT_MIDDLE)
            if top and allowed and self.chance(8 if at_end else 4):
                parts.append(self.negation())
            parts.append(self.part(first=index == 0, deep=not top))
        if top and self.has(Features.NOT_ENDS) and self.chance(5):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else f"SEQ({', '.join(parts)})"

    def negation(self) -> str:
        """``NOT ...``."""
        self.negated = True
        if self.has(Features.NOT_GROUP) and self.chance(3):
            inner = self.one_of(["SEQ({}, {})", "AND({}, {})", "OR({}, {})"])
            text = f"NOT {inner.format(self.element(), self.element())}"
        elif self.has(Features.NOT_GROUP) and self.chance(5):
            text = f"NOT {self.element(quantifier=self.one_of(['+', '{2}', '{2,3}']))}"
        else:
            text = f"NOT {self.element()}"
        self.negated = False
        return text

    def part(self, first: bool, deep: bool) -> str:
        """An element, with a quantifier or not, or a group."""
        kinds = ["element"] * (6 if deep else 4)
        if self.has(Features.KLEENE):
            kinds += ["kleene"] * 3
        for feature, kind in ((Features.AND, "AND"), (Features.OR, "OR"), (Features.ANY_OF, "ANY")):
            if self.has(feature):
                kinds.append(kind)
        if self.has(Features.GROUPS) and not self.repeated:
            kinds += ["group", "group"]
        # A long pattern is enumerated for ever, and matches nothing.
        kind = self.one_of(kinds) if len(self.names) < MOST_NAMES else "element"
        match kind:
            case "element":
                return self.element(self.prefix(first))
            case "kleene":
                return self.kleene(self.prefix(first))
            case "group":
                return self.group()
            case "ANY":
                parts = [self.inner() for _ in range(self.draw(st.integers(2, 3)))]
                return f"ANY({self.draw(st.integers(1, 2))}, {', '.join(parts)})"
            case _:
                return f"{kind}({self.inner()}, {self.inner()})"

    def inner(self) -> str:
        """A part of AND, OR or ANY."""
        kind = self.one_of(["element", "element", "element", "kleene", "sequence"])
        if kind == "kleene" and self.has(Features.KLEENE):
            return self.kleene("")
        if kind == "sequence" and self.has(Features.GROUPS):
            return f"SEQ({self.element()}, {self.part(first=False, deep=True)})"
        return self.element()

    def group(self) -> str:
        """A group under a quantifier."""
        quantifier = self.quantifier(["+", "?", "{1,2}", "*", "{2}"], "")
        self.repeated += quantifier != "?"
        inner = self.sequence(2)
        if not inner.startswith("SEQ"):
            inner = f"({inner})"
        self.repeated -= quantifier != "?"
        return f"({inner}){quantifier}"

    def prefix(self, first: bool) -> str:
        """A policy for one edge."""
        if first or not self.has(Features.PREFIXES) or not self.chance(4):
            return ""
        return self.one_of(["any ", "strict ", "next "])

    def element(self, prefix: str = "", quantifier: str = "") -> str:
        """One event."""
        name = string.ascii_lowercase[len(self.names)]
        loop = bool(self.repeated) or quantifier not in ("", "?")
        self.names.append(Name(name, loop, self.negated))
        types = self.one_of(["A", "B", "C", "A", "B", "C", "(A | B)", "*"])
        return f"{prefix}{types}{quantifier} {name}"

    def kleene(self, prefix: str) -> str:
        """A variable with a quantifier."""
        quantifier = self.quantifier(["+", "*", "?", "{1,2}", "{2}", "{0,2}", "{2,}"], prefix)
        text = self.element(prefix, quantifier)
        if self.has(Features.UNTIL) and quantifier[0] in "+*{" and quantifier != "{2}" and self.chance(3):
            name = self.names[-1].name
            text += f" UNTIL {name}.{self.one_of(['x = 2', 's = ' + chr(39) + 'b' + chr(39), 'x > count(b)'])}"
            text = text.replace("count(b)", f"count({name})")
        return text

    def quantifier(self, options: Sequence[str], prefix: str) -> str:
        """A quantifier, reluctant where it may be."""
        quantifier = self.one_of(options)
        policy = prefix.strip() or self.policy
        return f"{quantifier}?" if policy != "any" and self.chance(4) else quantifier


@st.composite
def query_texts(draw: st.DrawFn, features: Features) -> str:
    """The text of a query over `SCHEMA`; most can be bound."""
    policies = [
        policy
        for policy, feature in (("next", Features.NEXT), ("any", Features.ANY), ("strict", Features.STRICT))
        if feature in features
    ] or ["next"]
    draft = Draft(draw, features, draw(st.sampled_from(policies)))
    pattern = draft.sequence(3, top=True)
    clauses = [f"PATTERN {pattern}"]
    where = ["SAME[k]"] if Features.SAME in features and draft.chance(4) else []
    where += [condition(draw, draft.names, features) for _ in range(draw(st.integers(0, 3)))]
    if where:
        clauses.append(f"WHERE {' AND '.join(where)}")
    clauses += _windows(draft)
    clauses.append(f"POLICY {draft.policy}")
    if Features.SKIP in features and draft.chance(3):
        positive = [name.name for name in draft.names if not name.negated]
        options = ["PAST LAST", "TO NEXT", f"TO FIRST {positive[-1]}", f"TO LAST {positive[-1]}"]
        clauses.append(f"AFTER MATCH SKIP {draft.one_of(options)}")
    if Features.RETURN in features and draft.chance(2):
        columns = [
            draft.one_of([f"{name.name}.x", f"count({name.name})", f"first({name.name}).s"])
            for name in draft.names
            if not name.negated
        ]
        listed = ", ".join(f"{column} AS r{index}" for index, column in enumerate(columns))
        clauses.append(f"RETURN {listed}")
    return "\n".join(clauses)


def _windows(draft: Draft) -> list[str]:
    clauses: list[str] = []
    n_least = len([name for name in draft.names if not name.negated])
    if draft.has(Features.SLIDING) and draft.chance(5):
        closed = draft.one_of(["", " CLOSED"])
        one = draft.one_of(["", "", " ONE MATCH PER WINDOW"])
        if draft.has(Features.EVENTS) and draft.chance(3):
            size = draft.draw(st.integers(n_least + 1, n_least + 4))
            return [f"WINDOW {size} EVENTS SLIDE {draft.draw(st.integers(1, 3))} EVENTS{closed}{one}"]
        size = draft.draw(st.integers(4, 8))
        return [f"WINDOW {size} s SLIDE {draft.draw(st.integers(2, size))} s{closed}{one}"]
    if draft.has(Features.EVENTS) and draft.chance(6):
        clauses.append(f"WITHIN {draft.draw(st.integers(n_least, n_least + 4))} EVENTS")
    elif draft.has(Features.WITHIN) and not draft.chance(6):
        exclusive = " EXCLUSIVE" if draft.has(Features.EXCLUSIVE) and draft.chance(4) else ""
        clauses.append(f"WITHIN {draft.draw(st.integers(3, 8))} s{exclusive}")
    if draft.has(Features.EACH) and draft.chance(5):
        unit = "EVENTS" if draft.has(Features.EVENTS) and draft.chance(3) else "s"
        clauses.append(f"BETWEEN EACH {draft.draw(st.integers(2, 4))} {unit}")
    return clauses


@st.composite
def queries_with_text(draw: st.DrawFn, features: Features = Features.ALL) -> tuple[str, BoundQuery]:
    """Queries that `SCHEMA` and `CATALOG` allow, with their text."""
    text = draw(query_texts(features))
    try:
        return text, bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
    except QueryError:
        reject()


def queries(features: Features = Features.ALL) -> st.SearchStrategy[BoundQuery]:
    """Queries that `SCHEMA` and `CATALOG` allow, of the parts of the language in ``features``."""
    return queries_with_text(features).map(lambda pair: pair[1])


# --- streams ----------------------------------------------------------------------------------------


def walks(draw: st.DrawFn, pattern: Pattern) -> Iterator[str]:
    """The event types of a sequence of events that has the shape of ``pattern``."""
    match pattern:
        case Event():
            yield draw(st.sampled_from(pattern.types or TYPES))
        case Not():
            return
        case Or():
            yield from walks(draw, draw(st.sampled_from(pattern.parts)))
        case AnyOf():
            for part in draw(st.permutations(pattern.parts))[: pattern.count]:
                yield from walks(draw, part)
        case And():
            for part in draw(st.permutations(pattern.parts)):
                yield from walks(draw, part)
        case Seq():
            for part in pattern.parts:
                yield from walks(draw, part)
        case Repeat():
            most = pattern.minimum + 2 if pattern.maximum is None else min(pattern.maximum, pattern.minimum + 2)
            for _ in range(draw(st.integers(pattern.minimum, most))):
                yield from walks(draw, pattern.part)


@st.composite
def streams(
    draw: st.DrawFn,
    bound: BoundQuery,
    features: Features = Features.ALL,
    n_most: int = 12,
    shuffled: bool = False,
) -> tuple[OracleEvent, ...]:
    """Events for a query over `SCHEMA`: the shape of its pattern once or twice, and others between.

    Args:
        draw: of Hypothesis.
        bound: the query.
        features: NULLS, NANS and SOURCES count here.
        n_most: events at most.
        shuffled: they arrive in any order, not in that of time.
    """
    types: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        for event_type in walks(draw, bound.pattern):
            if draw(st.integers(0, 5)) == 5:
                types.append(pick(draw, TYPES))
            types.append(event_type)
    read = _attributes(bound)
    time = 0
    rows: list[tuple[int, str, dict[str, object]]] = []
    for event_type in types[:n_most]:
        time += SECOND_US * pick(draw, (1, 0, 1, 1, 2, 3))
        rows.append((time, event_type, {"ts": time, "kind": event_type, **_values(draw, features, read)}))
    if shuffled:
        rows = draw(st.permutations(rows))
    sources = ("left", "right") if Features.SOURCES in features else ("events",)
    return tuple(
        OracleEvent(at, (number,), pick(draw, sources), event_type, values)
        for number, (at, event_type, values) in enumerate(rows)
    )


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


def _values(draw: st.DrawFn, features: Features, read: set[str]) -> dict[str, object]:
    """The attributes of an event; those that the query does not read are always the same."""
    values: dict[str, object] = {name: domain[0] for name, domain in DOMAINS.items()}
    for name, domain in DOMAINS.items():
        if name in read:
            options = domain * 4
            if Features.NANS in features and name == "f":
                options += (math.nan, math.nan, math.inf)
            if Features.NULLS in features:
                options += (None,)
            values[name] = pick(draw, options)
    return values


@st.composite
def examples(draw: st.DrawFn, features: Features = Features.ALL, n_most: int = 12, shuffled: bool = False) -> Example:
    """A query and a stream for it."""
    text, bound = draw(queries_with_text(features))
    events = draw(streams(bound, features, n_most, shuffled))
    return Example(text, bound, events)
