"""The watermark of a stream whose windows a slack policy closes: how late each event is, and what was decided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.closing import GAVE_UP, REASONS, Closed, Closer
from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.errors import SchemaError
from cepheid.events.batch import EventBatch
from cepheid.events.event_time import event_times
from cepheid.language.bound import BoundQuery
from cepheid.ports.slack import PATIENCE, AskedSlack, Grid, Int64Array, SlackPolicy

STEPS = 10
"""So often is the watermark moved in a window of WITHIN, where nothing says how often. Chosen."""

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
"""The columns of `SlackWatch.decisions`."""


@dataclass(frozen=True)
class SlackWindow:
    """The windows that are closed, in us.

    Attributes:
        slide_us: from one end to the next (f).
        size_us: l.
        closed: the window holds its end.
        origin_us: ends lie at multiples of the slide and this.
    """

    slide_us: int
    size_us: int
    closed: bool = True
    origin_us: int = 0


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


def slack_window(bounds: Sequence[BoundQuery], every_us: int | None, resolution_us: int) -> SlackWindow:
    """The windows of queries, as a slack policy sees them.

    Args:
        bounds: the queries over the stream.
        every_us: from one end to the next, where the queries do not say.
        resolution_us: of times.

    Raises:
        SchemaError: the queries have no windows in time, and nothing says how often the watermark is to move; or
            ``every`` is given beside windows that slide.
    """
    windows = [one.window for bound in bounds for one in bound.chain if one.window is not None]
    sliding = [window for window in windows if window.size_us is not None]
    within = [window.within_us for window in windows if window.within_us is not None]
    if len(sliding) == 1 and not within:
        (window,) = sliding
        assert window.size_us is not None
        assert window.slide_us is not None
        if every_us is not None:
            raise SchemaError(
                "the windows of the query slide, which says how often they end, and every= is given, too",
                remedy="leave every= out",
            )
        return SlackWindow(window.slide_us, window.size_us, window.closed, window.size_us % window.slide_us)
    size = max([*within, *(window.size_us for window in sliding if window.size_us is not None)], default=None)
    if every_us is None:
        if size is None:
            raise SchemaError(
                "nothing says how often windows may be closed: the query has no window in time",
                remedy='give every="1 s", or the query a WITHIN',
            )
        every_us = max(resolution_us, size // STEPS // resolution_us * resolution_us)
    return SlackWindow(every_us, max(every_us, size or 0))


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


class SlackWatch:
    """Follows when events were received, and says up to when a stream is complete.

    Attributes:
        decisions: see `SlackReport`.
        n_gave_up, gave_up_sources: of the last call: windows closed though sources were silent, and these.
    """

    def __init__(
        self,
        policy: SlackPolicy,
        window: SlackWindow,
        *,
        tick_us: int,
        received: str | None,
        received_unit: str | None = None,
        per: str | None = None,
    ) -> None:
        """Start at the beginning of a stream.

        Args:
            policy: closes the windows of this stream alone.
            window: those.
            tick_us: a tick; the slide and the origin of the windows are multiples of it.
            received: the column that says when an event was received; None where they are received when they come.
            received_unit: of numbers in that column.
            per: the column that tells sources apart; None where there is one.
        """
        self._tick_us = tick_us
        slide, origin = window.slide_us // self._tick_us, window.origin_us // self._tick_us
        inside = 0 if window.closed else 1
        size = max(slide, -(-window.size_us // self._tick_us)) - inside
        grid = Grid(slide, size, phase=origin - inside, nominal=origin, drops=True)
        self._closer = Closer(policy, grid, risks=True)
        self._received, self._unit, self._per = received, received_unit, per
        self._sources: dict[Any, int] = {}
        self._newest_us = BEFORE_ALL_US
        self._n_unreceived = 0
        self._n_gave_up = 0
        self.decisions: Any = DECISIONS.empty_table()
        self.n_gave_up = 0
        self.gave_up_sources: list[str] = []

    @property
    def policy(self) -> SlackPolicy:
        """The policy that closes the windows."""
        return self._closer.policy

    @property
    def newest_us(self) -> int:
        """When the last event was received, us; the least int64 for none."""
        return self._newest_us

    @property
    def tick_us(self) -> int:
        """A tick, us."""
        return self._tick_us

    @property
    def sources(self) -> list[str]:
        """The sources by their numbers, as text."""
        return [str(value) for value in self._sources] or ["all events"]

    @property
    def watermark_us(self) -> int:
        """The stream is complete up to here, us."""
        end = self._closer.closed_to
        return BEFORE_ALL_US if end is None else (end + 1) * self._tick_us - 1

    @property
    def report(self) -> SlackReport:
        """What was done so far."""
        closer = self._closer
        n = closer.n_closed
        return SlackReport(
            n_windows=n,
            n_missed=closer.n_missed,
            mean_slack_us=closer.slack_sum / n * self._tick_us if n else None,
            n_late=closer.n_late,
            n_sources=closer.n_sources,
            n_unreceived=self._n_unreceived,
            n_gave_up=self._n_gave_up,
            decisions=self.decisions,
            fitted=self._fitted(),
        )

    def _fitted(self) -> Any:
        rows: list[tuple[str, str, int, int, float]] = []
        for number, name in enumerate(self.sources[: self._closer.n_sources]):
            for quantity, bins in zip(("gap", "delay"), self.policy.fitted(number) or (), strict=False):
                ends = (bins.least * self._tick_us, bins.greatest * self._tick_us)
                least, greatest, chances = (one.tolist() for one in (*ends, bins.probabilities))
                rows += [(name, quantity, *row) for row in zip(least, greatest, chances, strict=True)]
        columns = list(zip(*rows, strict=True)) or [()] * len(FITTED)
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, FITTED, strict=True)], schema=FITTED)

    def take(self, batch: EventBatch, now_us: int) -> Int64Array:
        """Take events.

        Args:
            batch: as it was read, with the columns that tell receptions and sources.
            now_us: the time on the clock, us, for events that do not say when they were received.

        Returns:
            int64, (events,): the watermark when each event, by its position, was received; at or before it, it is late.

        Raises:
            SchemaError: a column is missing, or cannot be read as times.
        """
        before_us = self.watermark_us
        n = len(batch)
        self._told(Closed.of([], []))
        if not n:
            return np.empty(0, np.int64)
        rows = batch.rows_of(np.arange(n))
        in_arrival = np.argsort(rows, kind="stable")
        received_us = self._receptions(batch, rows, in_arrival, now_us)
        in_order = in_arrival[np.argsort(received_us[in_arrival], kind="stable")]
        received = received_us[in_order] // self._tick_us
        generated = batch.time_us[in_order] // self._tick_us
        now = self._closer.now
        if now is not None:
            received = np.maximum(received, now)
        closed = self._closer.receive(self._codes(batch, rows)[in_order], generated, received)
        self._newest_us = max(self._newest_us, int(received_us.max()))
        self._told(closed)
        watermarks = np.empty(n, np.int64)
        watermarks[in_order] = self._watermarks(closed, received, before_us)
        return watermarks

    def until(self, now_us: int) -> None:
        """Close what may be closed by now, if no event comes.

        Args:
            now_us: by the clock of the receiver, us.
        """
        self._told(self._closer.until(now_us // self._tick_us))

    def _receptions(self, batch: EventBatch, rows: Int64Array, in_arrival: Int64Array, now_us: int) -> Int64Array:
        if self._received is None:
            return np.full(len(rows), max(now_us, self._newest_us), np.int64)
        if self._received not in batch.table.column_names:
            raise SchemaError(
                f"the events have no column {self._received!r}, which is to say when they were received",
                remedy=f"name one of {', '.join(batch.table.column_names)} as received=",
            )
        read = event_times(batch.table.column(self._received), self._unit, self._received)
        values = np.array(read.values[rows], np.int64)
        if read.bad is None or not read.bad[rows].any():
            return values
        # One that does not say came with the one before it.
        bad = read.bad[rows]
        self._n_unreceived += int(bad.sum())
        last = self._newest_us
        for position in in_arrival:
            if bad[position]:
                values[position] = batch.time_us[position] if last == BEFORE_ALL_US else last
            last = max(last, int(values[position]))
        return values

    def _codes(self, batch: EventBatch, rows: Int64Array) -> Int64Array:
        if self._per is None:
            return np.zeros(len(rows), np.int64)
        if self._per not in batch.table.column_names:
            raise SchemaError(
                f"the events have no column {self._per!r}, which is to tell their sources apart",
                remedy=f"name one of {', '.join(batch.table.column_names)} as per=",
            )
        column = batch.table.column(self._per)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode("encode")
        encoded = encoded.unify_dictionaries().combine_chunks()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        values = encoded.dictionary.to_pylist()
        indices = np.asarray(encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False), np.int64)[rows]
        own = [self._sources.get(value, -1) for value in (*values, None)]
        codes = np.array(own, np.int64)
        new = np.flatnonzero(codes[indices] < 0)
        if len(new):  # numbers in the order in which sources are first heard of, however the stream is cut
            in_arrival = new[np.argsort(rows[new], kind="stable")]
            known = (*values, None)
            for index in dict.fromkeys(indices[in_arrival].tolist()):
                codes[index] = self._sources.setdefault(known[index], len(self._sources))
        found: Int64Array = codes[indices]
        return found

    def _watermarks(self, closed: Closed, received: Int64Array, before_us: int) -> Int64Array:
        """The watermark at each reception: windows that were closed before it, not at the same tick."""
        if not len(closed.windows):
            return np.full(len(received), before_us, np.int64)
        run = np.searchsorted(closed.at, received, "left") - 1
        every = np.maximum(closed.every[run], 1)
        n_more = np.where(closed.every[run] > 0, (received - 1 - closed.at[run]) // every, closed.counts[run] - 1)
        window = closed.windows[run] + np.minimum(n_more, closed.counts[run] - 1)
        grid = self._closer.grid
        ends_us = (window * grid.slide + grid.phase + 1) * self._tick_us - 1
        return np.where(run < 0, before_us, ends_us)

    def _told(self, closed: Closed) -> None:
        grid, tick = self._closer.grid, self._tick_us
        ends = closed.windows * grid.slide + grid.nominal
        names = self.sources
        gave_up = closed.reasons == GAVE_UP
        self.n_gave_up = int(closed.counts[gave_up].sum())
        self._n_gave_up += self.n_gave_up
        deciding = closed.sources[gave_up].tolist()
        self.gave_up_sources = [names[source] for source in deciding if 0 <= source < len(names)]
        columns = [
            pa.array(ends * tick, pa.int64()).cast(_MOMENT),
            pa.array(closed.counts, pa.int64()),
            pa.array(closed.at * tick, pa.int64()).cast(_MOMENT),
            pa.array((closed.at - ends) * tick, pa.int64()),
            pa.array([REASONS[reason] for reason in closed.reasons.tolist()], pa.string()),
            pa.array(closed.risks, pa.float64(), mask=np.isnan(closed.risks)),
            pa.array([names[s] if 0 <= s < len(names) else None for s in closed.sources.tolist()], pa.string()),
        ]
        self.decisions = pa.Table.from_arrays(columns, schema=DECISIONS)

    def said(self) -> dict[str, Any]:
        """All that is held, as JSON can say it."""
        return {
            "closer": self._closer.said(),
            "sources": [[value, number] for value, number in self._sources.items()],
            "newest_us": self._newest_us,
            "n_unreceived": self._n_unreceived,
            "n_gave_up": self._n_gave_up,
        }

    def restore(self, said: dict[str, Any]) -> None:
        """Go on from what `said` gave, of one that was made alike."""
        self._closer.restore(said["closer"])
        self._sources = dict(said["sources"])
        self._newest_us = said["newest_us"]
        self._n_unreceived = said["n_unreceived"]
        self._n_gave_up = said["n_gave_up"]


def watch_of(
    slack: AskedSlack, bounds: Sequence[BoundQuery], *, received: str | None, received_unit: str | None
) -> SlackWatch:
    """What follows a stream of queries.

    Args:
        slack: as the user asks for it.
        bounds: the queries.
        received, received_unit: see `SlackWatch`.

    Raises:
        SchemaError: see `slack_window`.
    """
    window = slack_window(bounds, slack.every_us, slack.resolution_us)
    tick_us = math.gcd(slack.resolution_us, window.slide_us, window.origin_us)
    return SlackWatch(
        slack.policy(tick_us), window, tick_us=tick_us, received=received, received_unit=received_unit, per=slack.per
    )


def warning_of(watch: SlackWatch) -> str | None:
    """What a user is to be warned of after the last events that a watch took; None for nothing."""
    if not watch.n_gave_up or watch.policy.closing.latest is not None:
        return None
    sources = ", ".join(dict.fromkeys(watch.gave_up_sources))
    return (
        f"{watch.n_gave_up} windows were closed because nothing had come from {sources} for {PATIENCE} times as long "
        "as it ever took; give max_latency= to say how long windows may stay open"
    )


def k_slack(batch: EventBatch, slack_us: int) -> Int64Array:
    """The watermark when each event came, where it follows the greatest time before it.

    Args:
        batch: its events came in the order of its rows.
        slack_us: how much later than newer ones an event may come and still be on time.

    Returns:
        int64, by position.
    """
    in_arrival = np.argsort(batch.rows_of(np.arange(len(batch))), kind="stable")
    greatest = np.maximum.accumulate(batch.time_us[in_arrival])
    watermarks = np.empty(len(batch), np.int64)
    watermarks[in_arrival[:1]] = BEFORE_ALL_US
    watermarks[in_arrival[1:]] = greatest[:-1] - slack_us - 1
    return watermarks


def punctual(batch: EventBatch, watermarks_us: Int64Array) -> tuple[EventBatch, Any]:
    """The events of a table that came on time, and a pyarrow Table of those that were late, as they came.

    Args:
        batch: as it was read.
        watermarks_us: int64, by position: the watermark when each came.
    """
    late = batch.time_us <= watermarks_us
    if not late.any():
        return batch, batch.table.slice(0, 0)
    rows = batch.rows_of(np.arange(len(batch)))
    on_time = EventBatch(batch.table, batch.schema, batch.time_us[~late], rows[~late], batch.rejected)
    return on_time, batch.table.take(pa.array(np.sort(rows[late])))
