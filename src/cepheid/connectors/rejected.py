"""Rows that could not be read: where each is and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

N_RAW_MAX = 200
"""Characters of a rejected row that are kept."""

REJECTED_SCHEMA: Any = pa.schema(
    [
        pa.field("file", pa.string()),
        pa.field("line", pa.int64()),
        pa.field("column", pa.string()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("raw", pa.string()),
    ]
)
"""Columns of the rejected rows: the file, the line on which the row begins (from 1; NULL where files have no lines),
the column at fault (NULL where it is the whole row), what is wrong, and the first characters of the row."""


@dataclass
class Rejections:
    """Collects rejected rows."""

    rows: list[tuple[str, int | None, str | None, str, str | None]] = field(default_factory=list)

    def add(self, file: str, line: int | None, column: str | None, reason: str, raw: str | None) -> None:
        """Take one row; ``raw`` is cut at `N_RAW_MAX` characters."""
        # A file with broken UTF-8 is read with surrogates, which Arrow's text cannot hold.
        kept = None if raw is None else raw.rstrip("\r\n")[:N_RAW_MAX]
        self.rows.append((file, line, column, _encodable(reason), None if kept is None else _encodable(kept)))

    def table(self) -> Any:
        """The rows as a table of `REJECTED_SCHEMA`, in the order in which they were added."""
        if not self.rows:
            return REJECTED_SCHEMA.empty_table()
        columns = zip(*self.rows, strict=True)
        return pa.table(
            [pa.array(list(column), f.type) for column, f in zip(columns, REJECTED_SCHEMA, strict=True)],
            schema=REJECTED_SCHEMA,
        )

    def __len__(self) -> int:
        return len(self.rows)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
