"""Several tables, one per event type, as one table of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from cepheid.errors import SchemaError
from cepheid.events.arrow_types import data_type
from cepheid.events.characters import lone_surrogate
from cepheid.events.ingest import schema_of
from cepheid.events.schema import Schema
from cepheid.events.types import DataType, Kind

_UNITS = ("s", "ms", "us", "ns")


def read_tables(
    tables: Mapping[str, Any],
    *,
    time: str,
    time_unit: str | None = None,
    type: str = "type",
    order: Sequence[str] = (),
) -> tuple[Any, Schema]:
    """One table of all events, with a column that says which type each is of.

    Args:
        tables: event type -> pyarrow Table. Rows are numbered through all tables, in this order.
        time, time_unit, order: as in `schema_of`; the columns must be in every table.
        type: the name of the column of event types, which is added as the last one.

    Returns:
        The table, where attributes that a type lacks are NULL; and the schema, with ``per_type``.

    Raises:
        SchemaError: there is no table; a column has clashing types in two tables; a table lacks the time or an order
            column, or has a column of the name ``type`` already.
    """
    if not tables:
        raise SchemaError("there are no tables of events", remedy="give at least one: {'Txn': table}")
    arrow: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for event_type, table in tables.items():
        check_event_type(event_type)
        for role, name in (("time", time), *(("order", o) for o in order)):
            if name not in table.column_names:
                raise SchemaError(
                    f"the table of {event_type!r} has no column {name!r}, named as {role}=",
                    remedy=f"its columns are: {', '.join(table.column_names) or 'none'}",
                )
        if type in table.column_names:
            raise SchemaError(
                f"the table of {event_type!r} has a column {type!r}, the name that the event type is to have",
                remedy="choose another name: type=",
            )
        schema_of(table, time=time, time_unit=time_unit, order=order)
        for column in table.schema:
            if column.name not in arrow:
                arrow[column.name], origin[column.name] = column.type, event_type
                continue
            common = _common_type(arrow[column.name], column.type)
            if common is None:
                raise SchemaError(
                    f"the column {column.name!r} is {arrow[column.name]} in the table of {origin[column.name]!r}"
                    f" and {column.type} in that of {event_type!r}",
                    remedy="cast one of them, or rename one if they mean different things",
                )
            arrow[column.name] = common
    names = pa.array(list(tables), pa.string())
    merged = pa.concat_tables(
        [_widened(t, arrow, type, pa.repeat(i, t.num_rows), names) for i, t in enumerate(tables.values())]
    )
    fields: dict[str, DataType] = {name: data_type(t) for name, t in arrow.items()}
    fields[type] = data_type(merged.schema.field(type).type)
    per_type = {
        name: {**{c: fields[c] for c in table.column_names}, type: fields[type]} for name, table in tables.items()
    }
    return merged, Schema(
        fields=fields, time=time, time_unit=time_unit, type=type, order=tuple(order), per_type=per_type
    )


def check_event_type(name: object) -> None:
    """Test what stands as an event type in a mapping of tables.

    Raises:
        SchemaError: it is no text, or one that cannot be written in UTF-8.
    """
    if not isinstance(name, str):
        raise SchemaError(
            f"{name!r} cannot be the type of events, which is text",
            remedy="name each table by a text: {'Txn': table}",
        )
    if lone_surrogate(name) is not None:
        raise SchemaError(
            f"{name!r} cannot be the type of events: half a surrogate pair is no character",
            remedy="name each table by a text that can be written in UTF-8",
        )


def _widened(table: Any, arrow: Mapping[str, Any], type: str, codes: Any, names: Any) -> Any:
    """The table with all columns, in their common types, and the one of the event type."""
    n = table.num_rows
    columns = []
    for name, common in arrow.items():
        if name not in table.column_names:
            columns.append(pa.chunked_array([pa.nulls(n, common)]))
            continue
        column = table.column(name)
        columns.append(column if column.type == common else _cast(column, common))
    # One dictionary for all tables: the chunks of the merged column then need no unification.
    kinds = pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), names)
    return pa.table([*columns, pa.chunked_array([kinds])], names=[*arrow, type])


def _cast(column: Any, common: Any) -> Any:
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(common) and column.type.tz != common.tz:
        # Naive times are UTC to us: a cast to a zone would read them as that zone's wall clock.
        in_unit = column.cast(pa.timestamp(common.unit, tz=column.type.tz))
        return pa.chunked_array([chunk.view(common) for chunk in in_unit.chunks], type=common)
    return column.cast(common)


def _common_type(one: Any, other: Any) -> Any:
    """An Arrow type that holds both kinds of values unchanged, or None where a query would see two types."""
    types = pa.types
    if one == other:
        return one
    first, second = data_type(one), data_type(other)
    if first.kind is Kind.NULL or second.kind is Kind.NULL:
        return other if first.kind is Kind.NULL else one
    if first.kind is not second.kind:
        return None
    match first.kind:
        case Kind.TEXT:
            narrow = types.is_string(one) and types.is_string(other)
            return pa.string() if narrow else pa.large_string()
        case Kind.INT:
            return pa.int64()
        case Kind.FLOAT:
            return pa.float64()
        case Kind.DECIMAL if first.scale == second.scale:
            wide = max(first.precision or 0, second.precision or 0)
            return pa.decimal128(wide, first.scale) if wide <= 38 else pa.decimal256(wide, first.scale)
        case Kind.TIMESTAMP:
            units = [t.unit if types.is_timestamp(t) else ("s" if types.is_date32(t) else "ms") for t in (one, other)]
            zones = [t.tz for t in (one, other) if types.is_timestamp(t)]
            zone = zones[0] if len(set(zones)) == 1 else "UTC"
            return pa.timestamp(max(units, key=_UNITS.index), tz=zone)
        case Kind.DURATION:
            return pa.duration(max(one.unit, other.unit, key=_UNITS.index))
        case _:
            return None
