"""Every way in which events can fill a pattern: `any`, and what stands under NOT (SEMANTICS 2 and 3.1)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cepheid.language.bound import BoundQuery
from cepheid.language.structure import parts, patterns
from cepheid.language.tree import And, AnyOf, Event, Not, Or, Pattern, Repeat, Seq
from cepheid.testing.oracle_conditions import (
    NOTHING_MORE,
    Binding,
    Condition,
    Path,
    Reads,
    all_hold,
    choices,
    plain_ones_hold,
    reads_of,
    taken,
)
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.oracle_expressions import Evaluator
from cepheid.testing.oracle_pairs import Watch
from cepheid.testing.oracle_states import States, empty_of, group_numbers, names
from cepheid.testing.oracle_windows import Frame, Point, admits, at_event, near_enough


@dataclass(frozen=True)
class Problem:
    """A query, prepared.

    Attributes:
        bound: the query.
        evaluator: of its expressions.
        conditions: the conjuncts that name no negated variable.
        against: negated variable -> the conjuncts that name it.
        loops: variables that can have several elements.
        until: UNTIL condition's loop -> how the condition reads, the loop's own variable by ``b.x``.
        states: the ways on in its pattern.
        watch: is told of pairs of an event and a partial match, and may keep them apart.
    """

    bound: BoundQuery
    evaluator: Evaluator
    conditions: tuple[Condition, ...]
    against: Mapping[str, tuple[Condition, ...]]
    loops: frozenset[str]
    until: Mapping[Repeat, Reads]
    states: States
    watch: Watch = field(default_factory=Watch)


def prepared(bound: BoundQuery, evaluator: Evaluator, watch: Watch | None = None) -> Problem:
    """The query with what each condition reads."""
    conditions = [Condition(conjunct, reads_of(conjunct.expression)) for conjunct in bound.conjuncts]
    against: dict[str, tuple[Condition, ...]] = {}
    for condition in conditions:
        negated = condition.conjunct.negated
        if negated is not None:
            against[negated] = (*against.get(negated, ()), condition)
    until: dict[Repeat, Reads] = {}
    for node in patterns(bound.pattern):
        if isinstance(node, Repeat) and node.until is not None:
            reads = reads_of(node.until)
            single = dict.fromkeys((name_of(node.part), *reads.single))
            until[node] = Reads(tuple(single), reads.first, reads.whole, plain=False)
    return Problem(
        bound=bound,
        evaluator=evaluator,
        conditions=tuple(condition for condition in conditions if condition.conjunct.negated is None),
        against=against,
        loops=frozenset(name for name, variable in bound.variables.items() if variable.loop),
        until=until,
        states=States(group_numbers(bound.pattern)),
        watch=watch or Watch(),
    )


def name_of(element: Pattern) -> str:
    """The variable of an element; bind has given every element one."""
    assert isinstance(element, Event)
    assert element.name is not None
    return element.name


def takes(element: Event, event: OracleEvent) -> bool:
    """True where the element takes events of this type."""
    return not element.types or event.type in element.types


def until_holds(
    problem: Problem, loop: Repeat, tested: Binding, before: Sequence[Binding], empty: frozenset[str]
) -> bool:
    """True where the event of ``tested``, tried as an element of ``loop``, satisfies its UNTIL.

    Args:
        problem: the query.
        loop: the quantifier with the UNTIL.
        tested: the event, bound to the loop's variable.
        before: what the match has bound of earlier events.
        empty: variables that took nothing, of what stands before the loop.
    """
    assert loop.until is not None
    have = taken([*before, tested], empty, problem.loops)
    at = len(have.bound[tested.variable]) - 1
    tried = [
        problem.evaluator.value(loop.until, situation)
        for situation in choices(problem.until[loop], have, NOTHING_MORE)
        if situation.chosen[tested.variable] == at
    ]
    return bool(tried) and all(value is True for value in tried)


@dataclass(frozen=True)
class Opened:
    """A loop with UNTIL in an assignment: it opened after the event at ``after``, when ``empty`` had taken nothing."""

    loop: Repeat
    after: int
    path: Path
    empty: frozenset[str]


@dataclass(frozen=True)
class Assignment:
    """Events bound to a pattern, or to a part of it.

    Attributes:
        bindings: in the order in which they were found; what lies left of a NOT comes before what lies right.
        empty: variables of loops and optional parts that took nothing.
        nots: each NOT, with the number of bindings to its left.
        opened: loops with UNTIL.
    """

    bindings: tuple[Binding, ...] = ()
    empty: frozenset[str] = frozenset()
    nots: tuple[tuple[Not, int], ...] = ()
    opened: tuple[Opened, ...] = ()


@dataclass(frozen=True)
class Enumeration:
    """Enumerates the assignments of patterns to the events of a frame.

    Attributes:
        problem: the query.
        frame: where the events lie.
        stop: position before which they lie.
        conditions: those of which the plain ones prune the search.
    """

    problem: Problem
    frame: Frame
    stop: int
    conditions: Sequence[Condition]

    def of(
        self, node: Pattern, have: Assignment, after: int, path: Path = (), beside: frozenset[str] = frozenset()
    ) -> Iterator[Assignment]:
        """``have`` with ``node`` bound to events after position ``after``, in every way."""
        match node:
            case Event():
                yield from self._element(node, have, after, path)
            case Not():
                yield Assignment(have.bindings, have.empty, (*have.nots, (node, len(have.bindings))), have.opened)
            case Seq():
                yield from self._sequence(node.parts, have, after, path, beside)
            case And():
                yield from self._all(node.parts, have, after, path, beside)
            case Or():
                for part in node.parts:
                    yield from self.of(part, have, after, path, beside)
            case AnyOf():
                for chosen in itertools.combinations(node.parts, node.count):
                    yield from self._all(chosen, have, after, path, beside)
            case Repeat():
                if node.until is not None:
                    opened = (*have.opened, Opened(node, after, path, have.empty - beside))
                    have = Assignment(have.bindings, have.empty, have.nots, opened)
                yield from self._repeat(node, have, after, path, beside, 0)

    def _element(self, node: Event, have: Assignment, after: int, path: Path) -> Iterator[Assignment]:
        for position in range(after + 1, self.stop):
            event = self.frame.stream[position]
            if not takes(node, event) or any(binding.position == position for binding in have.bindings):
                continue
            new = Binding(position, name_of(node), event, path)
            if not all(near_enough(self.problem.bound.window, new, other) for other in have.bindings):
                continue
            bindings = (*have.bindings, new)
            so_far = taken(bindings, have.empty, self.problem.loops)
            if plain_ones_hold(self.conditions, so_far, new, self.problem.evaluator):
                yield Assignment(bindings, have.empty, have.nots, have.opened)

    def _sequence(
        self, parts: Sequence[Pattern], have: Assignment, after: int, path: Path, beside: frozenset[str]
    ) -> Iterator[Assignment]:
        if not parts:
            yield have
            return
        for found in self.of(parts[0], have, after, path, beside):
            yield from self._sequence(parts[1:], found, _last(found, have, after), path, beside)

    def _all(
        self, parts: Sequence[Pattern], have: Assignment, after: int, path: Path, beside: frozenset[str]
    ) -> Iterator[Assignment]:
        if not parts:
            yield have
            return
        for found in self.of(parts[0], have, after, path, beside):
            # What is empty in the end could still take something while the parts beside it are read.
            yield from self._all(parts[1:], found, after, path, beside | names(parts[0]))

    def _repeat(
        self, node: Repeat, have: Assignment, after: int, path: Path, beside: frozenset[str], n_done: int
    ) -> Iterator[Assignment]:
        if n_done >= node.minimum:
            empty = have.empty | empty_of(node, n_done)
            yield Assignment(have.bindings, empty, have.nots, have.opened)
        if node.maximum is None or n_done < node.maximum:
            inner = self.problem.states.inner(path, node, n_done)
            for found in self.of(node.part, have, after, inner, beside):
                # An iteration that takes nothing leads nowhere, but towards the lower bound.
                if found.bindings != have.bindings or n_done < node.minimum:
                    yield from self._repeat(node, found, _last(found, have, after), path, beside, n_done + 1)


def _last(found: Assignment, have: Assignment, after: int) -> int:
    """The position after which the next part lies."""
    return max([after, *(binding.position for binding in found.bindings[len(have.bindings) :])])


def in_order(bindings: Sequence[Binding]) -> tuple[Binding, ...]:
    """The bindings in the order of their events."""
    return tuple(sorted(bindings))


def stays_open(problem: Problem, frame: Frame, found: Assignment) -> bool:
    """True where no loop with UNTIL has an element at or after the event that closes it."""
    ordered = in_order(found.bindings)
    for opened in found.opened:
        variable = name_of(opened.loop.part)
        elements = [b.position for b in ordered if b.variable == variable and b.path == opened.path]
        if not elements:
            continue
        # A loop that nothing precedes opens with the match's first event.
        for position in range(max(opened.after + 1, ordered[0].position), elements[-1] + 1):
            tested = Binding(position, variable, frame.stream[position], opened.path)
            before = [binding for binding in ordered if binding.position < position]
            if until_holds(problem, opened.loop, tested, before, opened.empty):
                return False
    return True


def standing_before(pattern: Pattern, negated: Not) -> frozenset[str] | None:
    """The variables that stand before a NOT, in parts that are read one after the other; None: it is not in there."""
    if pattern is negated:
        return frozenset()
    before: frozenset[str] = frozenset()
    for part in () if isinstance(pattern, Event | Not) else parts(pattern):
        found = standing_before(part, negated)
        if found is not None:
            return before | found
        if isinstance(pattern, Seq):
            before |= names(part)
    return None


def broken(
    problem: Problem,
    frame: Frame,
    negated: Not,
    bindings: Sequence[Binding],
    n_left: int,
    empty: frozenset[str],
) -> Point | None:
    """The first moment at which a match of what stands under NOT lies in its gap; None if none does.

    Args:
        problem: the query.
        frame: where the events lie.
        negated: the NOT.
        bindings: of the match, in the order of the events.
        n_left: how many of them lie left of the NOT.
        empty: variables of the match that took nothing.
    """
    left = bindings[n_left - 1].position if n_left else frame.first - 1
    right = bindings[n_left].position if n_left < len(bindings) else frame.stop
    against = [condition for name in names(negated.part) for condition in problem.against.get(name, ())]
    enumeration = Enumeration(problem, frame, right, against)
    moments: list[Point] = []
    # While the gap is read, what stands behind it is not empty yet.
    later = names(problem.bound.pattern) - (standing_before(problem.bound.pattern, negated) or frozenset())
    for found in enumeration.of(negated.part, Assignment(tuple(bindings), empty), left, (), later):
        together = in_order(found.bindings)
        have = taken(together, found.empty, problem.loops)
        if (
            admits(problem.bound.window, together)
            and all_hold(against, have, NOTHING_MORE, problem.evaluator)
            and stays_open(problem, frame, found)
        ):
            moments.append(at_event(max(found.bindings[len(bindings) :]).event))
    return min(moments, default=None)
