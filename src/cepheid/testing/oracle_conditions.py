"""Which conditions hold for the events that a match has bound so far (SEMANTICS 4)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cepheid.language.bound import Conjunct
from cepheid.language.tree import Aggregate, At, Attribute, Expression, Node, children
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.oracle_expressions import ABSENT, Absent, Evaluator

Path: TypeAlias = tuple[tuple[int, int], ...]
"""(repeated group, iteration), from the outermost group in: where in the loops an event was taken."""

LATER = -1
"""The number of every iteration that has not begun."""

Future: TypeAlias = frozenset[tuple[str, Path]]
"""What may still be bound: variables, each with the iteration in which that would be."""

NOTHING_MORE: Future = frozenset()


class Binding(NamedTuple):
    """An event in its place.

    Attributes:
        position: of the event in its partition, counted before any filter.
        variable: what it is bound to.
        path: the iterations of repeated groups that it belongs to.
    """

    position: int
    variable: str
    event: OracleEvent
    path: Path


def compatible(one: Path, other: Path) -> bool:
    """True unless the two lie in different iterations of one group."""
    iterations = dict(one)
    return all(iterations.get(group, iteration) == iteration for group, iteration in other)


@dataclass(frozen=True)
class Reads:
    """How a condition reads its variables.

    Attributes:
        single: by ``b.x`` or ``prev(b).x``: the condition is for each element of these.
        first: by ``first(b).x``.
        whole: by ``last(b).x`` or an aggregate.
        plain: by ``b.x`` and nothing else.
    """

    single: tuple[str, ...]
    first: frozenset[str]
    whole: frozenset[str]
    plain: bool


@dataclass(frozen=True)
class Condition:
    """A conjunct with what it reads."""

    conjunct: Conjunct
    reads: Reads

    @property
    def expression(self) -> Expression:
        """The condition itself."""
        return self.conjunct.expression


def reads_of(expression: Expression) -> Reads:
    """How ``expression`` reads its variables."""
    found: list[tuple[str, At | None]] = []

    def visit(node: Node) -> None:
        if isinstance(node, Aggregate):
            found.append((node.variable, None))
            return
        if isinstance(node, Attribute) and node.variable is not None:
            found.append((node.variable, node.at))
        for child in children(node):
            visit(child)

    visit(expression)
    return Reads(
        single=tuple(dict.fromkeys(name for name, at in found if at in (At.EACH, At.PREV))),
        first=frozenset(name for name, at in found if at is At.FIRST),
        whole=frozenset(name for name, at in found if at is None or at is At.LAST),
        plain=all(at is At.EACH for _, at in found),
    )


@dataclass(frozen=True)
class Taken:
    """What is bound, by variable.

    Attributes:
        bound: variable -> its bindings in the order of the events.
        empty: variables of loops and optional parts that took nothing on a taken branch.
        loops: variables that can have several elements.
    """

    bound: Mapping[str, Sequence[Binding]]
    empty: frozenset[str]
    loops: frozenset[str]


def taken(bindings: Iterable[Binding], empty: frozenset[str], loops: frozenset[str]) -> Taken:
    """The bindings by variable."""
    bound: dict[str, list[Binding]] = {}
    for binding in sorted(bindings, key=lambda binding: binding.position):
        bound.setdefault(binding.variable, []).append(binding)
    return Taken(bound, empty, loops)


@dataclass(frozen=True)
class Situation:
    """The scope of a condition: what is bound, and the element of each variable that it is tried for.

    Attributes:
        taken: what is bound.
        chosen: variable read by ``b.x`` or ``prev(b).x`` -> the index of the element; None for none.
    """

    taken: Taken
    chosen: Mapping[str, int | None]

    def event(self, variable: str | None, at: At) -> OracleEvent | Absent:
        """The event that ``b.x``, ``first(b).x``, ``last(b).x`` or ``prev(b).x`` reads."""
        assert variable is not None
        if at in (At.FIRST, At.LAST):
            events = self._before(variable)
            if not events:
                return ABSENT
            return events[0 if at is At.FIRST else -1].event
        index = self.chosen[variable]
        if index is None or (at is At.PREV and index == 0):
            return ABSENT
        return self.taken.bound[variable][index - (at is At.PREV)].event

    def elements(self, variable: str) -> Sequence[OracleEvent] | Absent:
        """All elements; those before the chosen one where the condition reads a single element too."""
        events = self._before(variable)
        if not events and (self._is_taken(variable) or variable not in self.taken.empty):
            return ABSENT
        return [binding.event for binding in events]

    def _is_taken(self, variable: str) -> bool:
        """Whether a variable is not empty: in an iteration without it, as far as it is known there."""
        bound = self.taken.bound
        if variable not in self.chosen or self.chosen[variable] is not None:
            return variable in bound
        groups = {group for binding in bound.get(variable, ()) for group, _ in binding.path}
        chosen = [bound[name][index] for name, index in self.chosen.items() if index is not None]
        here = [one.position for one in chosen if groups & {group for group, _ in one.path}]
        return any(not here or binding.position < min(here) for binding in bound.get(variable, ()))

    def _before(self, variable: str) -> Sequence[Binding]:
        """What an aggregate, first or last reads; empty where there is nothing."""
        all_of_it = self.taken.bound.get(variable, ())
        if variable in self.chosen and variable in self.taken.loops:
            return all_of_it[: self.chosen[variable] or 0]
        return all_of_it


def choices(reads: Reads, have: Taken, future: Future) -> Iterator[Situation]:
    """The situations in which a condition can be tested now: all combinations of elements, one of each
    variable that is read by ``b.x``, within one iteration of the groups that they share.

    A variable without an element is left out only where none fits and none can come any more.
    """
    for name in reads.first:
        if name not in reads.single and name not in have.bound and any(name == later for later, _ in future):
            return
    for name in reads.whole:
        running = name in reads.single and name in have.loops
        if not running and any(name == later for later, _ in future):
            return
    options: list[list[int | None]] = []
    for name in reads.single:
        elements = have.bound.get(name, ())
        options.append(list(range(len(elements))))
        if not elements or any(binding.path for binding in elements):
            options[-1].append(None)
    for combination in itertools.product(*options):
        chosen = dict(zip(reads.single, combination, strict=True))
        paths = [have.bound[name][index].path for name, index in chosen.items() if index is not None]
        if not all(compatible(one, other) for one, other in itertools.combinations(paths, 2)):
            continue
        lacking = [name for name, index in chosen.items() if index is None]
        could_be = [(name, binding.path) for name in lacking for binding in have.bound.get(name, ())]
        could_be += [(name, path) for name, path in future if name in lacking]
        if any(all(compatible(path, other) for other in paths) for _, path in could_be):
            continue
        yield Situation(have, chosen)


def all_hold(conditions: Iterable[Condition], have: Taken, future: Future, evaluator: Evaluator) -> bool:
    """True where every condition holds, as far as it can be tested."""
    return all(
        evaluator.holds(condition.expression, situation)
        for condition in conditions
        for situation in choices(condition.reads, have, future)
    )


def plain_ones_hold(conditions: Iterable[Condition], have: Taken, new: Binding, evaluator: Evaluator) -> bool:
    """False where a condition that reads only ``b.x`` fails for ``new`` beside what is bound already.

    It fails for good then, whatever else is bound: enumeration need not go on.
    """
    for condition in conditions:
        names = condition.reads.single
        if not condition.reads.plain or new.variable not in names or not all(name in have.bound for name in names):
            continue
        for situation in choices(condition.reads, have, NOTHING_MORE):
            chosen = [(name, index) for name, index in situation.chosen.items() if index is not None]
            concerned = len(chosen) == len(names) and any(have.bound[name][index] == new for name, index in chosen)
            if concerned and not evaluator.holds(condition.expression, situation):
                return False
    return True
