"""Windows that a slack policy closes in a stream: each bucket has a policy of its own, which sees its events alone."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Row

from cepheid.engine.outputs import CLOSED, FITTED, SLACK
from cepheid.engine.slack import SlackWatch, warning_of, watch_of
from cepheid.engine.slack_report import DECISIONS, FIGURES
from cepheid.engine.slack_report import FITTED as DISTRIBUTIONS
from cepheid.errors import SchemaError
from cepheid.events.batch import EventBatch
from cepheid.events.column import Int64Array
from cepheid.language.bound import BoundQuery
from cepheid.policies.slack.settings import Slack
from cepheid.spark.streams.clock import Clock, Heard

_log = logging.getLogger("cepheid.spark")

_BUCKET = pa.field("bucket", pa.int64())

POLICY_COLUMNS = {
    CLOSED: pa.schema([_BUCKET, *DECISIONS]),
    FITTED: pa.schema([_BUCKET, *DISTRIBUTIONS]),
    SLACK: pa.schema([_BUCKET, *FIGURES]),
}
"""The columns of what the policy of a bucket tells."""


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


def require_policy(outputs: Collection[str], slack: StreamSlack | None) -> None:
    """Refuse outputs of a policy where there is none.

    Raises:
        SchemaError: one is asked for.
    """
    told = [name for name in POLICY_COLUMNS if name in outputs]
    if told and slack is None:
        raise SchemaError(
            f"the output {told[0]} is of a policy that closes windows, and slack= is none",
            remedy="give slack=cep.Slack.probabilistic(...), or ask for other outputs",
        )


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

    def told(self, bucket: int, asked: Collection[str]) -> dict[str, Any]:
        """Those of the outputs of a policy that are asked for: tables with `POLICY_COLUMNS`."""
        tables = {}
        if CLOSED in asked:
            tables[CLOSED] = pa.concat_tables(self._decisions)
        if FITTED in asked:
            tables[FITTED] = self._watch.fitted_anew()
        if SLACK in asked:
            tables[SLACK] = self._watch.report.figures
        return {
            name: pa.Table.from_arrays(
                [pa.array(np.full(table.num_rows, bucket, np.int64)), *table.columns], schema=POLICY_COLUMNS[name]
            )
            for name, table in tables.items()
        }


_LEAST = -(2**63)


def _or_least(value: int | None) -> int:
    return _LEAST if value is None else value


def figures_of(rows: DataFrame) -> dict[int, Row]:
    """What each bucket in rows of the output ``slack`` of one micro-batch had done by then.

    Returns:
        bucket -> its row, with the columns of `cepheid.engine.slack_report.FIGURES`.
    """
    return {int(row["bucket"]): row for row in rows.collect()}
