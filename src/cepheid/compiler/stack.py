"""How deep the stack of a plan's conditions gets: pools have room for so much, so no condition is too deep."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.kernels import layout as k


def stack_depth(code: Sequence[Sequence[int]], conditions: Sequence[Sequence[int]]) -> int:
    """The most operands that stand on the stack at once, over all conditions; 1 where there are none.

    Args:
        code, conditions: tables as `kernels.layout` says.
    """
    deepest = 1
    for condition in conditions:
        depth = 0
        for row in code[condition[k.CODE_FROM] : condition[k.CODE_TO]]:
            depth += _growth(row)
            deepest = max(deepest, depth)
    return deepest


def _growth(row: Sequence[int]) -> int:
    """By how many operands an instruction makes the stack deeper."""
    op = row[k.OP]
    if op < k.TO_FLOAT:
        return 1
    if op == k.HOST:
        return 1 - row[k.A_SOURCE]
    if op == k.DISTANCE:
        return -3
    if op in (k.AND, k.OR, k.OR_OF_IN) or k.ADD_INT <= op < k.FIRST_UNARY:
        return -1
    return 0
