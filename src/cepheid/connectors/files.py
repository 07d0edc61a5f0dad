"""Files as sources of events: CSV, JSON lines, Parquet, Arrow IPC; one, several, a folder or a glob."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.connectors.column_types import ColumnType, Form
from cepheid.connectors.columnar import read_arrow, read_parquet
from cepheid.connectors.csv_files import CsvOptions, read_csv
from cepheid.connectors.json_lines import read_json_lines
from cepheid.connectors.locations import FORMATS, format_of, list_files
from cepheid.connectors.rejected import REJECTED_SCHEMA, Rejections
from cepheid.connectors.settling import TEXT
from cepheid.errors import DataError, SchemaError


@dataclass(frozen=True)
class FileSource:
    """Events in files.

    Attributes:
        paths: files, folders or globs, absolute or relative to the working folder.
        format: csv, jsonl, parquet or arrow; None to go by the names of the files.
        columns: declared types. Columns that are not declared have the type that all their values have.
        time: the column of event time. It need not be declared: it holds timestamps, or numbers if ``time_unit`` is
            given, and rows in which it holds something else are rejected.
        time_unit: the unit of its numbers, or None.
        time_format: the strptime pattern of its texts where they are not ISO 8601, or None.
        csv: how CSV files are written.
    """

    paths: tuple[str, ...]
    format: str | None = None
    columns: Mapping[str, ColumnType] = field(default_factory=dict)
    time: str | None = None
    time_unit: str | None = None
    time_format: str | None = None
    csv: CsvOptions = field(default_factory=CsvOptions)


@dataclass(frozen=True)
class FileTable:
    """What was read.

    Attributes:
        table: the good rows, ordered by file and row, which is the default order key of files.
        rejected: the others, with the columns of `REJECTED_SCHEMA`.
        files: that were read, in order.
        n_rows: how many rows of the table each file gave.
        n_bytes: read, after unpacking.
    """

    table: Any
    rejected: Any
    files: tuple[Path, ...]
    n_rows: tuple[int, ...]
    n_bytes: int


def read_files(
    source: FileSource,
    only: Collection[str] | None = None,
    progress: Callable[[Path, int, int], None] | None = None,
) -> FileTable:
    """Read all files of ``source`` into one table.

    Rows that cannot be read are rejected and told, and reading goes on.

    Args:
        source: where and how.
        only: columns to read besides the declared ones; None for all.
        progress: is called with each file, its number from 0, and the number of files, before it is read.

    Raises:
        SetupError: there is no such file, or it cannot be opened.
        SchemaError: columns are not there or cannot have the declared types.
        DataError: a file is not of its format, or damaged.
    """
    files = [file for path in source.paths for file in list_files(path)]
    declared = _declared(source)
    if only is not None and source.time is not None:
        only = {*only, source.time}
    reads: list[tuple[Any, Rejections]] = []
    n_bytes = 0
    for number, file in enumerate(files):
        if progress is not None:
            progress(file, number, len(files))
        rejections = Rejections()
        table, n_file_bytes = _read(file, source, declared, rejections, only)
        n_bytes += n_file_bytes
        reads.append((table, rejections))
    return _joined(files, reads, source, declared, only, n_bytes)


def _declared(source: FileSource) -> Mapping[str, ColumnType]:
    if source.time is None:
        return source.columns
    given = source.columns.get(source.time)
    if source.time_format is not None:
        return {**source.columns, source.time: ColumnType(Form.TIMESTAMP, pattern=source.time_format)}
    if given is not None:
        return source.columns
    return {**source.columns, source.time: ColumnType(Form.NUMBER if source.time_unit else Form.TIMESTAMP)}


def _read(
    file: Path,
    source: FileSource,
    declared: Mapping[str, ColumnType],
    rejections: Rejections,
    only: Collection[str] | None,
) -> tuple[Any, int]:
    kind = source.format or format_of(file)
    match kind:
        case "csv":
            return read_csv(file, declared, csv_options(file, source), rejections, only)
        case "jsonl":
            return read_json_lines(file, declared, rejections, only)
        case "parquet":
            return read_parquet(file, declared, rejections, only)
        case "arrow":
            return read_arrow(file, declared, rejections, only)
    known = ", ".join(sorted(set(FORMATS.values())))
    raise DataError(
        f"the format of {file} cannot be told from its name", remedy=f'name it: format = "csv" (or one of {known})'
    )


def csv_options(file: Path, source: FileSource) -> CsvOptions:
    """How a CSV file of ``source`` is written: with tabs where its name says so and nothing else does."""
    if file.name.removesuffix(".gz").removesuffix(".zip").endswith(".tsv") and source.csv == CsvOptions():
        return CsvOptions(delimiter="\t")
    return source.csv


def _joined(
    files: Sequence[Path],
    reads: list[tuple[Any, Rejections]],
    source: FileSource,
    declared: Mapping[str, ColumnType],
    only: Collection[str] | None,
    n_bytes: int,
) -> FileTable:
    # A file without any row, not even a header, has no columns to speak of.
    tables = [table for table, _ in reads if table.num_columns]
    wanted = _common_types(tables)
    for index, (file, (table, _)) in enumerate(zip(files, reads, strict=True)):
        as_text = [n for n in table.column_names if _is_text(wanted[n]) and not _is_text(table.schema.field(n).type)]
        as_text = [n for n in as_text if n not in declared and not pa.types.is_null(table.schema.field(n).type)]
        if as_text and (source.format or format_of(file)) != "csv":
            raise SchemaError(
                f"{file}: the column {as_text[0]!r} has the type {table.schema.field(as_text[0]).type}, "
                "but text in another file",
                remedy="declare its type, or name one source for each kind of file",
            )
        if as_text:
            # 007 in this file, A7 in another: the first must not have become 7.
            again = Rejections()
            reads[index] = (_read(file, source, {**declared, **dict.fromkeys(as_text, TEXT)}, again, only)[0], again)
    parts = [_brought(table, wanted, file) for file, (table, _) in zip(files, reads, strict=True) if table.num_columns]
    if parts:
        whole = pa.concat_tables(parts, promote_options="permissive")
    else:
        whole = pa.table({name: pa.array([], _empty_type(kind)) for name, kind in declared.items()})
    rejected = pa.concat_tables([REJECTED_SCHEMA.empty_table(), *(r.table() for _, r in reads)])
    return FileTable(whole, rejected, tuple(files), tuple(table.num_rows for table, _ in reads), n_bytes)


def _empty_type(kind: ColumnType) -> Any:
    if kind.arrow is not None:
        return kind.arrow
    return pa.timestamp("us") if kind.form is Form.TIMESTAMP else pa.int64()


def _is_text(arrow: Any) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


def _common_types(tables: Sequence[Any]) -> dict[str, Any]:
    """For each column the type that holds its values from all tables."""
    types: dict[str, Any] = {}
    for table in tables:
        for column in table.schema:
            known = types.get(column.name)
            types[column.name] = column.type if known is None else _common(known, column.type)
    return types


def _common(one: Any, other: Any) -> Any:
    types = pa.types
    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    if types.is_timestamp(one) and types.is_timestamp(other):
        # Times without a zone are UTC.
        zone = None if one.tz is None and other.tz is None else "UTC"
        units = ("s", "ms", "us", "ns")
        return pa.timestamp(max(one.unit, other.unit, key=units.index), zone)
    if types.is_integer(one) and types.is_integer(other):
        return pa.int64()
    numbers = (types.is_integer, types.is_floating)
    if any(f(one) for f in numbers) and any(f(other) for f in numbers):
        return pa.float64()
    if types.is_nested(one) or types.is_nested(other):
        return None
    return pa.string()


def _brought(table: Any, wanted: Mapping[str, Any], file: Path) -> Any:
    fields = [pa.field(f.name, wanted[f.name] if wanted[f.name] is not None else f.type) for f in table.schema]
    try:
        return table.cast(pa.schema(fields))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"{file} has columns of other types than the files before it: {error}",
            remedy="declare the types of its columns, or name one source for each kind of file",
        ) from error
