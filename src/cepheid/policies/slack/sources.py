"""What is known of each source while its events come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cepheid.ports.slack import PATIENCE, Grid
from cepheid.stats.frequencies import LatestStretches

Int64Array = NDArray[np.int64]

ORDERED = 500
"""A source is taken to send its events in order while at most one in so many is overtaken. Chosen."""

FEW = 5
"""So many of its events were overtaken before that is believed of a source. Chosen."""

NONE_YET = -(1 << 61)


@dataclass(eq=False)
class Source:
    """What was seen of one source; all times are ticks.

    Attributes:
        gaps, delays: those that are learned from.
        first, last: when its oldest and newest events were generated; `NONE_YET` for none.
        n: its events.
        n_open: those of the stretch that has not ended.
        n_skewed: events that were received before they were generated.
        n_disordered: events that came after one that was generated later.
        longest_gap, longest_delay: so far; -1 for none.
    """

    gaps: LatestStretches
    delays: LatestStretches
    first: int = NONE_YET
    last: int = NONE_YET
    n: int = 0
    n_open: int = 0
    n_skewed: int = 0
    n_disordered: int = 0
    longest_gap: int = -1
    longest_delay: int = -1

    def saw(self, generated: Int64Array, received: Int64Array) -> None:
        """Take events of this source in the order in which they were received."""
        delays = received - generated
        before = np.maximum.accumulate(np.concatenate(([self.last], generated)))[:-1]
        gaps = (generated - before)[before > NONE_YET]
        self.last = max(self.last, int(generated.max()))
        self.first = min(self.last if self.first == NONE_YET else self.first, int(generated.min()))
        # The next event is the next one that was generated later; one that was overtaken is none to be foreseen.
        forward = gaps[gaps >= 0]
        self.n_disordered += len(gaps) - len(forward)
        self.n_skewed += int(np.count_nonzero(delays < 0))
        self.n += len(generated)
        self.n_open += len(generated)
        self.gaps.add(forward)
        self.delays.add(delays)
        if len(forward):
            self.longest_gap = max(self.longest_gap, int(forward.max()))
        self.longest_delay = max(self.longest_delay, int(delays.max()), 0)

    @property
    def is_disordered(self) -> bool:
        """Whether its events overtake each other so often that the newest one says little of those before it."""
        return self.n_disordered >= FEW and self.n_disordered * ORDERED > self.n

    @property
    def mean_gap(self) -> float:
        """The mean gap between its events in the order in which they were generated, ticks."""
        return max(1, self.last - self.first) / max(1, self.n - 1)

    def end_stretch(self) -> None:
        """Begin the next stretch of what is learned from."""
        self.gaps.end_stretch()
        self.delays.end_stretch()
        self.n_open = 0

    def forget(self) -> None:
        """Learn anew."""
        self.gaps.clear()
        self.delays.clear()
        self.n_open = 0

    def said(self) -> dict[str, Any]:
        """All of it, as JSON can say it."""
        own = {name: getattr(self, name) for name in _COUNTS}
        return {**own, "gaps": self.gaps.said(), "delays": self.delays.said()}

    def restore(self, said: dict[str, Any]) -> None:
        """Go on from what `said` gave."""
        for name in _COUNTS:
            setattr(self, name, said[name])
        self.gaps.restore(said["gaps"])
        self.delays.restore(said["delays"])


_COUNTS = ("first", "last", "n", "n_open", "n_skewed", "n_disordered", "longest_gap", "longest_delay")


@dataclass(eq=False)
class Sources:
    """All sources of a stream, by their numbers.

    Attributes:
        n_stretches: how many are learned from.
        known: the sources.
        grid: the windows that are to be closed.
    """

    n_stretches: int = 1
    known: list[Source] = field(default_factory=list)
    grid: Grid = field(default_factory=lambda: Grid(1, 1))

    def saw(self, sources: Int64Array, generated: Int64Array, received: Int64Array) -> None:
        """See `cepheid.ports.slack.SlackPolicy.saw`."""
        if not len(sources):
            return
        self.make(int(sources.max()) + 1)
        if len(self.known) == 1:
            self.known[0].saw(generated, received)
            return
        order = np.argsort(sources, kind="stable")
        numbers, first = np.unique(sources[order], return_index=True)
        for number, places in zip(numbers.tolist(), np.split(order, first[1:]), strict=True):
            self.known[number].saw(generated[places], received[places])

    def make(self, n: int) -> None:
        """Know so many sources."""
        while len(self.known) < n:
            self.known.append(Source(LatestStretches(self.n_stretches), LatestStretches(self.n_stretches)))

    def give_up(self, number: int) -> int:
        """After how long a silence a source is no longer waited for, ticks.

        Ten times (`PATIENCE`) the longest gap and delay that were seen of it; where it has brought one event, of all
        sources; where none has brought two, of a window.
        """
        own = self.known[number]
        longest = own.longest_gap
        if longest < 0:
            longest = max(source.longest_gap for source in self.known)
        if longest < 0:
            longest = self.grid.size + self.grid.slide
        return PATIENCE * max(1, longest + own.longest_delay)

    def said(self) -> list[dict[str, Any]]:
        """All of it, as JSON can say it."""
        return [source.said() for source in self.known]

    def restore(self, said: list[dict[str, Any]]) -> None:
        """Go on from what `said` gave."""
        self.known = []
        self.make(len(said))
        for source, own in zip(self.known, said, strict=True):
            source.restore(own)
