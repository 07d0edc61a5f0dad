"""The states that a pattern can reach: the variable bound last, and what is left of the pattern."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from cepheid.language.tree import Not, Pattern
from cepheid.plan.residuals import Element, Residual, Step, residual_of, steps

N_MAX_STATES = 60
"""States beyond this number are not drawn."""

N_READABLE = 24
"""A pattern with more states than this is drawn more coarsely, if that makes them fewer."""


class Detail(Enum):
    """How much of a pattern its states tell apart."""

    FULL = "full"
    COARSE = "coarse"  # `residual_of(..., coarse=True)`: the full form has more states than are easy to read
    CUT = "cut"  # even of the coarse form, states are missing


@dataclass(frozen=True, slots=True)
class Point:
    """A state.

    Attributes:
        element: what took the last event; None before any, and where ``counted`` tells instead.
        residual: what is left of the pattern.
        counted: so many events have come, of so many, in whatever order (see `Counted`); or None.
    """

    element: Element | None
    residual: Residual
    counted: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Arc:
    """A way to take an event.

    Attributes:
        source, target: indexes of points.
        elements: what may take it: one element, or one of several that stand for each other in a coarse form; as they
            stand in the pattern, whether they have begun or not.
        crossed: the NOTs whose gap it ends.
        passed: the variables of loops and optional parts that it leaves behind.
        rounds: the repeated groups of which it begins an iteration, by number, on every way that it stands for.
    """

    source: int
    target: int
    elements: tuple[Element, ...]
    crossed: tuple[Not, ...]
    passed: frozenset[str]
    rounds: frozenset[int]


@dataclass(frozen=True)
class Graph:
    """Points and arcs.

    Attributes:
        points: the initial one first; every other stands behind one that leads to it.
        arcs: by their source, and for one source in the order of the text.
    """

    points: tuple[Point, ...]
    arcs: tuple[Arc, ...]
    detail: Detail

    def possibly_bound(self, group: int | None = None) -> tuple[frozenset[str], ...]:
        """For each point, the variables that have an event on some way to it.

        Args:
            group: the number of a repeated group: only what its last iteration has bound counts.
        """
        return self._spread(
            [frozenset(element.name for element in arc.elements) for arc in self.arcs],
            [group in arc.rounds for arc in self.arcs],
        )

    def possibly_empty(self) -> tuple[frozenset[str], ...]:
        """For each point, the variables of loops and optional parts that some way to it passes by."""
        return self._spread([arc.passed for arc in self.arcs], [False for _ in self.arcs])

    def _spread(self, added: Sequence[frozenset[str]], forgets: Sequence[bool]) -> tuple[frozenset[str], ...]:
        found = [frozenset[str]() for _ in self.points]
        changed = True
        while changed:
            changed = False
            for arc, new, forget in zip(self.arcs, added, forgets, strict=True):
                kept = frozenset[str]() if forget else found[arc.source]
                there = found[arc.target] | kept | new
                changed = changed or there != found[arc.target]
                found[arc.target] = there
        return tuple(found)


def reachable(pattern: Pattern) -> Graph:
    """The states of a pattern of a bound query.

    Where they are more than `N_READABLE`, AND and ANY of plain elements count their events instead of naming them,
    and the iterations of groups are not counted, if that helps; where they still are more than `N_MAX_STATES`, those
    nearest to the start are kept.
    """
    explored, detail = _explored(residual_of(pattern)), Detail.FULL
    if len(explored.points) > N_READABLE:
        coarse = _explored(residual_of(pattern, coarse=True))
        if len(coarse.points) < len(explored.points) or not explored.is_complete:
            explored, detail = coarse, Detail.COARSE
    return _ordered(explored, detail if explored.is_complete else Detail.CUT)


@dataclass(frozen=True)
class _Explored:
    points: Sequence[Point]
    arcs: Sequence[Arc]
    is_complete: bool


_Key: TypeAlias = tuple[Hashable, Residual]


def _explored(start: Residual) -> _Explored:
    points = [Point(None, start)]
    numbers: dict[_Key, int] = {(None, start): 0}
    arcs: dict[tuple[int, int, Hashable], Arc] = {}
    waiting = deque([0])
    is_complete = True
    while waiting:
        source = waiting.popleft()
        for step in steps(points[source].residual):
            key = (step.counted or step.element.name, step.residual)
            if key not in numbers:
                if len(points) == N_MAX_STATES:
                    is_complete = False
                    continue
                numbers[key] = len(points)
                waiting.append(len(points))
                points.append(Point(None if step.counted else step.element, step.residual, step.counted))
            _add(arcs, source, numbers[key], step)
    return _Explored(points, list(arcs.values()), is_complete)


def _add(arcs: dict[tuple[int, int, Hashable], Arc], source: int, target: int, step: Step) -> None:
    """Add the arc of a step: to the one that there is, where both do the same or stand for each other."""
    element = replace(step.element, begun=False)
    key = (source, target, None if step.counted else element)
    known = arcs.get(key, Arc(source, target, (), (), frozenset(), step.rounds))
    arcs[key] = replace(
        known,
        elements=known.elements if element in known.elements else (*known.elements, element),
        crossed=tuple(dict.fromkeys(known.crossed + step.crossed)),
        passed=known.passed | step.passed,
        rounds=known.rounds & step.rounds,
    )


def _ordered(explored: _Explored, detail: Detail) -> Graph:
    """The points so that, loops apart, each stands before those that it leads to; the first of the text first."""
    onward: dict[int, list[Arc]] = {index: [] for index in range(len(explored.points))}
    for arc in explored.arcs:
        onward[arc.source].append(arc)
    finished: list[int] = []
    seen = {0}
    path: list[tuple[int, Iterator[Arc]]] = [(0, reversed(onward[0]))]
    while path:
        index, further = path[-1]
        following = next((arc.target for arc in further if arc.target not in seen), None)
        if following is None:
            finished.append(index)
            path.pop()
        else:
            seen.add(following)
            path.append((following, reversed(onward[following])))
    order = finished[::-1]
    numbers = {index: number for number, index in enumerate(order)}
    arcs = [
        replace(arc, source=numbers[arc.source], target=numbers[arc.target]) for index in order for arc in onward[index]
    ]
    return Graph(tuple(explored.points[index] for index in order), tuple(arcs), detail)
