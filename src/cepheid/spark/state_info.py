"""Mends how PySpark 4.0 reads which rows belong to which state.

Beside the rows of several groups comes a column that says where the rows of each begin and how many they are, and that
is NULL behind the last group. Java writes NULL into its fields there, too; pandas then makes floats of all their
integers, and `RecordBatch.slice` takes none. That stops a query whose groups have more rows than there are groups.
Later versions of PySpark read it otherwise.
"""

from __future__ import annotations

import sys
from typing import Any

import pyarrow as pa

_SERIALIZERS = "pyspark.sql.pandas.serializers"
_FIELDS = {"startOffset", "numRows", "isLastChunk"}


def mend() -> None:
    """Mend it in this process, where it is a worker of a PySpark that needs it."""
    module = sys.modules.get(_SERIALIZERS)  # a worker has it before it has its function
    serializer = getattr(module, "ApplyInPandasWithStateSerializer", None)
    if hasattr(serializer, "arrow_to_pandas"):
        mend_class(serializer)


def mend_class(serializer: Any) -> None:
    """Let a serializer read NULL behind the last group as the end.

    Args:
        serializer: the class; its method `arrow_to_pandas` takes a chunked array.
    """
    if "arrow_to_pandas" in vars(serializer):
        return  # it is mended, or has a way of its own
    read = serializer.arrow_to_pandas

    def arrow_to_pandas(self: Any, arrow_column: pa.ChunkedArray) -> Any:
        kind = arrow_column.type
        if pa.types.is_struct(kind) and {field.name for field in kind} >= _FIELDS and arrow_column.null_count:
            arrow_column = arrow_column.drop_null()
        return read(self, arrow_column)

    serializer.arrow_to_pandas = arrow_to_pandas
