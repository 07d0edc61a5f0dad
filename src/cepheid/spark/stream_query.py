"""A streaming query that is watched: started, told of batch by batch, and ended between two batches."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from cepheid.spark.quiet import end_silence, silence
from cepheid.spark.stream_failures import explained, in_words

LONGEST_STOP_S = 30.0
"""Seconds in which a batch that has begun after a stop was asked for waits to be interrupted."""

LONGEST_TELLING_S = 10.0
"""Seconds after the end of a query in which Spark's listener may still hear of it."""

_LOOK_S = 0.5
_STOPPED = "py4j.protocol.Py4JJavaError: An error occurred while calling count: java.lang.InterruptedException: stop"
_BEFORE_ALL = "1970-01-01T00:00:00.000Z"
"""Spark's watermark before there is one."""


@dataclass(frozen=True)
class SourceProgress:
    """What a micro-batch read of one source.

    Attributes:
        description: Spark's.
        end: how far it was read, as Spark writes it.
    """

    description: str
    end: Any


@dataclass(frozen=True)
class Progress:
    """What Spark tells of a micro-batch, or of a time without one.

    Attributes:
        batch: its number.
        watermark: Spark's, in ISO 8601; None before there is one.
        seconds: how long it took.
        state_bytes: memory of the state that queries keep.
        n_state_rows: buckets in it.
        observed: what was counted on the way, by name (`DataFrame.observe`).
        sources: what was read.
    """

    batch: int
    watermark: str | None
    seconds: float
    state_bytes: int
    n_state_rows: int
    observed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sources: tuple[SourceProgress, ...] = ()


def progress_of(said: Mapping[str, Any]) -> Progress:
    """Spark's own report, as it writes it in JSON."""
    operators = said.get("stateOperators", [])
    watermark = said.get("eventTime", {}).get("watermark")
    return Progress(
        batch=said["batchId"],
        watermark=None if watermark == _BEFORE_ALL else watermark,
        seconds=said.get("durationMs", {}).get("triggerExecution", 0) / 1000,
        state_bytes=sum(operator["memoryUsedBytes"] for operator in operators),
        n_state_rows=sum(operator["numRowsTotal"] for operator in operators),
        observed=said.get("observedMetrics") or {},
        sources=tuple(SourceProgress(one["description"], _read(one.get("endOffset"))) for one in said["sources"]),
    )


def _read(offset: Any) -> Any:
    return json.loads(offset) if isinstance(offset, str) and offset[:1] in "{[" else offset


class _Listener(StreamingQueryListener):
    """Hands on what Spark tells of one query."""

    def __init__(self, told: Callable[[Progress], None]) -> None:
        self.run_id: str | None = None
        self.heard_of_the_end = threading.Event()
        self._told = told
        self._last_batch = -1
        self._one_at_a_time = threading.Lock()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """It is known already."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """A micro-batch is done and written down as such."""
        if str(event.progress.runId) == self.run_id:
            self.tell(json.loads(event.progress.json))

    def tell(self, said: Mapping[str, Any]) -> None:
        """Tell of a micro-batch, unless it, or a later one, was told of before.

        Args:
            said: Spark's own report.
        """
        with self._one_at_a_time:
            if said["batchId"] > self._last_batch:
                self._told(progress_of(said))
                self._last_batch = said["batchId"]

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """There was nothing to do."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """It is the last that is told of a query."""
        if str(event.runId) == self.run_id:
            self.heard_of_the_end.set()


class StreamRun:
    """A job's streaming query while it runs.

    Each micro-batch is handed to a function; one that fails stops the query. `stop` may be called from a signal
    handler, or another thread: the batch at hand is finished, the next is not begun.
    """

    def __init__(
        self,
        session: SparkSession,
        rows: DataFrame,
        *,
        write: Callable[[DataFrame, int], None],
        told: Callable[[Progress], None],
        checkpoint: str,
        trigger: Mapping[str, Any],
        name: str,
    ) -> None:
        """Start the query.

        Args:
            session: in this process.
            rows: a stream.
            write: takes each micro-batch and its number; it may be called again with the same after a failure.
            told: is told of each micro-batch when it is done.
            checkpoint: the folder of the query.
            trigger: arguments of `DataStreamWriter.trigger`; empty for as soon as possible.
            name: of the query.

        Raises:
            CepheidError: Spark refuses the query.
        """
        self._stopping = threading.Event()
        self._written = -1
        self._next_waits = threading.Event()
        self._write = write
        self._failure: BaseException | None = None
        self._session = session
        end_silence(session)
        self._listener = _Listener(told)
        session.streams.addListener(self._listener)
        writer = rows.writeStream.foreachBatch(self._batch).option("checkpointLocation", checkpoint).queryName(name)
        try:
            self._query: StreamingQuery = (writer.trigger(**trigger) if trigger else writer).start()
        except Exception as error:
            session.streams.removeListener(self._listener)
            raise in_words(error) from error
        self._listener.run_id = str(self._query.runId)

    def stop(self) -> None:
        """Ask for the end."""
        self._stopping.set()

    def wait(self, look: Callable[[], None]) -> None:
        """Wait until the query has ended, by itself or after `stop`.

        Args:
            look: is called about twice a second.

        Raises:
            CepheidError: it failed.
        """
        try:
            while self._query.isActive:
                if self._stopping.is_set() and self._is_between_batches():
                    silence(self._session)
                    self._query.stop()
                    break
                self._stopping.wait(_LOOK_S) if not self._stopping.is_set() else time.sleep(0.05)
                look()
            self._query.awaitTermination()
        except StreamingQueryException as error:
            raise self._failure or in_words(error) from error
        finally:
            # Spark tells listeners when it comes to it, perhaps after the end: or else when this process has gone, and
            # then it says at length that nobody listens.
            self._listener.heard_of_the_end.wait(LONGEST_TELLING_S)
            self._session.streams.removeListener(self._listener)
            for progress in self._query.recentProgress:
                self._listener.tell(json.loads(progress.json))

    def _is_between_batches(self) -> bool:
        """Nothing of a batch has been written that is not written down as done."""
        if self._next_waits.is_set():
            return True
        return not self._query.status["isTriggerActive"]

    @staticmethod
    def _wait_for_the_stop(rows: DataFrame) -> None:
        """Do nothing that counts until Spark interrupts it."""
        until = time.monotonic() + LONGEST_STOP_S
        while time.monotonic() < until:
            try:
                rows.sparkSession.range(1).count()
            except Exception:  # noqa: BLE001 whatever Java says of an interruption
                # By these words Spark knows that a function was interrupted by a stop. It looks for them with a
                # pattern that overflows its stack on the long message which it has given itself.
                raise InterruptedError(_STOPPED) from None
            time.sleep(0.02)

    def _batch(self, rows: DataFrame, number: int) -> None:
        if self._stopping.is_set():
            # The one before is done. This one was only planned: it is planned again when the job goes on.
            self._next_waits.set()
            self._wait_for_the_stop(rows)
        try:
            self._write(rows, number)
        except BaseException as error:
            self._failure = explained(error) if isinstance(error, Exception) else None
            raise
