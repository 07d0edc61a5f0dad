"""Where rows of a table stand in the files that it was read from, for those few of which somebody asks."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path

from cepheid.connectors.csv_files import row_lines
from cepheid.connectors.files import FileSource, FileTable, csv_options
from cepheid.connectors.json_lines import object_lines
from cepheid.connectors.locations import format_of


def places(source: FileSource, found: FileTable, rows: Sequence[int]) -> list[tuple[str, int | None]]:
    """The file and the line on which each of ``rows`` begins.

    The files are read again, which nothing has to be remembered for.

    Args:
        source: as `read_files` took it.
        found: as `read_files` gave it.
        rows: rows of ``found.table``, counted from 0.

    Returns:
        For each row its file, and its line from 1; None where files have no lines, or the file is another one by now.
    """
    placed: dict[int, tuple[str, int | None]] = {}
    n_before = 0
    for file, n_rows in zip(found.files, found.n_rows, strict=True):
        here = [row for row in set(rows) if n_before <= row < n_before + n_rows]
        lines = _lines(file, source, found) if here else None
        for row in here:
            known = lines is not None and len(lines) == n_rows
            placed[row] = (str(file), lines[row - n_before] if lines is not None and known else None)
        n_before += n_rows
    return [placed[row] for row in rows]


def _lines(file: Path, source: FileSource, found: FileTable) -> array[int] | None:
    """The lines of the rows of a file that were not rejected as it was read."""
    kind = source.format or format_of(file)
    if kind not in ("csv", "jsonl"):
        return None
    told = zip(found.rejected["file"].to_pylist(), found.rejected["line"].to_pylist(), strict=True)
    without = {line for name, line in told if name == str(file)}
    lines = row_lines(file, csv_options(file, source)) if kind == "csv" else object_lines(file)
    return array("q", (line for line in lines if line not in without))
