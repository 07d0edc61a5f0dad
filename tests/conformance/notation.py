"""A small text form of events and matches, for cases and for the examples in the documentation.

An event is ``Type@time``, with values in brackets: ``B@3(x=2.5, k='p')``. Times are in seconds. A name before it
(``b1:B@3``) tells it from another of the same type and time; ``~left:4`` after it is its source and order key, which
are otherwise ``events`` and its number in the list. ``~10`` alone is a watermark between the events.

A match is a line of ``variable=event`` pairs, ``b=[B@2, B@3]`` for several events of one variable. After a bar stands
what is not the usual: ``at 11`` (decided when the watermark reaches 11), ``at end`` (at the end of the input),
``with 5`` (decided when a later event, of that time, is read), ``in 0 10`` (bounds of the sliding window). Without
``at`` or ``with``, the match's own last event decides it. A composite event (FROM) is written as its match, in
brackets: ``p=(a=A@1 b=B@2)``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cepheid.events.schema import Schema
from cepheid.events.types import BOOL, FLOAT, INT, TEXT, DataType
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery, Catalog
from cepheid.language.parser import parse
from cepheid.testing.oracle import OracleEvent, OracleMatch, Watermark, match
from cepheid.testing.oracle_composites import composite_events

SECOND_US = 1_000_000

_EVENT = re.compile(
    r"(?:(?P<name>\w+):)?(?P<type>\w+)@(?P<time>-?[\d.]+)(?:\((?P<values>[^()]*)\))?"
    r"(?:~(?P<source>\w+):(?P<order>\d+))?$"
)
_ITEM = re.compile(r"(?:[^\s(]|\([^()]*\))+")


@dataclass(frozen=True)
class Stream:
    """Events in their order of arrival.

    Attributes:
        items: events, and watermarks between them.
        names: the name of each event.
    """

    items: tuple[OracleEvent | Watermark, ...]
    names: Mapping[OracleEvent, str]

    @property
    def events(self) -> tuple[OracleEvent, ...]:
        return tuple(item for item in self.items if isinstance(item, OracleEvent))


def stream(text: str) -> Stream:
    """The events that ``text`` lists."""
    items: list[OracleEvent | Watermark] = []
    names: dict[OracleEvent, str] = {}
    used: set[str] = set()
    for number, item in enumerate(_ITEM.findall(text)):
        if item.startswith("~"):
            items.append(Watermark(microseconds(item[1:])))
            continue
        found = _EVENT.match(item)
        if found is None:
            raise ValueError(f"not an event: {item!r}")
        values: dict[str, object] = {"kind": found["type"], "ts": _seconds(found["time"])}
        for pair in filter(None, re.split(r",\s*", found["values"] or "")):
            attribute, value = pair.split("=", 1)
            values[attribute.strip()] = literal(value)
        order = (int(found["order"]),) if found["order"] else (number,)
        event = OracleEvent(microseconds(found["time"]), order, found["source"] or "events", found["type"], values)
        name = found["name"] or f"{found['type']}@{found['time']}"
        if name in used:
            raise ValueError(f"two events are called {name}: name one of them, as in second:{name}")
        used.add(name)
        items.append(event)
        names[event] = name
    return Stream(tuple(items), names)


def microseconds(seconds: str) -> int:
    return round(float(seconds) * SECOND_US)


def _seconds(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def literal(text: str) -> object:
    word = text.strip()
    if word in ("nan", "inf"):
        return float(word)
    return ast.literal_eval({"null": "None", "true": "True", "false": "False"}.get(word, word))


def inferred(events: Sequence[OracleEvent]) -> dict[str, DataType]:
    """The attributes of the events and their types, by their values."""
    fields: dict[str, DataType] = {}
    for event in events:
        for attribute, value in event.values.items():
            match value:
                case None:
                    continue
                case bool():
                    fields[attribute] = BOOL
                case int() if fields.get(attribute) != FLOAT:
                    fields[attribute] = INT
                case int() | float():
                    fields[attribute] = FLOAT
                case _:
                    fields[attribute] = TEXT
    return fields


@dataclass(frozen=True)
class Case:
    """A query, an input, and what must come out.

    Attributes:
        name: its name.
        query: the text of the query. A bare number in a window is in seconds.
        events: in the notation of this module.
        matches: one line for each match, in their order.
        fields: types of attributes that the events do not show, or show wrongly.
        types: the event types that can occur, where the events do not show all.
        watermark: seconds: where the watermark stands at last; None at the end of a bounded input.
        stores: of remote data.
        catalog: the declared functions and stores.
        timed_out: one line for each run that timed out; None where the case does not say.
        late, rejected: names of events.
        returned: values of RETURN, one mapping for each match; None where the case does not say.
    """

    name: str
    query: str
    events: str
    matches: tuple[str, ...] = ()
    fields: Mapping[str, DataType] = field(default_factory=dict)
    watermark: float | None = None
    stores: Mapping[str, Mapping[object, object]] = field(default_factory=dict)
    catalog: Catalog = field(default_factory=Catalog)
    timed_out: tuple[str, ...] | None = None
    late: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    returned: tuple[Mapping[str, object], ...] | None = None

    @property
    def watermark_us(self) -> int | None:
        return None if self.watermark is None else round(self.watermark * SECOND_US)

    @property
    def known(self) -> Catalog:
        """The catalog, with what the stores hold as their sources."""
        sources = {n: replace(s, source=self.stores.get(n)) for n, s in self.catalog.stores.items()}
        return replace(self.catalog, stores=sources)

    def bound(self) -> BoundQuery:
        """The query, bound to a schema of the attributes that the events have."""
        fields = {"kind": TEXT, "ts": INT, "k": INT, "x": INT, **inferred(stream(self.events).events), **self.fields}
        schema = Schema(fields=fields, time="ts", time_unit="s", type="kind")
        return bind(parse(self.query), schema, catalog=self.known, text=self.query)


def all_names(case: Case) -> dict[OracleEvent, str]:
    """The name of each event of a case; composite ones are called after the matches that they are."""
    names = dict(stream(case.events).names)

    def add(bound: BoundQuery) -> None:
        if bound.inner is None:
            return
        add(bound.inner)
        for found in match(bound.inner, stream(case.events).items, stores=case.stores, timed_out=False).matches:
            (event,) = composite_events(bound, [found], None, case.stores)
            names[event] = f"({written(found, names, bound.inner).partition(' | ')[0]})"

    add(case.bound())
    return names


def written(found: OracleMatch, names: Mapping[OracleEvent, str], bound: BoundQuery) -> str:
    """A match as a line of the notation, variables in the order of the text."""
    order = list(bound.variables)
    elements: dict[str, list[str]] = {}
    for variable, event in found.bindings:
        elements.setdefault(variable, []).append(names[event])
    pairs = []
    for variable in sorted(elements, key=order.index):
        events = elements[variable]
        value = events[0] if len(events) == 1 else f"[{', '.join(events)}]"
        pairs.append(f"{variable}={value}")
    line = " ".join(pairs)
    notes = []
    last = found.bindings[-1][1]
    if found.decision_time is None:
        notes.append("at end")
    elif not found.decided_by_event:
        notes.append(f"at {_number(found.decision_time)}")
    elif found.decision_time != last.time:
        notes.append(f"with {_number(found.decision_time)}")
    if found.window is not None:
        in_events = bound.window.size_events is not None
        bounds = [str(bound_at) if in_events else _number(bound_at) for bound_at in found.window]
        notes.append(f"in {' '.join(bounds)}")
    return f"{line} | {', '.join(notes)}" if notes else line


def _number(microseconds: int) -> str:
    return f"{microseconds / SECOND_US:.6f}".rstrip("0").rstrip(".")


def one_line(text: str) -> str:
    """A line of the notation with blanks as `written` sets them, and lists of one event without brackets."""
    line = re.sub(r"\s+", " ", text.strip())
    return re.sub(r"\[([^\],]*)\]", r"\1", line)
