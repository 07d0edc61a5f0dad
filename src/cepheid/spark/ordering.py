"""The order of events of one time where no ``order=`` was given: by the values of all columns (SEMANTICS 1.1).

Rows of a DataFrame have no numbers, so this is all that tells two events of one time apart wherever they are read.
Events that agree in all columns are interchangeable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cepheid.events.batch import EventBatch, take_rows
from cepheid.events.column import ArrowColumn, BoolArray, Int64Array, unify
from cepheid.events.convert import column_of
from cepheid.events.types import Kind


@dataclass(frozen=True, eq=False)
class Ordered:
    """A batch whose order does not depend on the order in which its rows came.

    Attributes:
        batch: the events.
        n_tied: events that share their time, and the values of the key columns, with another event.
    """

    batch: EventBatch
    n_tied: int


def by_all_columns(batch: EventBatch, keys: Sequence[str]) -> Ordered:
    """Put events of one time in the order of the values of all columns, key columns first.

    Args:
        batch: events in the order of their times.
        keys: columns that part the events: those with different values there never meet.

    Returns:
        The same events; only those of equal times have changed places.
    """
    names = [*keys, *(n for n in batch.schema.fields if n not in keys and n != batch.schema.time)]
    order = np.arange(len(batch))
    starts = np.concatenate(([True], batch.time_us[1:] != batch.time_us[:-1]))[: len(batch)]
    # The places of events that are alike so far, and which of them are alike: equal numbers, next to each other.
    places, alike = _alike(order, starts)
    n_tied = len(places)
    for n_done, name in enumerate(names):
        if n_done == len(keys):
            n_tied = len(places)
        if len(places):
            columns = _sort_keys(take_rows(batch.table.column(name), batch.rows_of(order[places])), name)
            best = _argsort(alike, columns)
            order[places] = order[places][best]
            starts = _starts([alike, *(c[best] for c in columns)])
            places, alike = _alike(places, starts)
    if len(names) == len(keys):
        n_tied = len(places)
    if not n_tied and not keys:
        return Ordered(batch, 0)
    ordered = EventBatch(
        batch.table,
        batch.schema,
        batch.time_us,
        batch.rows_of(order),
        batch.rejected,
        dict(batch.n_floored),
    )
    return Ordered(ordered, n_tied)


def _starts(columns: Sequence[npt.NDArray[Any]]) -> BoolArray:
    """Where a row differs from the one before it; the first does."""
    starts = np.zeros(len(columns[0]), np.bool_)
    starts[:1] = True
    for column in columns:
        starts[1:] |= column[1:] != column[:-1]
    return starts


def _alike(places: Int64Array, starts: BoolArray) -> tuple[Int64Array, Int64Array]:
    """The places of rows that do not stand alone between two starts, and a number for each run of them."""
    alone = starts & np.concatenate((starts[1:], [True]))[: len(starts)]
    return places[~alone], np.cumsum(starts, dtype=np.int64)[~alone]


def _sort_keys(values: Any, name: str) -> list[npt.NDArray[Any]]:
    """Integers whose order, the first before the second, is that of the values; NULL before all others."""
    column, _ = column_of(values, name)
    if isinstance(column, ArrowColumn):
        # Lists, structs and the like have no order of their own; any will do that depends on nothing but the value.
        column, _ = column_of(pa.array([repr(v) for v in column.values.to_pylist()], pa.string()), name)
    assert not isinstance(column, ArrowColumn)
    column = unify([column])[0]
    key = column.values
    if column.type.kind is Kind.FLOAT:
        # Bits of doubles, so turned that they order as the numbers do, with one NaN above all and one zero.
        bits = np.where(np.isnan(key), np.nan, key + 0.0).view(np.int64)
        key = bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    return [key] if column.valid is None else [column.valid.astype(np.int64), key]


def _argsort(groups: Int64Array, keys: Sequence[npt.NDArray[Any]]) -> Int64Array:
    """The stable order by group, then by keys."""
    if len(keys) == 1:
        low, group = int(keys[0].min()), int(groups[-1])
        key_bits, place_bits = (int(keys[0].max()) - low).bit_length(), (len(groups) - 1).bit_length()
        if group.bit_length() + key_bits + place_bits <= 63:
            # In one word, which sorts faster than two.
            packed = (groups << (key_bits + place_bits)) | ((keys[0] - low) << place_bits) | np.arange(len(groups))
            packed.sort()
            best: Int64Array = packed & ((1 << place_bits) - 1)
            return best
    return np.lexsort((*reversed(keys), groups)).astype(np.int64, copy=False)
