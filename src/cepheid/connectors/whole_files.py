"""Files whose bytes come from elsewhere, read as if they lay here: what reads streams of files has no paths."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from cepheid.connectors.column_types import ColumnType
from cepheid.connectors.csv_files import CsvOptions, read_csv
from cepheid.connectors.files import FileSource, csv_options
from cepheid.connectors.rejected import REJECTED_SCHEMA, Rejections
from cepheid.errors import CepheidError


@dataclass(frozen=True)
class CsvBytes:
    """Reads whole CSV files; it can be pickled.

    Attributes:
        columns: column -> its type, of all that are read.
        csv: how the files are written.
    """

    columns: Mapping[str, ColumnType]
    csv: CsvOptions = field(default_factory=CsvOptions)

    def __call__(self, name: str, content: bytes) -> tuple[Any, Any]:
        """The rows of a file, and those that were rejected.

        A file that cannot be read at all, or lacks a column, is rejected as a whole: the stream goes on, and who mends
        the file can give it again.

        Args:
            name: of the file; ``.gz`` and ``.zip`` at its end say that it is packed.
            content: its bytes.

        Returns:
            A table of `columns`, and a table of `REJECTED_SCHEMA`.
        """
        rejections = Rejections()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / Path(name).name
            path.write_bytes(content)
            options = csv_options(path, FileSource((name,), csv=self.csv))
            try:
                table, _ = read_csv(path, self.columns, options, rejections, only=())
            except CepheidError as error:
                rejections = Rejections()
                why = error.message + (f"; {error.remedy}" if error.remedy else "")
                rejections.add(name, None, None, why.replace(str(path), "the file"), None)
                table = None
        rejected = rejections.table()
        return table, rejected.set_column(0, REJECTED_SCHEMA.field(0), pa.array([name] * len(rejected), pa.string()))
