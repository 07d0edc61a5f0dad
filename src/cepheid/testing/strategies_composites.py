"""Hypothesis: random queries over the matches of random queries (``FROM``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import reject
from hypothesis import strategies as st

from cepheid.errors import QueryError
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.language.tree import Query
from cepheid.testing.oracle import match
from cepheid.testing.strategies import CATALOG, SCHEMA, STORES, Example, query_texts, streams
from cepheid.testing.strategies_choices import Drawn
from cepheid.testing.strategies_features import Features

INNER = "A"
"""The name of the inner query, and so the type of the composite events."""

MOST_COMPOSITES = 9
"""Composite events at most: a loop under `any` takes every subset of them."""

_TYPES = re.compile(r"\(A \| B\)|\b[ABC]\b")


@dataclass(frozen=True)
class Written:
    """A query with its text."""

    tree: Query
    text: str
    origin: str | None = None


def _bound(text: str, under: Sequence[str]) -> BoundQuery:
    """A query over the matches of the one under it, which is called `INNER`, and so on."""
    names = [INNER] + [f"{INNER}{depth}" for depth in range(1, len(under))]
    written = {}
    for depth, (name, inner) in enumerate(zip(names, under, strict=True)):
        source = f"\nFROM {names[depth + 1]}" if depth + 1 < len(under) else ""
        written[name] = Written(parse(inner + source), inner + source)
    text = f"{text}\nFROM {INNER}"
    return bind(parse(text), SCHEMA, catalog=replace(CATALOG, queries=written), text=text)


@st.composite
def composites(draw: st.DrawFn, features: Features = Features.ALL, n_most: int = 12, shuffled: bool = False) -> Example:
    """A query over the matches of another, and a stream for the inner one.

    The inner query gives the attributes of `SCHEMA`, or its default output.
    """
    inner_text = draw(query_texts(features & ~Features.RETURN))
    outer_text = _TYPES.sub(INNER, draw(query_texts(features)))
    try:
        inner = bind(parse(inner_text), SCHEMA, catalog=CATALOG, text=inner_text)
        positive = [v for v in inner.variables.values() if not v.negated]
        one = Drawn(draw).pick(positive)
        read = f"last({one.name})" if one.loop else one.name
        other = Drawn(draw).pick(positive)
        count = f"count({other.name})"
        columns = [f"{read}.{name} AS {name}" for name in ("ts", "kind", "k", "f", "d", "s")]
        columns.append(f"{count if draw(st.booleans()) else f'{read}.x'} AS x")
        inner_text = f"{inner_text}\nRETURN {', '.join(columns)}"
        bound = _bound(outer_text, [inner_text])
    except QueryError:
        reject()
    events = draw(streams(inner, features, n_most, shuffled))
    while len(match(inner, events, stores=STORES, timed_out=False).matches) > MOST_COMPOSITES:
        events = events[:-1]
    return Example(f"{inner_text}\n--\n{outer_text}", bound, events)
