"""The reach of windows, and how long partial matches and events must be kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from cepheid.language.bound import BoundWindow
from cepheid.language.structure import n_events_most, patterns
from cepheid.language.tree import Not
from cepheid.plan.automaton import Automaton

_LONGEST = 2**63 - 1


class Limits(TypedDict):
    """The fields of `Automaton` that hold the windows."""

    within: int | None
    each: int | None
    counts_events: bool


def limits_of(window: BoundWindow) -> Limits:
    """WITHIN and BETWEEN EACH as distances.

    The clock of the plan is that of WITHIN; where there is none, that of a sliding window; else that of BETWEEN EACH.
    """
    each = window.each_us if window.each_events is None else window.each_events
    if window.within_events is not None:
        return Limits(within=window.within_events - 1, each=each, counts_events=True)
    within = window.within_us
    if within is not None:
        return Limits(within=within - window.exclusive, each=each, counts_events=False)
    counts = window.each_events is not None if window.size_us is None else False
    return Limits(within=None, each=each, counts_events=counts or window.size_events is not None)


def closes(window: BoundWindow) -> bool:
    """Whether a partial match is left behind at some time: without a window, none times out."""
    lengths = (window.within_us, window.within_events, window.each_us, window.each_events)
    return any(n is not None for n in (*lengths, window.size_us, window.size_events))


def retention(automaton: Automaton) -> tuple[int | None, int | None]:
    """How old the first event of a partial match, and an event that a NOT may ask for, can be and still matter.

    Returns:
        Both in us or in events, as the plan measures; None for without end.
    """
    if automaton.scattered:
        return None, None  # its matches are told at the end of the input
    if automaton.counts_events and automaton.partition:
        return None, None  # the events of one partition tell nothing of the age of those of another
    return _reach(automaton)


@dataclass(frozen=True)
class History:
    """How far back lie the events of matches that are not decided yet, and of the gaps in them.

    Attributes:
        reach: by the clock of the plan: us back of the watermark, or events of a partition back of its last one; None:
            nothing bounds it but what becomes of partial matches.
        windows: by the other clock, where windows slide by it and all that lies in an open one counts; else None.
    """

    reach: int | None
    windows: int | None = None


def history(automaton: Automaton) -> History:
    """What a stream must keep of the events that have been."""
    if len(automaton.elements) == 1 and automaton.fixed:
        return History(0)  # a match is one event, which decides it
    first, negated = _reach(automaton)
    window = automaton.bound.window
    windows = window.size_us if window.size_us is not None else window.size_events
    if automaton.slides_by_other and automaton.leading:
        return History(first, windows)
    reach = None if first is None or negated is None else max(first, negated)
    # Which matches of a window are kept depends on those that came before them in it.
    whole = automaton.slides_by_other and (automaton.skips or window.one_match)
    return History(reach, windows if whole else None)


def _reach(automaton: Automaton) -> tuple[int | None, int | None]:
    within, each = automaton.within, automaton.each
    n_positive = automaton.n_positive
    if automaton.sliding:
        window = automaton.bound.window
        size = window.size_us if window.size_us is not None else window.size_events
        assert size is not None
        if within is not None and automaton.slides_by_other:
            return within, None if automaton.leading else within
        # A run is decided one window after its first event, and asks for what stands before that in its window.
        kept = min(2 * size, _LONGEST) if automaton.leading else size
        return size if within is None else min(within, size), kept
    if within is not None:
        # A NOT before the first event reaches back from the last one.
        return within, min(2 * within, _LONGEST) if automaton.leading else within
    if each is None or any(variable.loop for variable in automaton.variables):
        return None, None
    # A NOT before or behind them may hold as many events as its longest match has, each so far from the next.
    most = [n_events_most(part.part) for part in patterns(automaton.bound.pattern) if isinstance(part, Not)]
    known = [n for n in most if n is not None]
    if len(known) < len(most):
        return None, None
    beyond = max(known, default=1)
    far = min(each * (n_positive + beyond), _LONGEST)
    return min(each * (n_positive - 1), _LONGEST) if beyond == 1 else far, far
