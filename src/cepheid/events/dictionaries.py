"""Dictionary-encoded columns whose dictionaries hold NULL: Arrow can neither unify nor join these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.events.arrow_memory import array_of, numpy_of


def unified(values: Any) -> Any:
    """An Arrow Array, ChunkedArray or Table with one dictionary for all chunks of each column, without NULL in it."""
    values = without_null_entries(values)
    return values if isinstance(values, pa.Array) else values.unify_dictionaries()


def without_null_entries(values: Any) -> Any:
    """The same values in the same types, where NULL stands in no dictionary: such rows are NULL themselves.

    Args:
        values: an Arrow Array, ChunkedArray or Table; dictionaries inside of structs and lists are seen to, too.

    Returns:
        ``values`` itself where there is nothing to do.
    """
    if isinstance(values, pa.Table):
        for number, field in enumerate(values.schema):
            if _has_dictionary(field.type):
                column = values.column(number)
                changed = without_null_entries(column)
                values = values if changed is column else values.set_column(number, field, changed)
        return values
    if not _has_dictionary(values.type):
        return values
    if not isinstance(values, pa.ChunkedArray):
        return _mended(values)
    chunks = values.chunks
    mended = [_mended(chunk) for chunk in chunks]
    same = all(new is old for new, old in zip(mended, chunks, strict=True))
    return values if same else pa.chunked_array(mended, type=values.type)


def _has_dictionary(arrow: Any) -> bool:
    if pa.types.is_dictionary(arrow):
        return True
    return _is_made_of(arrow) and any(_has_dictionary(arrow.field(i).type) for i in range(arrow.num_fields))


def _is_made_of(arrow: Any) -> bool:
    """Whether it is one of the nested types whose arrays can be put together from others."""
    return bool(pa.types.is_struct(arrow) or pa.types.is_list(arrow) or pa.types.is_large_list(arrow))


def _mended(array: Any) -> Any:
    arrow = array.type
    if pa.types.is_dictionary(arrow):
        return _reindexed(array) if array.dictionary.null_count else array
    if not _is_made_of(arrow) or not _has_dictionary(arrow):
        return array
    nulls = array_of(~numpy_of(array.is_valid())) if array.null_count else None
    if pa.types.is_struct(arrow):
        fields = [array.field(i) for i in range(arrow.num_fields)]
        mended = [_mended(field) for field in fields]
        if all(new is old for new, old in zip(mended, fields, strict=True)):
            return array
        return pa.StructArray.from_arrays(mended, fields=list(arrow), mask=nulls)
    items = array.values
    mended_items = _mended(items)
    if mended_items is items:
        return array
    # Arrow takes no mask beside offsets that begin inside of their buffer.
    offsets = array.offsets.take(array_of(np.arange(len(array) + 1))) if array.offset else array.offsets
    return type(array).from_arrays(offsets, mended_items, type=arrow, mask=nulls)


def _reindexed(array: Any) -> Any:
    arrow, dictionary = array.type, array.dictionary
    there = numpy_of(dictionary.is_valid())
    new_index = array_of(np.cumsum(there) - 1, ~there)
    indices = new_index.take(array.indices).cast(arrow.index_type)
    if pa.types.is_string_view(arrow.value_type) or pa.types.is_binary_view(arrow.value_type):
        # Arrow cannot take rows of views.
        wide = pa.large_string() if pa.types.is_string_view(arrow.value_type) else pa.large_binary()
        dictionary = dictionary.cast(wide)
    kept = dictionary.drop_null().cast(arrow.value_type)
    return pa.DictionaryArray.from_arrays(indices, kept, ordered=arrow.ordered)
