"""What happens where an event meets a partial match, and whether the two are kept apart (load shedding)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.testing.oracle_conditions import Binding
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.oracle_windows import Frame


@dataclass(frozen=True)
class Pair:
    """An event, and a partial match that waits for an event of its type.

    Attributes:
        bindings: what the partial match has bound, in the order of the events; empty where it would begin.
        event: the event.
        place: of the event in the window: how many events of the partition the window holds before it, whether they
            fit anything or not. The window of WITHIN is that of the partial match's first event.
        window: the bounds of the window that slides, or None.
    """

    bindings: tuple[Binding, ...]
    event: OracleEvent
    place: int
    window: tuple[int, int] | None


class Watch:
    """Is told what happens, and may keep pairs apart. This one does nothing; what it is told of may come twice.

    Under `any` without timed-out matches or skips, there are no runs, and it is only asked and told of matches.
    """

    def drops(self, pair: Pair) -> bool:
        """Whether the event qualifies for none of the elements that the partial match waits for; nothing else changes.

        NOT, UNTIL and windows see every event.
        """
        return False

    def took(self, pair: Pair, binding: Binding) -> None:
        """A run took the event."""

    def expired(self, bindings: Sequence[Binding], window: tuple[int, int] | None) -> None:
        """The window of a run closed, and the run could still have gone on."""

    def completed(self, pairs: Sequence[Pair], bindings: Sequence[Binding]) -> None:
        """There is a match: of these pairs, in which these events were taken."""


def pair_of(frame: Frame, bindings: Sequence[Binding], position: int) -> Pair:
    """The event at ``position`` beside what a partial match has bound."""
    begin = position
    if frame.bounds is not None:
        begin = frame.first
    elif bindings:
        begin = bindings[0].position
    return Pair(tuple(bindings), frame.stream[position], position - begin, frame.bounds)


def pairs_of(frame: Frame, bindings: Sequence[Binding]) -> list[Pair]:
    """The pairs that made a match, whose events are in order."""
    return [pair_of(frame, bindings[:i], binding.position) for i, binding in enumerate(bindings)]
