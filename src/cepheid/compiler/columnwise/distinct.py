"""Work on text done once for each distinct text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events.arrow_memory import array_of
from cepheid.events.column import BoolArray, Column, text_column
from cepheid.events.text import encode_text


def compacted(column: Column) -> Column:
    """The same TEXT column with a dictionary of the texts that occur, where that is much smaller."""
    if len(column.dictionary) <= 64 or len(column.dictionary) <= 2 * len(column):
        return column
    used, codes = np.unique(column.values, return_inverse=True)
    dictionary = column.dictionary.take(array_of(used))
    return text_column(codes, column.valid, dictionary, ordered=column.ordered, absent=column.absent)


def texts_from(
    column: Column, compute: Callable[[Any], Any], valid: BoolArray | None, absent: BoolArray | None
) -> Column:
    """A TEXT column computed from another, text by text.

    Args:
        column: TEXT.
        compute: Arrow array of texts -> Arrow array of as many texts.
        valid, absent: of the result.
    """
    column = compacted(column)
    codes, _, dictionary = encode_text(compute(column.dictionary))
    return text_column(codes[column.values], valid, dictionary, absent=absent)


def numbers_from(column: Column, compute: Callable[[Any], npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Numbers or truths computed from a TEXT column, text by text (of no meaning where there is no text)."""
    column = compacted(column)
    by_text = compute(column.dictionary)
    values: npt.NDArray[Any] = by_text[column.values]
    return values
