"""What a running job tells of itself: a line for each batch, figures, and a warning when it stands still."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from cepheid.job.closed import Closed, several

WARN_EVERY_S = 60.0
"""Seconds between two warnings that events wait."""

SAY_EVERY_S = 60.0
"""Seconds after which a batch in which nothing happened has a line, too; others have one each."""

QUANTILES = (0.5, 0.95, 0.99)
"""Of the latency, from the time of a match's last event until it is written."""


@dataclass(frozen=True)
class Decided:
    """A decision on an evaluation plan.

    Attributes:
        bucket: of whose events.
        query: of a set, its name; else empty.
        plan: the plan from now on.
        switched: it is another one than before.
        told: all of it in a sentence, with the numbers that led to it.
    """

    bucket: int
    query: str
    plan: str
    switched: bool
    told: str

    def __str__(self) -> str:
        """One line."""
        return f"bucket {self.bucket}{f', {self.query}' if self.query else ''}: {self.told}"


@dataclass(frozen=True)
class Written:
    """What a batch wrote.

    Attributes:
        n_matches, n_late, n_rejected: rows of each.
        latency_s: the `QUANTILES` of the seconds from the last event of each match until it was written; None where
            there was no match.
        held: for each bucket that was called: what it holds.
        closed: what the slack policies of all buckets have done in this run and before; None for none.
        plans: what was decided on evaluation plans.
    """

    n_matches: int = 0
    n_late: int = 0
    n_rejected: int = 0
    latency_s: tuple[float, ...] | None = None
    held: Mapping[int, Held] = field(default_factory=dict)
    closed: Closed | None = None
    plans: tuple[Decided, ...] = ()

    @property
    def is_something(self) -> bool:
        """There was something to write."""
        return bool(self.n_matches or self.n_late or self.n_rejected or self.plans)


@dataclass(frozen=True)
class Held:
    """What a bucket of keys holds.

    Attributes:
        n_waiting: events that wait for the watermark.
        n_partial_matches: partial matches from which something can still come.
        n_bytes: of all that.
    """

    n_waiting: int
    n_partial_matches: int
    n_bytes: int


@dataclass(frozen=True)
class Batch:
    """A batch that is done, as Spark tells it.

    Attributes:
        number: of the batch.
        n_events: source -> events that were read from it.
        newest: source -> the time of the newest event that was read from it, us; none for a source without events.
        watermark: of Spark, in ISO 8601; None before there is one.
        seconds: how long it took.
        state_bytes: of the state as Spark keeps it.
    """

    number: int
    n_events: Mapping[str, int]
    newest: Mapping[str, int]
    watermark: str | None
    seconds: float
    state_bytes: int


@dataclass
class Totals:
    """Sums since the job was started, and what it holds now."""

    n_batches: int = 0
    n_events: int = 0
    n_matches: int = 0
    n_late: int = 0
    n_rejected: int = 0
    n_waiting: int = 0
    n_partial_matches: int = 0
    held_bytes: int = 0
    state_bytes: int = 0
    watermark_s: float | None = None
    latency_s: tuple[float, ...] | None = None
    last_batch: int | None = None
    n_plan_decisions: int = 0
    n_plan_switches: int = 0


class Metrics(Protocol):
    """Whoever publishes the figures."""

    def update(self, totals: Totals, batch: Batch, written: Written) -> None:
        """Take those of one batch more."""
        ...


class Telemetry:
    """Puts together what the job writes and what Spark tells; safe to call from several threads."""

    def __init__(
        self,
        say: Callable[[str], None],
        warn: Callable[[str], None],
        *,
        sources: Sequence[str],
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Telemetry of a job.

        Args:
            say: takes a line for each batch.
            warn: takes a warning.
            sources: their names.
            metrics: publishes figures.
            clock: seconds, as `time.monotonic`.
        """
        self.totals = Totals()
        self._say, self._warn, self._metrics, self._clock = say, warn, metrics, clock
        self._sources = tuple(sources)
        self._lock = threading.Lock()
        self._written: dict[int, Written] = {}
        self._held: dict[int, Held] = {}
        self._newest: dict[str, int] = {}
        self._heard_at: dict[str, float] = {}
        self._watermark: str | None = None
        self._moved_at = self._warned_at = self._said_at = clock()

    def written(self, number: int, written: Written) -> None:
        """A batch has been written, though Spark does not know yet."""
        with self._lock:
            self._written[number] = written

    def done(self, batch: Batch) -> None:
        """A batch is done."""
        with self._lock:
            written = self._written.pop(batch.number, Written())
            self._held.update(written.held)
            now = self._clock()
            for source, n_events in batch.n_events.items():
                if n_events:
                    self._heard_at[source] = now
            for source, newest in batch.newest.items():
                self._newest[source] = max(newest, self._newest.get(source, newest))
            waited = self.totals.n_waiting
            self._add(batch, written)
            if batch.watermark != self._watermark or not waited:
                # Where nothing waited it had no reason to move.
                self._watermark, self._moved_at = batch.watermark, now
        if n_events_of(batch) or written.is_something or now - self._said_at >= SAY_EVERY_S:
            self._said_at = now
            self._say(line_of(batch, written, self.totals))
        for one in written.plans:
            if one.switched:
                self._say(f"batch {batch.number}, {one}")
        if self._metrics is not None:
            self._metrics.update(self.totals, batch, written)

    def _add(self, batch: Batch, written: Written) -> None:
        totals = self.totals
        totals.n_batches += 1
        totals.n_events += n_events_of(batch)
        totals.n_matches += written.n_matches
        totals.n_late += written.n_late
        totals.n_rejected += written.n_rejected
        totals.n_waiting = sum(held.n_waiting for held in self._held.values())
        totals.n_partial_matches = sum(held.n_partial_matches for held in self._held.values())
        totals.held_bytes = sum(held.n_bytes for held in self._held.values())
        totals.state_bytes = batch.state_bytes
        totals.latency_s = written.latency_s or totals.latency_s
        totals.last_batch = batch.number
        totals.n_plan_decisions += len(written.plans)
        totals.n_plan_switches += sum(one.switched for one in written.plans)
        if batch.watermark is not None:
            totals.watermark_s = _seconds_of(batch.watermark)

    def look(self) -> None:
        """Warn, at most once in `WARN_EVERY_S`, where events wait and the watermark has stood still for that long."""
        with self._lock:
            now = self._clock()
            since = max(self._moved_at, self._warned_at)
            if not self.totals.n_waiting or now - since < WARN_EVERY_S:
                return
            self._warned_at = now
            told = self._why(now)
        self._warn(told)

    def _why(self, now: float) -> str:
        silent = [name for name in self._sources if name not in self._heard_at]
        if silent:
            who = f"no event has come from {', '.join(silent)}"
        elif len(self._sources) > 1:
            behind = min(self._newest, key=lambda name: self._newest[name])
            who = (
                f"{behind} holds it back: its newest event is of {_iso(self._newest[behind])}, and its last one came "
                f"{now - self._heard_at[behind]:.0f} s ago"
            )
        else:
            (only,) = self._sources
            who = f"the last event of {only} came {now - self._heard_at[only]:.0f} s ago"
        waiting = several(self.totals.n_waiting, "event waits", "events wait")
        return (
            f"{waiting} because the watermark has stood still for {now - self._moved_at:.0f} s "
            f'({self._watermark or "there is none yet"}): {who}; idle_flush = "1 minute" under [stream] lets it go on '
            "without new events"
        )


def n_events_of(batch: Batch) -> int:
    """The events that a batch read."""
    return sum(batch.n_events.values())


def line_of(batch: Batch, written: Written, totals: Totals) -> str:
    """A batch in one line."""
    n_events = n_events_of(batch)
    parts = [several(n_events, "event", "events"), several(written.n_matches, "match", "matches")]
    parts += [f"{n:,} {name}" for n, name in ((written.n_late, "late"), (written.n_rejected, "rejected")) if n]
    partial = several(totals.n_partial_matches, "partial match", "partial matches")
    held = f"holding {partial}, {several(totals.n_waiting, 'waiting event', 'waiting events')}"
    parts = [", ".join(parts), f"{held}, {totals.state_bytes:,} bytes of state"]
    if batch.watermark is not None:
        parts.append(f"watermark {batch.watermark}")
    if written.closed is not None:
        parts.append(str(written.closed))
    if written.plans:
        n_switched = sum(one.switched for one in written.plans)
        decisions = several(len(written.plans), "decision on a plan", "decisions on plans")
        parts.append(f"{decisions}, {several(n_switched, 'switch', 'switches')}")
    if written.latency_s is not None:
        told = ", ".join(f"p{100 * q:g} {s:.2f} s" for q, s in zip(QUANTILES, written.latency_s, strict=True))
        parts.append(f"latency {told}")
    return f"batch {batch.number}: {'; '.join(parts)}; {batch.seconds:.2f} s"


def _seconds_of(iso: str) -> float:
    return datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp()


def _iso(time_us: int) -> str:
    try:
        return datetime.fromtimestamp(time_us / 1e6, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{time_us} us"
