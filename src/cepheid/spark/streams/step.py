"""What an executor does with one bucket in one micro-batch: events in, what is decided out, the rest kept.

Memory: the events of one bucket in one micro-batch, and what the bucket holds, are in the memory of the worker at a
time. A micro-batch is as large as the source makes it (``maxFilesPerTrigger``, ``maxOffsetsPerTrigger``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from cepheid.engine.decided_plans import plans_table
from cepheid.engine.outputs import HELD, LATE, MATCHES, PLANS, REJECTED, TIMED_OUT
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.engine.snapshot import unpacked
from cepheid.engine.stream import Stream
from cepheid.engine.streams import Streams
from cepheid.events.batch import EventBatch
from cepheid.events.ingest import read_events
from cepheid.events.schema import Schema
from cepheid.language.bound import BoundQuery
from cepheid.ports.pairs import PairPolicy
from cepheid.spark.operator import OUTPUT_BATCH_ROWS, as_declared
from cepheid.spark.rejected import reasons_of, told
from cepheid.spark.streams import packs, state
from cepheid.spark.streams.clock import Clock, Heard, reported_us
from cepheid.spark.streams.closing import Closings, StreamSlack
from cepheid.spark.streams.tagging import tagged_rows

_log = logging.getLogger("cepheid.spark")

_BATCH_ID = "streaming.sql.batchId"
"""How Spark tells a task the number of its micro-batch."""

HELD_COLUMNS = ("bucket", "n_late", "n_waiting", "n_partial_matches", "n_bytes")
"""The columns of the output `HELD`."""


@dataclass(frozen=True)
class BucketStep:
    """Runs a query over the events of a bucket; runs on the executors.

    Attributes:
        bound: the query.
        schema: of the events as they are packed, with the columns that order those of one time.
        columns: the Arrow schema of the events themselves.
        packed: that of packs, with the texts that order events whose values have no order.
        asked: what the state depends on, by name (`state.require_same`).
        outputs: the Arrow schema of each output that is asked for, as Spark expects it.
        tagged: the Arrow schema of rows of several outputs; None where there are the matches alone.
        delays_us, idle_us: see `cepheid.spark.streams.clock.Clock`.
        sources: what the streams are called that the events come from.
        deadlines: Spark is to call again when its watermark has moved, while something is held.
        tie_keys: columns of which events with different values never meet, where ties are to be told; else None.
        settings: how much may be held in a bucket.
        policy: makes the policy of a bucket, which looks at pairs of events and partial matches; None for none. It goes
            to the executors with the step, and what a policy `Remembers` is kept in the state.
        slack: closes the windows of each bucket; None where the watermark follows the events by their delays.
    """

    bound: BoundQuery
    schema: Schema
    columns: Any
    packed: Any
    asked: Mapping[str, str]
    outputs: Mapping[str, Any]
    tagged: Any
    delays_us: tuple[int, ...]
    idle_us: int | None = None
    sources: tuple[str, ...] = ("",)
    deadlines: bool = True
    tie_keys: tuple[str, ...] | None = None
    settings: Settings = DEFAULTS
    policy: Callable[[], PairPolicy] | None = None
    slack: StreamSlack | None = None

    def __call__(self, run: bytes, bucket: int, payloads: Sequence[bytes], group: Any) -> Iterator[bytes]:
        """One bucket in one micro-batch.

        Args:
            run: what tells this operator from others in the same process.
            bucket: its key.
            payloads: its packs; none where Spark calls because its watermark has moved.
            group: Spark's state of the bucket.

        Returns:
            Record batches as bytes: of the matches, or of `tagged`.

        Raises:
            DataError: the state was made by another query; a value cannot be worked with, or a function fails.
            CapacityError: more would be held than the settings allow.
        """
        kept = state.read(group.get[0]) if group.exists else None
        if kept is not None:
            state.require_same(kept.asked, self.asked)
        if payloads and (number := _batch_number()) is not None:
            state.WARM.begin(run, number)
        stream = self._stream(kept, run, bucket)
        reported_ms = group.getCurrentWatermarkMs()
        closings = None if stream.watch is None else Closings(stream.watch)
        if closings is None:
            stream.watermark_us = max(stream.watermark_us, reported_us(reported_ms))
        parts = [packs.unpack(payload, self.packed) for payload in payloads]
        found = {}
        n_late = stream.n_late
        if any(part.events is not None for part in parts):
            batch = read_events(packs.table_of(parts, self.packed), self.schema)
            self._tell_ties(batch)
            late = stream.push(batch, None if closings is None else closings.take(batch))
            found[LATE] = self.late(late)
            found[REJECTED] = self.rejected(batch)
        clock = Clock.of(len(self.delays_us)) if kept is None else kept.clock
        heard = reduce(Heard.and_also, [p.heard for p in parts], Heard((None,) * len(self.delays_us)))
        clock = clock.after(heard, reported_ms, self.delays_us)
        n_dropped = stream.n_dropped
        if closings is None:
            reached_us = clock.watermark_us(reported_ms, self.idle_us)
        else:
            reached_us = closings.until(heard, clock, self.idle_us)
            found |= closings.told(bucket, self.outputs)
        found |= self.decided(stream, reached_us)
        self._tell(stream, clock, stream.n_dropped - n_dropped)
        if HELD in self.outputs:
            found[HELD] = _held(bucket, stream, self.n_late_told(stream.n_late - n_late))
        if PLANS in self.outputs:
            found[PLANS] = plans_table(bucket, stream.take_untold())
        token = uuid4().hex
        group.update((state.written(state.Kept(self.asked, token, clock, _snapshot(stream))),))
        if self.deadlines and not stream.is_empty:
            group.setTimeoutTimestamp(max(1, reported_ms))
        state.WARM.put(run, bucket, token, stream)
        for name, table in found.items():
            if table is not None and table.num_rows and name in self.outputs:
                yield from self._written(name, as_declared(table, self.outputs[name]))

    def new_stream(self) -> Stream | Streams:
        """What matches the events of a bucket, at the beginning."""
        policy = None if self.policy is None else self.policy()
        return Stream(self.bound, self.columns, self.settings, policy, timed_out=TIMED_OUT in self.outputs)

    @property
    def bounds(self) -> tuple[BoundQuery, ...]:
        """The queries that are run."""
        return (self.bound,)

    def decided(self, stream: Any, reached_us: int) -> dict[str, Any]:
        """Output -> what is decided by now and was not before, as a table."""
        found = {MATCHES: stream.advance(reached_us)}
        if TIMED_OUT in self.outputs:
            found[TIMED_OUT] = stream.timed_out()
        return found

    def n_late_told(self, n_late: int) -> int:
        """Of the late events of this bucket those that count."""
        return n_late

    def _stream(self, kept: state.Kept | None, run: bytes, bucket: int) -> Stream | Streams:
        warm = None if kept is None else state.WARM.take(run, bucket, kept.token)
        if warm is not None:
            return warm
        stream = self.new_stream()
        if self.slack is not None:
            stream.watch = self.slack.watch(*self.bounds)
        if kept is not None:
            said, tables = unpacked(kept.snapshot)
            stream.restore(said, tables, self.schema)
            if stream.watch is not None:
                stream.watch.restore(said["slack"])
        return stream

    def late(self, late: Any) -> Any:
        """The table for the output of late events, or None; else they are told in the log."""
        if LATE in self.outputs:
            return late.select(self.columns.names)
        if late.num_rows and HELD not in self.outputs:
            _log.warning(
                "%d events came after the watermark had passed them, and are in no match; ask for the output late to "
                "see them, or give %s",
                late.num_rows,
                "a greater watermark=" if self.slack is None else "a slack= that closes windows later",
            )
        return None

    def reasons(self, batch: EventBatch) -> dict[int, tuple[str, str]]:
        """Why events are rejected, by their rows; see `reasons_of`."""
        return reasons_of(self.bound.chain[-1], batch)

    def rejected(self, batch: EventBatch) -> Any:
        """The table for the output of rejected events, or None; else they are told in the log."""
        if REJECTED in self.outputs:
            reasons = self.reasons(batch)
            events = batch.table.select(self.columns.names)
            return told(events, reasons, self.outputs[REJECTED]) if reasons else None
        if len(batch.rejected):
            _log.warning(
                "%d events cannot be placed and were left out (%s); ask for the output rejected to see them",
                len(batch.rejected),
                batch.rejected.reasons[0],
            )
        return None

    def _tell_ties(self, batch: EventBatch) -> None:
        if self.tie_keys is None:
            return
        alike = batch.time_us[1:] == batch.time_us[:-1]
        if alike.any():
            rows = batch.rows_of(np.flatnonzero(alike))
            after = batch.rows_of(np.flatnonzero(alike) + 1)
            same = np.ones(len(rows), np.bool_)
            for name in self.tie_keys:
                column = batch.table.column(name)
                equal = pa.compute.equal(column.take(pa.array(rows)), column.take(pa.array(after)))
                same &= equal.fill_null(False).to_numpy()
            if same.any():
                _log.warning(
                    "%d of %d events share their time with another%s; they are ordered by the values of all columns. "
                    "Name the columns that order them as order=.",
                    int(same.sum()),
                    len(batch),
                    " of the same key" if self.tie_keys else "",
                )

    def _tell(self, stream: Stream | Streams, clock: Clock, n_dropped: int) -> None:
        if n_dropped:
            _log.warning(
                "%d partial matches were dropped, so matches may be missing: max_partial_matches of settings=, in %s",
                n_dropped,
                "; ".join(bound.text for bound in self.bounds),
            )
        if clock.unheard and stream.n_waiting:
            _log.warning(
                "%d events wait because the watermark stands still: no event has come from %s; idle_flush= lets the "
                "clock run on without them",
                stream.n_waiting,
                ", ".join(self.sources[number] for number in clock.unheard),
            )

    def _written(self, name: str, table: Any) -> Iterator[bytes]:
        if self.tagged is not None:
            table = tagged_rows(name, table, self.tagged)
        for start in range(0, table.num_rows, OUTPUT_BATCH_ROWS):  # all at once, texts may be too many to combine
            for batch in table.slice(start, OUTPUT_BATCH_ROWS).combine_chunks().to_batches():
                yield bytes(batch.serialize())


def _batch_number() -> int | None:
    """The number of the micro-batch that this task is of; None outside of one."""
    context = TaskContext.get()
    said = None if context is None else context.getLocalProperty(_BATCH_ID)
    return None if said is None else int(said)


def _snapshot(stream: Stream | Streams) -> bytes:
    return stream.snapshot({} if stream.watch is None else {"slack": stream.watch.said()})


def _held(bucket: int, stream: Stream | Streams, n_late: int) -> Any:
    gauge = stream.gauge()
    row = (bucket, n_late, gauge.n_waiting, gauge.n_partial_matches, gauge.n_bytes)
    return pa.table([pa.array([value], pa.int64()) for value in row], HELD_COLUMNS)
