"""The model of one source: how long it takes from one event to the next, and from an event to its arrival."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cepheid.stats.frequencies import Bins, Frequencies

Float64Array = NDArray[np.float64]

N_BINS = 256
"""Of each distribution, at most."""

NO_WAIT = -(1 << 40)
"""A wait that is over before any event can have come, ticks."""

_DENSE = 1 << 13
_MOST_EDGES = 1 << 12
_AT_ONCE = 17
_ROUNDED = 1e-12
"""By so much a chance may lie above the budget: it is a sum of rounded products."""


@dataclass(frozen=True, eq=False)
class DelayModel:
    """What was learned of a source. All times are whole ticks.

    Where values share a bin, each chance is one that is not less than that of the values themselves: what lies in the
    window is counted by the least gap of a bin, what is still to come by the greatest.

    Attributes:
        gaps: from the generation of an event to that of the next one (g of the paper).
        delays: from the generation of an event to its reception (d); negative where clocks differ.
    """

    gaps: Bins
    delays: Bins

    @classmethod
    def of(cls, gaps: Frequencies, delays: Frequencies, n_bins: int = N_BINS) -> DelayModel:
        """The model of a sample of at least one gap and one delay."""
        return cls(Bins.of(gaps, n_bins), Bins.of(delays, n_bins))

    @cached_property
    def longest(self) -> int:
        """The longest that the reception of an event was after the generation of the one before it, if both extremes
        meet: after so long, nothing is expected (``d_max + g_max``).
        """
        return int(self.gaps.greatest[-1] + self.delays.greatest[-1])

    @cached_property
    def _tails(self) -> Float64Array:
        """Entry i: the chance of a delay in bin i or a greater one."""
        tails = np.concatenate((np.cumsum(self.delays.probabilities[::-1])[::-1], [0.0]))
        return np.minimum(tails, 1.0)

    def later(self, delay: NDArray[np.int64]) -> Float64Array:
        """The chance of a delay that is greater than each of these: ``1 - cdf_d``."""
        return self._tails[np.searchsorted(self.delays.greatest, delay, "right")]

    def p_miss(self, ahead: ArrayLike, elapsed: ArrayLike, by: int | None = None) -> Float64Array:
        """The chance that the event after the newest one lies in a window and has not come.

        ``Σ_{g <= α} pdf_g(g) · P(d > β - g)`` (section 3.1, where Listing 5 prints ``cdf_d`` for ``1 - cdf_d``). It
        looks one event ahead, and does not ask what the silence until now says: see `p_missing`.

        Args:
            ahead: from the generation of the newest event to the end of the window (α), ticks.
            elapsed: from there until now (β), ticks.
            by: count only what comes at most so many ticks after the generation of the newest event; None for all.
                Eq. 8 has ``β + mal`` here, so that a window would be closed whenever nothing is due in the next ``mal``
                ticks; what can still be waited for comes by ``α + mal``, the same at the end of the window.

        Returns:
            float64, in the common shape of ``ahead`` and ``elapsed``.
        """
        alpha, beta = np.broadcast_arrays(np.asarray(ahead, np.int64), np.asarray(elapsed, np.int64))
        rest = beta[..., None] - self.gaps.greatest
        late = self.later(rest)
        if by is not None:
            late = np.maximum(late - self.later(by - self.gaps.greatest), 0.0)
        shares = self.gaps.probabilities * (self.gaps.least <= alpha[..., None])
        found: Float64Array = (shares * late).sum(axis=-1)
        return found

    def p_silent(self, elapsed: ArrayLike) -> Float64Array:
        """The chance that an event does not come for so long after the one before it was generated (β, ticks)."""
        return self.p_miss(np.iinfo(np.int64).max, elapsed)

    def p_missing(self, ahead: ArrayLike, elapsed: ArrayLike) -> Float64Array:
        """The chance that an event of the window is on its way, given that nothing has come since the newest one.

        ``p_miss(α, β) / P(g + d > β)``: Bayes' rule. 0 where the silence is longer than any that was seen.

        Args:
            ahead, elapsed: see `p_miss`.
        """
        missed, silent = self.p_miss(ahead, elapsed), self.p_silent(elapsed)
        return np.divide(missed, silent, out=np.zeros_like(missed), where=silent > 0)

    def p_miss_after(self, slack: ArrayLike, slide: int, mean_gap: float) -> Float64Array:
        """The chance that a window misses an event of a source whose events overtake each other.

        Events are taken to be generated one by one at a mean rate, each late by itself: of those in the last ``slide``
        ticks of the window ``n = Σ_d pdf_d(d) · clip(d - s, 0, slide) / mean_gap`` are on their way, and the chance of
        any is ``1 - exp(-n)``. (Not in the paper, which takes events to come in order.)

        Args:
            slack: how long the window has been open after its end (s), ticks.
            slide: ticks.
            mean_gap: between the events of the source, ticks.
        """
        open_for = np.asarray(slack, np.int64)[..., None]
        late = np.clip(self.delays.greatest - open_for, 0, slide)
        found: Float64Array = -np.expm1(-(late @ self.delays.probabilities) / mean_gap)
        return found

    def wait_after(self, budget: float, slide: int, mean_gap: float) -> int:
        """How long after its end a window stays open, for the chance of `p_miss_after` to be within a budget, ticks."""
        lowest, highest = -1, max(0, int(self.delays.greatest[-1]))
        while highest - lowest > 1:
            step = max(1, (highest - lowest) // _AT_ONCE)
            between = np.arange(lowest + step, highest, step)
            n_above = int(np.count_nonzero(self.p_miss_after(between, slide, mean_gap) > budget + _ROUNDED))
            if n_above:
                lowest = int(between[n_above - 1])
            if n_above < len(between):
                highest = int(between[n_above])
        return highest

    def edges(self, latest: int | None) -> NDArray[np.int64]:
        """The values of α, ascending, from which on another wait holds; below the first, there is nothing to wait for.

        Args:
            latest: the greatest slack, ticks (``mal``): then what can be waited for depends on α itself, and every
                value is an edge, unless these are more than 4,096.
        """
        if latest is None or self.longest - int(self.gaps.least[0]) >= _MOST_EDGES:
            return self.gaps.least
        return np.arange(self.gaps.least[0], max(self.longest, int(self.gaps.least[-1])) + 1)

    def wait(self, ahead: int, budget: float, *, by: int | None = None) -> int:
        """How long after the newest event a window stays open: from then on the chance of a miss is within a budget.

        Args:
            ahead: α, ticks.
            budget: the greatest chance (δ).
            by: see `p_miss`.

        Returns:
            the least β, ticks, from which on the chance of `p_miss` is not greater; `NO_WAIT` where it never is.
        """
        budget += _ROUNDED
        lowest, highest = self._soonest, self.longest
        # The chance can only fall.
        if self.is_small:
            betas = np.arange(lowest, highest + 1)
            n_above = int(np.count_nonzero(self.p_miss(ahead, betas, by) > budget))
            return int(betas[n_above]) if n_above else NO_WAIT
        while highest - lowest > 1:
            middle = (lowest + highest) // 2
            if self._chance(ahead, middle, by) <= budget:
                highest = middle
            else:
                lowest = middle
        return highest if self._chance(ahead, highest - 1, by) > budget else NO_WAIT

    @cached_property
    def is_small(self) -> bool:
        """Whether all its chances are so few that all of them cost less than looking for some."""
        return (self.longest - self._soonest) * len(self.gaps.least) <= _DENSE

    @cached_property
    def _soonest(self) -> int:
        """One tick before the next event can be there."""
        return int(self.gaps.greatest[0] + self.delays.greatest[0]) - 1

    def waits(self, budget: float, *, given_silence: bool = False) -> NDArray[np.int64]:
        """What `wait` says of each of the least gaps as α: the chances of one are those of the one before, and a bit.

        Args:
            budget: the greatest chance (δ).
            given_silence: go by `p_missing` in place of `p_miss`; it may rise again.

        Returns:
            int64, ticks: for each bin of the gaps the least β from which on the chance is never greater than the
            budget; `NO_WAIT` where it never is.
        """
        betas = self._steps(self._soonest) if given_silence else np.arange(self._soonest, self.longest + 1)
        late = self.later(betas[:, None] - self.gaps.greatest)
        chances = np.cumsum(late * self.gaps.probabilities, axis=1)
        if given_silence:
            silent = chances[:, -1:].copy()
            chances = np.divide(chances, silent, out=np.zeros_like(chances), where=silent > 0)
        above = chances > budget + _ROUNDED
        last = len(betas) - 1 - np.argmax(above[::-1], axis=0)
        found: NDArray[np.int64] = np.where(above.any(axis=0), betas[np.minimum(last + 1, len(betas) - 1)], NO_WAIT)
        return found

    def _chance(self, ahead: int, elapsed: int, by: int | None) -> float:
        """`p_miss` of one window, in a third of the time."""
        n = int(np.searchsorted(self.gaps.least, ahead, "right"))
        gaps = self.gaps.greatest[:n]
        late = self.later(elapsed - gaps)
        if by is not None:
            late = np.maximum(late - self.later(by - gaps), 0.0)
        return float(late @ self.gaps.probabilities[:n])

    def _steps(self, lowest: int) -> NDArray[np.int64]:
        """Every β at which a chance may change; where these are many, each of about as many intervals."""
        n = self.longest - lowest + 1
        if n * len(self.gaps.least) <= 1 << 18:
            return np.arange(lowest, self.longest + 1)
        return np.unique(np.linspace(lowest, self.longest, (1 << 18) // len(self.gaps.least)).astype(np.int64))

    def said(self) -> dict[str, Any]:
        """The model as JSON can say it; numbers keep all their digits."""
        return {"gaps": self.gaps.said(), "delays": self.delays.said()}

    @classmethod
    def from_said(cls, said: dict[str, Any]) -> DelayModel:
        """What `said` gave."""
        return cls(Bins.from_said(said["gaps"]), Bins.from_said(said["delays"]))
