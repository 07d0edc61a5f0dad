"""Indices without a sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cepheid.kernels.jit import COMPILING


def _of_machine() -> Any:
    from numba import uint64

    return uint64


at: Callable[[int], int] = _of_machine() if COMPILING else int
"""An index that is not negative: Numba does not test whether it is, a fifth of a walk's time."""
