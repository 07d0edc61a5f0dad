"""Where a result has a value: NULL and absent operands (SEMANTICS 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events.column import AnyColumn, BoolArray, Column
from cepheid.events.types import BOOL, DataType


def all_valid(columns: Sequence[AnyColumn]) -> BoolArray | None:
    """Where all columns have a value; None for everywhere."""
    valid: BoolArray | None = None
    for column in columns:
        mask = column.valid
        if mask is not None:
            valid = mask if valid is None else valid & mask
    return valid


def any_absent(columns: Sequence[AnyColumn]) -> BoolArray | None:
    """Where a column is absent; None for nowhere."""
    absent: BoolArray | None = None
    for column in columns:
        if column.absent is not None:
            absent = column.absent if absent is None else absent | column.absent
    return absent


def without(valid: BoolArray | None, bad: BoolArray | None) -> BoolArray | None:
    """``valid`` where not ``bad``."""
    if bad is None:
        return valid
    return ~bad if valid is None else valid & ~bad


def number_column(
    values: npt.NDArray[Any], valid: BoolArray | None, dtype: DataType, absent: BoolArray | None = None
) -> Column:
    """A column of freshly computed values, which are set to 0 where they do not count."""
    if valid is not None:
        values[~valid] = 0
    return Column(values, valid, dtype, absent=absent)


def truth_column(truth: BoolArray, valid: BoolArray | None, absent: BoolArray | None = None) -> Column:
    """A BOOL column; its values stay bool until the whole expression is done (`vector.evaluate`)."""
    return Column(truth if valid is None else truth & valid, valid, BOOL, absent=absent)


def truth_of(column: Column) -> BoolArray:
    """The values of a BOOL column as bool; False where there is none."""
    values = column.values
    return values if values.dtype == np.bool_ else values != 0
