"""`cep.detect`: the matches of a query in Spark DataFrames, as a DataFrame."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import overload

from pyspark.sql import DataFrame, Observation

from cepheid.engine.outputs import STREAM_NAMES, Outputs, asked_outputs, replayed_outputs
from cepheid.engine.session import prepare
from cepheid.engine.settings import DEFAULTS, Settings, require_settings
from cepheid.errors import QueryError, SchemaError
from cepheid.events.lengths import Length
from cepheid.language.bound import BoundQuery, Catalog
from cepheid.language.hopeless import told, warn_of_no_matches
from cepheid.language.parameters import with_parameters
from cepheid.policies.evaluation.adaptive import AdaptiveEvaluation
from cepheid.policies.slack.settings import Slack, received_column
from cepheid.query import Asked, Query, QuerySet, catalog_with, with_values
from cepheid.spark import batch
from cepheid.spark.frames import Events, events_of, events_of_types
from cepheid.spark.outputs import DetectedOutputs, detect_outputs, detect_outputs_of_set
from cepheid.spark.query_sets import Detected, detect_set
from cepheid.spark.replay import Replay
from cepheid.spark.streams.detect import detect_stream
from cepheid.spark.streams.detect_set import detect_stream_set
from cepheid.spark.streams.given import (
    Columns,
    are_streams,
    delay_given,
    named_columns,
    refuse_what_is_for_batches,
    refuse_what_is_for_streams,
    stream_slack,
    streamed_events,
)


@overload
def detect(
    events: DataFrame | Mapping[str, DataFrame],
    query: Asked,
    *,
    time: str,
    type: str | None = None,
    order: str | Sequence[str] | None = None,
    time_unit: str | None = None,
    parameters: Mapping[str, object] | None = None,
    catalog: Catalog | None = None,
    queries: Mapping[str, Asked] | None = None,
    partitions: int | None = None,
    observation: Observation | None = None,
    outputs: None = None,
    settings: Settings = ...,
    watermark: Length | None = None,
    idle_flush: Length | None = None,
    slack: Length | Slack | None = None,
    received: str | None = None,
) -> DataFrame: ...


@overload
def detect(
    events: DataFrame | Mapping[str, DataFrame],
    query: QuerySet,
    *,
    time: str,
    type: str | None = None,
    order: str | Sequence[str] | None = None,
    time_unit: str | None = None,
    parameters: Mapping[str, object] | None = None,
    catalog: Catalog | None = None,
    queries: Mapping[str, Asked] | None = None,
    partitions: int | None = None,
    observation: Observation | None = None,
    outputs: None = None,
    settings: Settings = ...,
    watermark: Length | None = None,
    idle_flush: Length | None = None,
    slack: Length | Slack | None = None,
    received: str | None = None,
) -> Detected: ...


@overload
def detect(
    events: DataFrame | Mapping[str, DataFrame],
    query: Asked,
    *,
    time: str,
    type: str | None = None,
    order: str | Sequence[str] | None = None,
    time_unit: str | None = None,
    parameters: Mapping[str, object] | None = None,
    catalog: Catalog | None = None,
    queries: Mapping[str, Asked] | None = None,
    partitions: int | None = None,
    observation: Observation | None = None,
    outputs: str | Collection[str],
    settings: Settings = ...,
    watermark: Length | None = None,
    idle_flush: Length | None = None,
    slack: Length | Slack | None = None,
    received: str | None = None,
) -> Outputs: ...


@overload
def detect(
    events: DataFrame | Mapping[str, DataFrame],
    query: QuerySet,
    *,
    time: str,
    type: str | None = None,
    order: str | Sequence[str] | None = None,
    time_unit: str | None = None,
    parameters: Mapping[str, object] | None = None,
    catalog: Catalog | None = None,
    queries: Mapping[str, Asked] | None = None,
    partitions: int | None = None,
    observation: Observation | None = None,
    outputs: str | Collection[str],
    settings: Settings = ...,
    watermark: Length | None = None,
    idle_flush: Length | None = None,
    slack: Length | Slack | None = None,
    received: str | None = None,
) -> DetectedOutputs: ...


def detect(
    events: DataFrame | Mapping[str, DataFrame],
    query: Asked | QuerySet,
    *,
    time: str,
    type: str | None = None,
    order: str | Sequence[str] | None = None,
    time_unit: str | None = None,
    parameters: Mapping[str, object] | None = None,
    catalog: Catalog | None = None,
    queries: Mapping[str, Asked] | None = None,
    partitions: int | None = None,
    observation: Observation | None = None,
    outputs: str | Collection[str] | None = None,
    settings: Settings = DEFAULTS,
    watermark: Length | None = None,
    idle_flush: Length | None = None,
    slack: Length | Slack | None = None,
    received: str | None = None,
) -> DataFrame | Detected | Outputs | DetectedOutputs:
    """The matches of a pattern query in the events of a DataFrame (or of several), batch or streaming.

    The query and its columns are checked at once; nothing runs before the result is asked for. Conditions on one event
    and the columns that the query names go into Spark's own plan, so that only events that can matter are shuffled.

    A pattern with SAME, or whose equalities imply a partition, is spread over the cluster by key. One without is cut
    by time, if it has a window in time and no skips; else all its events go through one partition, and a warning is
    logged. How many partitions there are is Spark's choice (``spark.sql.shuffle.partitions``, fewer under adaptive
    execution): each is held in memory by one worker, see `cepheid.spark.operator`.

    In streaming DataFrames, a match comes in the first micro-batch after which the watermark has reached its decision
    point: its last event, or, where something must not come or a loop may go on, the end of its window. Its state is in
    Spark's checkpoint, in a fixed number of buckets of keys.

    Args:
        events: a DataFrame, or event type -> DataFrame. Works with Spark Connect, too.
        query: a `Query`, its text, or one made with `cepheid.build`; or a `cepheid.QuerySet`.
        time: the column of event time: timestamps, dates, ISO text, or numbers with ``time_unit``.
        type: the column of the event type (text); None if all events are of one type. For a mapping, the name of the
            column that the event type gets, default ``type``.
        order: the column or columns that order events of equal time, and that identify an event (SEMANTICS 1.1).
            Without it all column values do, those that the query needs first, and executors log a warning where
            events of one time and key occur.
        time_unit: the unit of a time column of numbers (us, ms, s, min, h, d).
        parameters: values for the query's ``:parameters``.
        catalog: registered functions and stores that the query names. Functions travel to the executors by value.
        queries: the queries whose matches may be the events of this one or of each other (``FROM name``), by name.
        partitions: how many partitions to use; default Spark's choice. For streams, how many buckets the keys are
            hashed to, default 16; it cannot change under a checkpoint.
        observation: counts the events as they are read: ``n_events``, ``n_without_time``, ``n_without_type``, and
            ``n_without_key`` (NULL in SAME, so in no partition). Spark then reads every event. With ``outputs``, it
            comes with the matches. Not for streams.
        outputs: some of ``matches``, ``timed_out`` and ``rejected``; without it, the matches alone. For streams
            ``late``, ``held`` and ``plans`` (see `cepheid.Outputs`), too.
        settings: how much a query may hold in each task: `cepheid.Settings`. What is dropped is told in the logs of the
            executors; a `cepheid.errors.CapacityError` fails the task.
        watermark: for streams: how much later than newer ones an event may come and still be on time (``"10 seconds"``,
            a timedelta, or a number in ``time_unit``). What comes later is late, and in no match. Without it,
            the delay of the `withWatermark` that was called on the time column.
        idle_flush: for streams: when nothing has moved the watermark for so long, it goes on with the wall clock, so
            that what is open is decided. None: it stands still until there are events.
        slack: how late events may be: for streams the same as ``watermark``, or a `cepheid.Slack`, by which the windows
            of each bucket are closed. Batch DataFrames are replayed as `cepheid.match` replays a table, all events
            together in the order in which they were received; one task finds which are late, and no other sees these
            (`cepheid.spark.replay`). Then ``late`` is an output, and of a `cepheid.Slack` ``closed``, ``fitted`` and
            ``slack``, too; ``observation`` counts the events that came on time.
        received: the column that says when an event was received, which a `cepheid.Slack` goes by, and every replay.

    Returns:
        One row per match: the columns of RETURN, or the default ones (SEMANTICS 8), in no particular order.
        ``match_id`` is that of `cep.match` if the events are identified alike, that is with the same ``order=``.
        For a set of queries, a dict from the name of each to such a DataFrame: queries with the same partition are
        found in one pass, whose rows are persisted until `Detected.unpersist` is called. With ``outputs``,
        `cepheid.Outputs` in place of each DataFrame of matches: DataFrames under those names, each found in a pass of
        its own when it is used. On streams all are found in one pass, and what is given has them as one stream, too:
        `cepheid.spark.streams.outputs.StreamOutputs`; for a set `cepheid.spark.streams.set_outputs.DetectedStreams`,
        and with ``outputs`` `cepheid.spark.streams.set_outputs.DetectedStreamOutputs`. Of ``rejected`` the columns are
        ``event`` (a struct of all columns of the event), ``column`` (the one at fault) and ``reason``.

    Warns:
        NoMatchWarning: the conditions of the query exclude each other, so that there are no matches.

    Raises:
        QueryError: the query cannot be read or does not fit the events.
        SchemaError: a column is missing, has a clashing type, or a type that its role does not take; ``partitions`` is
            no whole number from 1; there is no such output.
        ParameterError: a parameter is missing, unknown or of the wrong type.
        NotSupportedError: the query has a meaning that this version cannot run, in streams perhaps.
    """
    if partitions is not None and (not isinstance(partitions, int) or not 1 <= partitions < 1 << 31):
        raise SchemaError(
            f"partitions= is {partitions!r}", remedy="give a whole number from 1 to 2147483647, or leave it out"
        )
    require_settings(settings)
    settings = settings.choosing(AdaptiveEvaluation)
    names = (order,) if isinstance(order, str) else tuple(order or ())
    read = query if isinstance(query, QuerySet) else Query.of(query)
    given: Columns = {"time": time, "time_unit": time_unit, "type": type, "order": names}
    if are_streams(events):
        refuse_what_is_for_batches(observation)
        closing = stream_slack(slack, received, watermark, time_unit)
        watermark = delay_given(slack, watermark)
        asked = None if outputs is None else asked_outputs(outputs, STREAM_NAMES)
        streamed = streamed_events(events, given, watermark=watermark, idle_flush=idle_flush)
        described_by: dict[str, object] = {
            "the_parameters": sorted((parameters or {}).items()),
            **named_columns(given),
            **({} if closing is None else {"the_slack": closing}),
        }
        known = catalog_with(catalog, queries)
        if isinstance(read, QuerySet):
            return detect_stream_set(
                streamed,
                _bound_set(streamed.events, read, parameters or {}, known),
                asked=asked,
                n_buckets=partitions,
                settings=settings,
                described_by=described_by,
                slack=closing,
            )
        bound = bind_to(streamed.events, read, parameters or {}, known)
        warn_of_no_matches(told(bound))
        return detect_stream(
            streamed,
            bound,
            asked=asked,
            n_buckets=partitions,
            settings=settings,
            described_by=described_by,
            slack=closing,
        )
    refuse_what_is_for_streams(watermark, idle_flush)
    if slack is None:
        received_column(received, None, replayed=True)
    names = replayed_outputs(slack, by_policy=isinstance(slack, Slack))
    asked = None if outputs is None else asked_outputs(outputs, names)
    source = events_of_types(events, **given) if isinstance(events, Mapping) else events_of(events, **given)
    known = catalog_with(catalog, queries)
    if isinstance(read, QuerySet):
        bounds = _bound_set(source, read, parameters or {}, known)
        replay = None if slack is None else Replay.of(source, tuple(bounds.values()), slack, received, time_unit)
        if replay is not None:
            source = replay.on_time
        if asked is not None:
            return detect_outputs_of_set(source, bounds, asked, partitions, observation, settings, replay)
        return detect_set(source, bounds, n_partitions=partitions, observation=observation, settings=settings)
    bound = bind_to(source, read, parameters or {}, known)
    warn_of_no_matches(told(bound))
    replay = None if slack is None else Replay.of(source, (bound,), slack, received, time_unit)
    if replay is not None:
        source = replay.on_time
    if asked is not None:
        return detect_outputs(source, bound, asked, partitions, observation, settings, replay)
    return batch.detect(source, bound, n_partitions=partitions, observation=observation, settings=settings)


def bind_to(
    source: Events, query: Query, parameters: Mapping[str, object], catalog: Catalog | None = None
) -> BoundQuery:
    """The query bound to the events, with values for its parameters, and known to run.

    Raises:
        QueryError, ParameterError, NotSupportedError: as `detect`.
    """
    bound = with_parameters(query.bind(source.schema.events, catalog), parameters)
    _require_runs(bound)
    return bound


def _bound_set(
    source: Events, queries: QuerySet, parameters: Mapping[str, object], catalog: Catalog
) -> dict[str, BoundQuery]:
    """The queries of a set bound to the events, with values for their parameters, and known to run."""
    bounds = with_values(queries.bind(source.schema.events, catalog), parameters)
    for name, bound in bounds.items():
        try:
            _require_runs(bound)
        except QueryError as error:
            raise error.located(bound.text, bound.origin or name) from None
    warn_of_no_matches([reason for bound in bounds.values() for reason in told(bound)])
    return bounds


def _require_runs(bound: BoundQuery) -> None:
    for one in bound.chain[::-1]:
        prepare(one)
