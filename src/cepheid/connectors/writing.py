"""Tables to files: whole or not at all."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from cepheid.connectors.locations import FORMATS, format_of, real_path
from cepheid.errors import DataError, SetupError
from cepheid.events.plain import as_plain

_N_BATCH_ROWS = 16_384


@contextmanager
def writing(table: Any, path: Path, format: str | None = None) -> Iterator[None]:
    """Write ``table`` beside ``path`` at once; put it in the place of ``path`` when the block ends without an error.

    So several files can be written all or none. Args and errors are those of `write_table`.
    """
    kind = format or format_of(path)
    write = _WRITERS.get(kind or "")
    if write is None:
        raise DataError(
            f"the format of {path} cannot be told from its name",
            remedy=f'name it: format = "parquet" (or one of {", ".join(sorted(set(FORMATS.values())))})',
        )
    _refuse_other_than_files(path)
    with _replacing(path) as stream:
        try:
            write(table, stream)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"the matches cannot be written as {kind}: {error}", remedy="write Parquet instead"
            ) from error
        yield


def write_table(table: Any, path: Path, format: str | None = None) -> None:
    """Write ``table`` to ``path``, in place of what is there.

    It is written beside ``path`` under another name first, so that whoever reads ``path`` finds the old file or the
    whole new one, and nothing is left where writing fails.

    Args:
        table: an Arrow table. CSV has no nested values: they are written as JSON.
        path: the file; its folder is made if needed. ``.gz`` packs CSV and JSON lines.
        format: csv, jsonl, parquet or arrow; None to go by the name of the file.

    Raises:
        SetupError: the folder cannot be written, or is full; the path is a folder or a device.
        DataError: no such format, or it cannot hold these values.
    """
    with writing(table, path, format):
        pass


def write_text(text: str, path: Path) -> None:
    """Write a text file in UTF-8, whole or not at all; see `write_table`.

    Raises:
        SetupError: the folder cannot be written, or is full.
    """
    _refuse_other_than_files(path)
    with _replacing(path) as stream:
        stream.write(text.encode("utf-8"))


def check_writable(path: Path) -> None:
    """Raise `SetupError` now if ``path`` cannot be written later; the folder is made if needed."""
    _refuse_other_than_files(path)
    with _told(path):
        path = real_path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass


def _refuse_other_than_files(path: Path) -> None:
    with _told(path):
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            return
        except ValueError as error:  # a zero byte
            raise SetupError(f"{str(path)!r} can be no path: {error}", remedy="correct the path") from error
    if stat.S_ISDIR(mode):
        raise SetupError(f"{path} is a folder", remedy="name a file in it")
    if not stat.S_ISREG(mode):
        # A file put in its place would take the pipe or the device away from everyone else.
        raise SetupError(
            f"{path} is a device or a pipe, which no file can take the place of",
            remedy="name a file; a job without a path in [sink] prints its matches",
        )


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise SetupError(
            f"{path} cannot be written: {reason}", remedy="check the folder, its rights and the room left on its disk"
        ) from error


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    with _told(path):
        # Through links: what they lead to is replaced, not they.
        path = real_path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder, as only within one file system a file takes another's place in one step.
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                os.fchmod(stream.fileno(), 0o666 & ~_umask())
                if path.suffix.lower() == ".gz":
                    # No name and time in the file: equal matches make equal files.
                    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
                        yield cast(IO[bytes], packed)
                else:
                    yield stream
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(name).unlink()
            raise


def _umask() -> int:
    # It cannot be read without being set.
    current = os.umask(0o022)
    os.umask(current)
    return current


def _write_csv(table: Any, stream: IO[bytes]) -> None:
    flat = table
    for position, column in enumerate(table.schema):
        if _is_csv_value(column.type):
            continue
        texts = [
            None if row["x"] is None else json.dumps(as_plain(row["x"]), ensure_ascii=False)
            for row in rows_of(pa.table({"x": table[column.name]}))
        ]
        flat = flat.set_column(position, column.name, pa.array(texts, pa.string()))
    pacsv.write_csv(flat, stream)


def _is_csv_value(arrow: Any) -> bool:
    types = pa.types
    kinds = (
        types.is_boolean,
        types.is_integer,
        types.is_floating,
        types.is_decimal,
        types.is_string,
        types.is_large_string,
        types.is_temporal,
        types.is_null,
    )
    return any(kind(arrow) for kind in kinds) and not types.is_duration(arrow)


def write_json_lines(table: Any, stream: IO[bytes]) -> None:
    """Each row as a JSON object on a line: times in ISO 8601, decimals as text, lengths of time in seconds."""
    text = io.TextIOWrapper(stream, "utf-8", newline="\n", write_through=False)
    for batch in table.to_batches(max_chunksize=_N_BATCH_ROWS):
        for row in rows_of(pa.Table.from_batches([batch])):
            text.write(json.dumps(as_plain(row), ensure_ascii=False))
            text.write("\n")
    # The stream stays open: it is not this function's.
    text.detach()


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as Python has them.

    Raises:
        DataError: a time is beyond the years 1 to 9999, which Python does not have.
    """
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
    except OverflowError as error:
        raise DataError(
            f"a time is beyond the years 1 to 9999, and cannot be written as text ({error})",
            remedy="write Parquet instead, or choose other columns with RETURN",
        ) from error
    return rows


def _write_parquet(table: Any, stream: IO[bytes]) -> None:
    pq.write_table(table, stream, compression="zstd")


def _write_arrow(table: Any, stream: IO[bytes]) -> None:
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)


_WRITERS: Mapping[str, Callable[[Any, IO[bytes]], None]] = {
    "csv": _write_csv,
    "jsonl": write_json_lines,
    "parquet": _write_parquet,
    "arrow": _write_arrow,
}
