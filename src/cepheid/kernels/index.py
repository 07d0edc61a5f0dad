"""Indices that are known not to be negative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cepheid.kernels.jit import COMPILING


def _unsigned() -> Any:
    if not COMPILING:
        return int
    from numba import uint64

    return uint64


at: Callable[[int], int] = _unsigned()
"""An index as an unsigned number: Numba does not test whether it is negative, a fifth of a walk's time."""
