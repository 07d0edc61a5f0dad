"""The data types of event attributes, as the language sees them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The kind of a value. Time values are int64 microseconds inside."""

    BOOL = "bool"
    INT = "int"  # int64
    FLOAT = "float"  # float64
    DECIMAL = "decimal"
    TEXT = "text"
    TIMESTAMP = "timestamp"  # microseconds since the epoch, UTC; dates are their midnight
    DURATION = "duration"  # microseconds
    LIST = "list"  # of `element`
    SET = "set"  # of `element`; remote fields only
    STRUCT = "struct"  # of `fields`
    NULL = "null"  # the literal NULL, before it meets another type
    OTHER = "other"  # carried and returned, but not computed with (binary, map, ...)


@dataclass(frozen=True, slots=True)
class DataType:
    """The type of an attribute or expression.

    Attributes:
        kind: what it is.
        precision, scale: of a DECIMAL.
        element: of a LIST or SET.
        fields: of a STRUCT, (name, type) in order.
    """

    kind: Kind
    precision: int | None = None
    scale: int | None = None
    element: DataType | None = None
    fields: tuple[tuple[str, DataType], ...] = ()

    @property
    def is_number(self) -> bool:
        """True for INT, FLOAT and DECIMAL."""
        return self.kind in (Kind.INT, Kind.FLOAT, Kind.DECIMAL)

    def field(self, name: str) -> DataType | None:
        """The type of the field ``name`` of a STRUCT, or None."""
        for have, dtype in self.fields:
            if have == name:
                return dtype
        return None

    def __str__(self) -> str:
        return _in_words(self, _N_LEVELS)


_N_LEVELS = 20
"""How deep a type is put into words; JSON may be nested deeper than Python can follow."""


def _in_words(dtype: DataType | None, n_levels: int) -> str:
    if dtype is None:
        return str(None)
    if dtype.kind is Kind.DECIMAL:
        return f"decimal({dtype.precision}, {dtype.scale})"
    if dtype.kind not in (Kind.LIST, Kind.SET, Kind.STRUCT):
        return str(dtype.kind.value)
    if n_levels == 0:
        return "..."
    if dtype.kind is Kind.STRUCT:
        return "struct(" + ", ".join(f"{name}: {_in_words(t, n_levels - 1)}" for name, t in dtype.fields) + ")"
    return f"{dtype.kind.value} of {_in_words(dtype.element, n_levels - 1)}"


BOOL = DataType(Kind.BOOL)
INT = DataType(Kind.INT)
FLOAT = DataType(Kind.FLOAT)
TEXT = DataType(Kind.TEXT)
TIMESTAMP = DataType(Kind.TIMESTAMP)
DURATION = DataType(Kind.DURATION)
NULL = DataType(Kind.NULL)
OTHER = DataType(Kind.OTHER)


def decimal(precision: int, scale: int) -> DataType:
    """The type of decimals with ``precision`` digits, ``scale`` of them after the point."""
    return DataType(Kind.DECIMAL, precision=precision, scale=scale)


def list_of(element: DataType) -> DataType:
    """The type of lists of ``element``."""
    return DataType(Kind.LIST, element=element)


def set_of(element: DataType) -> DataType:
    """The type of sets of ``element``."""
    return DataType(Kind.SET, element=element)


def struct(**fields: DataType) -> DataType:
    """The type of structs with these fields, in this order."""
    return DataType(Kind.STRUCT, fields=tuple(fields.items()))
