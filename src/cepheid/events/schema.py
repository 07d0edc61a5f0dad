"""What is known of the events before any is seen: their types, attributes, time and order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cepheid.errors import SchemaError
from cepheid.events.types import DataType

TIME_UNITS: Mapping[str, int] = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
"""Microseconds in each unit that a time column or a window may have."""


@dataclass(frozen=True)
class Schema:
    """The events of a table or stream.

    Attributes:
        fields: attribute -> type, for all event types, in column order (the time, type and order
            columns included, under their own names).
        per_type: event type -> its attributes, where types differ (several tables); else empty.
            Every attribute in it is in ``fields`` too.
        time: the column of event time.
        time_unit: the unit of a time column of integers or floats, and of a bare number in a window
            (a key of `TIME_UNITS`); None where the column has timestamps and the unit is unknown.
        type: the column of the event type, or None (one type of event, or per-type tables).
        types: the event types that can occur, where known; None if any text can.
        order: the columns of the order key; empty for the default of the road taken.
    """

    fields: Mapping[str, DataType]
    time: str
    time_unit: str | None = None
    type: str | None = None
    types: tuple[str, ...] | None = None
    order: tuple[str, ...] = ()
    per_type: Mapping[str, Mapping[str, DataType]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for role, name in (("time", self.time), ("type", self.type), *(("order", o) for o in self.order)):
            if not isinstance(name, str) and (name is not None or role != "type"):
                # Reached by callers whose types nobody checks: time=None, a column of pandas with a tuple as its name.
                raise SchemaError(
                    f"{role}= names a column by its text, and was given {name!r}",
                    remedy=f"the columns are: {', '.join(self.fields) or 'none'}",
                )
            if name is not None and name not in self.fields:
                raise SchemaError(
                    f"the events have no column {name!r}, named as {role}=",
                    remedy=f"the columns are: {', '.join(self.fields) or 'none'}",
                )
        if self.time_unit is not None and self.time_unit not in tuple(TIME_UNITS):
            raise SchemaError(f"{self.time_unit!r} is not a unit of time", remedy=f"use one of {', '.join(TIME_UNITS)}")

    @property
    def known_types(self) -> tuple[str, ...] | None:
        """The event types that can occur, or None if unknown."""
        if self.per_type:
            return tuple(self.per_type)
        return self.types

    def fields_of(self, types: tuple[str, ...]) -> Mapping[str, DataType]:
        """The attributes that an event of one of ``types`` may have (of any event where empty).

        An attribute that only some of the types have is NULL on the others.
        """
        if not self.per_type or not types:
            return self.fields
        merged: dict[str, DataType] = {}
        for name in types:
            for attribute, dtype in self.per_type.get(name, {}).items():
                merged.setdefault(attribute, dtype)
        return merged
