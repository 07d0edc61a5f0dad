"""The ways of reading a match of a group under NOT: which branches it takes, and when its loops with UNTIL open.

What is found of such a group is a set of events with their variables. Where it matters in which way these fill the
pattern (`plan.absent_checks`), each way counts for itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cepheid.language.tree import And, AnyOf, Event, Not, Or, Pattern, Repeat, Seq
from cepheid.plan.absent_groups import names_of


class OpenLoop(NamedTuple):
    """A loop with UNTIL that took something.

    Attributes:
        loop: the quantifier.
        after: the event after which it opened, by its number in the match; -1: it opened with the gap.
        last: the last event that it took in this iteration of the groups around it.
        empty: the variables that were empty when it opened.
    """

    loop: Repeat
    after: int
    last: int
    empty: frozenset[str]


class Reading(NamedTuple):
    """One way of reading a match.

    Attributes:
        empty: variables that took nothing on branches that were taken.
        opened: the loops with UNTIL.
    """

    empty: frozenset[str]
    opened: tuple[OpenLoop, ...]


class _State(NamedTuple):
    """Part of a match that was read: ``used`` has a bit for each event; the next part comes after ``after``."""

    used: int = 0
    after: int = -1
    empty: frozenset[str] = frozenset()
    opened: tuple[OpenLoop, ...] = ()


@dataclass(frozen=True)
class _Around:
    """What stands around a part: the variables of earlier parts beside it, and whether there are any such parts."""

    beside: frozenset[str] = frozenset()
    among: bool = False


class Readings:
    """Reads matches of one group."""

    def __init__(self, group: Pattern) -> None:
        """Begin with what stands under the NOT, with its UNTILs."""
        self._group = group
        self._sequence: Sequence[tuple[str, str | None]] = ()
        self._known: dict[tuple[tuple[str, str | None], ...], tuple[Reading, ...]] = {}

    def of(self, sequence: tuple[tuple[str, str | None], ...]) -> tuple[Reading, ...]:
        """The different ways of reading a match.

        Args:
            sequence: the variable and the type of each event; None where types are not told.
        """
        if sequence not in self._known:
            self._sequence = sequence
            ends = self._read(self._group, {_State()}, _Around())
            whole = (1 << len(sequence)) - 1
            found = (Reading(end.empty, end.opened) for end in ends if end.used == whole)
            self._known[sequence] = tuple(dict.fromkeys(found))
        return self._known[sequence]

    def _read(self, part: Pattern, states: Iterable[_State], around: _Around) -> set[_State]:
        match part:
            case Event():
                return {taken for state in states for taken in self._taken(part, state, around)}
            case Not():
                return set(states)
            case Seq():
                reached = set(states)
                for one in part.parts:
                    reached = self._read(one, reached, around)
                return reached
            case Or():
                states = set(states)
                return set[_State]().union(*(self._read(one, states, around) for one in part.parts))
            case And():
                return self._beside(part.parts, states, around)
            case AnyOf():
                states = set(states)
                some = itertools.combinations(part.parts, part.count)
                return set[_State]().union(*(self._beside(parts, states, around) for parts in some))
            case Repeat():
                return {end for state in states for end in self._repeated(part, state, around)}

    def _taken(self, event: Event, state: _State, around: _Around) -> Iterable[_State]:
        # Where nothing stands beside it, the next event is its own.
        most = len(self._sequence) if around.among else min(state.after + 2, len(self._sequence))
        for number in range(state.after + 1, most):
            name, kind = self._sequence[number]
            if state.used >> number & 1 or name != event.name:
                continue
            if event.types and kind is not None and kind not in event.types:
                continue
            yield state._replace(used=state.used | 1 << number, after=number)

    def _beside(self, parts: Sequence[Pattern], states: Iterable[_State], around: _Around) -> set[_State]:
        found = set[_State]()
        for begin in states:
            reached, beside = {begin}, around.beside
            for part in parts:
                # What is empty in the end could still take something while the parts beside it are read.
                within = _Around(beside, among=True)
                reached = {
                    end._replace(after=max(end.after, state.after))
                    for state in reached
                    for end in self._read(part, {state._replace(after=begin.after)}, within)
                }
                beside |= frozenset(names_of(part))
            found |= {end for end in reached if around.among or end.used == (1 << end.after + 1) - 1}
        return found

    def _repeated(self, repeat: Repeat, begin: _State, around: _Around) -> set[_State]:
        found, reached, n = set[_State](), {begin}, 0
        while reached:
            if n >= repeat.minimum:
                found |= {self._ended(repeat, begin, state, n, around) for state in reached}
            if n == repeat.maximum:
                break
            # An iteration that takes nothing leads nowhere, but towards the lower bound.
            reached = {
                end
                for state in reached
                for end in self._read(repeat.part, {state}, around)
                if end.used != state.used or n < repeat.minimum
            }
            n += 1
        return found

    def _ended(self, repeat: Repeat, begin: _State, end: _State, n: int, around: _Around) -> _State:
        if n == 0:
            return end._replace(empty=end.empty | frozenset(names_of(repeat)))
        if repeat.until is None:
            return end
        loop = OpenLoop(repeat, begin.after, end.after, begin.empty - around.beside)
        return end._replace(opened=(*end.opened, loop))
