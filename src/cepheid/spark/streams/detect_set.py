"""How a streaming DataFrame of events becomes one of the matches of several queries, all found in one pass.

Queries whose events have one key share their buckets, in which each event is packed, shuffled, read and kept back once
for all of them. An event that queries of several keys can take is in a bucket for each of the keys.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.engine.output_schema import timed_out_schema
from cepheid.engine.outputs import HELD, LATE, MATCHES, PLANS, POLICY_NAMES, REJECTED, TIMED_OUT
from cepheid.engine.settings import Settings
from cepheid.engine.stream import Stream
from cepheid.errors import CepheidError, SchemaError
from cepheid.language.bound import BoundQuery
from cepheid.language.check import check
from cepheid.language.printer import print_expression
from cepheid.spark import batch
from cepheid.spark.keys import Keys
from cepheid.spark.pushdown import Source
from cepheid.spark.shipment import through
from cepheid.spark.streams.buckets import BUCKET, N_BUCKETS, bucket_of
from cepheid.spark.streams.closing import StreamSlack, require_policy
from cepheid.spark.streams.delay import after_the_watermark
from cepheid.spark.streams.detect import (
    columns_of_the_stream,
    keys_of,
    ordered_by,
    packed,
    packing_of,
    printed,
    stepped,
    tagged_columns,
    texts_of,
    wanted_events,
)
from cepheid.spark.streams.given import StreamedEvents
from cepheid.spark.streams.packs import Unpacking
from cepheid.spark.streams.set_outputs import DetectedStreamOutputs, DetectedStreams
from cepheid.spark.streams.set_step import GroupedStep, SetStep, timed_out_of
from cepheid.spark.streams.state import described
from cepheid.spark.streams.unread import UNREAD, UNREAD_COLUMN, PassingOn
from cepheid.spark.values import named

_log = logging.getLogger("cepheid.spark")


@dataclass
class _Group:
    """Queries whose events go to the same buckets.

    Attributes:
        keys: by which events are spread; None for one bucket.
        names: of the queries.
        first: the number of its first bucket.
        n_buckets: how many it has.
    """

    keys: Keys | None
    names: list[str]
    first: int = 0
    n_buckets: int = 1


def detect_stream_set(
    streamed: StreamedEvents,
    bounds: Mapping[str, BoundQuery],
    *,
    asked: frozenset[str] | None,
    n_buckets: int | None,
    settings: Settings,
    described_by: Mapping[str, object],
    slack: StreamSlack | None = None,
) -> DetectedStreams | DetectedStreamOutputs:
    """The matches of the queries of a set, their parameters filled in; see `cepheid.spark.detect.detect`.

    Args:
        streamed: the events.
        bounds: the queries by name.
        asked: the outputs that are asked for; None for the matches alone.
        n_buckets: how many buckets the keys of each group are hashed to.
        settings: how much each query may hold in a bucket.
        described_by: what else the state depends on, by name.
        slack: closes windows.
    """
    outputs = (asked or frozenset({MATCHES})) | ({UNREAD} if streamed.unread else frozenset())
    require_policy(outputs, slack)
    for name, bound in bounds.items():
        try:
            for one in bound.chain:
                check(one, stream=True)
        except CepheidError as error:
            raise error.located(bound.text, bound.origin or name) from None
    left = TIMED_OUT in outputs
    whole = streamed.events.schema
    groups = _groups(bounds, Source(spark.StructType(whole.spark.fields)), n_buckets, infer=not left)
    if slack is not None:
        for group in groups:
            slack.watch(*(bounds[name] for name in group.names))  # what cannot be followed is refused now
    narrow = (
        slack is None
        and outputs <= {MATCHES, HELD, PLANS, UNREAD}
        and all(bound.inner is None for bound in bounds.values())
    )
    pruned, narrowed = batch.pruned(whole, [b if narrow else replace(b, returns=()) for b in bounds.values()])
    kept = dict(zip(bounds, narrowed, strict=True)) if narrow else dict(bounds)
    texts = () if whole.events.order else texts_of(pruned.events)
    columns = _columns(kept, pruned.arrow, whole.spark, outputs, settings)
    declared, output = batch.declared_schema_of(tagged_columns(columns))
    n_all = sum(group.n_buckets for group in groups)
    packing = packing_of(streamed, pruned, texts, n_all, slack, output)
    deadlines = streamed.idle_us is None and slack is None
    steps = tuple(
        SetStep(
            kept[group.names[0]],
            ordered_by(whole.events if not narrow else pruned.events, texts),
            pruned.arrow,
            packing.packed,
            asked=_described(bounds, described_by, pruned.arrow, n_all, streamed.sources, left=left),
            outputs={
                name: batch.declared_schema_of(of)[1]
                for name, of in columns.items()
                if name != LATE or group is groups[0]
            },
            tagged=output,
            delays_us=streamed.delays_us,
            idle_us=streamed.idle_us,
            sources=streamed.sources,
            deadlines=deadlines,
            tie_keys=None if whole.events.order else () if group.keys is None else group.keys.names,
            settings=settings,
            slack=slack,
            queries=tuple((name, kept[name]) for name in group.names),
            timed_out=left,
            is_first=group is groups[0],
            shows_late=LATE in outputs,
        )
        for group in groups
    )
    group_of = {
        label: number
        for number, group in enumerate(groups)
        for label in packing.labels[group.first : group.first + group.n_buckets]
    }
    placed = _placed(streamed, bounds, groups, outputs, all_events=slack is not None)
    grouped = GroupedStep(steps, group_of)
    operator = PassingOn(grouped, packing.unread_label) if streamed.unread else grouped
    found = stepped(packed(placed, pruned.spark.names, packing), operator, streamed.delays_us, deadlines=deadlines)
    rows, of = through(found, Unpacking(output), declared), {name: c.names for name, c in columns.items()}
    return DetectedStreams(rows, of) if asked is None else DetectedStreamOutputs(rows, of, tuple(bounds), asked)


def _groups(
    bounds: Mapping[str, BoundQuery], source: Source, n_buckets: int | None, *, infer: bool
) -> tuple[_Group, ...]:
    """The queries by what their events are spread by, those that share the most of it together."""
    of: dict[object, _Group] = {}
    keyed: dict[str, Keys | None] = {name: keys_of(bound, source, infer=infer) for name, bound in bounds.items()}
    # A partition by some of the keys of a query holds whole partitions by all of them.
    for name in sorted(keyed, key=lambda name: _n_names(keyed[name])):
        keys = keyed[name]
        if keys is None:
            place: object = None
        elif len(keys.names) == len(keys.columns):
            mine = frozenset(keys.names)
            place = next((p for p in of if isinstance(p, frozenset) and p <= mine), mine)
        else:
            bound = bounds[name]
            place = (*map(print_expression, bound.partition),) if bound.partition else ("inferred", name)
        of.setdefault(place, _Group(keys, [])).names.append(name)
    first = 0
    for group in of.values():
        group.names.sort(key=list(bounds).index)
        group.first, group.n_buckets = first, 1 if group.keys is None else n_buckets or N_BUCKETS
        first += group.n_buckets
        if group.keys is None:
            _log.warning(
                "all events that %s can take go through one bucket, on one core: no key of SAME that Spark computes "
                "parts them; add SAME[...] if the events of a match share a key",
                ", ".join(group.names),
            )
    return tuple(of.values())


def _n_names(keys: Keys | None) -> int:
    return 0 if keys is None else len(keys.names)


def _columns(
    bounds: Mapping[str, BoundQuery],
    events: Any,
    shown: spark.StructType,
    outputs: frozenset[str],
    settings: Settings,
) -> dict[str, spark.StructType]:
    """The columns of each output; what cannot run is refused here."""
    columns: dict[str, spark.StructType] = {}
    left = TIMED_OUT in outputs
    others = columns_of_the_stream(shown, outputs)
    for name, bound in bounds.items():
        try:
            matches = Stream(bound, events, settings, timed_out=left).output
            told = {name: batch.declared_schema(matches)[0]} if MATCHES in outputs else {}
            if left:
                told[timed_out_of(name)] = batch.declared_schema(timed_out_schema(bound, events))[0]
        except CepheidError as error:
            raise error.located(bound.text, bound.origin or name) from None
        for output in told:
            if output in columns or output in (LATE, REJECTED, *POLICY_NAMES, HELD, PLANS, UNREAD):
                raise SchemaError(
                    f"two outputs of the stream are called {output!r}", remedy=f"give the query {name!r} another name"
                )
        columns |= told
    return columns | others


def _described(
    bounds: Mapping[str, BoundQuery],
    by: Mapping[str, object],
    columns: Any,
    n_buckets: int,
    sources: Sequence[str],
    *,
    left: bool,
) -> dict[str, str]:
    """What the state of each bucket depends on: the whole set, as the buckets of a query lie behind those of others."""
    queries = {f"the query {name}": printed(bound) for name, bound in bounds.items()}
    others = described(
        ", ".join(bounds),
        **by,
        the_columns=", ".join(f"{f.name} {f.type}" for f in columns),
        the_number_of_buckets=n_buckets,
        the_streams=", ".join(sources),
        **({"what_timed_out": "told"} if left else {}),
    )
    return {**queries, "the queries": others.pop("the query"), **others}


def _placed(
    streamed: StreamedEvents,
    bounds: Mapping[str, BoundQuery],
    groups: Sequence[_Group],
    outputs: frozenset[str],
    *,
    all_events: bool,
) -> DataFrame:
    """The events that can matter, once for each group, with the number of their bucket."""
    frame = streamed.events.frame
    places: list[Column] = []
    for group in groups:
        # Late events are shown by the first group alone, to which all go then, those without its key, too.
        shown = outputs if group is groups[0] else outputs - {LATE}
        keys = None if LATE in shown and len(groups) > 1 else group.keys
        bucket = F.lit(group.first) + bucket_of(() if group.keys is None else group.keys.columns, group.n_buckets)
        wanted = [wanted_events(streamed, bounds[n], keys, shown, all_events=all_events) for n in group.names]
        if all(wanted):
            any_of = reduce(Column.__or__, (condition for conditions in wanted for condition in conditions))
            bucket = F.when(after_the_watermark(streamed.event_time, any_of), bucket)
        places.append(bucket)
    if streamed.unread:
        last = groups[-1]
        is_event = named(UNREAD_COLUMN).isNull()
        places = [F.when(is_event, place) for place in places]
        places.append(F.when(~is_event, F.lit(last.first + last.n_buckets)))
    if len(places) == 1:
        frame = frame.withColumn(BUCKET, places[0])
        return frame.where(after_the_watermark(streamed.event_time, F.col(f"`{BUCKET}`").isNotNull()))
    every = F.filter(F.array(*places), lambda place: place.isNotNull())
    return frame.withColumn(BUCKET, F.explode(every))
