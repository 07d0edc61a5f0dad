"""What a slack policy tells: its figures, its decisions and what it learned, as pyarrow Tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_MOMENT = pa.timestamp("us", "UTC")

DECISIONS = pa.schema(
    [
        pa.field("window_end", _MOMENT),
        pa.field("n_windows", pa.int64()),
        pa.field("closed_at", _MOMENT),
        pa.field("slack_us", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("p_miss", pa.float64()),
        pa.field("source", pa.string()),
    ]
)
"""The columns of `SlackReport.decisions`."""

FITTED = pa.schema(
    [
        pa.field("source", pa.string()),
        pa.field("quantity", pa.string()),
        pa.field("least_us", pa.int64()),
        pa.field("greatest_us", pa.int64()),
        pa.field("probability", pa.float64()),
    ]
)
"""The columns of `SlackReport.fitted`; a quantity is ``gap`` or ``delay``."""

FIGURES = pa.schema(
    [
        pa.field("n_windows", pa.int64()),
        pa.field("n_missed", pa.int64()),
        pa.field("miss_ratio", pa.float64()),
        pa.field("mean_slack_us", pa.float64()),
        pa.field("n_late", pa.int64()),
        pa.field("n_sources", pa.int64()),
        pa.field("n_unreceived", pa.int64()),
        pa.field("n_gave_up", pa.int64()),
    ]
)
"""The columns of `SlackReport.figures`."""


@dataclass(frozen=True, eq=False)
class SlackReport:
    """What a slack policy did so far.

    Attributes:
        n_windows: that were closed.
        n_missed: those of them that are known to miss an event.
        mean_slack_us: how long after their ends they were closed; negative for before.
        n_late: events that came when their window was closed.
        n_sources: sources that have brought events.
        n_unreceived: events without a time of reception.
        n_gave_up: windows that were closed because a source had been silent for too long.
        decisions: a pyarrow Table of what was closed in the last call: ``window_end``; ``n_windows``, where several
            were closed for one reason (the first one's end is told); ``closed_at``, by the clock of the receiver, and
            ``slack_us`` from the end to there; ``reason``: ``events`` from after the end have come, it is ``learned``
            that nothing is missing, the ``latest`` moment has come, a source was silent and it ``gave up``, the delay
            has ``elapsed``, the window was ``spent``, or every source
            had been given up before it began (``silent``); ``p_miss``, the chance that it misses an event, NULL where
            nothing is known; and the ``source`` that kept it open longest.
        fitted: a pyarrow Table of the distributions by which windows are closed: ``source``, ``quantity`` (the ``gap``
            between two events, the ``delay`` of an event), and the ``probability`` that it lies from ``least_us`` to
            ``greatest_us``.
    """

    n_windows: int
    n_missed: int
    mean_slack_us: float | None
    n_late: int
    n_sources: int
    n_unreceived: int
    n_gave_up: int
    decisions: Any
    fitted: Any

    @property
    def miss_ratio(self) -> float | None:
        """The ratio of closed windows that miss an event; None before one was closed."""
        return self.n_missed / self.n_windows if self.n_windows else None

    @property
    def figures(self) -> Any:
        """The numbers as a pyarrow Table of one row."""
        return pa.table([pa.array([getattr(self, f.name)], f.type) for f in FIGURES], schema=FIGURES)


def report_of(figures: Any, decisions: Any, fitted: Any) -> SlackReport:
    """The report that these tables are of."""
    (row,) = figures.to_pylist()
    del row["miss_ratio"]
    return SlackReport(**row, decisions=decisions, fitted=fitted)
