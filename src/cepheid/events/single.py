"""Events that come one by one, as Python objects, read as the rows of a table would be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pyarrow as pa

from cepheid.errors import SchemaError
from cepheid.events.arrow_types import data_type, is_list, is_text
from cepheid.events.event_time import event_times
from cepheid.events.schema import TIME_UNITS, Schema
from cepheid.events.types import Kind

Values: TypeAlias = tuple[Any, ...]
"""The values of one event in the order of the columns, as Arrow gives them back; None for NULL."""

_SURELY_VALUES = (int, float, str, datetime)
_EXACT_IN_FLOATS = 2**53
_TIME_LIMIT_US = 2**62 - 1  # see `events.event_time`
_EPOCH, _EPOCH_UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)


def is_event(given: Any, time: str) -> bool:
    """Whether a caller gave one event, and no table: a mapping from columns to values, a dataclass, or a tuple.

    Args:
        given: what was given. A mapping of which a value is a table maps event types to tables.
        time: the column of event time.
    """
    if isinstance(given, Mapping):
        if type(given.get(time)) in _SURELY_VALUES:
            return True
        return bool(given) and not any(map(_is_table, given.values()))
    return isinstance(given, tuple) or (is_dataclass(given) and not isinstance(given, type))


def named_values(event: Any, columns: Sequence[str]) -> Mapping[str, Any]:
    """The values of an event by the names of their columns.

    Args:
        event: see `is_event`. A tuple without names has the values of all columns in their order.
        columns: of the stream, where they are known.

    Raises:
        SchemaError: a tuple without names has not as many values as there are columns.
    """
    if isinstance(event, Mapping):
        return event
    if not isinstance(event, tuple):
        return {field.name: getattr(event, field.name) for field in fields(event)}
    # The names of a named tuple, or of a row of Spark.
    names = getattr(event, "_fields", None) or getattr(event, "__fields__", None) or columns
    if len(names) != len(event):
        raise SchemaError(
            f"the event is a tuple of {len(event)} values without names, and the events have the columns "
            f"{', '.join(columns) or '(not known yet)'}",
            remedy="give a dict, a named tuple or a dataclass; or the Matcher a schema=, and a value for each column",
        )
    return dict(zip(names, event, strict=True))


def first_table(event: Any) -> Any:
    """A table of one event, whose columns and their types nothing else tells.

    Raises:
        SchemaError: Arrow cannot hold a value.
    """
    values = named_values(event, ())
    try:
        return pa.Table.from_pylist([dict(values)])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(
            f"the event cannot be read: {error}", remedy="give the Matcher the columns of its events with schema="
        ) from error


class EventReader:
    """Reads events into the columns of a stream.

    Attributes:
        names: the columns.
        schema: what they are.
    """

    def __init__(self, arrow: Any, schema: Schema) -> None:
        """Take the columns.

        Args:
            arrow: the pyarrow Schema of the events.
            schema: as `events.ingest.schema_of` gives it.
        """
        self.names: tuple[str, ...] = tuple(arrow.names)
        self.schema = schema
        self._arrow = arrow
        self._known = frozenset(self.names)
        self._checks = tuple((field.name, _check(field.name, field.type)) for field in arrow)
        self._time_at = self.names.index(schema.time)
        self._type_at = None if schema.type is None else self.names.index(schema.type)
        self._to_us = _to_us(arrow.field(schema.time).type, schema.time_unit, schema.time)

    def values(self, event: Any) -> Values:
        """The values of an event. A column that it does not name is NULL.

        Args:
            event: see `is_event`.

        Raises:
            SchemaError: it names a column that the stream has not, or a value does not fit its column's type.
        """
        if type(event) is not dict:
            event = named_values(event, self.names)
        get = event.get
        found = tuple([check(get(name)) for name, check in self._checks])
        if len(event) != len(found) or None in found:
            self._require_known(event)
        return found

    def time_us(self, values: Values) -> int | None:
        """The time of an event, us; None where it has none, or no type, so that it is rejected."""
        if self._type_at is not None and values[self._type_at] is None:
            return None
        time = values[self._time_at]
        return None if time is None else self._to_us(time)

    def table(self, rows: Sequence[Values], columns: Sequence[str] | None = None) -> Any:
        """Events as a pyarrow Table, in the types of the stream.

        Args:
            rows: their values.
            columns: those to make; None for all.
        """
        chosen = self._arrow if columns is None else pa.schema([self._arrow.field(name) for name in columns])
        places = [self.names.index(name) for name in chosen.names]
        arrays = [pa.array([row[at] for row in rows], field.type) for at, field in zip(places, chosen, strict=True)]
        return pa.Table.from_arrays(arrays, schema=chosen)

    def rows(self, table: Any) -> list[Values]:
        """The values of all events of a table; None for columns that it lacks.

        Raises:
            ValueError, OverflowError: Python has no value for one of them, such as a time after the year 9999.
        """
        nothing = [None] * table.num_rows
        have = set(table.column_names)
        columns = [table.column(name).to_pylist() if name in have else nothing for name in self.names]
        return list(zip(*columns, strict=True))

    def _require_known(self, event: Mapping[str, Any]) -> None:
        new = [name for name in event if name not in self._known]
        if new:
            raise SchemaError(
                f"the event has a new column {new[0]!r}; the events have {', '.join(self.names)}",
                remedy="leave it out, or name all columns in schema=",
            )


def not_held_as_python(arrow: Any) -> str | None:
    """Why the events of a stream cannot be kept as Python values without loss; None where they can.

    Args:
        arrow: the pyarrow Schema of the events.
    """
    for field in arrow:
        if not _is_held(field.type):
            return f"its column {field.name} has values ({field.type}) that are kept in tables alone"
    return None


def _is_held(arrow: Any) -> bool:
    types = pa.types
    if types.is_dictionary(arrow):
        return is_text(arrow.value_type)
    if is_list(arrow):
        return _is_held(arrow.value_type)
    if types.is_struct(arrow):
        return all(_is_held(field.type) for field in arrow)
    if (types.is_timestamp(arrow) or types.is_duration(arrow)) and arrow.unit == "ns":
        return False  # Python's own times end at microseconds
    plain = data_type(arrow).kind in (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.DECIMAL, Kind.TEXT, Kind.NULL)
    plain = plain and not types.is_run_end_encoded(arrow) and not types.is_float16(arrow)
    return plain or types.is_timestamp(arrow) or types.is_date32(arrow) or types.is_duration(arrow)


def _is_table(value: Any) -> bool:
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "columns")


def _check(name: str, arrow: Any) -> Callable[[Any], Any]:
    """What brings a value to a column's type, or raises a SchemaError."""
    types = pa.types

    def slow(value: Any) -> Any:
        return None if value is None else _as_arrow_has_it(value, arrow, name)

    if types.is_signed_integer(arrow) or types.is_unsigned_integer(arrow):
        bits = arrow.bit_width
        least, most = (
            (-(1 << bits - 1), (1 << bits - 1) - 1) if types.is_signed_integer(arrow) else (0, (1 << bits) - 1)
        )
        return lambda value: value if type(value) is int and least <= value <= most else slow(value)
    if types.is_float64(arrow):

        def real(value: Any) -> Any:
            if type(value) is float:
                return value
            if type(value) is int and -_EXACT_IN_FLOATS <= value <= _EXACT_IN_FLOATS:
                return float(value)
            return slow(value)

        return real
    if is_text(arrow) or (types.is_dictionary(arrow) and is_text(arrow.value_type)):
        return lambda value: value if type(value) is str and value.isascii() else slow(value)
    if types.is_boolean(arrow):
        return lambda value: value if type(value) is bool else slow(value)
    if types.is_timestamp(arrow) and arrow.unit == "us" and arrow.tz in (None, "UTC"):
        zone = None if arrow.tz is None else UTC
        return lambda value: value if type(value) is datetime and value.tzinfo is zone else slow(value)
    return slow


def _as_arrow_has_it(value: Any, arrow: Any, name: str) -> Any:
    """A value as it comes out of a column of a type; what a column can be cast from without loss will do."""
    plain = arrow.value_type if pa.types.is_dictionary(arrow) else arrow
    # Casts lose nothing; but there is none from whole numbers to short decimals, nor from any dict to any struct.
    at_once = is_list(plain) or pa.types.is_struct(plain) or pa.types.is_decimal(plain)
    try:
        made = pa.array([value], plain) if at_once else pa.array([value]).cast(plain)
        return made[0].as_py()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(
            f"the column {name!r} is {arrow}, and the event has {value!r}: {error}",
            remedy="give values of the columns' types, or the columns other types with schema=",
        ) from error


def _to_us(arrow: Any, unit: str | None, name: str) -> Callable[[Any], int | None]:
    """What tells the time of a value of the time column, us; None where it is no time (see `events.event_time`)."""

    def slow(value: Any) -> int | None:
        read = event_times(pa.array([value], arrow), unit, name)
        return None if read.bad is not None else int(read.values[0])

    if pa.types.is_integer(arrow) and unit is not None:
        factor = TIME_UNITS[unit]
        limit = _TIME_LIMIT_US // factor
        return lambda value: value * factor if -limit <= value <= limit else slow(value)
    if pa.types.is_timestamp(arrow) and arrow.unit != "ns":
        return datetime_us
    return slow


def datetime_us(time: datetime) -> int:
    """The time of a datetime, us since the epoch; without a zone it is read as UTC."""
    gap = time - (_EPOCH if time.tzinfo is None else _EPOCH_UTC)
    return (gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds
