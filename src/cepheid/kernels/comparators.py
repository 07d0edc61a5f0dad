"""Comparisons of whole numbers."""

from __future__ import annotations

from cepheid.kernels.jit import kernel
from cepheid.kernels.layout import EQ, GE, GT, LE, LT


@kernel(inline=True)
def compare_ints(comparator: int, a: int, b: int) -> bool:
    """Compare as `layout` numbers the comparators."""
    if comparator == LT:
        return a < b
    if comparator == EQ:
        return a == b
    if comparator == GT:
        return a > b
    if comparator == LE:
        return a <= b
    if comparator == GE:
        return a >= b
    return a != b
