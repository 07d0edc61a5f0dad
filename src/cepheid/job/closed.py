"""What slack policies did, as a job tells it: in a line, and as figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Closed:
    """What slack policies have done.

    Attributes:
        n_windows: that were closed.
        n_missed: those that are known to miss an event.
        mean_slack_us: how long after their ends they were closed; negative for before.
        n_gave_up: windows that were closed because a source had been silent for too long.
        n_unreceived: events without a time of reception.
    """

    n_windows: int
    n_missed: int
    mean_slack_us: float
    n_gave_up: int = 0
    n_unreceived: int = 0

    @classmethod
    def of_figures(cls, figures: Mapping[str, Any] | Any) -> Closed:
        """That of one policy, from a row with the columns of `cepheid.engine.slack_report.FIGURES`."""
        names = ("n_windows", "n_missed", "mean_slack_us", "n_gave_up", "n_unreceived")
        n, missed, mean_us, gave_up, unreceived = (figures[name] for name in names)
        return cls(n, missed, mean_us or 0.0, gave_up, unreceived)

    @classmethod
    def of(cls, each: Iterable[Closed]) -> Closed:
        """That of several policies together."""
        found = list(each)
        n = sum(one.n_windows for one in found)
        slack_us = sum(one.n_windows * one.mean_slack_us for one in found)
        return cls(
            n,
            sum(one.n_missed for one in found),
            slack_us / max(1, n),
            sum(one.n_gave_up for one in found),
            sum(one.n_unreceived for one in found),
        )

    @property
    def miss_ratio(self) -> float:
        """The ratio of closed windows that miss an event; 0 before one was closed."""
        return self.n_missed / max(1, self.n_windows)

    def __str__(self) -> str:
        parts = [
            f"{several(self.n_windows, 'window', 'windows')} closed, {self.miss_ratio:.2%} of them miss an event, "
            f"mean slack {self.mean_slack_us / 1e6:.3f} s"
        ]
        if self.n_gave_up:
            parts.append(f"{self.n_gave_up:,} of them without word from a source that fell silent")
        if self.n_unreceived:
            parts.append(f"{several(self.n_unreceived, 'event', 'events')} without a time of reception")
        return ", ".join(parts)


def several(n: int, one: str, many: str) -> str:
    """A number of things, in words."""
    return f"{n:,} {one if n == 1 else many}"
