"""Rows of one output as rows of all outputs, in Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def tagged_rows(name: str, table: Any, schema: Any) -> Any:
    """The rows of one output as rows of all: its name, and a struct for each output.

    Args:
        name: of the output.
        table: its rows.
        schema: of the rows of all.
    """
    return pa.Table.from_batches([_tagged(name, batch, schema) for batch in table.to_batches()], schema)


def _tagged(name: str, rows: Any, schema: Any) -> Any:
    columns = [pa.array([name] * rows.num_rows, pa.string())]
    for field in list(schema)[1:]:
        if field.name == name:
            columns.append(pa.StructArray.from_arrays(rows.columns, fields=list(field.type)))
        else:
            columns.append(pa.nulls(rows.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
