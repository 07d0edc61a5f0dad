"""How a bounded DataFrame of events becomes a DataFrame of matches."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.engine.composite import ORDER
from cepheid.engine.output_schema import output_schema, time_type
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.events.types import TEXT
from cepheid.language.bound import BoundQuery
from cepheid.language.composite import TIME
from cepheid.language.partition import inferred_partition
from cepheid.spark import timecut
from cepheid.spark.admission import admitted, may_drop_events, needed_columns
from cepheid.spark.frames import Events
from cepheid.spark.keys import KeyComputation, Keys, inferred_keys, same_keys
from cepheid.spark.operator import Detection
from cepheid.spark.pushdown import Source, balanced_or
from cepheid.spark.schema import FrameSchema, arrow_type, spark_type
from cepheid.spark.shipment import through
from cepheid.spark.values import named

_log = logging.getLogger("cepheid.spark")


def detect(
    events: Events,
    bound: BoundQuery,
    *,
    n_partitions: int | None = None,
    observation: Observation | None = None,
    settings: Settings = DEFAULTS,
) -> DataFrame:
    """The matches of a bound query, its parameters filled in; see `cepheid.spark.detect.detect`."""
    events, bound, observation = own_events(events, bound, n_partitions, observation, settings)
    placed = place(events, [bound], n_partitions, observation)
    (bound,) = placed.bounds
    declared, output = declared_schema(output_schema(bound, placed.schema.arrow))
    return through(
        placed.frame, Detection(bound, output, keys=placed.keys, pieces=placed.pieces, settings=settings), declared
    )


def own_events(
    events: Events,
    bound: BoundQuery,
    n_partitions: int | None,
    observation: Observation | None,
    settings: Settings,
) -> tuple[Events, BoundQuery, Observation | None]:
    """The events that a query is matched in: with FROM, the composite events of the queries under it.

    Returns:
        The events; the query over them; and the observation, where it has not been used for those that were read.
    """
    inner = bound.inner
    if inner is None:
        return events, bound, observation
    events, inner, observation = own_events(events, inner, n_partitions, observation, settings)
    placed = place(events, [inner], n_partitions, observation)
    (inner,) = placed.bounds
    columns = output_schema(inner, placed.schema.arrow)
    if inner.returns:
        columns = columns.append(pa.field(TIME, time_type(inner, placed.schema.arrow)))
    declared, output = declared_schema(columns.append(pa.field(ORDER, pa.string())))
    operator = Detection(inner, output, keys=placed.keys, pieces=placed.pieces, composite=True, settings=settings)
    schema = replace(bound.schema, fields={**bound.schema.fields, ORDER: TEXT}, order=(ORDER,))
    composites = Events(through(placed.frame, operator, declared), FrameSchema(schema, output, declared))
    return composites, replace(bound, schema=schema, inner=None), None


def declared_schema(columns: Any) -> tuple[spark.StructType, Any]:
    """The schema of a result as Spark declares it, and as Spark then expects it from Arrow."""
    return declared_schema_of(spark.StructType([spark.StructField(f.name, spark_type(f.type), True) for f in columns]))


def declared_schema_of(declared: spark.StructType) -> tuple[spark.StructType, Any]:
    """A declared schema, and as Spark then expects it from Arrow."""
    return declared, pa.schema([pa.field(f.name, arrow_type(f.dataType)) for f in declared.fields])


@dataclass(frozen=True)
class Placed:
    """Events on their way to where they are matched.

    Attributes:
        frame: the events that can matter, in their partitions.
        schema: of them; columns that no query needs are left out.
        bounds: the queries, over these columns.
        keys: columns of which events with different values never meet.
        pieces: the events are cut by time.
    """

    frame: DataFrame
    schema: FrameSchema
    bounds: tuple[BoundQuery, ...]
    keys: tuple[str, ...]
    pieces: bool


def place(
    events: Events,
    bounds: Sequence[BoundQuery],
    n_partitions: int | None,
    observation: Observation | None = None,
    *,
    timed_out: bool = False,
) -> Placed:
    """The events that can matter to queries whose events are spread alike (`spread_by`), spread.

    Args:
        events, bounds, n_partitions, observation: as in `detect`.
        timed_out: they are to find what timed out: all events of one SAME stay together, those around a piece of time
            are those that can continue what began in it, and no key is inferred.
    """
    source = Source(spark.StructType(events.schema.spark.fields))
    keys = _keys(bounds[0], source, infer=not timed_out)
    narrowed, kept = pruned(events.schema, bounds)
    frame = events.frame
    if observation is not None:
        frame = frame.observe(observation, *_counts(bounds[0], keys))
    frame = frame.where(in_place(bounds[0], keys))
    if all(may_drop_events(bound) for bound in bounds):
        fits = [admitted(bound, source) for bound in bounds]
        known = [fit for fit in fits if fit is not None]
        if len(known) == len(fits):
            frame = frame.where(balanced_or(known))
    frame = frame.select(*(named(name) for name in narrowed.spark.names))
    spread = _spread(Events(frame, narrowed), kept, keys, n_partitions, timed_out=timed_out)
    return Placed(spread.frame, narrowed, kept, keys.names if keys is not None else (), spread.pieces)


def spread_by(events: Events, bound: BoundQuery) -> object | None:
    """What the events of a query are spread by: equal for queries that can share a shuffle; None if none can."""
    keys = _keys(bound, Source(spark.StructType(events.schema.spark.fields)))
    if keys is not None:
        return ("keys", keys.names) if len(keys.names) == len(keys.columns) else None
    if bound.partition:
        return None
    schema = bound.schema
    time = timecut.time_us(schema.time, events.schema.spark[schema.time].dataType, schema.time_unit)
    return ("time",) if timecut.margins(bound) is not None and time is not None else ("one partition",)


@dataclass(frozen=True)
class _Spread:
    """Events in the partitions in which they are matched.

    Attributes:
        frame: the events.
        pieces: they are cut by time.
    """

    frame: DataFrame
    pieces: bool = False


def _spread(
    events: Events, bounds: Sequence[BoundQuery], keys: Keys | None, n_partitions: int | None, *, timed_out: bool
) -> _Spread:
    frame, bound = events.frame, bounds[0]
    if keys is not None:
        return _Spread(_by_key(frame, keys.columns, n_partitions))
    if bound.partition:
        frame, columns = with_computed_keys(events, bound)
        return _Spread(_by_key(frame, columns, n_partitions))
    schema = bound.schema
    reach = timecut.widest([timecut.margins(bound, timed_out=timed_out) for bound in bounds])
    time = timecut.time_us(schema.time, events.schema.spark[schema.time].dataType, schema.time_unit)
    n_pieces = n_partitions or int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
    if reach is not None and time is not None and n_pieces > 1:
        return _Spread(timecut.cut(frame, time, reach, n_pieces), pieces=True)
    if n_pieces > 1:
        _log.warning("all events go through one partition: %s", _why_one_partition(bound, reach))
    return _Spread(frame.repartition(1))


def _by_key(frame: DataFrame, columns: Iterable[Column], n_partitions: int | None) -> DataFrame:
    # Without a number Spark takes spark.sql.shuffle.partitions, and its adaptive execution joins small partitions.
    return frame.repartition(*columns) if n_partitions is None else frame.repartition(n_partitions, *columns)


def _why_one_partition(bound: BoundQuery, reach: timecut.Margins | None) -> str:
    if reach is not None:
        return (
            f"the pattern has no SAME, and its time column {bound.schema.time!r} is not one that Spark can cut by; "
            "cast it to timestamp, or add SAME[...] if the events of a match share a key"
        )
    return (
        "the pattern has no SAME, and cannot be cut by time (that takes WITHIN a length of time and no AFTER MATCH "
        "SKIP); add SAME[...] if the events of a match share a key"
    )


def _keys(bound: BoundQuery, source: Source, *, infer: bool = True) -> Keys | None:
    if bound.partition:
        return same_keys(bound, source)
    if not infer:
        return None
    inferred = inferred_partition(bound)
    return None if inferred is None else inferred_keys(bound, inferred, source)


def with_computed_keys(events: Events, bound: BoundQuery) -> tuple[DataFrame, list[Column]]:
    """The events with a column for each key of SAME, which Python computes in a pass of its own."""
    added = [pa.field(name, arrow) for name, arrow in KeyComputation.fields(bound)]
    columns = spark.StructType(
        [spark.StructField(f.name, f.dataType, True) for f in events.schema.spark.fields]
        + [spark.StructField(f.name, spark_type(f.type), True) for f in added]
    )
    output = pa.schema([pa.field(f.name, arrow_type(f.dataType)) for f in columns.fields])
    operator = KeyComputation(bound.partition, bound.catalog.functions, output, bound.text, bound.origin)
    return through(events.frame, operator, columns), [named(f.name) for f in added]


def in_place(bound: BoundQuery, keys: Keys | None) -> Column:
    """The condition that an event has a time, a type and a key, as far as Spark can tell."""
    condition = named(bound.schema.time).isNotNull()
    if bound.schema.type is not None:
        condition = condition & named(bound.schema.type).isNotNull()
    for key in keys.columns if keys is not None else ():
        condition = condition & key.isNotNull()
    return condition


def _counts(bound: BoundQuery, keys: Keys | None) -> list[Column]:
    def number_of(condition: Column, name: str) -> Column:
        return F.coalesce(F.sum(condition.cast("long")), F.lit(0)).alias(name)

    missing = F.lit(False)
    for key in keys.columns if keys is not None and bound.partition else ():
        missing = missing | key.isNull()
    without_type = F.lit(False) if bound.schema.type is None else named(bound.schema.type).isNull()
    return [
        F.count(F.lit(1)).alias("n_events"),
        number_of(named(bound.schema.time).isNull(), "n_without_time"),
        number_of(without_type, "n_without_type"),
        number_of(missing, "n_without_key"),
    ]


def pruned(schema: FrameSchema, bounds: Sequence[BoundQuery]) -> tuple[FrameSchema, tuple[BoundQuery, ...]]:
    """The columns that the queries need, and the queries over them.

    Raises:
        SchemaError: Spark cannot hand one of them to Python.
    """
    needed = [needed_columns(bound) for bound in bounds]
    every = any(names is None for names in needed)
    names = frozenset[str]().union(*(names for names in needed if names is not None))
    kept = [f for f in schema.spark.fields if every or f.name in names]
    arrow = pa.schema([pa.field(f.name, arrow_type(f.dataType)) for f in kept])
    events = schema.events
    events = replace(
        events,
        fields={f.name: events.fields[f.name] for f in kept},
        per_type={
            name: {f.name: fields[f.name] for f in kept if f.name in fields} for name, fields in events.per_type.items()
        },
    )
    return FrameSchema(events, arrow, spark.StructType(kept)), tuple(replace(bound, schema=events) for bound in bounds)
