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
    columns = [pa.array([name] * table.num_rows, pa.string())]
    for field in list(schema)[1:]:
        if field.name == name:
            whole = table.combine_chunks()
            arrays = [c.chunk(0) if c.num_chunks else pa.array([], c.type) for c in whole.columns]
            columns.append(pa.StructArray.from_arrays(arrays, fields=list(field.type)))
        else:
            columns.append(pa.nulls(table.num_rows, field.type))
    return pa.Table.from_arrays(columns, schema=schema)
