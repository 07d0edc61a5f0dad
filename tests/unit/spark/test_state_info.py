"""What PySpark 4.0 makes of the rows of several groups, and what is mended of it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from cepheid.spark.state_info import mend_class

GROUP = {"startOffset": pa.int32(), "numRows": pa.int32(), "isLastChunk": pa.bool_()}


def column(names: dict[str, pa.DataType]) -> pa.ChunkedArray:
    """A group of two rows, so that the second place is NULL, and its fields are, as Java writes them."""
    values = {"startOffset": [0, None], "numRows": [2, None], "isLastChunk": [True, None], "x": [7, None]}
    fields = [pa.array(values[name], kind) for name, kind in names.items()]
    return pa.chunked_array([pa.StructArray.from_arrays(fields, list(names), mask=pa.array([False, True]))])


class Serializer:
    """As that of PySpark."""

    def arrow_to_pandas(self, arrow_column: pa.ChunkedArray) -> Any:
        return arrow_column.to_pandas()


def test_offsets_stay_integers() -> None:
    class Own(Serializer):
        """The one of `applyInPandasWithState`."""

    batch = pa.record_batch({"a": [1, 2]})
    (first, _) = Own().arrow_to_pandas(column(GROUP))
    with pytest.raises(TypeError, match="float"):
        batch.slice(first["startOffset"], first["numRows"])
    for _ in range(2):  # once is enough
        mend_class(Own)
    (first,) = Own().arrow_to_pandas(column(GROUP))
    assert batch.slice(first["startOffset"], first["numRows"]) == batch
    other = column({"x": pa.int32()})  # a struct of the user's
    pd.testing.assert_series_equal(Own().arrow_to_pandas(other), Serializer().arrow_to_pandas(other))
