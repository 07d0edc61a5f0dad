"""JSON lines: one object on each line; lines that are none, or whose values do not fit, are told and left out."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pajson

from cepheid.connectors.column_types import ColumnType, Form
from cepheid.connectors.opening import QuoteCount, reading
from cepheid.connectors.rejected import Rejections
from cepheid.connectors.settling import settle, what
from cepheid.errors import DataError

_BLOCK_BYTES = 4 << 20
_N_LEVELS = 100  # of values in values; what follows them one by one ends at Python's limit


def read_json_lines(
    path: Path,
    declared: Mapping[str, ColumnType],
    rejections: Rejections,
    only: Collection[str] | None = None,
) -> tuple[Any, int]:
    """The objects of a file of JSON lines, one row each; a field that an object lacks is NULL.

    Args:
        path: the file; ``.gz`` and ``.zip`` are unpacked.
        declared: types of fields; the others have the type that all their values have. Where there is none, lines
            that differ from the first one with a value are rejected.
        rejections: takes the lines that are not an object or have a value of another type.
        only: fields to read besides the declared ones; None for all.

    Returns:
        The table, and the number of unpacked bytes.

    Raises:
        SchemaError: a declared column holds numbers where times are declared.
        DataError, SetupError: the file cannot be read at all.
    """
    schema = pa.schema([(n, _explicit(kind)) for n, kind in declared.items() if _explicit(kind) is not None])
    with reading(path) as stream:
        counted = QuoteCount(stream, b"\n")
        try:
            table = _parse(pa.PythonFile(counted, mode="r"), schema, _BLOCK_BYTES)
            # Arrow's JSON reader does not look whether text is UTF-8.
            table.validate(full=True)
        except pa.ArrowInvalid as error:
            table = None
            if "Empty JSON" in str(error):
                return pa.table({}), counted.n_bytes
    if table is not None:
        table = _pruned(table, declared, only)
        _refuse_deep(path, table)
        table, wrong = settle(str(path), table, declared)
        if not wrong:
            return table, counted.n_bytes
    table, n_bytes = _read_slowly(path, schema, declared, rejections)
    table = _pruned(table, declared, only)
    _refuse_deep(path, table)
    return table, n_bytes


def _refuse_deep(path: Path, table: Any) -> None:
    for column in table.schema:
        inside = [column.type]
        for _ in range(_N_LEVELS):
            inside = [arrow.field(i).type for arrow in inside for i in range(arrow.num_fields)]
        if inside:
            raise DataError(
                f"{path}: the field {column.name!r} holds more than {_N_LEVELS} levels of lists or objects",
                remedy="leave the field out of the file, or write it as a text",
            )


def _explicit(kind: ColumnType) -> Any:
    # JSON has no times. Arrow takes text that looks like one for one, which serves unless it is written otherwise.
    return pa.string() if kind.pattern is not None else kind.arrow


def _pruned(table: Any, declared: Mapping[str, ColumnType], only: Collection[str] | None) -> Any:
    for name, kind in declared.items():
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(table), _explicit(kind) or pa.null()))
    if only is None:
        return table
    kept = [n for n in table.column_names if n in only or n in declared]
    return table.select(kept or table.column_names[:1])


def _parse(source: Any, schema: Any, block_bytes: int) -> Any:
    return pajson.read_json(
        source,
        pajson.ReadOptions(block_size=block_bytes),
        pajson.ParseOptions(explicit_schema=schema, newlines_in_values=False),
    )


@dataclass
class _Lines:
    """The lines that may be read, and what their scalars are.

    Attributes:
        texts, numbers: the lines, and where each stands (from 1).
        kinds: field -> how its values are written: number, string, boolean, array or object.
        floats: the fields some number of which is not whole, or does not fit int64.
    """

    texts: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    floats: set[str] = field(default_factory=set)


def object_lines(path: Path) -> Sequence[int]:
    """The lines, from 1, that are not empty."""
    with reading(path) as stream:
        return [number for number, line in enumerate(stream, start=1) if _object_text(line, number)]


def _object_text(line: bytes, number: int) -> bytes:
    return line.strip(b"\xef\xbb\xbf \t\r\n" if number == 1 else b" \t\r\n")


def _read_slowly(path: Path, schema: Any, declared: Mapping[str, ColumnType], rejections: Rejections) -> Any:
    lines = _Lines(kinds={name: kind for name, t in declared.items() if (kind := _KINDS.get(t.form))})
    found: list[tuple[int, str | None, str, bytes]] = []
    n_bytes = 0
    with reading(path) as stream:
        for number, line in enumerate(stream, start=1):
            n_bytes += len(line)
            text = _object_text(line, number)
            if not text:
                continue
            problem = _problem(text, lines, declared)
            if problem is None:
                lines.texts.append(text)
                lines.numbers.append(number)
            else:
                found.append((number, *problem, text))
    numbers = [(n, pa.float64() if n in lines.floats else pa.int64()) for n, k in lines.kinds.items() if k == "number"]
    fields = dict(numbers) | {f.name: f.type for f in schema}
    # Whether all of a column looks like times is not known from one block of it.
    fields |= {name: pa.string() for name, kind in declared.items() if kind.form is Form.TIMESTAMP}
    tables: list[Any] = []
    kept: list[int] = []
    for table, begin, end, reason in _blocks(lines.texts, 0, pa.schema(list(fields.items()))):
        if table is None:
            found.append((lines.numbers[begin], None, reason, lines.texts[begin]))
        else:
            tables.append(table)
            kept.extend(range(begin, end))
    table = pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})
    for name in declared:
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(table), fields.get(name, pa.null())))
    table, wrong = settle(str(path), table, declared)
    is_bad = np.zeros(len(table), np.bool_)
    for name, bad in wrong.items():
        reason = f"not {what(declared[name])}"
        for row in np.flatnonzero(bad & ~is_bad):
            found.append((lines.numbers[kept[row]], name, reason, lines.texts[kept[row]]))
        is_bad |= bad
    found.sort(key=lambda item: item[0])
    for number, column, reason, text in found:
        rejections.add(str(path), number, column, reason, text.decode("utf-8", "replace"))
    return (table.filter(pa.array(~is_bad)) if is_bad.any() else table), n_bytes


_KINDS = {
    Form.BOOL: "boolean",
    Form.INT: "number",
    Form.FLOAT: "number",
    Form.TEXT: "string",
    Form.TIMESTAMP: "string",
}


def _problem(text: bytes, lines: _Lines, declared: Mapping[str, ColumnType]) -> tuple[str | None, str] | None:
    """The field at fault (None: the line) and what is wrong with a line; None if it can be read."""
    try:
        value = json.loads(text.decode("utf-8"))
    except UnicodeDecodeError:
        return None, "not UTF-8 text"
    except RecursionError:
        return None, "not JSON: nested too deeply"
    except ValueError as error:
        return None, f"not JSON: {error}"
    if not isinstance(value, dict):
        return None, f"not a JSON object but {_written_as(value)}"
    written = {name: _written_as(item) for name, item in value.items() if item is not None}
    for name, kind in written.items():
        expected = lines.kinds.get(name, kind)
        if kind != expected and not (name in declared and declared[name].form is Form.DECIMAL):
            wanted = what(declared[name]) if name in declared else f"{_article(expected)}, as on the lines before"
            return name, f"not {wanted}, but {_article(kind)}"
        if kind == "number" and name in declared and declared[name].form is Form.INT and not _is_int64(value[name]):
            return name, f"not {what(declared[name])}"
    for name, kind in written.items():
        lines.kinds.setdefault(name, kind)
        if kind == "number" and not _is_int64(value[name]):
            lines.floats.add(name)
    return None


def _is_int64(value: object) -> bool:
    return isinstance(value, int) and -(2**63) <= value < 2**63


def _written_as(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "ao" else f"a {kind}"


def _blocks(texts: list[bytes], begin: int, schema: Any) -> list[tuple[Any, int, int, str]]:
    """Tables of as many lines as can be read together; a line that cannot be read at all has None, and the reason.

    Returns:
        (table or None, first line, line after the last, reason), in order.
    """
    if not texts:
        return []
    data = b"\n".join(texts)
    try:
        table = _parse(pa.BufferReader(data), schema, min(len(data) + 1, 2**31 - 1))
        table.validate(full=True)
        return [(table, begin, begin + len(texts), "")]
    except pa.ArrowInvalid as error:
        if len(texts) == 1:
            return [(None, begin, begin + 1, str(error).removeprefix("JSON parse error: ").split(" in row ")[0])]
    middle = len(texts) // 2
    left = _blocks(texts[:middle], begin, schema)
    # What an array or object holds is settled by the lines before.
    known = {f.name: f.type for table, *_ in left if table is not None for f in table.schema if _is_nested(f.type)}
    known |= {f.name: f.type for f in schema}
    return left + _blocks(texts[middle:], begin + middle, pa.schema(list(known.items())))


def _is_nested(arrow: Any) -> bool:
    return bool(pa.types.is_nested(arrow))
