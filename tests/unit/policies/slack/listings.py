"""The paper's Listings 1 to 5 as they stand, one time point after the other: slow, and obvious. No cache, no kernel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass
class Listing:
    """TRIGGER and COND of ProbSlack over one source, for windows that do not overlap (l = f).

    Attributes:
        f, delta, period: f, δ, T.
        mal: the greatest slack, or None.
        slack: s(k) of each window that was closed.
        missed: the windows that miss an event.
    """

    f: int
    delta: Fraction
    period: int
    mal: int | None = None
    slack: list[int] = field(default_factory=list)
    missed: set[int] = field(default_factory=set)

    def run(self, events: list[tuple[int, int]], end: int) -> None:
        """Go through the time points 1 to ``end``."""
        arriving: dict[int, list[int]] = {}
        for generated, received in events:
            arriving.setdefault(received, []).append(generated)
        gaps: Counter[int] = Counter()
        delays: Counter[int] = Counter()
        fit: tuple[Counter[int], Counter[int]] | None = None
        last: int | None = None
        n, k, missed, n_known = 0, 1, self.missed, 0
        closed_at: dict[int, int] = {}
        for t in range(1, end + 1):
            for generated in arriving.get(t, []):
                for window in (-(-generated // self.f), generated // self.f + 1):
                    if window in closed_at and window * self.f - self.f <= generated <= window * self.f:
                        missed.add(window)
                if last is not None:
                    gaps[generated - last] += 1
                delays[t - generated] += 1
                last = generated
                n += 1
                if fit is not None and len(missed) >= self.delta * len(closed_at) and len(missed) > n_known:
                    fit, gaps, delays, n = None, Counter(), Counter(), 0
                n_known = len(missed)
                if n == self.period:
                    fit, gaps, delays, n = (gaps, delays), Counter(), Counter(), 0
            while last is not None:
                may = last > k * self.f
                if closed_at and len(missed) >= self.delta * len(closed_at):
                    pass  # events alone
                elif fit is not None and not may:
                    may = self.p_miss(fit, k * self.f - last, t - last) <= self.delta
                if self.mal is not None and t >= k * self.f + self.mal:
                    may = True
                if not (may and t > (k - 1) * self.f):
                    break
                closed_at[k] = t
                self.slack.append(t - k * self.f)
                k += 1

    def p_miss(self, fit: tuple[Counter[int], Counter[int]], alpha: int, beta: int) -> Fraction:
        """The sum of section 3.1; with a greatest slack, of what comes before that ends."""
        gaps, delays = fit
        n_gaps, n_delays = sum(gaps.values()), sum(delays.values())
        total = Fraction(0)
        for g, count in gaps.items():
            if g <= alpha:
                late = sum(c for d, c in delays.items() if d > beta - g)
                if self.mal is not None:
                    late = max(0, late - sum(c for d, c in delays.items() if d > alpha + self.mal - g))
                total += Fraction(count * late, n_gaps * n_delays)
        return total
