"""The columns of the output, before there is any match (SEMANTICS 8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa

from cepheid.engine import match_id
from cepheid.errors import QueryError
from cepheid.events.arrow_types import arrow_type
from cepheid.language.bound import BoundQuery, Variable
from cepheid.language.printer import print_expression
from cepheid.language.tree import Aggregate, At, Attribute, Expression


class About(Enum):
    """What a column says of the match as a whole; the value is the column's name."""

    MATCH_ID = "match_id"
    FIRST_TIME = "first_time"
    LAST_TIME = "last_time"
    WINDOW_START = "window_start"
    WINDOW_END = "window_end"
    CLOSED_TIME = "closed_time"


MATCH = "cepheid match"
"""The column of ``match_id`` in the matches of a query that is to tell it beside what RETURN says."""

LAST = "cepheid last time"
"""The column of the last time of such a match."""

_WINDOW = (About.WINDOW_START, About.WINDOW_END)


@dataclass(frozen=True)
class OutputColumn:
    """A column of the output.

    Attributes:
        name: its name.
        type: its Arrow type.
        holds: something about the match, the variable whose events it has, or an expression.
    """

    name: str
    type: Any
    holds: About | Variable | Expression


def output_columns(bound: BoundQuery, events: Any, *, with_match_id: bool | None = None) -> tuple[OutputColumn, ...]:
    """The columns that the matches of a query have.

    Args:
        bound: the query.
        events: the pyarrow Schema of the events.
        with_match_id: a ``match_id`` comes first; None for what the query says: it does if there is no RETURN.

    Returns:
        The columns; the last two are `MATCH` and `LAST` where the query is `BoundQuery.identified`. Attributes have the
        Arrow type that they came in with, ``b.x`` of a loop variable is a list of it;
        times of the match have the type of the time column if that is a timestamp, else microseconds, UTC.

    Raises:
        QueryError: two columns would have one name.
    """
    default = not bound.returns
    columns = []
    if default if with_match_id is None else with_match_id:
        columns.append(OutputColumn(About.MATCH_ID.value, match_id.ARROW_TYPE, About.MATCH_ID))
    if default:
        columns += _default_columns(bound, events)
    else:
        columns += [
            OutputColumn(returned.name, _returned_type(bound, events, returned.expression), returned.expression)
            for returned in bound.returns
        ]
    if bound.identified:
        columns.append(OutputColumn(MATCH, match_id.ARROW_TYPE, About.MATCH_ID))
        columns.append(OutputColumn(LAST, time_type(bound, events), About.LAST_TIME))
    _check_names(bound, columns)
    return tuple(columns)


def output_schema(bound: BoundQuery, events: Any, *, with_match_id: bool | None = None) -> Any:
    """The pyarrow Schema of `output_columns`."""
    columns = output_columns(bound, events, with_match_id=with_match_id)
    return pa.schema([pa.field(column.name, column.type) for column in columns])


def timed_out_columns(bound: BoundQuery, events: Any) -> tuple[OutputColumn, ...]:
    """The columns of what timed out: those of matches without RETURN, and the time when the window closed.

    Args:
        bound: the query.
        events: the pyarrow Schema of the events.

    Raises:
        QueryError: two columns would have one name.
    """
    first, last, *others = _default_columns(bound, events)
    closed = OutputColumn(About.CLOSED_TIME.value, time_type(bound, events), About.CLOSED_TIME)
    columns = [first, last, closed, *others]
    _check_names(bound, columns)
    return tuple(columns)


def timed_out_schema(bound: BoundQuery, events: Any) -> Any:
    """The pyarrow Schema of `timed_out_columns`."""
    return pa.schema([pa.field(column.name, column.type) for column in timed_out_columns(bound, events)])


def _default_columns(bound: BoundQuery, events: Any) -> list[OutputColumn]:
    moment = time_type(bound, events)
    columns = [OutputColumn(what.value, moment, what) for what in (About.FIRST_TIME, About.LAST_TIME)]
    if bound.window.size_us is not None:
        columns += [OutputColumn(what.value, moment, what) for what in _WINDOW]
    elif bound.window.size_events is not None:
        columns += [OutputColumn(what.value, pa.int64(), what) for what in _WINDOW]
    columns += key_columns(bound, events)
    for variable in bound.variables.values():
        if variable.hidden or variable.negated:
            continue
        fields = pa.struct([pa.field(name, given_type(bound, events, (name,))) for name in variable.fields])
        columns.append(OutputColumn(variable.name, pa.list_(fields) if variable.loop else fields, variable))
    return columns


def key_columns(bound: BoundQuery, events: Any) -> list[OutputColumn]:
    """The columns of SAME; ``events`` is the pyarrow Schema of the events."""
    columns = []
    for expression in bound.partition:
        name = expression.path[-1] if isinstance(expression, Attribute) else print_expression(expression)
        columns.append(OutputColumn(name, _returned_type(bound, events, expression), expression))
    return columns


def time_type(bound: BoundQuery, events: Any) -> Any:
    """The Arrow type of the times of a match: that of the time column if it has timestamps, else microseconds, UTC."""
    time = events.field(bound.schema.time).type
    return time if pa.types.is_timestamp(time) else pa.timestamp("us", tz="UTC")


def _check_names(bound: BoundQuery, columns: list[OutputColumn]) -> None:
    seen: dict[str, str] = {}
    for column in columns:
        before = seen.get(column.name.lower())
        if before is None:
            seen[column.name.lower()] = column.name
            continue
        raise QueryError(
            f"the output has two columns {before}"
            if before == column.name
            else f"the output has the columns {before} and {column.name}, which Spark does not tell apart",
            remedy="name the columns with RETURN, or give the variable another name",
            text=bound.text,
            origin=bound.origin,
        )


def given_type(bound: BoundQuery, events: Any, path: tuple[str, ...]) -> Any:
    """The Arrow type in which an attribute came in, and goes out."""
    if bound.schema.per_type and path == (bound.schema.type,):
        # Made when the tables were put together, as a dictionary; nobody gave it in that form.
        return pa.string()
    arrow = events.field(path[0]).type
    for name in path[1:]:
        arrow = arrow.field(name).type
    return arrow


def _returned_type(bound: BoundQuery, events: Any, expression: Expression) -> Any:
    if isinstance(expression, Attribute):
        given = given_type(bound, events, expression.path)
        return pa.list_(given) if is_each_element(bound, expression) else given
    attribute = carried(expression)
    if attribute is not None:
        return given_type(bound, events, attribute.path)
    return arrow_type(bound.types[expression])


def is_each_element(bound: BoundQuery, attribute: Attribute) -> bool:
    """True for ``b.x`` of a loop variable, which stands for the value of each element."""
    return attribute.at is At.EACH and attribute.variable is not None and bound.variables[attribute.variable].loop


def carried(expression: Expression) -> Attribute | None:
    """The attribute whose value a min or max gives as it came in, or None for other expressions."""
    if isinstance(expression, Aggregate) and expression.function in ("min", "max"):
        return expression.argument if isinstance(expression.argument, Attribute) else None
    return None
