"""Tables of other libraries as Arrow tables, and results in the kind of table that the caller gave."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

from cepheid.errors import SchemaError


def as_arrow(data: Any, what: str = "the events") -> Any:
    """A pyarrow Table of what was given.

    Args:
        data: a pyarrow Table, RecordBatch or RecordBatchReader, a pandas DataFrame (its index is left out), a Polars
            DataFrame or LazyFrame (which is collected), or whatever else gives an Arrow stream.
        what: what it is, for errors.

    Raises:
        SchemaError: it is none of these, or has a column that Arrow cannot hold.
    """
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    library = _library(data)
    try:
        if library == "pandas":
            return pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None)
        if library == "polars":
            frame = data.collect() if hasattr(data, "collect") else data
            return frame.to_arrow(compat_level=_polars().CompatLevel.oldest())
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"{what} cannot be read as an Arrow table: {error}",
            remedy="give every column values of one type, or leave the column out",
        ) from error
    raise SchemaError(
        f"{what} cannot be read from a {type(data).__module__}.{type(data).__qualname__}",
        remedy="give a pyarrow Table, a pandas DataFrame or a Polars DataFrame",
    )


def like_given(table: Any, data: Any) -> Any:
    """A pyarrow Table as the kind of table that ``data`` is: pandas, Polars, or else Arrow.

    In pandas, whole numbers that can be NULL are of pandas' nullable types, so that they stay whole numbers.
    """
    library = _library(data)
    if library == "polars":
        return _polars().from_arrow(table)
    if library == "pandas":
        return table.to_pandas(types_mapper=_pandas_types(table).get)
    return table


def _library(data: Any) -> str | None:
    """``pandas`` or ``polars`` if ``data`` is a frame of it. A library that was never imported has made no frame."""
    for name, kinds in (("pandas", ("DataFrame",)), ("polars", ("DataFrame", "LazyFrame"))):
        module = sys.modules.get(name)
        if module is not None and isinstance(data, tuple(getattr(module, kind) for kind in kinds)):
            return name
    return None


def _polars() -> Any:
    import polars

    return polars


def _pandas_types(table: Any) -> dict[Any, Any]:
    """The nullable pandas types of the columns of whole numbers and bools that hold NULLs."""
    import pandas

    integers = {
        pa.int8(): pandas.Int8Dtype(),
        pa.int16(): pandas.Int16Dtype(),
        pa.int32(): pandas.Int32Dtype(),
        pa.int64(): pandas.Int64Dtype(),
        pa.uint8(): pandas.UInt8Dtype(),
        pa.uint16(): pandas.UInt16Dtype(),
        pa.uint32(): pandas.UInt32Dtype(),
        pa.uint64(): pandas.UInt64Dtype(),
        pa.bool_(): pandas.BooleanDtype(),
    }
    with_nulls = {field.type for field, column in zip(table.schema, table.columns, strict=True) if column.null_count}
    return {arrow: dtype for arrow, dtype in integers.items() if arrow in with_nulls}
