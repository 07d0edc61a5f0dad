"""CSV files: fast where every row is good; where one is not, it is found, told and left out.

All of a file is read by Arrow in one go first. Only a file in which that meets a bad row is read again, with its
undecided columns as text, to find which rows are bad and on which line they stand.
"""

from __future__ import annotations

import bisect
import codecs
import csv
import io
import sys
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from cepheid.connectors.column_types import ColumnType
from cepheid.connectors.opening import QuoteCount, reading
from cepheid.connectors.rejected import N_RAW_MAX, Rejections
from cepheid.connectors.settling import TEXT, settle, what
from cepheid.errors import DataError, SchemaError

_BLOCK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How a CSV file is written.

    Attributes:
        delimiter, quote: one character each.
        header: the first row names the columns; else ``names`` does.
        names: of the columns, where there is no header.
        null: what a value that is not there looks like, where it is not quoted.
        encoding: as Python knows it.
    """

    delimiter: str = ","
    quote: str = '"'
    header: bool = True
    names: tuple[str, ...] = ()
    null: tuple[str, ...] = ("",)
    encoding: str = "utf-8"


def is_text_encoding(name: str) -> bool:
    """True if ``name`` is an encoding in which a file can be read piece by piece, as punycode and idna are not."""
    sample = 'a,"b"\n'
    try:
        return codecs.getincrementaldecoder(name)("replace").decode(pa.py_buffer(sample.encode(name))) == sample
    except (LookupError, ValueError, AttributeError, TypeError):
        return False


def read_csv(
    path: Path,
    declared: Mapping[str, ColumnType],
    options: CsvOptions,
    rejections: Rejections,
    only: Collection[str] | None = None,
) -> tuple[Any, int]:
    """The rows of a CSV file.

    Args:
        path: the file; ``.gz`` and ``.zip`` are unpacked.
        declared: types of columns; the others have the type that all their values have, text if there is none.
        options: how it is written.
        rejections: takes the rows that have the wrong number of fields, or a value that is not of the declared type.
        only: columns to read besides the declared ones; None for all.

    Returns:
        The table, its columns in the order of the file, and the number of unpacked bytes.

    Raises:
        SchemaError: a declared column is not in the file, or a name is there twice.
        DataError, SetupError: the file cannot be read at all.
    """
    try:
        return _read(path, declared, options, rejections, only)
    except UnicodeError as error:
        raise DataError(
            f"{path} is not {options.encoding} text: {error}",
            remedy='state its encoding, as in encoding = "latin-1" under [source.csv]; for UTF-16 and UTF-32 without '
            "a byte order mark, with the order of bytes: utf-16-le",
        ) from error


def _read(
    path: Path,
    declared: Mapping[str, ColumnType],
    options: CsvOptions,
    rejections: Rejections,
    only: Collection[str] | None,
) -> tuple[Any, int]:
    names = _header(path, options)
    if names is None:
        return pa.table({}), 0
    missing = [name for name in declared if name not in names]
    if missing:
        raise SchemaError(
            f"{path} has no column {missing[0]!r}, which is declared", remedy=f"its columns are: {', '.join(names)}"
        )
    kept = [n for n in names if only is None or n in only or n in declared] or names[:1]
    fixed = {name: kind.arrow for name, kind in declared.items() if kind.arrow is not None}
    # Digits alone would be taken for a number.
    fixed |= {name: pa.string() for name, kind in declared.items() if kind.pattern is not None}
    # Arrow's threads may be stopped badly in a process that ends right after a short read; one block needs none.
    threads = path.stat().st_size > _BLOCK_BYTES
    first = _parse(path, options, names, kept, fixed, threads=threads)
    if first.table is not None and not first.n_bad_shape and first.n_quotes % 2 == 0:
        table, wrong = settle(str(path), first.table, declared)
        if not wrong:
            return table, first.n_bytes
    return _read_slowly(path, declared, options, rejections, names, kept), first.n_bytes


@dataclass
class _Parsed:
    """What Arrow made of a file; no table where a value was not of its column's type."""

    table: Any
    error: str
    n_bad_shape: int
    n_bytes: int
    n_quotes: int


def _header(path: Path, options: CsvOptions) -> list[str] | None:
    """The names of the columns; None for a file without any row."""
    with reading(path) as stream, _lines(stream, options) as lines, _wide_fields():
        rows = csv.reader(lines, delimiter=options.delimiter, quotechar=options.quote)
        try:
            names = next((row for row in rows if row), None)
        except csv.Error as error:
            raise DataError(f"{path} has no readable header: {error}", remedy="is it a CSV file?") from error
    if names is None:
        return None
    if not options.header:
        if not options.names:
            return [f"column_{i}" for i in range(1, len(names) + 1)]
        if len(options.names) != len(names):
            raise SchemaError(
                f"{path} has {len(names)} columns, but {len(options.names)} names are given for them",
                remedy="name every column, in the order of the file",
            )
        names = list(options.names)
    joined = "".join(names)
    if "\0" in joined:
        raise DataError(f"{path} has a zero byte in its header", remedy="it is not a CSV file, or not in UTF-8")
    if any("\ud800" <= char <= "\udfff" for char in joined):
        raise DataError(f"{path} has a header that is not {options.encoding} text", remedy="state its encoding")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"{path} has two columns named {twice[0]!r}", remedy="rename one of them in its header")
    return names


def _decoding(options: CsvOptions) -> str:
    # A byte order mark is no part of the first name.
    return "utf-8-sig" if options.encoding.lower().replace("_", "-") in ("utf-8", "utf8") else options.encoding


def _parse(
    path: Path,
    options: CsvOptions,
    names: list[str],
    kept: list[str],
    types: Mapping[str, Any],
    *,
    threads: bool,
) -> _Parsed:
    n_bad_shape = 0

    def skip(_: Any) -> str:
        nonlocal n_bad_shape
        n_bad_shape += 1
        return "skip"

    with reading(path) as stream:
        counted = QuoteCount(stream, options.quote.encode(options.encoding))
        table, error = None, ""
        try:
            table = pacsv.read_csv(
                pa.PythonFile(counted, mode="r"),
                pacsv.ReadOptions(
                    use_threads=threads,
                    block_size=_BLOCK_BYTES,
                    encoding=options.encoding,
                    column_names=None if options.header else names,
                ),
                pacsv.ParseOptions(
                    delimiter=options.delimiter,
                    quote_char=options.quote,
                    newlines_in_values=True,
                    invalid_row_handler=skip,
                ),
                pacsv.ConvertOptions(
                    column_types=types,
                    include_columns=kept,
                    null_values=list(options.null),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as problem:
            error = str(problem)
            # What is left still counts: the number of bytes is reported.
            while counted.read(_BLOCK_BYTES):
                pass
    return _Parsed(table, error, n_bad_shape, counted.n_bytes, counted.n_quotes)


def _read_slowly(
    path: Path,
    declared: Mapping[str, ColumnType],
    options: CsvOptions,
    rejections: Rejections,
    names: list[str],
    kept: list[str],
) -> Any:
    scan = _scan(path, options, len(names))
    parsed = _parse(path, options, names, kept, dict.fromkeys(declared, pa.binary()), threads=False)
    table = parsed.table
    if not scan.starts:  # a header without a line end is no CSV to Arrow
        table = pa.table({n: pa.array([], pa.binary() if n in declared else pa.null()) for n in kept})
    if table is None or len(table) != len(scan.good):
        raise DataError(
            f"{path} cannot be read as CSV" + (f": {parsed.error}" if parsed.error else ""),
            remedy="check its delimiter, quotes and encoding",
        )
    table, wrong = settle(str(path), table, declared)
    found: list[tuple[int, str | None, str]] = [(line, None, reason) for line, reason in scan.bad]
    is_bad = np.zeros(len(table), np.bool_)
    if scan.open_ended and scan.good and scan.good[-1] == scan.starts[-1]:
        is_bad[-1] = True
    if scan.open_ended:
        found = [item for item in found if item[0] != scan.starts[-1]]
        found.append((scan.starts[-1], None, "a quoted value begins here and never ends"))
    for name, bad in wrong.items():
        reason = f"not {what(declared.get(name, TEXT))}"
        found.extend((scan.good[row], name, reason) for row in np.flatnonzero(bad & ~is_bad))
        is_bad |= bad
    found.sort(key=lambda item: item[0])
    raw = _raw_rows(path, options, [line for line, _, _ in found], scan.starts)
    for line, column, reason in found:
        rejections.add(str(path), line, column, reason, raw[line])
    return table.filter(pa.array(~is_bad)) if is_bad.any() else table


def row_lines(path: Path, options: CsvOptions) -> Sequence[int]:
    """The line, from 1, on which each row with the right number of fields begins."""
    names = _header(path, options)
    return [] if names is None else _scan(path, options, len(names)).good


@dataclass
class _Scan:
    """Where the rows of a file are: lines from 1, the header and empty lines left out.

    Attributes:
        starts: the line on which each row begins.
        good: the same of the rows with the right number of fields, which are those that Arrow returns.
        bad: line and reason of the others.
        open_ended: the last row ends in a quoted value without an end.
    """

    starts: array[int]
    good: array[int]
    bad: list[tuple[int, str]]
    open_ended: bool


def _scan(path: Path, options: CsvOptions, n_columns: int) -> _Scan:
    scan = _Scan(array("q"), array("q"), [], open_ended=False)
    with reading(path) as stream, _lines(stream, options) as lines, _wide_fields():
        rows = csv.reader(lines, delimiter=options.delimiter, quotechar=options.quote)
        before = 0
        header_seen = not options.header
        for row in rows:
            line, before = before + 1, rows.line_num
            if not row:
                continue
            if not header_seen:
                header_seen = True
                continue
            scan.starts.append(line)
            if len(row) == n_columns:
                scan.good.append(line)
            else:
                scan.bad.append((line, f"the number of fields is {len(row)}, not {n_columns}"))
    if scan.starts:
        last = _raw_rows(path, options, [scan.starts[-1]], scan.starts, n_max=None)[scan.starts[-1]]
        scan.open_ended = _is_open(last, options)
    return scan


def _is_open(row: str, options: CsvOptions) -> bool:
    with _wide_fields():
        try:
            list(csv.reader(io.StringIO(row, ""), delimiter=options.delimiter, quotechar=options.quote, strict=True))
        except csv.Error as error:
            return "end of data" in str(error)
    return False


def _lines(stream: IO[bytes], options: CsvOptions) -> io.TextIOWrapper:
    encoding = _decoding(options)
    # Bytes that are not text keep their place; Arrow decides what becomes of the row.
    return io.TextIOWrapper(stream, encoding, "surrogateescape" if encoding.startswith("utf-8") else "replace", "")


def _raw_rows(
    path: Path, options: CsvOptions, wanted: Sequence[int], starts: Sequence[int], n_max: int | None = N_RAW_MAX
) -> dict[int, str]:
    """The text of the rows that begin on the lines ``wanted`` (ascending), each cut at ``n_max`` characters."""
    raw: dict[int, str] = {}
    if not wanted:
        return raw
    ends = {line: _next(starts, line) for line in wanted}
    with reading(path) as stream, _lines(stream, options) as lines:
        current = 0
        for number, line in enumerate(lines, start=1):
            if number in ends:
                current = number
                raw[current] = ""
            if current and number < ends[current] and (n_max is None or len(raw[current]) < n_max):
                raw[current] += line
            if number >= wanted[-1] and (n_max is not None and len(raw[current]) >= n_max):
                break
    return raw


def _next(starts: Sequence[int], line: int) -> int:
    position = bisect.bisect_right(starts, line)
    return starts[position] if position < len(starts) else sys.maxsize


@contextmanager
def _wide_fields() -> Iterator[None]:
    """Let Python's reader take fields as long as Arrow's does."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)
