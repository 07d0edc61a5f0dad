"""Numbers without a sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cepheid.kernels.jit import COMPILING


def _of_machine() -> Any:
    from numba import uint64

    return uint64


def _unsigned(number: int) -> int:
    return int(number) & (1 << 64) - 1


at: Callable[[int], int] = _of_machine() if COMPILING else int
"""An index that is not negative: Numba does not test whether it is, a fifth of a walk's time."""

unsigned: Callable[[int], int] = _of_machine() if COMPILING else _unsigned
"""A number modulo 2**64, so that one comparison tells whether it lies between 0 and another one."""
