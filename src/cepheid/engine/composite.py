"""Matches as events: what a query with ``FROM`` is matched in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.matches import Matches, RowMatches
from cepheid.engine.order_key import order_keys
from cepheid.engine.output import assemble
from cepheid.engine.output_schema import time_type
from cepheid.engine.session import Work, run
from cepheid.engine.settings import DEFAULTS, Settings
from cepheid.events.arrow_memory import texts_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import AnyColumn, Column, Int64Array
from cepheid.events.convert import arrow_of, column_of
from cepheid.events.schema import Schema
from cepheid.events.types import TEXT, TIMESTAMP
from cepheid.language.bound import BoundQuery
from cepheid.language.composite import TIME
from cepheid.language.tree import Attribute, Node, walk

ORDER = "cepheid order"
"""The column of the order key of composite events (`engine.order_key`), which no query can read."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CompositeBatch(EventBatch):
    """Composite events, which know their order key where it is asked for.

    Attributes:
        events: what the inner query was matched in.
        matches: its matches, row by row.
    """

    events: EventBatch
    matches: Matches

    def column(self, path: tuple[str, ...]) -> AnyColumn:
        """See `EventBatch.column`."""
        if path == (ORDER,) and path not in self._columns:
            keys, _ = column_of(texts_of(order_keys(self.events, self.matches)), ORDER)
            self.put_column(path, keys if self.rows is None else keys.take(self.rows))
        return super().column(path)


def events_for(
    bound: BoundQuery,
    batch: EventBatch,
    works: list[Work] | None = None,
    *,
    whole: bool = False,
    settings: Settings = DEFAULTS,
) -> EventBatch:
    """The events that a query is matched in: those of the batch, or with FROM the composite events made of them.

    Args:
        bound: the query, its parameters replaced by values.
        batch: the events that were read.
        works: gets what was done for each query under this one, the innermost first, where given.
        whole: composite events have all their attributes, not only those that the query reads.
        settings: how much each query may hold.

    Raises:
        CapacityError: more partial matches would be held than may be.
        NotSupportedError: an inner query has a meaning that the engine cannot run yet.
        DataError: a value does not fit a machine word.
    """
    if bound.inner is None:
        return batch
    events = events_for(bound.inner, batch, works, settings=settings)
    work = Work()
    matches = run(bound.inner, events, work=work, settings=settings.eager)
    if works is not None:
        works.append(work)
    return composites(bound, events, matches, whole=whole)


def composites(bound: BoundQuery, events: EventBatch, matches: Matches, *, whole: bool = False) -> EventBatch:
    """The matches of the inner query of ``bound`` as a batch of events, in their order.

    Args:
        bound: a query with FROM.
        events: what the inner query was matched in.
        matches: its matches.
        whole: with all attributes, for other queries too; else with those that ``bound`` reads.
    """
    inner = bound.inner
    assert inner is not None
    last = matches.positions[matches.offsets[1:] - 1]
    time_us = events.time_us[last]
    order = _order(matches, last)
    read = None if whole else attributes_read(bound)
    table = assemble(inner, events, matches, only=None if read is None else read | {TIME})
    if inner.returns:
        table = with_time(table, arrow_of(Column(time_us, None, TIMESTAMP), time_type(inner, events.table.schema)))
    schema = composite_schema(bound)
    return CompositeBatch(
        table=table,
        schema=schema,
        time_us=time_us if order is None else time_us[order],
        rows=order,
        events=events,
        matches=matches,
    )


def composite_schema(bound: BoundQuery) -> Schema:
    """The schema of the composite events of a query, with their order key."""
    return replace(bound.schema, fields={**bound.schema.fields, ORDER: TEXT}, order=(ORDER,))


def with_time(table: Any, times: Any) -> Any:
    """The output of RETURN with the time of each match as its last column."""
    fields = pa.schema([*table.schema, pa.field(TIME, times.type)])
    return pa.Table.from_arrays([*table.columns, times], schema=fields)


def attributes_read(bound: BoundQuery) -> frozenset[str] | None:
    """The attributes of its events that a query reads or returns; None for all."""
    if not bound.returns:
        return None
    roots: list[Node] = [bound.pattern, *(c.expression for c in bound.conjuncts), *bound.partition]
    roots += [returned.expression for returned in bound.returns]
    return frozenset(n.path[0] for root in roots for n in walk(root) if isinstance(n, Attribute))


def _order(matches: Matches, last: Int64Array) -> Int64Array | None:
    """The permutation that puts composite events in order, or None where they are.

    Each stands where the last event of its match does; those with the same last event are ordered as matches are that
    one event decides (SEMANTICS 7.2): by all their events, then by variables, then by window.

    Args:
        matches: n matches.
        last: the position of the last event of each, int64, shape (n,).
    """
    if isinstance(matches, RowMatches):
        return None  # decided by their last events: they are in order
    order = np.argsort(last, kind="stable").astype(np.int64, copy=False)
    ordered = last[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(last)])
    ends = np.append(starts[1:], len(last))[: len(starts)]
    positions, variables, offsets = matches.positions, matches.variables, matches.offsets
    windows = matches.window_start_us

    def key(match: int) -> tuple[Any, ...]:
        entries = slice(offsets[match], offsets[match + 1])
        return positions[entries].tolist(), variables[entries].tolist(), 0 if windows is None else int(windows[match])

    tied = ends - starts > 1
    for start, end in zip(starts[tied].tolist(), ends[tied].tolist(), strict=True):
        order[start:end] = sorted(order[start:end].tolist(), key=key)
    return None if (order == np.arange(len(order))).all() else order
