"""Windows that a slack policy closes in a stream: each bucket has a policy of its own, which sees its events alone."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.engine.slack import DECISIONS, SlackWatch, warning_of, watch_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.language.bound import BoundQuery
from cepheid.policies.slack.settings import Slack
from cepheid.spark.streams.clock import Clock, Heard

_log = logging.getLogger("cepheid.spark")

CLOSED_COLUMNS = pa.schema(
    [
        pa.field("bucket", pa.int64()),
        *DECISIONS,
        pa.field("n_closed", pa.int64()),
        pa.field("n_missed", pa.int64()),
        pa.field("mean_slack_us", pa.float64()),
    ]
)
"""The columns of the output ``closed``: a decision, and what the bucket has done so far."""


@dataclass(frozen=True)
class StreamSlack:
    """How the windows of a stream are closed; goes to the executors.

    Attributes:
        slack: as the user asks for it.
        received: the column that says when events were received.
        unit: of numbers in that column.
    """

    slack: Slack
    received: str
    unit: str | None

    def watch(self, *bounds: BoundQuery) -> SlackWatch:
        """What follows the events of one bucket, for the queries that are run there.

        Raises:
            SchemaError: nothing says how often windows may be closed.
        """
        return watch_of(self.slack, list(bounds), received=self.received, received_unit=self.unit)


class Closings:
    """What a bucket decides in one micro-batch."""

    def __init__(self, watch: SlackWatch) -> None:
        """Nothing is decided yet.

        Args:
            watch: of the bucket.
        """
        self._watch = watch
        self._decisions: list[Any] = []

    def take(self, batch: EventBatch) -> Int64Array:
        """The watermark when each event came; see `SlackWatch.take`."""
        found = self._watch.take(batch, 0)
        self._keep()
        return found

    def until(self, heard: Heard, clock: Clock, idle_us: int | None) -> int:
        """Let time go on to the last reception that any bucket heard of; the watermark there, us.

        Args:
            heard: what the micro-batch says.
            clock: of the stream, with the last beat of the wall clock.
            idle_us: after so long without an event the wall clock is believed; None for never.
        """
        newest = max(_or_least(heard.received_us), self._watch.newest_us)
        # What was received at that very moment may come in the next micro-batch.
        now_us = newest - self._watch.tick_us
        if idle_us is not None and clock.beat_us is not None and clock.beat_us - newest >= idle_us:
            now_us = clock.beat_us
        if newest > _LEAST:
            self._watch.until(now_us)
            self._keep()
        return self._watch.watermark_us

    def _keep(self) -> None:
        self._decisions.append(self._watch.decisions)
        if said := warning_of(self._watch):
            _log.warning(said)

    def table(self, bucket: int) -> Any:
        """The decisions, with `CLOSED_COLUMNS`."""
        found, report = pa.concat_tables(self._decisions), self._watch.report
        n = found.num_rows
        so_far = (report.n_windows, report.n_missed, report.mean_slack_us)
        columns = [pa.array(np.full(n, bucket, np.int64)), *found.columns]
        columns += [
            pa.array([value] * n, field.type) for value, field in zip(so_far, list(CLOSED_COLUMNS)[-3:], strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=CLOSED_COLUMNS)


_LEAST = -(2**63)


def _or_least(value: int | None) -> int:
    return _LEAST if value is None else value


def closed_of(rows: DataFrame) -> dict[int, tuple[int, int, float]]:
    """What each bucket in rows of the output ``closed`` had done by then.

    Returns:
        bucket -> windows that were closed, those that miss an event, and the mean slack, us.
    """
    last = F.max_by(F.struct("n_closed", "n_missed", "mean_slack_us"), "n_closed").alias("last")
    found = rows.groupBy("bucket").agg(last).collect()
    return {int(row["bucket"]): tuple(row["last"]) for row in found}
