"""The order key of composite events (``FROM``): a text that sorts as they do, and that tells each from all others.

It is made of the events of the match alone, so that a match has the same one on every road and for every cut into
batches: its last event, then all its events in order, then their variables, then the window where windows slide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from cepheid.compiler.columns import ordered_ints
from cepheid.engine.matches import Matches
from cepheid.errors import SchemaError
from cepheid.events.batch import EventBatch
from cepheid.events.column import ArrowColumn, Column, Int64Array
from cepheid.events.types import Kind

_EVENT, _END, _NULL, _VALUE = b"\x01", b"\x00", b"\x00", b"\x01"


def order_keys(batch: EventBatch, matches: Matches) -> list[str]:
    """The order key of each match, as hexadecimal digits.

    Events are known by their time and the columns of ``batch.schema.order``, or else by their row in the caller's
    table.

    Args:
        batch: the events that the matches point into.
        matches: n matches.

    Returns:
        n texts, all different.
    """
    positions, of_entry = np.unique(matches.positions, return_inverse=True)
    events = [b"".join(parts) for parts in zip(*_parts(batch, positions), strict=True)]
    ends = matches.offsets.tolist()
    variables = [number.to_bytes(2, "big") for number in matches.variables.tolist()]
    windows = _windows(matches)
    keys = []
    for number, (start, end) in enumerate(pairwise(ends)):
        own = [events[event] for event in of_entry[start:end].tolist()]
        key = own[-1] + b"".join(_EVENT + event for event in own) + _END
        keys.append((key + b"".join(variables[start:end]) + windows[number]).hex())
    return keys


def identities(batch: EventBatch) -> list[bytes]:
    """What tells each event from all others, as bytes that sort as the order keys do.

    Args:
        batch: n events, whose schema names the columns of the order key.

    Returns:
        n keys, by position; equal ones are of one event.

    Raises:
        SchemaError: a column cannot be part of the order key.
    """
    positions = np.arange(len(batch))
    return [b"".join(parts) for parts in zip(*_order_parts(batch, positions), strict=True)]


def _windows(matches: Matches) -> list[bytes]:
    if matches.window_start_us is None or matches.window_end_us is None:
        return [b""] * len(matches)
    bounds = zip(_sortable(matches.window_start_us), _sortable(matches.window_end_us), strict=True)
    return [start + end for start, end in bounds]


def _parts(batch: EventBatch, positions: Int64Array) -> Iterator[Iterable[bytes]]:
    """The parts of the sort key of the events at these positions, each as bytes that sort as its values do."""
    yield _sortable(batch.time_us[positions])
    if not batch.schema.order:
        yield _sortable(batch.numbers_of(positions))
        return
    yield from _order_parts(batch, positions)


def _order_parts(batch: EventBatch, positions: Int64Array) -> Iterator[Iterable[bytes]]:
    """The same of their order keys alone."""
    for name in batch.schema.order:
        column = batch.column((name,))
        if isinstance(column, ArrowColumn):
            raise SchemaError(
                f"the column {name!r} cannot be part of the order key", remedy="use numbers, text or times"
            )
        column = column.take(positions)
        values = _values(column)
        yield [_VALUE + value if there else _NULL for value, there in zip(values, column.is_valid(), strict=True)]


def _values(column: Column) -> Iterable[bytes]:
    match column.type.kind:
        case Kind.TEXT:
            # A zero byte ends the text, so the zero bytes in it are followed by a greater one than what ends it.
            used = np.unique(column.values)
            texts = [text.encode().replace(b"\0", b"\0\xff") + b"\0\0" for text in _texts(column, used)]
            return [texts[code] for code in np.searchsorted(used, column.values).tolist()]
        case Kind.FLOAT:
            return _sortable(ordered_ints(column.values))
        case _:
            return _sortable(column.values)


def _texts(column: Column, codes: Int64Array) -> list[Any]:
    texts: list[Any] = column.dictionary.take(codes).to_pylist()
    return texts


def _sortable(values: Int64Array) -> list[bytes]:
    """Eight bytes for each number, which sort as the numbers do."""
    data = (values.astype(np.uint64) ^ np.uint64(1 << 63)).astype(">u8").tobytes()
    return [data[at : at + 8] for at in range(0, len(data), 8)]
