"""How a streaming DataFrame of events becomes a streaming DataFrame of matches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark
from pyspark.sql.streaming.state import GroupStateTimeout

from cepheid.engine.decided_plans import PLAN_COLUMNS
from cepheid.engine.output_schema import timed_out_schema
from cepheid.engine.outputs import HELD, LATE, MATCHES, PLANS, POLICY_NAMES, REJECTED, TIMED_OUT
from cepheid.engine.settings import Settings
from cepheid.engine.stream import Stream
from cepheid.events.schema import Schema
from cepheid.events.types import TEXT
from cepheid.language.bound import BoundQuery
from cepheid.language.check import check
from cepheid.language.partition import inferred_partition
from cepheid.language.printer import print_query
from cepheid.language.results import SCALARS
from cepheid.ports.pairs import PairPolicy
from cepheid.spark import batch
from cepheid.spark.admission import admitted, may_drop_events
from cepheid.spark.frames import Events
from cepheid.spark.keys import Keys, inferred_keys, same_keys
from cepheid.spark.pushdown import Source
from cepheid.spark.rejected import rejected_columns
from cepheid.spark.schema import FrameSchema
from cepheid.spark.shipment import through
from cepheid.spark.streams.buckets import BUCKET, N_BUCKETS, bucket_of, labels
from cepheid.spark.streams.closing import POLICY_COLUMNS, StreamSlack, require_policy
from cepheid.spark.streams.delay import after_the_watermark, never_dropped
from cepheid.spark.streams.given import StreamedEvents
from cepheid.spark.streams.outputs import OUTPUT, StreamOutputs
from cepheid.spark.streams.packs import BEAT, SOURCE, Packing, Unpacking
from cepheid.spark.streams.shipment import RESULTS, STATE, StateOperator, StateShipment
from cepheid.spark.streams.state import described
from cepheid.spark.streams.step import HELD_COLUMNS, BucketStep
from cepheid.spark.streams.told_types import told_types, with_told_types
from cepheid.spark.streams.unread import (
    UNREAD,
    UNREAD_COLUMN,
    UNREAD_TYPE,
    PassingOn,
    bucket_with_unread,
    or_unread,
)
from cepheid.spark.values import named

_log = logging.getLogger("cepheid.spark")


def detect_stream(
    streamed: StreamedEvents,
    bound: BoundQuery,
    *,
    asked: frozenset[str] | None,
    n_buckets: int | None,
    settings: Settings,
    described_by: Mapping[str, object],
    policy: Callable[[], PairPolicy] | None = None,
    slack: StreamSlack | None = None,
) -> DataFrame | StreamOutputs:
    """The matches of a bound query, its parameters filled in, in streams; see `cepheid.spark.detect.detect`.

    Args:
        streamed: the events.
        bound: the query.
        asked: the outputs that are asked for; None for the matches alone.
        n_buckets: how many buckets the keys are hashed to.
        settings: how much a bucket may hold.
        described_by: what else the state depends on, by name.
        policy: makes the policy of each bucket, which looks at pairs of events and partial matches. Where it tells them
            apart by their places, all events of a key travel, as places are counted before any filter.
        slack: closes windows; then all events travel, as each says something of the time.
    """
    outputs = (asked or frozenset({MATCHES})) | ({UNREAD} if streamed.unread else frozenset())
    if slack is not None:
        slack.watch(bound)  # what cannot be followed is refused before anything runs
    require_policy(outputs, slack)
    for one in bound.chain:
        check(one, stream=True)
    whole = streamed.events.schema
    source = Source(spark.StructType(whole.spark.fields))
    left = TIMED_OUT in outputs
    keys = keys_of(bound, source, infer=not left)
    # Late and rejected events are shown whole, and with FROM the inner query reads what this one does not name.
    # A slack policy reads columns that the query does not.
    narrow = bound.inner is None and slack is None and outputs <= {MATCHES, HELD, PLANS, UNREAD}
    pruned, (kept,) = batch.pruned(whole, [bound if narrow else replace(bound, returns=())])
    if not narrow:
        kept = bound
    texts = () if whole.events.order else texts_of(pruned.events)
    ordered = ordered_by(whole.events if not narrow else pruned.events, texts)
    n_buckets = _n_buckets(bound, keys, n_buckets)
    # What cannot run is refused before anything does.
    matches = Stream(kept, pruned.arrow, settings, timed_out=left).output
    result, names = _results(matches, whole.spark, outputs, tagged=asked is not None)
    if left:
        names[TIMED_OUT] = batch.declared_schema(timed_out_schema(kept, pruned.arrow))[0]
        result = result.add(spark.StructField(TIMED_OUT, names[TIMED_OUT], True))
    declared, output = batch.declared_schema_of(result)
    all_events = _counts_places(policy) or slack is not None
    packing = packing_of(streamed, pruned, texts, n_buckets, slack, output)
    if narrow and not all_events and not streamed.unread:
        packing = replace(packing, type=pruned.events.type, types=told_types(bound, streamed.events.frame.schema))
    step = BucketStep(
        kept,
        ordered,
        pruned.arrow,
        packing.packed,
        asked=described(
            printed(bound),
            **described_by,
            the_columns=", ".join(f"{f.name} {f.type}" for f in pruned.arrow),
            the_number_of_buckets=n_buckets,
            the_streams=", ".join(streamed.sources),
            **({"what_timed_out": "told"} if left else {}),
        ),
        outputs={name: batch.declared_schema_of(columns)[1] for name, columns in names.items()},
        tagged=output if asked is not None else None,
        delays_us=streamed.delays_us,
        idle_us=streamed.idle_us,
        sources=streamed.sources,
        # With beats there is something in every micro-batch, and each bucket is called in it.
        deadlines=streamed.idle_us is None and slack is None,
        tie_keys=None if whole.events.order else () if keys is None else keys.names,
        settings=settings,
        policy=policy,
        slack=slack,
    )
    placed = _placed(streamed, bound, keys, n_buckets, outputs, all_events=all_events)
    operator = PassingOn(step, packing.unread_label) if streamed.unread else step
    found = stepped(packed(placed, pruned.spark.names, packing), operator, streamed.delays_us, deadlines=step.deadlines)
    rows = through(found, Unpacking(output), declared)
    return rows if asked is None else StreamOutputs.of(rows, {name: names[name].names for name in names})


def keys_of(bound: BoundQuery, source: Source, *, infer: bool) -> Keys | None:
    """The keys of which events with different values never meet; None where there are none that Spark computes.

    Args:
        bound: the query.
        source: the events.
        infer: those that equalities imply will do. Where what timed out is told they do not: an event without a key
            starts what may time out, too.
    """
    if bound.inner is not None:
        return None
    if bound.partition:
        return same_keys(bound, source)
    inferred = inferred_partition(bound) if infer else None
    return None if inferred is None else inferred_keys(bound, inferred, source)


def printed(bound: BoundQuery) -> str:
    """The query, and those that stand behind it in FROM."""
    return " FROM ".join(print_query(one.query) for one in bound.chain)


def _n_buckets(bound: BoundQuery, keys: Keys | None, asked: int | None) -> int:
    if keys is not None or (bound.partition and bound.inner is None):
        return asked or N_BUCKETS
    _log.warning(
        "all events go through one bucket, on one core: %s",
        "they are matches of another query (FROM)"
        if bound.inner is not None
        else "the pattern has no SAME; add SAME[...] if the events of a match share a key",
    )
    return 1


def texts_of(events: Schema) -> tuple[tuple[str, str], ...]:
    """Names of columns of texts -> the columns whose values they stand for: lists, structs and the like."""
    return tuple((f"cepheid text of {name}", name) for name, t in events.fields.items() if t.kind not in SCALARS)


def _results(
    matches: Any, events: spark.StructType, outputs: frozenset[str], *, tagged: bool
) -> tuple[spark.StructType, dict[str, spark.StructType]]:
    """The columns of the result, and those of each output; where it is tagged, each row says which output it is of."""
    columns: dict[str, spark.StructType] = {}
    if MATCHES in outputs:
        columns[MATCHES] = batch.declared_schema(matches)[0]
    columns |= columns_of_the_stream(events, outputs)
    return (tagged_columns(columns) if tagged else columns[MATCHES]), columns


def columns_of_the_stream(events: spark.StructType, outputs: frozenset[str]) -> dict[str, spark.StructType]:
    """The columns of those outputs that are asked for and are the same whatever the query is."""
    columns: dict[str, spark.StructType] = {}
    nullable = spark.StructType([spark.StructField(f.name, f.dataType, True) for f in events.fields])
    if LATE in outputs:
        columns[LATE] = nullable
    if REJECTED in outputs:
        columns[REJECTED] = rejected_columns(nullable)
    for name in POLICY_NAMES:
        if name in outputs:
            columns[name] = batch.declared_schema(POLICY_COLUMNS[name])[0]
    if HELD in outputs:
        columns[HELD] = spark.StructType([spark.StructField(name, spark.LongType(), True) for name in HELD_COLUMNS])
    if PLANS in outputs:
        columns[PLANS] = batch.declared_schema(PLAN_COLUMNS)[0]
    if UNREAD in outputs:
        columns[UNREAD] = UNREAD_TYPE
    return columns


def tagged_columns(columns: Mapping[str, spark.StructType]) -> spark.StructType:
    """The columns of the rows of all outputs, each of which says which output it is of."""
    fields = [spark.StructField(OUTPUT, spark.StringType(), True)]
    return spark.StructType(fields + [spark.StructField(name, struct, True) for name, struct in columns.items()])


def ordered_by(events: Schema, texts: Sequence[tuple[str, str]]) -> Schema:
    """Events that are put in order by all of their values, where no columns are named that say it.

    Args:
        events: they.
        texts: of `texts_of`.
    """
    if events.order:
        return events
    of = {name: text for text, name in texts}
    fields = {**events.fields, **{text: TEXT for text, _ in texts}}
    return replace(events, fields=fields, order=tuple(of.get(name, name) for name in fields))


def _counts_places(policy: Callable[[], PairPolicy] | None) -> bool:
    """Whether a policy tells pairs apart by the places of events."""
    wanted = None if policy is None else policy().wanted
    return wanted is not None and (wanted.guard or wanted.observe)


def _placed(
    streamed: StreamedEvents,
    bound: BoundQuery,
    keys: Keys | None,
    n_buckets: int,
    outputs: frozenset[str],
    *,
    all_events: bool,
) -> DataFrame:
    """The events that can matter (or all that have a place), with the number of their bucket."""
    frame = streamed.events.frame
    conditions = wanted_events(streamed, bound, keys, outputs, all_events=all_events)
    for condition in map(or_unread, conditions) if streamed.unread else conditions:
        frame = frame.where(after_the_watermark(streamed.event_time, condition))
    columns: Sequence[Column] = keys.columns if keys is not None else ()
    if not columns and bound.partition and bound.inner is None:
        wider = replace(streamed.events.schema, spark=frame.schema)
        frame, columns = batch.with_computed_keys(Events(frame, wider), bound)
    bucket = bucket_of(columns, n_buckets)
    return frame.withColumn(BUCKET, bucket_with_unread(bucket, n_buckets) if streamed.unread else bucket)


def wanted_events(
    streamed: StreamedEvents, bound: BoundQuery, keys: Keys | None, outputs: frozenset[str], *, all_events: bool
) -> list[Column]:
    """The conditions that events must fulfil to be handed to a query, by what is to be shown of others."""
    innermost = bound.chain[-1]
    source = Source(spark.StructType(streamed.events.schema.spark.fields))
    in_place = batch.in_place(innermost, keys)
    fits = admitted(innermost, source) if may_drop_events(innermost) and not all_events else None
    if LATE not in outputs:
        # Late events that fit nothing are shown, too.
        wanted = in_place if fits is None else in_place & fits
        return [wanted if REJECTED not in outputs else F.coalesce(wanted | ~in_place, F.lit(True))]
    return [in_place] if REJECTED not in outputs else []


def packing_of(
    streamed: StreamedEvents,
    pruned: FrameSchema,
    texts: tuple[tuple[str, str], ...],
    n_buckets: int,
    slack: StreamSlack | None,
    output: Any,
) -> Packing:
    """How events travel to their buckets.

    Args:
        streamed: the streams, as they were given.
        pruned: with the columns that are wanted of them.
        texts: names of added columns -> the columns whose values they hold as text.
        n_buckets: of all queries together.
        slack: the policy that closes windows, if any.
        output: the Arrow schema of the rows of all outputs.
    """
    return Packing(
        pruned.arrow,
        texts,
        pruned.events.time,
        pruned.events.time_unit,
        labels(n_buckets),
        n_sources=len(streamed.sources),
        beats=streamed.idle_us is not None,
        received=None if slack is None else slack.received,
        unread=output if streamed.unread else None,
    )


def packed(frame: DataFrame, names: Sequence[str], packing: Packing) -> DataFrame:
    """The events by their buckets, packed."""
    if packing.types:
        frame = with_told_types(frame, packing.types, packing.type or "")
        names = [name for name in names if name != packing.type]
    further = [BUCKET, *([SOURCE] if packing.n_sources > 1 else [])]
    further += [] if packing.unread is None else [UNREAD_COLUMN]
    chosen = frame.select(*(named(name) for name in (*names, *further)))
    if packing.beats:
        chosen = chosen.withColumn(BEAT, F.lit(None).cast("long")).union(_beats(chosen))
    fields = spark.StructType(
        [spark.StructField("bucket", spark.IntegerType()), spark.StructField("payload", spark.BinaryType())]
    )
    return through(chosen, packing, fields)


def _beats(events: DataFrame) -> DataFrame:
    """A row a second with the time on the wall clock, and NULL in the columns of events."""
    rate = events.sparkSession.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in events.schema.fields]
    return rate.select(*nothing, F.unix_micros("timestamp").alias(BEAT))


def stepped(packs: DataFrame, step: StateOperator, delays_us: Sequence[int], *, deadlines: bool) -> DataFrame:
    """The packs through the operator that keeps the state of buckets.

    Args:
        packs: of `packed`.
        step: the operator.
        delays_us: how late the events of each stream may be.
        deadlines: Spark is to call again when its watermark has moved.
    """
    timeout = GroupStateTimeout.EventTimeTimeout if deadlines else GroupStateTimeout.NoTimeout
    seen = packs.select(F.col("bucket"), F.col("payload"), never_dropped(delays_us))
    return seen.groupBy("bucket").applyInPandasWithState(StateShipment.of(step), RESULTS, STATE, "append", timeout)
