"""Windows, and the moments at which they close (SEMANTICS 5 and 7)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.language.bound import BoundWindow
from cepheid.testing.oracle_conditions import Binding
from cepheid.testing.oracle_events import OracleEvent

Point: TypeAlias = tuple[float, int, tuple[object, ...]]
"""A moment of a run over a stream: (time, 0, sort key) while that event is read; (time, 1, ()) when the
watermark reaches that time, after all events of that time."""

END: Point = (math.inf, 1, ())
"""The end of the input."""


def at_event(event: OracleEvent) -> Point:
    """The moment at which ``event`` is read."""
    return (event.time, 0, event.sort_key)


def at_time(time: int) -> Point:
    """The moment at which the watermark reaches ``time``."""
    return (time, 1, ())


@dataclass(frozen=True)
class Frame:
    """A stretch of a partition's stream in which matches are looked for: all of it, or a sliding window.

    Attributes:
        stream: the events of the partition, in order; an event's index is its position.
        first: position of the first event of the frame.
        stop: position after its last event.
        bounds: of the sliding window, or None.
        closes: when the sliding window closes.
    """

    stream: Sequence[OracleEvent]
    first: int
    stop: int
    bounds: tuple[int, int] | None = None
    closes: Point = END

    def at_position(self, position: int) -> Point:
        """The moment at which the event at ``position`` is read; the end of the input where there is none."""
        return at_event(self.stream[position]) if position < len(self.stream) else END


def frames(stream: Sequence[OracleEvent], window: BoundWindow) -> Iterator[Frame]:
    """The stretches of ``stream`` in which matches are looked for, in their order."""
    whole = Frame(stream, 0, len(stream))
    if window.size_us is not None and window.slide_us is not None:
        size, slide = window.size_us, window.slide_us
        last_in_window = size if window.closed else size - 1
        # A window without an event has no match, and there may be very many of them between two events.
        starts = {n * slide for event in stream for n in _windows_of(event.time, last_in_window, slide)}
        for start in sorted(starts):
            inside = [p for p, event in enumerate(stream) if start <= event.time <= start + last_in_window]
            yield Frame(stream, inside[0], inside[-1] + 1, (start, start + size), at_time(start + last_in_window))
    elif window.size_events is not None and window.slide_events is not None:
        n_inside = window.size_events + window.closed
        for start in range(0, len(stream), window.slide_events):
            stop = min(start + n_inside, len(stream))
            closes = whole.at_position(start + n_inside - 1)
            yield Frame(stream, start, stop, (start, start + window.size_events), closes)
    else:
        yield whole


def _windows_of(time: int, last_in_window: int, slide: int) -> range:
    """The numbers of the sliding windows that hold a time."""
    return range(-((last_in_window - time) // slide), time // slide + 1)


def longest_us(window: BoundWindow) -> int | None:
    """The longest time that WITHIN allows between the first and the last event."""
    return None if window.within_us is None else window.within_us - window.exclusive


def near_enough(window: BoundWindow, one: Binding, other: Binding) -> bool:
    """True where WITHIN lets the two stand in one match."""
    longest = longest_us(window)
    if longest is not None and abs(other.event.time - one.event.time) > longest:
        return False
    return window.within_events is None or abs(other.position - one.position) < window.within_events


def admits(window: BoundWindow, bindings: Sequence[Binding]) -> bool:
    """True where the events, in their order, satisfy WITHIN and BETWEEN EACH."""
    if bindings and not near_enough(window, bindings[0], bindings[-1]):
        return False
    for left, right in itertools.pairwise(bindings):
        if window.each_us is not None and right.event.time - left.event.time > window.each_us:
            return False
        if window.each_events is not None and right.position - left.position > window.each_events:
            return False
    return True


def closing(window: BoundWindow, frame: Frame, first: Binding, last: Binding, n_more: float = 1) -> Point:
    """The moment from which no ``n_more`` further events after ``last`` can be inside the windows."""
    points = [frame.closes]
    longest = longest_us(window)
    if longest is not None:
        points.append(at_time(first.event.time + longest))
    if window.within_events is not None:
        points.append(frame.at_position(first.position + window.within_events - 1))
    if math.isfinite(n_more):
        if window.each_us is not None:
            points.append(at_time(last.event.time + window.each_us * int(n_more)))
        if window.each_events is not None:
            points.append(frame.at_position(last.position + window.each_events * int(n_more)))
    # What has been read is past: an event cannot close its own window before itself.
    return max(min(points), at_event(last.event))
