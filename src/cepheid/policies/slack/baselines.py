"""The policies that ProbSlack is held against (section 4.1 of the paper): they learn nothing, or only a mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from cepheid.policies.slack.sources import Sources
from cepheid.ports.slack import Closing, Float64Array, Grid, Int64Array, Kind, Learned


class Baseline:
    """Closes windows by events, or at a delay after their ends.

    BL-ED is ``Kind.EVENTS``, BL-IG ``Kind.DELAY`` with delay 0, BL-AD ``Kind.MEAN_DELAY``: the mean delay of all events
    so far, to the nearest tick, the greatest one where there are several sources.
    """

    def __init__(self, closing: Closing) -> None:
        """Take what it does.

        Args:
            closing: of a kind that learns nothing.
        """
        assert closing.kind is not Kind.LEARNED
        self._closing = closing
        self._sources = Sources()

    @property
    def closing(self) -> Closing:
        """See `SlackPolicy`."""
        return self._closing

    @property
    def sources(self) -> Sources:
        """What was seen."""
        return self._sources

    def begin(self, grid: Grid) -> None:
        """See `SlackPolicy`."""
        self._sources.grid = grid

    def saw(self, sources: Int64Array, generated: Int64Array, received: Int64Array) -> None:
        """See `SlackPolicy`."""
        self._sources.saw(sources, generated, received)

    def learn(self, source: int) -> Learned:
        """See `SlackPolicy`."""
        own = self._sources.known[source]
        own.forget()
        patience = self._sources.give_up(source)
        return Learned(None, patience, patience, max(1, own.n))

    def wait(self, source: int, edge: int) -> int:
        """It is not asked: it gives no edges."""
        raise AssertionError(f"no edge {edge} was given for source {source}")

    def forget(self) -> None:
        """See `SlackPolicy`; there is nothing to forget."""

    def risk(self, lasts: Int64Array, ends: Int64Array, at: Int64Array) -> Float64Array:
        """See `SlackPolicy`; nothing is known but of windows behind which all sources have sent events."""
        heard = (lasts > ends[:, None]).all(axis=1)
        return np.where(heard, 0.0, np.nan)

    def fitted(self, source: int) -> None:
        """See `SlackPolicy`; nothing is learned."""

    def said(self) -> dict[str, Any]:
        """See `SlackPolicy`."""
        return {"sources": self._sources.said()}

    def restore(self, said: dict[str, Any]) -> None:
        """See `SlackPolicy`."""
        self._sources.restore(said["sources"])
