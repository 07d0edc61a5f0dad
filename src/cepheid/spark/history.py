"""What a table of past events tells of queries: events by site, matches, and how many events are in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.query import Query
from cepheid.spark.detect import detect
from cepheid.spark.values import named


@dataclass(frozen=True)
class EventTable:
    """Past events.

    Attributes:
        frame: a DataFrame.
        time, time_unit, type, order: as `cepheid.detect` takes them.
    """

    frame: DataFrame
    time: str
    time_unit: str | None
    type: str
    order: tuple[str, ...]

    def matches(self, query: Query) -> DataFrame:
        """The matches of a query without RETURN: a struct for each of its variables."""
        return detect(
            self.frame, query, time=self.time, time_unit=self.time_unit, type=self.type, order=list(self.order)
        )


@dataclass(frozen=True)
class Counted:
    """The matches of a query.

    Attributes:
        n_matches: how many.
        n_events: variable -> different events that it stands for in them.
    """

    n_matches: int
    n_events: Mapping[str, int]


def admitted_by_site(table: EventTable, queries: Sequence[tuple[str, Query]], site: str) -> dict[str, int]:
    """Site -> different events that one of some queries finds.

    Args:
        table: the events.
        queries: each with the one variable that it has.
        site: the column with the site of an event.
    """
    columns = list(dict.fromkeys([site, *table.order]))
    parts = [
        table.matches(query).select(*(named(variable)[column].alias(column) for column in columns))
        for variable, query in queries
    ]
    found = reduce(DataFrame.union, parts).distinct().groupBy(named(site).alias("site")).count().collect()
    return {str(row["site"]): int(row["count"]) for row in found}


def counted(table: EventTable, query: Query, variables: Sequence[str]) -> Counted:
    """The matches of a query, and the events in them.

    Args:
        table: the events.
        query: without RETURN.
        variables: those to count the events of.
    """
    distinct = [
        F.count_distinct(*(F.coalesce(named(v)[c].cast("string"), F.lit("\0")) for c in table.order)).alias(f"n{i}")
        for i, v in enumerate(variables)
    ]
    row = table.matches(query).agg(F.count(F.lit(1)).alias("n"), *distinct).collect()[0]
    return Counted(int(row["n"]), {v: int(row[f"n{i}"]) for i, v in enumerate(variables)})


def span_us(table: EventTable, factor_us: int | None) -> int:
    """The time from the first event to the last, us; 0 without events.

    Args:
        table: the events.
        factor_us: microseconds in a unit of its time; None for timestamps.
    """
    time = named(table.time)
    moment = F.unix_micros(time.cast("timestamp")) if factor_us is None else time * F.lit(factor_us)
    row = table.frame.agg(F.min(moment).alias("first"), F.max(moment).alias("last")).collect()[0]
    return 0 if row["first"] is None else int(row["last"]) - int(row["first"])
