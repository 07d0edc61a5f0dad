"""Tables of other libraries as Arrow tables, and results in the kind of table that the caller gave."""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.errors import SchemaError
from cepheid.events.arrow_types import is_list

EVENT = object()
"""In place of a table: one event was given, as a Python object."""


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
        return _decoded(data)
    if isinstance(data, pa.RecordBatch):
        return _decoded(pa.Table.from_batches([data]))
    if isinstance(data, pa.RecordBatchReader):
        return _decoded(data.read_all())
    if type(data).__module__.startswith("pyspark."):
        # It gives an Arrow stream, too: all of its rows, brought to this process.
        raise SchemaError(f"{what} are a Spark DataFrame", remedy="use cep.detect, or give its .toArrow()")
    library = _library(data)
    try:
        if library == "pandas":
            _check_names([str(name) for name in data.columns], what)
            return _decoded(pa.Table.from_pandas(data, preserve_index=False).replace_schema_metadata(None))
        if library == "polars":
            frame = data.collect() if hasattr(data, "collect") else data
            _check_objects(frame, what)
            return frame.to_arrow(compat_level=_polars().CompatLevel.oldest())
        if hasattr(data, "__arrow_c_stream__"):
            return _decoded(pa.table(data))
    except (pa.ArrowException, TypeError) as error:
        # TypeError: pandas' sparse columns.
        raise SchemaError(
            f"{what} cannot be read as an Arrow table: {error}",
            remedy="give every column values of one type, or leave the column out",
        ) from error
    raise SchemaError(
        f"{what} cannot be read from a {type(data).__module__}.{type(data).__qualname__}",
        remedy="give a pyarrow Table, a pandas DataFrame or a Polars DataFrame",
    )


def _decoded(table: Any) -> Any:
    """The table with run-end encoded columns written out: Arrow cannot take rows of them."""
    for i, field in enumerate(table.schema):
        if pa.types.is_run_end_encoded(field.type):
            chunks = [pc.run_end_decode(chunk) for chunk in table.column(i).chunks]
            table = table.set_column(i, field.name, pa.chunked_array(chunks, field.type.value_type))
    return table


def _check_names(names: list[str], what: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SchemaError(
            f"{what} have several columns of the name {repeated[0]!r}", remedy="rename or drop all but one"
        )


def _check_objects(frame: Any, what: str) -> None:
    """Polars would give the addresses of Python objects out as binary data."""
    for name, dtype in frame.schema.items():
        if dtype == _polars().Object:
            raise SchemaError(
                f"{what} have a column {name!r} of Python objects, which Arrow cannot hold",
                remedy="give the column values of one type, or leave it out",
            )


def like_given(table: Any, data: Any) -> Any:
    """A pyarrow Table as the kind of table that ``data`` is: pandas, Polars, or else Arrow.

    It is a list of dicts where ``data`` is `EVENT`. In pandas, whole numbers that can be NULL are of pandas' nullable
    types, so that they stay whole numbers.
    """
    if data is EVENT:
        return table.to_pylist()
    library = _library(data)
    if library == "polars":
        return _polars().from_arrow(table)
    if library == "pandas":
        frame = table.to_pandas(types_mapper=_pandas_types(table).get)
        for field, column in zip(table.schema, table.columns, strict=True):
            if _has_nanoseconds(field.type, inside=False):
                frame[field.name] = _series_of(column.to_pylist())
        return frame
    return table


def _has_nanoseconds(arrow: Any, *, inside: bool) -> bool:
    """True if a struct in a column of this type has a time or a length of time in nanoseconds, the unit of pandas.

    Arrow gives those to pandas as bare numbers.
    """
    types = pa.types
    if types.is_struct(arrow):
        return any(_has_nanoseconds(field.type, inside=True) for field in arrow)
    if is_list(arrow):
        return _has_nanoseconds(arrow.value_type, inside=inside)
    return inside and (types.is_timestamp(arrow) or types.is_duration(arrow)) and bool(arrow.unit == "ns")


def _series_of(values: list[Any]) -> Any:
    import pandas

    return pandas.Series(values, dtype=object)


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
