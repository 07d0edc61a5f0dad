"""Queries whose matches share their structure: `any`, with conditions on single events alone.

How a partial match can go on then depends on what is left of the pattern, and not on the events that it has. So all
partial matches that wait for the same are counted as one, and the ends of matches are enumerated from what they share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cepheid.language.bound import BoundQuery
from cepheid.language.structure import patterns
from cepheid.language.tree import Event, Not, Policy, Repeat, SkipMode
from cepheid.plan.automaton import Element
from cepheid.plan.pattern_terms import PatternTerms
from cepheid.plan.prefixes import has_prefixes
from cepheid.plan.references import is_single
from cepheid.plan.supported import MAX_ELEMENTS
from cepheid.plan.terms import Term, Way

MOST_STATES = 128
"""Counting costs a pass over the states for each event. The bound is chosen."""


class _Item(NamedTuple):
    """What a partial match waits for, and the NOTs that events since its last one have broken."""

    term: Term
    broken: frozenset[int] = frozenset()


_Key: TypeAlias = frozenset[_Item]


class _Onward(NamedTuple):
    """The states that lie behind one: element -> after its event; NOT -> after an event that breaks it (or none)."""

    steps: dict[int, _Key]
    passes: dict[int, _Key]

    def targets(self) -> Iterator[_Key]:
        """All of them."""
        yield from self.steps.values()
        yield from (target for target in self.passes.values() if target)


@dataclass(frozen=True)
class SharedState:
    """What partial matches wait for that can go on alike. No two of them bind the same events to the same variables.

    Attributes:
        steps: (element, the state after its event), in the order of the variables in the text.
        passes: (element under NOT, the state after its event has gone by; None: they are lost), where that is another.
        complete: those that have just come here are matches.
    """

    steps: tuple[tuple[int, int], ...]
    passes: tuple[tuple[int, int | None], ...]
    complete: bool


@dataclass(frozen=True)
class Shared:
    """The plan of such a query.

    Attributes:
        states: the first one is that of no event; where none are repeated, each stands before those that it leads to.
        variables: positive element -> the index of its variable in the order of the bound query.
        elements: all of them: the positive ones first, in the order of the text, then the negated ones.
    """

    states: tuple[SharedState, ...]
    variables: tuple[int, ...]
    elements: tuple[tuple[str, tuple[str, ...]], ...]

    def is_of(self, elements: tuple[Element, ...]) -> bool:
        """Whether the elements of an automaton have the same numbers."""
        return self.elements == tuple((element.variable, element.types) for element in elements)


def shared_plan(bound: BoundQuery) -> Shared | None:
    """The plan; None where conditions between events, or something else, ask for the partial matches one by one."""
    window = bound.window
    if bound.policy is not Policy.ANY or has_prefixes(bound) or bound.skip.mode is not SkipMode.NONE:
        return None
    if window.each_us is not None or window.each_events is not None or window.one_match:
        return None
    for node in patterns(bound.pattern):
        if isinstance(node, Repeat) and node.until is not None:
            return None
        if isinstance(node, Not) and not isinstance(node.part, Event):
            return None
    if any(conjunct.variables and not is_single(conjunct) for conjunct in bound.conjuncts):
        return None
    return _Exploring(bound).plan()


class _Exploring:
    def __init__(self, bound: BoundQuery) -> None:
        named = PatternTerms({})
        self.start = frozenset((_Item(named.term(bound.pattern)),))
        self.terms = named.terms
        names = list(bound.variables)
        self.elements = [(element.variable, element.types) for element in named.elements]
        self.variables = tuple(names.index(variable) for variable, _ in self.elements)
        self.n_positive = len(self.elements)
        for gap in named.gaps:
            assert isinstance(gap, Event)
            self.elements.append((str(gap.name), gap.types))

    def plan(self) -> Shared | None:
        """All states; None for a NOT at the start or at the end, and for more states than pay."""
        if len(self.elements) > MAX_ELEMENTS or self._gaps(self.start):
            return None
        found: dict[_Key, _Onward] = {}
        waiting = deque([self.start])
        while waiting:
            key = waiting.popleft()
            if key in found:
                continue
            steps = self._steps(key)
            if len(found) == MOST_STATES or self._alike(list(steps)):
                return None
            if any(way.gaps for way in self._ways(key) if way.element is None):
                return None
            passes = {gap: self._passed(key, gap) for gap in self._gaps(key)}
            found[key] = _Onward(steps, {gap: target for gap, target in passes.items() if target != key})
            waiting.extend(found[key].targets())
        numbers = {key: number for number, key in enumerate(self._in_order(found))}
        return Shared(
            states=tuple(self._state(key, found[key], numbers) for key in numbers),
            variables=self.variables,
            elements=tuple(self.elements),
        )

    def _state(self, key: _Key, onward: _Onward, numbers: dict[_Key, int]) -> SharedState:
        steps = sorted(onward.steps.items(), key=lambda step: (self.variables[step[0]], step[0]))
        return SharedState(
            steps=tuple((element, numbers[target]) for element, target in steps),
            passes=tuple(
                (self.n_positive + gap, numbers[target] if target else None) for gap, target in onward.passes.items()
            ),
            complete=key != self.start and any(way.element is None for way in self._ways(key)),
        )

    def _ways(self, key: _Key) -> Iterator[Way]:
        """The ways on that no broken NOT closes."""
        for item in key:
            yield from (way for way in self.terms.ways(item.term) if not item.broken.intersection(way.gaps))

    def _steps(self, key: _Key) -> dict[int, _Key]:
        """Element -> what is waited for once it has its event."""
        targets: dict[int, set[_Item]] = {}
        for way in self._ways(key):
            if way.element is not None:
                targets.setdefault(way.element, set()).add(_Item(way.rest))
        return {element: frozenset(items) for element, items in targets.items()}

    def _alike(self, elements: list[int]) -> bool:
        """Whether an event may fit two of some elements that bind one variable: its match would be counted twice."""
        for i, one in enumerate(elements):
            for other in elements[:i]:
                (variable, types), (same, others) = self.elements[one], self.elements[other]
                if variable == same and (not types or not others or set(types) & set(others)):
                    return True
        return False

    def _gaps(self, key: _Key) -> list[int]:
        """The NOTs that the ways on pass."""
        return sorted({gap for way in self._ways(key) for gap in way.gaps})

    def _passed(self, key: _Key, gap: int) -> _Key:
        """What is waited for when an event has gone by that breaks a NOT."""
        items = set()
        for item in key:
            ways = [way for way in self.terms.ways(item.term) if not item.broken.intersection(way.gaps)]
            if not any(gap in way.gaps for way in ways):
                items.add(item)
            elif any(gap not in way.gaps and way.element is not None for way in ways):
                items.add(_Item(item.term, item.broken | {gap}))
        return frozenset(items)

    def _in_order(self, found: dict[_Key, _Onward]) -> list[_Key]:
        """The states, the first one first, each before those that it leads to, where none are repeated."""
        finished: list[_Key] = []
        seen = {self.start}
        path = [(self.start, found[self.start].targets())]
        while path:
            key, further = path[-1]
            following = next((target for target in further if target not in seen), None)
            if following is None:
                finished.append(key)
                path.pop()
            else:
                seen.add(following)
                path.append((following, found[following].targets()))
        return finished[::-1]
