"""Batch DataFrames whose events came late: which of them a replay in the order of their reception finds too late.

What a slack policy decides depends on all events before it, so one task decides, in the order of reception. It reads no
more of an event than when it was generated, when it was received, and its source; Spark sorts, on disk where these do
not fit into memory. Whether an event is late is settled by its two times, so what goes back is the pairs of times that
are late, and a join takes these events out. The rest, all that a query costs, is spread as ever.

Rows of a DataFrame have no order. An event without a time of reception counts as received with the first one that was
generated with it or later.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.engine.late_events import FollowedTime, in_arrival
from cepheid.engine.outputs import CLOSED, FITTED, LATE, SLACK
from cepheid.engine.slack import slack_window, warning_of, watch_of
from cepheid.engine.slack_report import DECISIONS, FIGURES
from cepheid.engine.slack_report import FITTED as DISTRIBUTIONS
from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.errors import SchemaError
from cepheid.events.column import Int64Array
from cepheid.events.event_time import check_time, event_times
from cepheid.events.given_times import slack_us
from cepheid.events.ingest import read_events
from cepheid.events.lengths import Length
from cepheid.events.schema import Schema
from cepheid.events.types import INT, TEXT
from cepheid.language.bound import BoundQuery
from cepheid.language.results import SCALARS
from cepheid.policies.slack.settings import Slack, received_column
from cepheid.spark.batch import declared_schema
from cepheid.spark.frames import Events
from cepheid.spark.operator import OUTPUT_BATCH_ROWS, as_declared
from cepheid.spark.schema import arrow_type, data_type
from cepheid.spark.shipment import through
from cepheid.spark.values import named

_log = logging.getLogger("cepheid.spark")

_TIME, _RECEIVED, _SOURCE = "cepheid time", "cepheid reception", "cepheid source"
_TIME_US, _RECEIVED_US = "cepheid time us", "cepheid reception us"

_TELLS = {CLOSED: DECISIONS, FITTED: DISTRIBUTIONS, SLACK: FIGURES}

_SCHEMA = Schema({_TIME_US: INT, _RECEIVED_US: INT, _SOURCE: TEXT}, time=_TIME_US, time_unit="us")


@dataclass(frozen=True)
class Replay:
    """Events of a DataFrame, replayed.

    Attributes:
        events: all of them.
        bounds: the queries, whose windows are closed together.
        slack: how late events may be: a policy, or a length of time, us.
        received: the column that says when an event was received.
        unit: of numbers in that column.
    """

    events: Events
    bounds: tuple[BoundQuery, ...]
    slack: Slack | int
    received: str
    unit: str | None

    @classmethod
    def of(
        cls,
        events: Events,
        bounds: tuple[BoundQuery, ...],
        slack: Length | Slack,
        received: str | None,
        unit: str | None,
    ) -> Replay:
        """What was asked for.

        Raises:
            SchemaError: a column is missing or does not do; nothing says how often windows may be closed.
            SetupError: ``received`` is no name.
        """
        column = received_column(received, slack, replayed=True)
        if column is None:
            raise SchemaError(
                "slack= replays the events as they were received, and no column of the DataFrame says when that was",
                remedy="name it: received=",
            )
        columns = {f.name: f.dataType for f in events.schema.spark.fields}
        per = slack.per if isinstance(slack, Slack) else None
        for name, value in (("received", column), ("per", per)):
            if value is not None and value not in columns:
                raise SchemaError(
                    f"the events have no column {value!r}, named as {name}=",
                    remedy=f"the columns are: {', '.join(columns)}",
                )
        check_time(arrow_type(columns[column]), unit, column)
        if per is not None and data_type(columns[per]).kind not in SCALARS:
            raise SchemaError(
                f"the column {per!r} of type {columns[per].simpleString()} cannot tell sources apart",
                remedy="name one of texts or numbers as per=",
            )
        if isinstance(slack, Slack):
            slack_window(bounds, slack.every_us, slack.resolution_us)
            return cls(events, bounds, slack, column, unit)
        return cls(events, bounds, slack_us(slack, unit), column, unit)

    @property
    def on_time(self) -> Events:
        """The events that came on time."""
        return replace(self.events, frame=self._joined("left_anti"))

    def output(self, name: str) -> DataFrame:
        """One of ``late`` and the outputs of a policy, as of `cepheid.match`."""
        if name == LATE:
            return self._joined("left_semi")
        declared, output = declared_schema(_TELLS[name])
        arrivals = self._arrivals(and_nothing=name == SLACK)
        return through(arrivals, Arrivals(self.bounds, self.slack, name, output), declared)

    def _joined(self, how: str) -> DataFrame:
        time, received = self.events.schema.events.time, self.received
        types = self.events.schema.spark
        fields = [(_TIME, types[time].dataType), (_RECEIVED, types[received].dataType)]
        declared = spark.StructType([spark.StructField(name, dtype, True) for name, dtype in fields])
        output = pa.schema([pa.field(name, arrow_type(dtype)) for name, dtype in fields])
        late = through(self._arrivals(), Arrivals(self.bounds, self.slack, LATE, output), declared)
        alike = named(time).eqNullSafe(named(_TIME)) & named(received).eqNullSafe(named(_RECEIVED))
        return self.events.frame.join(late, alike, how)

    def _arrivals(self, *, and_nothing: bool = False) -> DataFrame:
        """The times and sources of all events in one partition, by reception.

        Args:
            and_nothing: with a row of NULL besides: no operator is called for a partition without rows.
        """
        time, types = self.events.schema.events.time, self.events.schema.spark
        per = self.slack.per if isinstance(self.slack, Slack) else None
        source = F.lit(None).cast("string") if per is None else named(per)
        frame = self.events.frame.select(
            named(time).alias(_TIME), named(self.received).alias(_RECEIVED), source.alias(_SOURCE)
        )
        fields = {
            _TIME: types[time].dataType,
            _RECEIVED: types[self.received].dataType,
            _SOURCE: spark.StringType(),
            _TIME_US: spark.LongType(),
            _RECEIVED_US: spark.LongType(),
        }
        declared = spark.StructType([spark.StructField(name, dtype, True) for name, dtype in fields.items()])
        output = pa.schema([pa.field(name, arrow_type(dtype)) for name, dtype in fields.items()])
        read = through(frame, ReadTimes(self.events.schema.events.time_unit, self.unit, output), declared)
        if and_nothing:
            nothing = [F.lit(None).cast(dtype).alias(name) for name, dtype in fields.items()]
            read = read.union(read.sparkSession.range(1).select(*nothing))
        by_reception = (named(_RECEIVED_US).asc_nulls_first(), named(_TIME_US).asc(), named(_SOURCE).asc())
        return read.repartition(1).sortWithinPartitions(*by_reception)


@dataclass(frozen=True)
class ReadTimes:
    """Reads the times of events as the engine does, in any part of them; runs on the executors.

    Attributes:
        unit, received_unit: of numbers in the columns of time and of reception.
        output: the Arrow schema of the result.
    """

    unit: str | None
    received_unit: str | None
    output: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The events that have a time, with their times in microseconds and their sources as text."""
        for batch in batches:
            if not batch.num_rows:
                continue
            time, received, source = batch.columns
            times = event_times(time, self.unit, "time")
            receptions = event_times(received, self.received_unit, "received")
            columns = [
                time,
                received,
                _texts(source),
                pa.array(times.values, pa.int64(), mask=times.bad),
                pa.array(receptions.values, pa.int64(), mask=receptions.bad),
            ]
            arrays = [c if c.type == f.type else c.cast(f.type) for c, f in zip(columns, self.output, strict=True)]
            table = pa.Table.from_arrays(arrays, schema=self.output)
            if times.bad is not None:
                table = table.filter(pa.array(~times.bad))
            yield from table.to_batches()


def _texts(values: Any) -> Any:
    """The names of sources, as a report has them."""
    encoded = values.dictionary_encode("encode")
    names = pa.array([None if value is None else str(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return names.take(encoded.indices)


@dataclass(frozen=True)
class Arrivals:
    """Replays all events, in the order of their reception; runs on an executor.

    Attributes:
        bounds, slack: as of `Replay`.
        tells: ``late``: the pairs of times, as they were given, of events that are late; or an output of the policy.
        output: the Arrow schema of that.
    """

    bounds: tuple[BoundQuery, ...]
    slack: Slack | int
    tells: str
    output: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """What is asked for, of the RecordBatches of the one partition."""
        watch = followed = None
        if isinstance(self.slack, Slack):
            by_text = replace(self.slack, per=None if self.slack.per is None else _SOURCE)
            watch = watch_of(by_text, self.bounds, received=_RECEIVED_US, received_unit="us")
        else:
            followed = FollowedTime(self.slack)
        for table, n_unreceived in Moments().of(_with_time(batches)):
            batch = read_events(table, _SCHEMA)
            if watch is not None:
                passed_us = watch.take(batch, 0)
                watch.n_unreceived += n_unreceived
                if said := warning_of(watch):
                    _log.warning(said)
                if self.tells == CLOSED:
                    yield from self._batches(watch.decisions)
            else:
                assert followed is not None
                received_us = table.column(_RECEIVED_US).to_numpy()[batch.rows_of(np.arange(len(batch)))]
                in_order = in_arrival(received_us)
                passed_us = np.empty(len(batch), np.int64)
                passed_us[in_order] = followed.passed(batch.time_us[in_order])
            late = np.flatnonzero(batch.time_us <= passed_us)
            if self.tells == LATE and len(late):
                yield from self._batches(table.select([_TIME, _RECEIVED]).take(pa.array(batch.rows_of(late))))
        if watch is not None and self.tells in (FITTED, SLACK):
            report = watch.report
            yield from self._batches(report.fitted if self.tells == FITTED else report.figures)

    def _batches(self, table: Any) -> list[Any]:
        found: list[Any] = as_declared(table, self.output).to_batches(max_chunksize=OUTPUT_BATCH_ROWS)
        return found


def _with_time(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        times = batch.column(batch.schema.get_field_index(_TIME_US))
        yield batch.filter(times.is_valid()) if times.null_count else batch


@dataclass
class Moments:
    """Cuts events between two moments of reception, and places those that do not say when they were received.

    Attributes:
        greatest_us: the greatest time of an event so far.
        unplaced: the events that do not say, by their times; those that are placed are no more among them.
    """

    greatest_us: int = BEFORE_ALL_US
    unplaced: list[Any] = field(default_factory=list)

    def of(self, batches: Iterator[Any]) -> Iterator[tuple[Any, int]]:
        """The events as tables, each of whole moments, and how many of each did not say.

        Args:
            batches: RecordBatches, by reception, then by time; those without a reception come first.
        """
        held: list[Any] = []
        for batch in batches:
            if not batch.num_rows:
                continue
            n = batch.column(batch.schema.get_field_index(_RECEIVED_US)).null_count
            if n:
                self.unplaced.append(pa.Table.from_batches([batch.slice(0, n)]))
            if n == batch.num_rows:
                continue
            held.append(pa.Table.from_batches([batch.slice(n)]))
            last = held[-1].column(_RECEIVED_US).to_numpy()
            begin = int(np.searchsorted(last, last[-1], "left"))
            if begin or last[-1] > _last_of(held[:-1]):
                whole = pa.concat_tables([*held[:-1], held[-1].slice(0, begin)])
                held = [held[-1].slice(begin)]
                if whole.num_rows:
                    yield self._placed(whole, to_the_end=False)
        if held or self.unplaced:
            yield self._placed(pa.concat_tables(held) if held else None, to_the_end=True)

    def _placed(self, table: Any, *, to_the_end: bool) -> tuple[Any, int]:
        if not self.unplaced:
            return table, 0
        unplaced = pa.concat_tables(self.unplaced)
        times: Int64Array = unplaced.column(_TIME_US).to_numpy()
        if table is None:
            return _received(unplaced, times), len(unplaced)
        heard = np.maximum(np.maximum.accumulate(table.column(_TIME_US).to_numpy()), self.greatest_us)
        self.greatest_us = int(heard[-1])
        n = len(unplaced) if to_the_end else int(np.searchsorted(times, heard[-1], "right"))
        after = np.minimum(np.searchsorted(heard, times[:n], "left"), len(heard) - 1)
        self.unplaced = [unplaced.slice(n)] if n < len(unplaced) else []
        own = _received(unplaced.slice(0, n), table.column(_RECEIVED_US).to_numpy()[after])
        return pa.concat_tables([table, own]), n


def _last_of(tables: list[Any]) -> int:
    return int(tables[-1].column(_RECEIVED_US)[-1].as_py()) if tables else BEFORE_ALL_US


def _received(events: Any, moments_us: Int64Array) -> Any:
    position = events.schema.get_field_index(_RECEIVED_US)
    return events.set_column(position, events.schema.field(position), pa.array(moments_us, pa.int64()))
