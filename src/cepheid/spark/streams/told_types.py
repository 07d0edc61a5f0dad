"""The types of events as numbers on their way to Python: Spark takes far longer to hand over texts.

The number travels with that of the bucket, so that there is one column less, too: a micro-batch with a million events
of W2 took 451 ms, and 494 and 505 ms with texts, on two cores.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.language.bound import BoundQuery
from cepheid.spark.admission import may_drop_events
from cepheid.spark.pushdown import Source
from cepheid.spark.streams.buckets import BUCKET
from cepheid.spark.values import by_bytes, named

MOST_TYPES = 16
"""Spark compares a type with one after the other."""


_PADDED = "__CHAR_VARCHAR_TYPE_STRING"
"""How Spark marks a text of fixed length, which equals one with fewer spaces at its end."""


def told_types(bound: BoundQuery, events: spark.StructType) -> tuple[str, ...]:
    """The types of the events that a query is handed, where all others are left out before; none where they may not be.

    Args:
        bound: the query.
        events: the columns of the events.
    """
    if bound.schema.type is None or _PADDED in (events[bound.schema.type].metadata or {}):
        return ()
    types = {name for variable in bound.variables.values() for name in variable.types}
    every = all(variable.types for variable in bound.variables.values())
    return tuple(sorted(types)) if every and may_drop_events(bound) and len(types) <= MOST_TYPES else ()


def with_told_types(placed: DataFrame, types: tuple[str, ...], column: str) -> DataFrame:
    """Events whose number of the bucket tells their type, too: it is that number times all types, and the type's.

    Args:
        placed: the events, each of one of the types, with the column `BUCKET`.
        types: see `told_types`.
        column: the column of types.
    """
    text = by_bytes(named(column), Source(placed.schema).columns[column].dataType)
    number = F.when(text == F.lit(types[0]), F.lit(0))
    for place, name in enumerate(types[1:], start=1):
        number = number.when(text == F.lit(name), F.lit(place))
    return placed.withColumn(BUCKET, named(BUCKET) * F.lit(len(types)) + number)
