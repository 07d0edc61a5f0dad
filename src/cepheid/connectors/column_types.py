"""Types of columns as a job file declares them: ``amount = "float"``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa

from cepheid.errors import SchemaError


class Form(Enum):
    """What a declared column holds."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    TEXT = "text"
    DECIMAL = "decimal"
    TIMESTAMP = "timestamp"
    NUMBER = "number"  # int or float, as the values are; what a time column with a unit is


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The declared type of a column.

    Attributes:
        form: what it holds.
        precision, scale: of a DECIMAL.
        pattern: of a TIMESTAMP that is not written as ISO 8601, its strptime pattern; else None.
    """

    form: Form
    precision: int = 0
    scale: int = 0
    pattern: str | None = None

    @property
    def arrow(self) -> Any:
        """The Arrow type, or None where it depends on the values (TIMESTAMP, NUMBER)."""
        match self.form:
            case Form.BOOL:
                return pa.bool_()
            case Form.INT:
                return pa.int64()
            case Form.FLOAT:
                return pa.float64()
            case Form.TEXT:
                return pa.string()
            case Form.DECIMAL:
                return pa.decimal128(self.precision, self.scale)
            case _:
                return None

    def __str__(self) -> str:
        if self.form is Form.DECIMAL:
            return f"decimal({self.precision}, {self.scale})"
        return str(self.form.value)


_DECIMAL = re.compile(r"decimal\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_NAMES = {form.value: form for form in (Form.BOOL, Form.INT, Form.FLOAT, Form.TEXT, Form.TIMESTAMP)}


def column_type(text: str, pattern: str | None = None) -> ColumnType:
    """The type that ``text`` names: bool, int, float, text, timestamp or ``decimal(p, s)``.

    Args:
        text: the name; capitals and surrounding blanks do not matter.
        pattern: the strptime pattern of a timestamp that is not written as ISO 8601.

    Raises:
        SchemaError: no such type.
    """
    name = text.strip().lower()
    if found := _DECIMAL.fullmatch(name):
        precision, scale = int(found[1]), int(found[2])
        if 1 <= precision <= 38 and scale <= precision:
            return ColumnType(Form.DECIMAL, precision, scale)
        raise SchemaError(
            f"decimal({precision}, {scale}) has a precision or scale that does not exist",
            remedy="use a precision from 1 to 38 and a scale not above it",
        )
    if name not in _NAMES:
        raise SchemaError(
            f"{text!r} is not a column type", remedy=f"use one of {', '.join(_NAMES)}, decimal(precision, scale)"
        )
    return ColumnType(_NAMES[name], pattern=pattern)
