"""What goes into the oracle and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

SortKey: TypeAlias = tuple[int, tuple[object, ...], str]
"""(time, order key, source): the order of events (SEMANTICS 1.1)."""


@dataclass(frozen=True, eq=False)
class OracleEvent:
    """One event. Two events are the same where source and order key are; values take no part in it.

    Attributes:
        time: microseconds since the epoch.
        order: the order key within the source.
        source: the name of the stream or table that it came from.
        type: the event type, or None where events have none.
        values: attribute -> value: int, float, Decimal, str, bool or None; timestamps, dates and durations
            as int microseconds, lists as tuples, structs as dicts. A missing attribute is NULL.
    """

    time: int
    order: tuple[object, ...]
    source: str
    type: str | None
    values: Mapping[str, object]

    @property
    def identity(self) -> tuple[str, tuple[object, ...]]:
        """What tells this event from all others."""
        return (self.source, self.order)

    @property
    def sort_key(self) -> SortKey:
        """The place of this event in the order of all events."""
        return (self.time, self.order, self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OracleEvent) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)


@dataclass(frozen=True)
class Watermark:
    """Stands among the events, in the order of arrival: from here on, events at or before ``time`` are late."""

    time: int


@dataclass(frozen=True)
class OracleMatch:
    """A match, or (in ``timed_out``) what a run had bound when its window closed.

    Attributes:
        bindings: (variable, event), in the order of the events.
        window: first and last bound of the sliding window, microseconds or positions; None without one.
        decision_time: event time of the moment from which the match is known; None for the end of the input.
        decided_by_event: an event decided it (its own last one, or the one that closed a loop); else the
            watermark did, on reaching ``decision_time``.
        empty: loops and optional elements of the taken branches that took nothing (their count is 0).
    """

    bindings: tuple[tuple[str, OracleEvent], ...]
    window: tuple[int, int] | None = None
    decision_time: int | None = None
    decided_by_event: bool = True
    empty: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(frozen=True)
class OracleResult:
    """What a query gives.

    Attributes:
        matches: in the order of SEMANTICS 7.2.
        timed_out: runs (under `any`, maximal prefixes) whose window closed before they were complete, each once, in the
            same order.
        late: events at or before the watermark when they arrived, in the order of arrival.
        rejected: events with NULL in SAME, in their order.
    """

    matches: tuple[OracleMatch, ...]
    timed_out: tuple[OracleMatch, ...]
    late: tuple[OracleEvent, ...]
    rejected: tuple[OracleEvent, ...]
