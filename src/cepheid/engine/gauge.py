"""What a stream holds at the moment, overall and for each key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cepheid.compiler.vector import evaluate
from cepheid.engine.output_schema import key_columns
from cepheid.events.arrow_memory import array_of
from cepheid.events.batch import EventBatch
from cepheid.events.column import AnyColumn, Int64Array
from cepheid.events.convert import arrow_of
from cepheid.language.bound import BoundQuery
from cepheid.language.tree import Aggregate, Attribute, Remote


@dataclass(frozen=True)
class Gauge:
    """What a stream holds at the moment.

    All counts but those of what has come are back at 0 when the last window has passed, and ``n_bytes`` at what it was
    at the start.

    Attributes:
        watermark_us: the watermark, us; None before it is known.
        n_arrived: rows that have come.
        n_late: events among them that came at or before the watermark.
        n_waiting: events that wait for the watermark to pass them.
        n_events: events that are kept for matches that are not decided yet.
        n_partial_matches: partial matches from which something can still come; in windows that slide, in each of them.
        n_timers: starts for which the end of their window is waited for, where it may decide a match: a loop at the end
            of the pattern, or a NOT there.
        n_keys: different values of SAME among the events that are kept; None where the query has no SAME, and for the
            queries of a set together.
        n_dropped: partial matches that a cap made it forget (`Settings`), since the start.
        compiled: whether the kernels are machine code; until it has been made, they run as plain Python, and find the
            same. No part of what is compared.
        n_bytes: bytes of all that is held; room for output is given back after each step.
        keys: where it was asked for, a pyarrow Table with the columns of SAME, ``n_partial_matches`` and ``n_events``
            (int64), one row for each key, the one with the most partial matches first. With FROM, those of the outer
            query. Else None.
        n_open_predicates: conditions that wait for answers of remote stores while partial matches go on.
        n_held_back: matches that wait for such an answer, and those that come after them in the order of matches.
    """

    watermark_us: int | None
    n_arrived: int
    n_late: int
    n_waiting: int
    n_events: int
    n_partial_matches: int
    n_timers: int
    n_keys: int | None
    n_dropped: int
    n_bytes: int
    keys: Any = None
    compiled: bool = field(default=False, compare=False)
    n_open_predicates: int = 0
    n_held_back: int = 0


COUNTS = ("n_partial_matches", "n_events")


class Holder(Protocol):
    """A session, as far as its gauge is concerned."""

    @property
    def held(self) -> tuple[EventBatch, Int64Array] | None:
        """The events that are kept, and for each how many partial matches took it last; None where there are none."""


def by_key(bound: BoundQuery, events: Any, session: Holder) -> Any:
    """The partial matches and events of a session for each value of SAME: see `Gauge.keys`.

    Args:
        bound: the query.
        events: the pyarrow Schema of its events.
        session: what matches it.
    """
    keys = key_columns(bound, events)
    names = [column.name for column in keys]
    held = session.held
    if held is None:
        columns = {column.name: pa.nulls(0, column.type) for column in keys}
        return pa.table({**columns, **{name: pa.nulls(0, pa.int64()) for name in COUNTS}})
    batch, n_open = held
    columns = {column.name: _values(bound, batch, column.holds, column.type) for column in keys}
    rows = pa.table({**columns, COUNTS[0]: array_of(n_open), COUNTS[1]: array_of(np.ones(len(batch), np.int64))})
    sums = rows.group_by(names).aggregate([(name, "sum") for name in COUNTS])
    sums = sums.select([*names, *(f"{name}_sum" for name in COUNTS)]).rename_columns([*names, *COUNTS])
    return sums.sort_by([(COUNTS[0], "descending"), (COUNTS[1], "descending")])


def _values(bound: BoundQuery, batch: EventBatch, expression: Any, arrow: Any) -> Any:
    """The values of an expression of SAME for all events of a batch."""
    if isinstance(expression, Attribute):
        return batch.arrow(expression.path)

    def resolve(node: Attribute | Aggregate | Remote) -> AnyColumn:
        assert isinstance(node, Attribute), "SAME reads attributes of one event"
        return batch.column(node.path)

    return arrow_of(evaluate(expression, resolve, len(batch), bound.catalog.functions), arrow)
