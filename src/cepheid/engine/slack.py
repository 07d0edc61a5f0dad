"""The watermark of a stream whose windows a slack policy closes: how late each event is, and what was decided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cepheid.engine.closing import GAVE_UP, REASONS, Closed, Closer
from cepheid.engine.late_events import in_arrival, receptions
from cepheid.engine.slack_report import DECISIONS, FITTED, SlackReport
from cepheid.engine.watermark import BEFORE_ALL_US
from cepheid.errors import SchemaError
from cepheid.events.arrow_types import data_type
from cepheid.events.batch import EventBatch
from cepheid.events.dictionaries import unified
from cepheid.events.text import require_utf8
from cepheid.events.types import Kind
from cepheid.language.bound import BoundQuery
from cepheid.ports.slack import PATIENCE, AskedSlack, Grid, Int64Array, SlackPolicy
from cepheid.stats.frequencies import Bins

STEPS = 10
"""So often is the watermark moved in a window of WITHIN, where nothing says how often. Chosen."""


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


class SlackWatch:
    """Follows when events were received, and says up to when a stream is complete.

    Attributes:
        decisions: see `SlackReport`.
        n_unreceived: events without a time of reception so far.
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
        self.n_unreceived = 0
        self._n_gave_up = 0
        self._told_fits: list[tuple[Bins, Bins] | None] = []
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
            n_unreceived=self.n_unreceived,
            n_gave_up=self._n_gave_up,
            decisions=self.decisions,
            fitted=self._fitted(),
        )

    def fitted_anew(self) -> Any:
        """The distributions of the sources that were learned since the last time they were asked for (`FITTED`)."""
        fits = [self.policy.fitted(number) for number in range(self._closer.n_sources)]
        known = [*self._told_fits, *([None] * (len(fits) - len(self._told_fits)))]
        new = [
            n
            for n, (fit, told) in enumerate(zip(fits, known, strict=True))
            if fit and (not told or fit[0] is not told[0])
        ]
        self._told_fits = fits
        return self._fitted(new)

    def _fitted(self, numbers: Iterable[int] | None = None) -> Any:
        """The distributions of sources, by their numbers; of all."""
        rows: list[tuple[str, str, int, int, float]] = []
        names = self.sources
        for number in range(self._closer.n_sources) if numbers is None else numbers:
            name = names[number]
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
        received_us = self._receptions(batch, now_us)
        # Those that were received at one moment came in the order in which they were generated.
        in_order = in_arrival(received_us)
        received = received_us[in_order] // self._tick_us
        generated = batch.time_us[in_order] // self._tick_us
        now = self._closer.now
        if now is not None:
            received = np.maximum(received, now)
        closed = self._closer.receive(self._codes(batch, rows[in_order]), generated, received)
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

    def _receptions(self, batch: EventBatch, now_us: int) -> Int64Array:
        if self._received is None:
            return np.full(len(batch), max(now_us, self._newest_us), np.int64)
        received_us, n_unreceived = receptions(batch, self._received, self._unit, self._newest_us)
        self.n_unreceived += n_unreceived
        return received_us

    def _codes(self, batch: EventBatch, rows: Int64Array) -> Int64Array:
        """The source of the event in each of these rows, which stand in the order of reception."""
        if self._per is None:
            return np.zeros(len(rows), np.int64)
        if self._per not in batch.table.column_names:
            raise SchemaError(
                f"the events have no column {self._per!r}, which is to tell their sources apart",
                remedy=f"name one of {', '.join(batch.table.column_names)} as per=",
            )
        column = batch.table.column(self._per)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode("encode")
        encoded = unified(encoded).combine_chunks()
        encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
        texts = data_type(column.type).kind is Kind.TEXT
        dictionary = require_utf8(encoded.dictionary, self._per) if texts else encoded.dictionary
        values = dictionary.to_pylist()
        indices = np.asarray(encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False), np.int64)[rows]
        own = [self._sources.get(value, -1) for value in (*values, None)]
        codes = np.array(own, np.int64)
        new = np.flatnonzero(codes[indices] < 0)
        if len(new):  # numbers in the order in which sources are first heard of, however the stream is cut
            known = (*values, None)
            for index in dict.fromkeys(indices[new].tolist()):
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
            pa.array(ends * tick, pa.int64()).cast(DECISIONS.field("window_end").type),
            pa.array(closed.counts, pa.int64()),
            pa.array(closed.at * tick, pa.int64()).cast(DECISIONS.field("window_end").type),
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
            "n_unreceived": self.n_unreceived,
            "n_gave_up": self._n_gave_up,
        }

    def restore(self, said: dict[str, Any]) -> None:
        """Go on from what `said` gave, of one that was made alike."""
        self._closer.restore(said["closer"])
        self._sources = dict(said["sources"])
        self._newest_us = said["newest_us"]
        self.n_unreceived = said["n_unreceived"]
        self._n_gave_up = said["n_gave_up"]
        self._told_fits = [self.policy.fitted(number) for number in range(self._closer.n_sources)]


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
