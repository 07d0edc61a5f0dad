"""What sites send each other, as JSON: rows of events, and how far the output of a vertex has come.

    {"of": 7, "match": {"Request": {"ts": 1736960400000000, ...}, "Charging": {...}}}
    {"of": 7, "until": 1736960400000000}

A row has an event for each type that it binds, with all columns: identity and order key travel with it. Times are
microseconds since 1970, decimals are texts. An announcement stands behind all that it speaks of, on every link.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

Row = Mapping[str, Mapping[str, Any]]
"""Type -> the event that is bound, as JSON has it."""

LEAST_INT, GREATEST_INT = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Message:
    """A message on a link.

    Attributes:
        vertex: whose output it is of.
        row: what it found, or None.
        until_us: how far the output has come, or None.
    """

    vertex: int
    row: Row | None = None
    until_us: int | None = None


def write_row(vertex: int, row: Row) -> bytes:
    """A message with a row."""
    return json.dumps({"of": vertex, "match": row}, ensure_ascii=False).encode()


def write_until(vertex: int, until_us: int) -> bytes:
    """An announcement."""
    return json.dumps({"of": vertex, "until": until_us}).encode()


def read_message(value: bytes) -> Message:
    """What one of these made."""
    said = json.loads(value)
    return Message(said["of"], said.get("match"), said.get("until"))


def events_as_json(table: Any) -> list[dict[str, Any]]:
    """The rows of a table of events, as JSON has them."""
    columns = {}
    for field in table.schema:
        column = table.column(field.name)
        if pa.types.is_timestamp(field.type):
            column = column.cast(pa.timestamp("us", field.type.tz)).cast(pa.int64())
        elif pa.types.is_decimal(field.type):
            column = column.cast(pa.string())
        elif pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        columns[field.name] = column
    rows: list[dict[str, Any]] = pa.table(columns).to_pylist()
    return rows


def events_of_json(rows: Sequence[Mapping[str, Any]], columns: Any) -> Any:
    """A table of events with these columns (a pyarrow Schema) from rows as JSON has them."""
    arrays = []
    for field in columns:
        values = [row.get(field.name) for row in rows]
        if pa.types.is_timestamp(field.type):
            arrays.append(pa.array(values, pa.int64()).cast(field.type))
        elif pa.types.is_decimal(field.type):
            arrays.append(pa.array([None if v is None else Decimal(v) for v in values], field.type))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.Table.from_arrays(arrays, schema=columns)


class UnreadError(Exception):
    """A record that is no event; says why."""


def read_event(value: bytes | None, columns: Any, required: Sequence[str]) -> dict[str, Any]:
    """An event as it arises: a JSON object, times in ISO 8601 or, where the column is of numbers, as these.

    Args:
        value: of a record.
        columns: of events, as a pyarrow Schema.
        required: columns that an event must have.

    Returns:
        It as messages have it.

    Raises:
        UnreadError: it is none.
    """
    try:
        said = None if value is None else json.loads(value)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise UnreadError("not a JSON object")
    event: dict[str, Any] = {}
    for field in columns:
        found = said.get(field.name)
        if found is None:
            if field.name in required:
                raise UnreadError(f"no {field.name}")
            event[field.name] = None
            continue
        try:
            event[field.name] = _value(found, field.type)
        except (ValueError, InvalidOperation, OverflowError, pa.ArrowException):
            raise UnreadError(f"{field.name} is {json.dumps(found)[:60]}, and no {field.type}") from None
    return event


def _value(found: Any, kind: Any) -> Any:
    types = pa.types
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if types.is_timestamp(kind) and isinstance(found, str):
        moment = datetime.fromisoformat(found)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if types.is_integer(kind) and is_number and found == int(found) and LEAST_INT <= found <= GREATEST_INT:
        return int(found)
    if types.is_floating(kind) and is_number:
        return float(found)
    if types.is_boolean(kind) and isinstance(found, bool):
        return found
    if types.is_string(kind) and isinstance(found, str):
        return found
    if types.is_decimal(kind) and (is_number or isinstance(found, str)):
        text = str(Decimal(str(found)))
        pa.scalar(Decimal(text), kind)
        return text
    raise ValueError("of another type")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
