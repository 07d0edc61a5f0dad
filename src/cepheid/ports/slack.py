"""What a policy says about when windows may be closed, though events may still be on their way.

A *source* is what sends events one after the other: a stream, an event type, a device. Events have the time at which
they were generated and the one at which they were received; both are whole *ticks* here. A window may be closed when
no source holds it open:

- a source of which an event came that was generated after the end of the window holds it open no more;
- one of which the policy has learned holds it open until its newest event is as old as the policy says
  (`SlackPolicy.wait`);
- one that has been silent for longer than `Learned.give_up` is no longer waited for.

The engine looks waits up, and asks the policy when there is one that it does not know, and after so many events. The
answers depend on the events alone, not on how they come in batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cepheid.stats.frequencies import Bins

Int64Array = NDArray[np.int64]
Float64Array = NDArray[np.float64]


PATIENCE = 10
"""A source that has been silent for so many times the longest that it ever took is no longer waited for. Chosen."""


class Kind(Enum):
    """What closes a window."""

    LEARNED = "learned"  # what the policy learns, and events after its end
    EVENTS = "events"  # events after its end
    DELAY = "delay"  # the time: a delay after its end
    MEAN_DELAY = "mean delay"  # the time: the mean delay of events after its end


class Guard(Enum):
    """What keeps windows open when too many others have missed events; events alone close them then."""

    NONE = "none"
    BUDGET = "budget"  # no window is closed that could bring the ratio of misses above the budget
    KNOWN = "known"  # none is closed while the ratio of known misses is at the budget (Listing 3)


@dataclass(frozen=True)
class Closing:
    """How a policy closes windows.

    Attributes:
        kind: see `Kind`.
        delay: the slack of ``Kind.DELAY``, ticks.
        latest: the greatest slack of a window, ticks (``mal`` of ProbSlack); None for none.
        allowance: how much slack windows may have on average, ticks (Δ); None for as much as it takes.
        guard: see `Guard`.
        budget: the ratio of windows that may miss an event (δ).
        spends: what the rule leaves of the budget is spent, too: while the guard allows it, a window is given up at
            once.
    """

    kind: Kind
    delay: int = 0
    latest: int | None = None
    allowance: int | None = None
    guard: Guard = Guard.NONE
    budget: float = 1.0
    spends: bool = False


@dataclass(frozen=True, eq=False)
class Learned:
    """What a policy says of a source when it has looked at its events.

    Attributes:
        edges: int64, ascending: how long before the end of a window its newest event was generated (α), from where on
            another wait holds; None where nothing is learned yet. Nothing is waited for below the first edge.
        horizon: how long after the generation of its newest event nothing more is expected, ticks.
        give_up: how long after that it is no longer waited for, whatever was learned, ticks.
        ask_after: after how many events the policy wants to look again.
        after_end: of a source whose events overtake each other, where the newest one says nothing of those before it:
            how long after its end a window is held open, ticks; None of others.
        sure_end: of such a source: so long after its end no event of a window is expected, whatever was learned.
    """

    edges: Int64Array | None
    horizon: int
    give_up: int
    ask_after: int
    after_end: int | None = None
    sure_end: int = 0


@dataclass(frozen=True)
class Grid:
    """The windows: number k ends at ``k * slide + phase`` and begins ``size`` before; both ends lie inside.

    Attributes:
        slide: from one end to the next, ticks (f).
        size: ticks (l).
        phase: ticks.
        nominal: slack is counted from ``k * slide + nominal``: of windows that do not hold their ends, a tick later.
        drops: an event that is late for one window is in none of them; else it is in those that are still open.
    """

    slide: int
    size: int
    phase: int = 0
    nominal: int = 0
    drops: bool = False

    def end(self, window: int) -> int:
        """The end of a window, ticks."""
        return window * self.slide + self.phase


class SlackPolicy(Protocol):
    """A policy that says when windows may be closed."""

    @property
    def closing(self) -> Closing:
        """How it does; the same always."""
        ...

    def begin(self, grid: Grid) -> None:
        """A stream begins, or goes on after `restore`."""
        ...

    def saw(self, sources: Int64Array, generated: Int64Array, received: Int64Array) -> None:
        """Events have come, in the order in which they were received.

        Args:
            sources: int64, the number of the source of each; numbers begin with 0 and grow by one.
            generated, received: int64, ticks.
        """
        ...

    def learn(self, source: int) -> Learned:
        """Look at the events of a source: it has brought as many as the policy asked for."""
        ...

    def wait(self, source: int, edge: int) -> int:
        """How long after the generation of a source's newest event a window is held open (β), ticks.

        Args:
            source: its number.
            edge: the number of the last of its edges that α is not below.
        """
        ...

    def forget(self) -> None:
        """What was learned does not hold any more: too many windows miss events."""
        ...

    def risk(self, lasts: Int64Array, ends: Int64Array, at: Int64Array) -> Float64Array:
        """The chance that windows miss an event; NaN for those of which nothing is known.

        Args:
            lasts: int64, (n, sources): when the newest event of each source was generated when the window was closed.
            ends: int64, (n,): the ends of the windows.
            at: int64, (n,): when they were closed.
        """
        ...

    def fitted(self, source: int) -> tuple[Bins, Bins] | None:
        """What windows are closed by: the gaps between the events of a source, and their delays, ticks; or None."""
        ...

    def said(self) -> dict[str, Any]:
        """All that it has learned, as JSON can say it."""
        ...

    def restore(self, said: dict[str, Any]) -> None:
        """Go on from what `said` gave."""
        ...


class AskedSlack(Protocol):
    """What a user sets (`cepheid.Slack`)."""

    @property
    def per(self) -> str | None:
        """The column that tells sources apart."""
        ...

    @property
    def every_us(self) -> int | None:
        """From one end of a window to the next, us, where the query does not say."""
        ...

    @property
    def resolution_us(self) -> int:
        """Of times, us."""
        ...

    def policy(self, tick_us: int) -> SlackPolicy:
        """A policy for one stream, with ticks of so many us."""
        ...
