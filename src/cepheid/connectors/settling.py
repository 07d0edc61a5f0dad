"""Columns brought to their declared types, after a reader has done what it can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.connectors.column_types import ColumnType, Form
from cepheid.connectors.text_values import convert_text
from cepheid.errors import SchemaError

TEXT = ColumnType(Form.TEXT)


def settle(origin: str, table: Any, declared: Mapping[str, ColumnType]) -> tuple[Any, dict[str, Any]]:
    """Bring the columns whose type depends on their values to it, and texts that are not UTF-8 to light.

    Args:
        origin: where the table comes from, for errors.
        table: columns that were read without a type, or as text or bytes.
        declared: the types that are wanted; columns not in it stay as they are.

    Returns:
        The table, and for each column in which some value is wrong, where that is (bool array).

    Raises:
        SchemaError: numbers stand where times are declared: that is no fault of any row.
    """
    wrong: dict[str, Any] = {}
    for position, name in enumerate(table.column_names):
        column, kind = table[name], declared.get(name, TEXT)
        bad = np.zeros(len(table), np.bool_)
        if pa.types.is_binary(column.type):
            column, bad = _decode(column)
        elif name not in declared:
            continue
        if _fits(column.type, kind):
            if pa.types.is_null(column.type):
                column = column.cast(pa.timestamp("us") if kind.form is Form.TIMESTAMP else pa.int64())
            elif pa.types.is_date(column.type):
                column = column.cast(pa.timestamp("us"))
        elif pa.types.is_string(column.type):
            values, unconverted = convert_text(column, kind)
            column, bad = pa.chunked_array([values]), bad | unconverted
        elif kind.form is Form.TIMESTAMP and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise SchemaError(
                f"{origin}: the column {name!r} holds numbers, not times",
                remedy='say what they count since 1970, as in time_unit = "ms", or how they are written, '
                'as in time_format = "%Y%m%d"',
            )
        else:  # such as dates where texts are declared: only their text can tell
            bad[:] = True
        if bad.any():
            wrong[name] = bad
        table = table.set_column(position, name, column)
    return table, wrong


def _decode(column: Any) -> tuple[Any, Any]:
    """Bytes as text, NULL where they are not UTF-8, and where that is (bool array)."""
    try:
        return column.cast(pa.string()), np.zeros(len(column), np.bool_)
    except pa.ArrowInvalid:
        texts: list[str | None] = []
        bad = np.zeros(len(column), np.bool_)
        for row, value in enumerate(column.to_pylist()):
            try:
                texts.append(None if value is None else value.decode("utf-8"))
            except UnicodeDecodeError:
                texts.append(None)
                bad[row] = True
        return pa.chunked_array([pa.array(texts, pa.string())]), bad


def _fits(arrow: Any, kind: ColumnType) -> bool:
    types = pa.types
    if kind.form is Form.TIMESTAMP:
        as_such = types.is_timestamp(arrow) or types.is_date(arrow) or types.is_null(arrow)
        return bool(as_such) and kind.pattern is None
    if kind.form is Form.NUMBER:
        return bool(types.is_integer(arrow) or types.is_floating(arrow) or types.is_null(arrow))
    return bool(arrow == kind.arrow)


def what(kind: ColumnType) -> str:
    """What a value of ``kind`` is called: ``an int``."""
    if kind.pattern is not None:
        return f"a time written as {kind.pattern}"
    names = {Form.INT: "an int", Form.TIMESTAMP: "an ISO 8601 time", Form.TEXT: "UTF-8 text"}
    return names.get(kind.form, f"a {kind}")
