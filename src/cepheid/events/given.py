"""The events that a caller gives, in one of several forms, as one Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from cepheid.errors import SchemaError
from cepheid.events.frames import as_arrow
from cepheid.events.ingest import schema_of
from cepheid.events.merge import read_tables
from cepheid.events.schema import Schema


def read_given(
    events: Any, *, time: str, type: str | None, order: str | Sequence[str] | None, time_unit: str | None
) -> tuple[Any, Schema]:
    """The events as one Arrow table, and their schema.

    Args:
        events: a pyarrow Table, a pandas or Polars DataFrame, or several by event type.
        time, type, order, time_unit: the columns, as in `cepheid.match`.

    Raises:
        SchemaError: the events have no such columns, or cannot be read as a table.
    """
    keys = require_order(order)
    if isinstance(events, Mapping):
        tables = {name: as_arrow(table, f"the events of {name!r}") for name, table in events.items()}
        return read_tables(tables, time=time, time_unit=time_unit, type=type or "type", order=keys)
    table = as_arrow(events)
    # An empty column of pandas has the type of what it might have held, mostly float64.
    if type in table.column_names and not table.num_rows and events.__class__.__module__.startswith("pandas."):
        table = table.set_column(table.column_names.index(type), type, pa.array([], pa.string()))
    return table, schema_of(table, time=time, time_unit=time_unit, type=type, order=keys)


def require_order(order: object) -> tuple[Any, ...]:
    """The columns that stand as ``order=``.

    Raises:
        SchemaError: it is no name of a column, and not several.
    """
    if order is None:
        return ()
    if isinstance(order, str):
        return (order,)
    if not isinstance(order, Iterable):
        raise SchemaError(
            f"order= names columns by their text, and was given {order!r}",
            remedy='name one, as in order="id", or several: order=["day", "id"]',
        )
    return tuple(order)


def first_given(events: Any) -> Any:
    """One table of the kind that the caller gave."""
    return next(iter(events.values())) if isinstance(events, Mapping) and events else events


def empty_of(schema: Any) -> Any:
    """A table without rows of some columns.

    Args:
        schema: a pyarrow Schema, or a table with these columns; or several by event type.
    """
    if isinstance(schema, pa.Schema):
        return schema.empty_table()
    if isinstance(schema, Mapping):
        return {name: empty_of(table) for name, table in schema.items()}
    return schema


def in_columns(table: Any, arrow: Any, *, missing_are_null: bool) -> Any:
    """The table with the columns of the first push, in their types.

    Raises:
        SchemaError: a column is missing or new, or has values that do not fit its type.
    """
    new = [name for name in table.column_names if name not in arrow.names]
    missing = [] if missing_are_null else [name for name in arrow.names if name not in table.column_names]
    if new or missing:
        what = f"have a new column {new[0]!r}" if new else f"lack the column {missing[0]!r}"
        raise SchemaError(
            f"the events {what}; the stream began with {', '.join(arrow.names)}",
            remedy="give every push the same columns, or name them all in schema=",
        )
    columns = []
    for field in arrow:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table.column(field.name)
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except pa.ArrowException as error:
            raise SchemaError(
                f"the column {field.name!r} is {column.type} here and was {field.type} before: {error}",
                remedy="give the columns the types of all pushes with schema=",
            ) from error
    return pa.table(columns, schema=arrow)


def told_columns(columns: Any, schema: Schema) -> dict[str, Any]:
    """The columns of events, as JSON can say them.

    Args:
        columns: their pyarrow Schema.
        schema: what they are.
    """
    types = {name: list(fields) for name, fields in schema.per_type.items()}
    return {"columns": columns.serialize().to_pybytes().hex(), "types": types}


def read_columns(said: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[Any, Schema]:
    """An empty table with the columns that `told_columns` said, and the schema of the events.

    Args:
        said: what it gave.
        options: time, type, order and time_unit, as for `read_given`.
    """
    arrow = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(said["columns"])))
    kind = options["type"] or ("type" if said["types"] else None)
    table, schema = read_given(arrow.empty_table(), **{**options, "type": kind})
    if said["types"]:
        fields = schema.fields
        per_type = {name: {c: fields[c] for c in names} for name, names in said["types"].items()}
        schema = replace(schema, per_type=per_type)
    return table, schema
