"""Arrow arrays over the memory of NumPy arrays and back, without Arrow's own conversions.

Those ask first whether what they were given is of pandas, and import pandas to find out: 0.2 s of the first query in a
process, where pandas is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_TYPES = {
    np.dtype(np.int64): pa.int64(),
    np.dtype(np.int32): pa.int32(),
    np.dtype(np.int16): pa.int16(),
    np.dtype(np.float64): pa.float64(),
    np.dtype(np.bool_): pa.bool_(),
}


def array_of(values: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None = None) -> Any:
    """An Arrow array of NumPy's values.

    Args:
        values: int16, int32, int64, float64 or bool, shape (n,).
        mask: True where the value is NULL, shape (n,); None for nowhere.
    """
    arrow = _TYPES[values.dtype]
    data = _bits(values) if values.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(values))
    validity = None if mask is None else _bits(~mask)
    return pa.Array.from_buffers(arrow, len(values), [validity, data])


def numpy_of(array: Any) -> npt.NDArray[Any]:
    """The values of an Arrow array of numbers or truth values, perhaps read-only; under a NULL lies anything."""
    n, offset = len(array), array.offset
    data = array.buffers()[1]
    if data is None or n == 0:
        return np.zeros(n, np.bool_ if pa.types.is_boolean(array.type) else array.type.to_pandas_dtype())
    if pa.types.is_boolean(array.type):
        packed = np.frombuffer(data, np.uint8)
        return np.unpackbits(packed, count=offset + n, bitorder="little")[offset:].view(np.bool_)
    return np.frombuffer(data, array.type.to_pandas_dtype(), count=offset + n)[offset:]


def texts_of(texts: list[str]) -> Any:
    """An Arrow string array without NULLs."""
    encoded = [text.encode() for text in texts]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    wide = pa.Array.from_buffers(
        pa.large_string(), len(texts), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    )
    return wide.cast(pa.string())


def _bits(flags: npt.NDArray[np.bool_]) -> Any:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
