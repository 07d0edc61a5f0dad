"""Composite events: what the matches of a query are as the events of another (``FROM``)."""

from __future__ import annotations

import re
from dataclasses import replace

from cepheid.errors import QueryError, Span
from cepheid.events.schema import Schema
from cepheid.events.types import INT, TEXT, TIMESTAMP, DataType, list_of, struct
from cepheid.language.bound import BoundQuery, Catalog
from cepheid.language.faults import listing, place_of, suggestion
from cepheid.language.printer import print_expression
from cepheid.language.tree import Attribute, Query

TIME = "last_time"
"""The time of a composite event: that of the last event of its match."""


def inner_written(query: Query, catalog: Catalog, above: tuple[str, ...], text: str = "") -> str:
    """The name of the query whose matches are the events of ``query``, which has FROM.

    Args:
        query: the query.
        catalog: the queries that it may name.
        above: the names of the queries whose events, in turn, come from this one.
        text: that of the query, in which errors show FROM.

    Raises:
        QueryError: there is no query of that name, or its events would come from its own matches.
    """
    name = query.source
    assert name is not None
    if name not in catalog.queries:
        known = listing(catalog.queries)
        otherwise = (
            f"the queries are: {known}"
            if catalog.queries
            else (f'give it, as in queries={{"{name}": ...}}, or in a job file as [queries.{name}]')
        )
        raise QueryError(
            f"there is no query {name}",
            remedy=suggestion(name, catalog.queries, otherwise),
            span=place_of_source(query, text),
        )
    if name in above:
        raise QueryError(
            f"the events of the query {name} would be its own matches",
            remedy=f"take FROM {name} out of one of these: {listing(above)}",
            span=place_of_source(query, text),
        )
    return name


def place_of_source(query: Query, text: str) -> Span | None:
    """Where FROM stands in the text of a query that has it, as far as a look at the text can tell; else the query."""
    found = re.findall(rf"\bFROM\s+[\"`]?{re.escape(query.source or '')}\b", text, re.IGNORECASE)
    if not found:
        return place_of(query)
    start = text.rindex(found[-1])
    return Span(start, start + len(found[-1]))


def composite_schema(inner: BoundQuery, name: str) -> Schema:
    """The schema of the matches of a query as events.

    They have one type, called ``name``; the columns of the query's output as attributes; and `TIME`, their time,
    where RETURN does not leave it to the default output.

    Raises:
        QueryError: two attributes would have one name.
    """
    fields: dict[str, DataType] = {}
    for column, dtype in (*_output(inner), *(((TIME, TIMESTAMP),) if inner.returns else ())):
        twice = next((have for have in fields if have.lower() == column.lower()), None)
        if twice is not None:
            raise QueryError(
                f"the composite events of {name} have the attributes {twice} and {column}, which are not told apart"
                if twice != column
                else f"the composite events of {name} have two attributes {column}",
                remedy=f"{TIME} is the time of a composite event: give the column of RETURN another name"
                if column == TIME
                else "name the columns with RETURN, or give the variable another name",
                text=inner.text,
            )
        fields[column] = dtype
    return Schema(fields=fields, time=TIME, time_unit=inner.schema.time_unit, types=(name,))


def _output(inner: BoundQuery) -> list[tuple[str, DataType]]:
    """The columns of a query's output and their types (SEMANTICS 8)."""
    if inner.returns:
        return [(column.name, column.type) for column in inner.returns]
    columns: list[tuple[str, DataType]] = [("match_id", TEXT), ("first_time", TIMESTAMP), (TIME, TIMESTAMP)]
    if inner.window.size_us is not None or inner.window.size_events is not None:
        bound = TIMESTAMP if inner.window.size_us is not None else INT
        columns += [("window_start", bound), ("window_end", bound)]
    for key in inner.partition:
        columns.append((key.path[-1] if isinstance(key, Attribute) else print_expression(key), inner.types[key]))
    for variable in inner.variables.values():
        if not variable.hidden and not variable.negated:
            event = struct(**variable.fields)
            columns.append((variable.name, list_of(event) if variable.loop else event))
    return columns


def with_inner(bound: BoundQuery, inner: BoundQuery | None) -> BoundQuery:
    """A bound query with the one that its events come from, whose parameters become its own too.

    Raises:
        QueryError: both have a parameter of one name, and of two types.
    """
    if inner is None:
        return bound
    parameters: dict[str, DataType] = dict(inner.parameters)
    for name, dtype in bound.parameters.items():
        have = parameters.setdefault(name, dtype)
        if have != dtype:
            raise QueryError(
                f"the parameter :{name} is of type {dtype} here, and of type {have} in {bound.query.source}",
                remedy="give one of the two another name",
            )
    return replace(bound, inner=inner, parameters=parameters)
