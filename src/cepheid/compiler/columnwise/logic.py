"""AND, OR and NOT of columns, three-valued, absent operands left out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from cepheid.compiler.columnwise.masks import truth_column, truth_of
from cepheid.events.column import BoolArray, Column


def conjunction(operands: Sequence[Column]) -> Column:
    """False where an operand is false; else NULL where one is NULL; else true; absent where all are absent."""
    return _connected(operands, decisive=False)


def disjunction(operands: Sequence[Column]) -> Column:
    """True where an operand is true; else NULL where one is NULL; else false; absent where all are absent."""
    return _connected(operands, decisive=True)


def negation(operand: Column) -> Column:
    """NOT: NULL and absent stay what they are."""
    return truth_column(~truth_of(operand), operand.valid, operand.absent)


def _connected(operands: Sequence[Column], *, decisive: bool) -> Column:
    """Operands joined by AND or OR; ``decisive`` is the value of one that settles the result."""
    if all(operand.valid is None for operand in operands):
        join = np.logical_or if decisive else np.logical_and
        return truth_column(reduce(join, map(truth_of, operands)), None)
    decided: BoolArray = reduce(np.logical_or, [_equal(operand, decisive) for operand in operands])
    n = len(operands[0])
    null = np.zeros(n, np.bool_)
    for operand in operands:
        if operand.valid is not None:
            null |= ~operand.valid if operand.absent is None else ~(operand.valid | operand.absent)
    absent: BoolArray | None = None
    if all(operand.absent is not None for operand in operands):
        absent = reduce(np.logical_and, [o.absent for o in operands if o.absent is not None])
    valid = decided | ~null
    if absent is not None:
        valid &= ~absent
    return truth_column(decided if decisive else ~decided, valid, absent)


def _equal(operand: Column, truth: bool) -> BoolArray:
    """Where an operand has the value ``truth``."""
    if truth:
        return truth_of(operand)  # false where there is no value
    missed = ~truth_of(operand)
    return missed if operand.valid is None else missed & operand.valid
