"""Words without a sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cepheid.kernels.jit import COMPILING


def _of_machine() -> Any:
    from numba import uint64

    return uint64


unsigned: Callable[[int], int] = _of_machine() if COMPILING else int
"""A word without a sign: what is computed of it and others of its kind has none, either."""
