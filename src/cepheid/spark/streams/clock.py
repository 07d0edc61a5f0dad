"""The clock of a stream: how far event time has come, by what the events themselves say.

Every bucket hears of the greatest event time of each source in each micro-batch, whichever key the event has, so all
buckets have the same clock; and it depends on nothing but the events and the watermark that Spark wrote down for the
batch, so a batch that is repeated after a failure has the clock that it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cepheid.engine.watermark import BEFORE_ALL_US

MS_US = 1_000


@dataclass(frozen=True)
class Heard:
    """What one micro-batch says of the time.

    Attributes:
        greatest_us: for each source, the greatest event time that it brought; None for no event.
        beat_us: the time on the wall clock, where the batch has a beat of it; else None.
        received_us: when the last of its events was received, where that is asked for; else None.
    """

    greatest_us: tuple[int | None, ...]
    beat_us: int | None = None
    received_us: int | None = None

    def and_also(self, other: Heard) -> Heard:
        """What two parts of a micro-batch say together."""
        pairs = zip(self.greatest_us, other.greatest_us, strict=True)
        return Heard(
            tuple(_greater(*pair) for pair in pairs),
            _greater(self.beat_us, other.beat_us),
            _greater(self.received_us, other.received_us),
        )


@dataclass(frozen=True)
class Clock:
    """How far a stream has come.

    Attributes:
        greatest_us: for each source, the greatest event time so far; None before its first event.
        reached_us: where the watermark would be if the sources that have brought events were all, us.
        reached_at_us: the time on the wall clock when that last changed; None where no beat was heard since.
        beat_us: the last beat of the wall clock; None for none.
    """

    greatest_us: tuple[int | None, ...]
    reached_us: int = BEFORE_ALL_US
    reached_at_us: int | None = None
    beat_us: int | None = None

    @classmethod
    def of(cls, n_sources: int) -> Clock:
        """The clock before any event."""
        return cls((None,) * n_sources)

    def after(self, heard: Heard, reported_ms: int, delays_us: Sequence[int]) -> Clock:
        """The clock after a micro-batch.

        Args:
            heard: what the batch says.
            reported_ms: Spark's watermark for the batch; 0 before there is one.
            delays_us: for each source, how much later than newer ones an event may come and still be on time.
        """
        pairs = zip(self.greatest_us, heard.greatest_us, strict=True)
        greatest = tuple(_greater(*pair) for pair in pairs)
        own = [t - delay - 1 for t, delay in zip(greatest, delays_us, strict=True) if t is not None]
        reached = max(min(own, default=BEFORE_ALL_US), reported_us(reported_ms))
        beat = _greater(self.beat_us, heard.beat_us)
        since = beat if reached != self.reached_us or self.reached_at_us is None else self.reached_at_us
        return Clock(greatest, reached, since, beat)

    def watermark_us(self, reported_ms: int, idle_us: int | None) -> int:
        """The watermark now.

        It is that of the source that is furthest behind. One that has brought nothing yet holds it back, as in Spark,
        unless the clock may run on by itself.

        Args:
            reported_ms: Spark's watermark for the batch.
            idle_us: how long the wall clock must go on without anything that moves the watermark before the
                watermark goes on with it; None for never.
        """
        told = reported_us(reported_ms) if self.unheard else self.reached_us
        if idle_us is None or self.beat_us is None or self.reached_at_us is None or self.reached_us == BEFORE_ALL_US:
            return told
        silent_us = self.beat_us - self.reached_at_us
        return max(told, self.reached_us + silent_us) if silent_us >= idle_us else told

    @property
    def unheard(self) -> list[int]:
        """The numbers of sources that have brought no event yet."""
        return [number for number, greatest in enumerate(self.greatest_us) if greatest is None]

    def said(self) -> dict[str, Any]:
        """The clock as JSON can say it."""
        return {
            "greatest_us": list(self.greatest_us),
            "reached_us": self.reached_us,
            "reached_at_us": self.reached_at_us,
            "beat_us": self.beat_us,
        }

    @classmethod
    def from_said(cls, said: dict[str, Any]) -> Clock:
        """What `said` gave."""
        return cls(tuple(said["greatest_us"]), said["reached_us"], said["reached_at_us"], said["beat_us"])


def reported_us(watermark_ms: int) -> int:
    """A watermark of Spark as one of ours: Spark counts in milliseconds, and an event at its watermark is on time.

    Args:
        watermark_ms: 0 or less before there is one, as Spark says it.
    """
    return BEFORE_ALL_US if watermark_ms <= 0 else watermark_ms * MS_US - 1


def _greater(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
