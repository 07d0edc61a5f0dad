"""Parquet and Arrow IPC files: their columns have types already."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cepheid.connectors.column_types import ColumnType, Form
from cepheid.connectors.rejected import Rejections
from cepheid.connectors.settling import what
from cepheid.connectors.text_values import convert_text
from cepheid.errors import DataError, SchemaError, SetupError


def read_parquet(
    path: Path, declared: Mapping[str, ColumnType], rejections: Rejections, only: Collection[str] | None = None
) -> tuple[Any, int]:
    """The rows of a Parquet file.

    Args:
        path: the file.
        declared: types that columns are brought to; the others stay as they are.
        rejections: takes rows whose text stands for no value of the declared type.
        only: columns to read besides the declared ones; None for all.

    Returns:
        The table, and the size of the file in bytes.

    Raises:
        SchemaError: a declared column is not there, or cannot be brought to its type.
        DataError, SetupError: the file cannot be read.
    """
    with _explained(path, "Parquet"), pq.ParquetFile(path, memory_map=True) as file:
        table = file.read(columns=_kept(path, file.schema_arrow.names, declared, only))
    return _declared(path, table, declared, rejections), path.stat().st_size


def read_arrow(
    path: Path, declared: Mapping[str, ColumnType], rejections: Rejections, only: Collection[str] | None = None
) -> tuple[Any, int]:
    """The rows of an Arrow IPC file (Feather 2) or stream; see `read_parquet`."""
    with _explained(path, "Arrow IPC"), pa.memory_map(str(path)) as source:
        try:
            reader = pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            reader = pa.ipc.open_stream(source)
        table = reader.read_all().select(_kept(path, reader.schema.names, declared, only))
    return _declared(path, table, declared, rejections), path.stat().st_size


@contextmanager
def _explained(path: Path, kind: str) -> Iterator[None]:
    """Turns errors of Arrow on ``path`` into ours."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and isinstance(error.errno, int):
            raise SetupError(
                f"{path} cannot be read: {error.strerror}", remedy="check the path and its rights"
            ) from error
        raise DataError(
            f"{path} is not a whole {kind} file: {error}",
            remedy="is it complete, and of the format that its name tells? format = names another one",
        ) from error


def _kept(path: Path, names: list[str], declared: Mapping[str, ColumnType], only: Collection[str] | None) -> list[str]:
    for name in declared:
        if name not in names:
            raise SchemaError(
                f"{path} has no column {name!r}, which is declared", remedy=f"its columns are: {', '.join(names)}"
            )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"{path} has two columns named {twice[0]!r}", remedy="rename one of them")
    return [n for n in names if only is None or n in only or n in declared] or names[:1]


def _declared(path: Path, table: Any, declared: Mapping[str, ColumnType], rejections: Rejections) -> Any:
    is_bad = np.zeros(len(table), np.bool_)
    for name, kind in declared.items():
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if _is_already(column.type, kind):
            continue
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            texts = column.cast(pa.string())
            values, bad = convert_text(texts, kind)
            for row in np.flatnonzero(bad & ~is_bad):
                rejections.add(str(path), None, name, f"not {what(kind)} (row {row + 1})", texts[int(row)].as_py())
            is_bad |= bad
        else:
            values = _cast(path, name, column, kind)
        table = table.set_column(table.column_names.index(name), name, values)
    return table.filter(pa.array(~is_bad)) if is_bad.any() else table


def _is_already(arrow: Any, kind: ColumnType) -> bool:
    types = pa.types
    match kind.form:
        case Form.TIMESTAMP:
            return bool(types.is_timestamp(arrow) or types.is_date(arrow))
        case Form.NUMBER:
            return bool(types.is_integer(arrow) or types.is_floating(arrow) or types.is_timestamp(arrow))
        case Form.INT:
            return bool(types.is_integer(arrow))
        case Form.FLOAT:
            return bool(types.is_floating(arrow))
        case Form.TEXT:
            return bool(types.is_string(arrow) or types.is_large_string(arrow))
        case _:
            return bool(arrow == kind.arrow)


def _cast(path: Path, name: str, column: Any, kind: ColumnType) -> Any:
    if kind.form is Form.TIMESTAMP:
        raise SchemaError(
            f"{path}: the column {name!r} has the type {column.type}, not times",
            remedy='say what its numbers count since 1970, as in time_unit = "ms"',
        )
    if kind.form is Form.NUMBER:
        raise SchemaError(
            f"{path}: the column {name!r} has the type {column.type}, not numbers", remedy="leave out time_unit"
        )
    try:
        return column.cast(kind.arrow)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"{path}: the column {name!r} has the type {column.type}, which cannot be read as {kind}: {error}",
            remedy="declare another type, or none",
        ) from error
