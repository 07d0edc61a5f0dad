"""Tables to batches of events: their schema, their order, and what had to be left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.errors import SchemaError
from cepheid.events.arrow_memory import numpy_of
from cepheid.events.arrow_types import data_type
from cepheid.events.batch import NOTHING_REJECTED, EventBatch, Rejected
from cepheid.events.column import ArrowColumn, BoolArray, Column, Int64Array, unify
from cepheid.events.convert import column_of
from cepheid.events.dictionaries import without_null_entries
from cepheid.events.event_time import EventTimes, check_time, event_times
from cepheid.events.schema import Schema
from cepheid.events.text import chunks_of, encode_text
from cepheid.events.types import Kind


def schema_of(
    table: Any,
    *,
    time: str,
    time_unit: str | None = None,
    type: str | None = None,
    order: Sequence[str] = (),
    types: Sequence[str] | None = None,
) -> Schema:
    """The schema of the events in a table.

    Args:
        table: a pyarrow Table or Schema.
        time: the column of event time: timestamps, dates, ISO texts, or numbers with ``time_unit``.
        time_unit: the unit of a time column of numbers, and of a bare number in a window (``us``, ``ms``, ``s``,
            ``min``, ``h``, ``d``).
        type: the column of the event type (text), or None if there is one type only.
        order: the columns of the order key; empty for the number of the row.
        types: the event types that can occur, where known.

    Raises:
        SchemaError: a named column is missing, stands twice, or has a type that its role does not allow.
    """
    arrow = table if isinstance(table, pa.Schema) else table.schema
    repeated = sorted({name for name in arrow.names if arrow.names.count(name) > 1})
    if repeated:
        raise SchemaError(
            f"the events have several columns of the name {repeated[0]!r}", remedy="rename or drop all but one"
        )
    schema = Schema(
        fields={field.name: data_type(field.type) for field in arrow},
        time=time,
        time_unit=time_unit,
        type=type,
        types=None if types is None else tuple(types),
        order=tuple(order),
    )
    check_time(arrow.field(time).type, time_unit, time)
    if type is not None and schema.fields[type].kind not in (Kind.TEXT, Kind.NULL):
        raise SchemaError(
            f"the column {type!r} of type {arrow.field(type).type} cannot be the type of events, which is text",
            remedy="cast it to text",
        )
    for name in schema.order:
        if schema.fields[name].kind in (Kind.LIST, Kind.STRUCT, Kind.OTHER):
            raise SchemaError(
                f"the column {name!r} of type {arrow.field(name).type} cannot be part of the order key",
                remedy="use numbers, text or times; of a struct, bring the field into a column of its own",
            )
    return schema


def read_events(table: Any, schema: Schema) -> EventBatch:
    """The events of a table in their order: by time, then order key, then row.

    A table that is in order already is neither sorted nor copied. Values of the order key that are NULL come
    first.

    Args:
        table: a pyarrow Table that fits ``schema``.
        schema: as `schema_of` gives it.

    Returns:
        The batch. Rows whose time is NULL or cannot be read, or whose type is NULL, are in its ``rejected``.

    Raises:
        SchemaError: a column that the schema names is missing or has the wrong type.
        DataError: a value of the order key does not fit int64, or is text that is not UTF-8.
    """
    for name in (schema.time, schema.type, *schema.order):
        if name is not None and name not in table.column_names:
            raise SchemaError(
                f"the events have no column {name!r}",
                remedy=f"the columns are: {', '.join(table.column_names) or 'none'}",
            )
    table = without_null_entries(table)
    times = event_times(table.column(schema.time), schema.time_unit, schema.time)
    untyped = None if schema.type is None else _untyped(table.column(schema.type), schema.type)
    rows: Int64Array | None = None
    rejected = NOTHING_REJECTED
    if times.bad is not None or untyped is not None:
        rejected = _rejected(schema, times, untyped)
        keep = np.ones(table.num_rows, np.bool_)
        keep[rejected.rows] = False
        rows = np.flatnonzero(keep)
    time_us = times.values if rows is None else times.values[rows]
    order = order_of(table, schema, time_us, rows)
    if order is not None:
        time_us = time_us[order]
        rows = order if rows is None else rows[order]
    n_floored = {schema.time: times.n_floored} if times.n_floored else {}
    return EventBatch(table, schema, time_us, rows, rejected, n_floored)


def _untyped(values: Any, name: str) -> BoolArray | None:
    """Where an event has no type (None: nowhere)."""
    kind = data_type(values.type).kind
    if kind is Kind.NULL:
        return np.ones(len(values), np.bool_)
    if kind is not Kind.TEXT:
        raise SchemaError(
            f"the column {name!r} of type {values.type} cannot be the type of events, which is text",
            remedy="cast it to text",
        )
    if pa.types.is_dictionary(values.type) or pa.types.is_run_end_encoded(values.type):
        _, valid, _ = encode_text(values)  # NULL may stand in the dictionary
        return None if valid is None else ~valid
    if values.null_count == 0:
        return None
    return np.concatenate([~numpy_of(chunk.is_valid()) for chunk in chunks_of(values)])


def _rejected(schema: Schema, times: EventTimes, untyped: BoolArray | None) -> Rejected:
    """The events without time or type; one that lacks both is listed for its time."""
    bad = times.bad if times.bad is not None else np.zeros(len(times.values), np.bool_)
    rows = np.flatnonzero(bad if untyped is None else bad | untyped)
    at_fault = [bool(bad[row]) for row in rows]
    type_name = schema.type or ""
    return Rejected(
        rows,
        tuple(schema.time if timeless else type_name for timeless in at_fault),
        tuple(
            f"the time {times.why(int(row))}" if timeless else "the type is NULL"
            for row, timeless in zip(rows, at_fault, strict=True)
        ),
    )


def order_of(table: Any, schema: Schema, time_us: Int64Array, rows: Int64Array | None) -> Int64Array | None:
    """The permutation that puts the events in order, or None where they are."""
    steps_back = time_us[1:] < time_us[:-1]
    if not schema.order:
        return _sort_times(time_us) if steps_back.any() else None
    keys = [key for name in schema.order for key in _sort_keys(table.column(name), name, rows)]
    # In order if no step goes back in time, or in the first key that tells two neighbours of one time apart.
    undecided = time_us[1:] == time_us[:-1]
    for key in keys:
        steps_back |= undecided & (key[1:] < key[:-1])
        undecided &= key[1:] == key[:-1]
    if not steps_back.any():
        return None
    return np.lexsort((*reversed(keys), time_us)).astype(np.int64, copy=False)


def _sort_keys(values: Any, name: str, rows: Int64Array | None) -> list[Any]:
    """Arrays whose order, the first before the second, is that of the values; NULL before all others."""
    column, _ = column_of(values, name)
    if isinstance(column, ArrowColumn):
        raise SchemaError(
            f"the column {name!r} of type {values.type} cannot be part of the order key",
            remedy="use numbers, text or times",
        )
    if rows is not None:
        column = column.take(rows)
    ordered: Column = unify([column])[0]
    key = ordered.values
    if ordered.type.kind is Kind.FLOAT and np.isnan(key).any():
        # NaN is equal to itself and above all numbers, which comparisons of floats do not say.
        nan = np.isnan(key)
        keys = [nan, np.where(nan, 0.0, key)]
    else:
        keys = [key]
    return keys if ordered.valid is None else [ordered.valid, *keys]


def _sort_times(time_us: Int64Array) -> Int64Array:
    """The stable order of the times.

    Where time and position fit one word together, sorting the words is faster than a stable sort of the times.
    """
    n = len(time_us)
    first, last = int(time_us.min()), int(time_us.max())
    position_bits = (n - 1).bit_length()
    if (last - first).bit_length() + position_bits > 63:
        return np.argsort(time_us, kind="stable").astype(np.int64, copy=False)
    packed = (time_us - first) << position_bits
    packed |= np.arange(n)
    packed.sort()
    packed &= (1 << position_bits) - 1
    return packed
