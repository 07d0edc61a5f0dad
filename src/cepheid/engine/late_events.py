"""Which events of a table come too late, where it is replayed in the order in which they were received."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.errors import SchemaError
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.events.event_time import event_times


def receptions(batch: EventBatch, column: str, unit: str | None, newest_us: int) -> tuple[Int64Array, int]:
    """When events were received. One that does not say came with the one before it in the table.

    Args:
        batch: as it was read.
        column: says when an event was received.
        unit: of numbers in that column.
        newest_us: the last reception before these, us; `BEFORE_ALL_US` for none: then an event that does not say was
            received when it was generated.

    Returns:
        int64, by position, us; and how many events do not say.

    Raises:
        SchemaError: there is no such column, or it cannot be read as times.
    """
    if column not in batch.table.column_names:
        raise SchemaError(
            f"the events have no column {column!r}, which is to say when they were received",
            remedy=f"name one of {', '.join(batch.table.column_names)} as received=",
        )
    read = event_times(batch.table.column(column), unit, column)
    rows = batch.rows_of(np.arange(len(batch)))
    values = np.array(read.values[rows], np.int64)
    if read.bad is None or not read.bad[rows].any():
        return values, 0
    bad = read.bad[rows]
    last = newest_us
    for position in np.argsort(rows, kind="stable"):
        if bad[position]:
            values[position] = batch.time_us[position] if last == BEFORE_ALL_US else last
        last = max(last, int(values[position]))
    return values, int(bad.sum())


def in_arrival(received_us: Int64Array) -> Int64Array:
    """The positions of events in the order in which they came; those of one moment keep theirs.

    Args:
        received_us: int64, by position.
    """
    if not len(received_us):
        return np.empty(0, np.int64)
    least, greatest = int(received_us.min()), int(received_us.max())
    if greatest - least >= 1 << 48:
        return np.argsort(received_us, kind="stable")
    # 16 bits at a time, the lowest first: NumPy sorts these by their radix, five times as fast as numbers of 64 bits.
    rest = received_us - least
    order = np.argsort(rest.astype(np.uint16), kind="stable")
    for shift in range(16, (greatest - least).bit_length(), 16):
        order = order[np.argsort((rest[order] >> shift).astype(np.uint16), kind="stable")]
    return order


MOST_SLACK_US = (1 << 62) - 2
"""Times are within 2**62 us of the epoch: with so much nothing is late, and the watermark is an int64."""


class FollowedTime:
    """A watermark that follows the greatest time of the events: it lies a slack and a microsecond before it."""

    def __init__(self, slack_us: int) -> None:
        """Start at the beginning of a stream.

        Args:
            slack_us: how much later than newer ones an event may come and still be on time.
        """
        self._slack_us = min(slack_us, MOST_SLACK_US)
        self._watermark_us = BEFORE_ALL_US

    def passed(self, time_us: Int64Array) -> Int64Array:
        """The watermark when each event came, us.

        Args:
            time_us: int64, (n,): the times of events, in the order in which they came.
        """
        before = np.empty(len(time_us), np.int64)
        before[:1] = self._watermark_us
        if len(time_us):
            after = np.maximum(np.maximum.accumulate(time_us) - self._slack_us - 1, self._watermark_us)
            before[1:] = after[:-1]
            self._watermark_us = int(after[-1])
        return before


def punctual(batch: EventBatch, watermarks_us: Int64Array) -> tuple[EventBatch, Any]:
    """The events of a table that came on time, and a pyarrow Table of those that were late, as they came.

    Args:
        batch: as it was read.
        watermarks_us: int64, by position: the watermark when each came.
    """
    late = batch.time_us <= watermarks_us
    if not late.any():
        return batch, batch.table.slice(0, 0)
    rows = batch.rows_of(np.arange(len(batch)))
    on_time = EventBatch(batch.table, batch.schema, batch.time_us[~late], rows[~late], batch.rejected)
    return on_time, batch.table.take(pa.array(np.sort(rows[late])))
