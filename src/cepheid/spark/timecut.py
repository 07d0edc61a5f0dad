"""Cutting the events of an unkeyed pattern by time, so that every core finds a part of the matches.

A match belongs to the piece in which its last event lies. A piece also gets the events of the margins around it that
can decide about its matches: one window back, for a match begins at most one window before its last event; and one
window on, where what follows the last event has a say (a trailing NOT, a final loop that may take more, a preferred
alternative). Within those, a piece's events are all events of that time, so runs, neighbours and windows are what they
are in the whole stream. Events of one time are in one piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from cepheid.events.schema import TIME_UNITS
from cepheid.events.types import Kind
from cepheid.language import tree
from cepheid.language.bound import BoundQuery
from cepheid.language.tree import Policy, SkipMode
from cepheid.spark.operator import HOME, PIECE
from cepheid.spark.schema import data_type
from cepheid.spark.values import long, micros, named

LEAST_LENGTH_IN_MARGINS = 2
"""A piece is at least so many times as long as its margins together: shorter ones repeat more than they share."""

_LONGEST_US = 2**61
_CUTS = "cepheid cuts"
_TIME = "cepheid time"


@dataclass(frozen=True)
class Margins:
    """How far around a piece of time its matches reach.

    Attributes:
        back_us: before its first moment.
        forward_us: after its last one.
    """

    back_us: int
    forward_us: int


def margins(bound: BoundQuery, *, timed_out: bool = False) -> Margins | None:
    """The margins that pieces need; None where the query cannot be cut by time.

    Cut are patterns with a window in time (WITHIN, or WINDOW ... SLIDE) and without skips. Windows and gaps counted in
    events, and gaps without a window, have no reach in time that is known beforehand.

    Args:
        bound: the query.
        timed_out: for what timed out, which any event of one window on may have continued.
    """
    window = bound.window
    if bound.partition or bound.skip.mode is not SkipMode.NONE:
        return None
    if any(n is not None for n in (window.within_events, window.each_events, window.size_events)):
        return None
    reach = max(window.within_us or 0, window.size_us or 0)
    if (window.within_us is None and window.size_us is None) or reach > _LONGEST_US:
        return None
    # A sliding window's NOT and its choice of one match reach to its bounds.
    looks_on = timed_out or window.size_us is not None or not _decided_at_last_event(bound)
    return Margins(reach, reach if looks_on else 0)


def widest(of_queries: Sequence[Margins | None]) -> Margins | None:
    """Margins that do for all queries of a set; None where one of them cannot be cut by time."""
    known = [margins for margins in of_queries if margins is not None]
    if len(known) < len(of_queries):
        return None
    return Margins(max(m.back_us for m in known), max(m.forward_us for m in known))


def _decided_at_last_event(bound: BoundQuery) -> bool:
    """Whether nothing that follows the last event of a match can undo or replace it."""
    prefixes = {node.policy for node in tree.walk(bound.pattern) if isinstance(node, tree.Event)}
    if Policy.STRICT in prefixes or bound.policy is Policy.STRICT:
        return False
    return _ends_in_one_event(bound.pattern)


def _ends_in_one_event(pattern: tree.Pattern) -> bool:
    match pattern:
        case tree.Event():
            return True
        case tree.Seq():
            return _ends_in_one_event(pattern.parts[-1])
        case _:
            return False


def time_us(column: str, of: spark.DataType, unit: str | None) -> Column | None:
    """The time of events in microseconds; None where Spark may read the column otherwise than the engine."""
    match data_type(of).kind:
        case Kind.TIMESTAMP:
            return micros(named(column), of)
        case Kind.INT if unit is not None:
            return F.try_multiply(named(column).cast("long"), long(TIME_UNITS[unit]))
        case _:
            return None


def cut(frame: DataFrame, time: Column, reach: Margins, n_pieces: int) -> DataFrame:
    """The events, each once for every piece that needs it, spread over partitions by piece.

    Pieces hold about equal numbers of events, by quantiles that Spark estimates in the same query: nothing runs before
    the result is asked for.

    Args:
        frame: the events.
        time: their time in microseconds.
        reach: the margins of a piece.
        n_pieces: how many to cut at most; fewer where pieces would be short in comparison to their margins.

    Returns:
        The events with the columns `PIECE` and `HOME`, one piece per partition.
    """
    columns = frame.columns
    timed = frame.withColumn(_TIME, time)
    least_us = LEAST_LENGTH_IN_MARGINS * (reach.back_us + reach.forward_us)
    quantiles = F.percentile_approx(_TIME, [i / n_pieces for i in range(1, n_pieces)], 100 * n_pieces)
    cuts = timed.agg(_apart(quantiles, least_us).alias(_CUTS))
    everywhere = timed.crossJoin(F.broadcast(cuts))

    def piece_of(moment: Column) -> Column:
        """The number of cuts before a moment: a piece ends with its cut, and the next begins after it."""
        before = [F.coalesce(F.get(_CUTS, F.lit(i)) < moment, F.lit(False)) for i in range(n_pieces - 1)]
        return reduce(lambda one, other: one + other, [b.cast("int") for b in before])

    moment = F.col(f"`{_TIME}`")
    first = piece_of(F.coalesce(F.try_subtract(moment, long(reach.forward_us)), long(-(2**63))))
    last = piece_of(F.coalesce(F.try_add(moment, long(reach.back_us)), long(2**63 - 1)))
    pieces = everywhere.select(
        *(named(c) for c in columns),
        F.explode(F.sequence(first, last)).alias(PIECE),
        piece_of(moment).alias(HOME),
    )
    placed = pieces.withColumn(HOME, F.col(f"`{HOME}`") == F.col(f"`{PIECE}`"))
    return one_partition_each(placed, n_pieces)


def _apart(moments: Column, least_us: int) -> Column:
    """The ascending moments without those that lie less than ``least_us`` behind the one kept before."""

    def keep(kept: Column, moment: Column) -> Column:
        # Times that are no events' times are still among them; a distance that fits no bigint is far.
        distance = F.try_subtract(moment, F.element_at(kept, -1))
        far = (F.size(kept) == 0) | F.coalesce(distance >= long(least_us), F.lit(True))
        return F.when(far, F.concat(kept, F.array(moment))).otherwise(kept)

    return F.aggregate(moments, F.array().cast("array<bigint>"), keep)


def one_partition_each(frame: DataFrame, n_pieces: int) -> DataFrame:
    """The frame with piece i in partition i, where Spark can; else hashed, where two pieces may share a partition."""
    piece = F.col(f"`{PIECE}`")
    by_id = getattr(frame, "repartitionById", None)
    result: DataFrame = by_id(n_pieces, piece) if by_id is not None else frame.repartition(n_pieces, piece)
    return result
