"""On which steps of a pattern its conditions are tested (SEMANTICS 4.1 to 4.3).

A condition is tested on the step after which nothing that it reads can change: when the last of its variables takes
its event (for each element of a loop), or, where it reads a finished loop by an aggregate or by ``last``, when the
loop is left. Conditions that a step cannot decide, because all that they compare is absent there, are not named.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.structure import places
from cepheid.language.tree import Conjunction, Disjunction, Expression, Negation, Not
from cepheid.plan.reachable import Arc, Graph
from cepheid.plan.references import Reference, references
from cepheid.plan.residuals import Residual, crossed_at_end, names, nullable, pending


@dataclass(frozen=True)
class Guard:
    """A NOT in a gap of the pattern.

    Attributes:
        source, target: the points on either side, as indexes; equal for a NOT at the end of the pattern.
        conditions: what the events that must not come would have to satisfy.
        awaited: the variables that these name and that are bound only later; the NOT is tested then.
    """

    source: int
    target: int
    negation: Not
    conditions: tuple[Conjunct, ...]
    awaited: frozenset[str]


@dataclass(frozen=True)
class Moments:
    """Where the conditions are tested; each list in the order of WHERE.

    Attributes:
        on_arcs: for each arc of the graph, the conditions that are tested as it is taken.
        at_ends: for each point at which a match may end, those that only its end decides.
        guards: the NOTs, with the conditions on what must not come.
    """

    on_arcs: tuple[tuple[Conjunct, ...], ...]
    at_ends: Mapping[int, tuple[Conjunct, ...]]
    guards: tuple[Guard, ...]


def moments(bound: BoundQuery, graph: Graph, conjuncts: Sequence[Conjunct]) -> Moments:
    """Where ``conjuncts`` are tested.

    Args:
        bound: the query.
        graph: of its pattern.
        conjuncts: those of its conditions that the engine tests.
    """
    readers = [_Reader(bound, conjunct) for conjunct in conjuncts if conjunct.variables]
    positive = [reader for reader in readers if reader.conjunct.negated is None]
    groups = {group for variable in bound.variables.values() for group in variable.groups}
    filled, empty = graph.possibly_bound(), graph.possibly_empty()
    of_groups = {group: graph.possibly_bound(group) for group in groups}

    def known(arc: Arc, taken: str) -> _Known:
        return _Known(
            filled=filled[arc.source] | {taken},
            empty=empty[arc.source] | arc.passed,
            in_iteration={
                group: (frozenset() if group in arc.rounds else found[arc.source]) | {taken}
                for group, found in of_groups.items()
            },
            taken=taken,
            is_first=taken not in filled[arc.source],
        )

    def on(arc: Arc) -> tuple[Conjunct, ...]:
        source, target = graph.points[arc.source].residual, graph.points[arc.target].residual
        return tuple(
            reader.conjunct
            for reader in positive
            if any(
                reader.is_tested(source, target, element.name) and reader.says_something(known(arc, element.name))
                for element in arc.elements
            )
        )

    def at_end(index: int) -> tuple[Conjunct, ...]:
        residual = graph.points[index].residual
        in_iteration = {group: found[index] for group, found in of_groups.items()}
        ended = _Known(filled[index], empty[index] | names(residual), in_iteration)
        return tuple(
            reader.conjunct for reader in positive if not reader.is_settled(residual) and reader.says_something(ended)
        )

    def guard(source: int, target: int, negation: Not, there: frozenset[str], later: frozenset[str]) -> Guard:
        absent = frozenset(place.name for place in places(negation))
        known = _Known(there | later | absent, empty[target] | later)
        found = tuple(
            reader.conjunct for reader in readers if reader.conjunct.negated in absent and reader.says_something(known)
        )
        return Guard(source, target, negation, found, later & {name for c in found for name in c.variables})

    guards = []
    for arc in graph.arcs:
        there = filled[arc.source] | {element.name for element in arc.elements}
        later = names(graph.points[arc.target].residual)
        guards += [guard(arc.source, arc.target, negation, there, later) for negation in arc.crossed]
    ends = [index for index, point in enumerate(graph.points) if nullable(point.residual)]
    for index in ends:
        at_its_end = crossed_at_end(graph.points[index].residual)
        guards += [guard(index, index, negation, filled[index], frozenset()) for negation in at_its_end]
    return Moments(
        on_arcs=tuple(on(arc) for arc in graph.arcs),
        at_ends={index: at_end(index) for index in ends},
        guards=tuple(guards),
    )


@dataclass(frozen=True)
class _Known:
    """What is known of the variables at some moment.

    Attributes:
        filled: those that may have an event.
        empty: those that may have taken none, on a branch that was taken.
        in_iteration: repeated group -> those that may have an event in its last iteration; empty if unknown.
        taken: the one that takes an event now, or None.
        is_first: it has had none before.
    """

    filled: frozenset[str]
    empty: frozenset[str]
    in_iteration: Mapping[int, frozenset[str]] = field(default_factory=dict)
    taken: str | None = None
    is_first: bool = False


class _Reader:
    """A condition, and how it reads its variables."""

    def __init__(self, bound: BoundQuery, conjunct: Conjunct) -> None:
        self.conjunct = conjunct
        self.references = references(conjunct.expression)
        self.variables = bound.variables
        self.whole = frozenset(name for name, reference in self.references.items() if self._is_whole(reference))

    def _is_running(self, reference: Reference) -> bool:
        """Aggregates run over the elements before the one that the condition names as well."""
        own = self.references[reference.variable]
        return own.single and self.variables[reference.variable].loop

    def _is_whole(self, reference: Reference) -> bool:
        """The variable is read when it takes no more."""
        return (reference.aggregated or reference.last) and not self._is_running(reference)

    def is_settled(self, residual: Residual, taken: str | None = None) -> bool:
        """Whether nothing that the condition reads can change in ``residual``, once ``taken`` has an event."""
        later = pending(residual) - {taken}
        return not (self.references.keys() & later) and not (self.whole & names(residual))

    def is_tested(self, source: Residual, target: Residual, taken: str) -> bool:
        """Whether the step from ``source`` to ``target``, by an event for ``taken``, decides the condition."""
        if not self.is_settled(target, taken):
            return False
        reference = self.references.get(taken)
        return (reference is not None and reference.single) or not self.is_settled(source)

    def says_something(self, known: _Known) -> bool:
        """Whether some comparison of the condition is not absent, as far as is known."""
        return any(
            all(self._is_there(reference, known) for reference in read.values())
            and all(self._meet(*pair, known) for pair in itertools.combinations(read.values(), 2))
            for read in map(references, _atoms(self.conjunct.expression))
        )

    def _is_there(self, reference: Reference, known: _Known) -> bool:
        name = reference.variable
        if name == known.taken and known.is_first and (reference.prev or self._is_late(reference)):
            return False
        if reference.aggregated and not (reference.single or reference.first or reference.last):
            return name in known.filled or name in known.empty
        return name in known.filled

    def _meet(self, one: Reference, other: Reference, known: _Known) -> bool:
        """Whether two variables are in one iteration of the groups that they share, where they are read so."""
        groups = self.variables[one.variable].groups, self.variables[other.variable].groups
        shared = [group for group in groups[0] if group in groups[1]]
        if not (shared and one.single and other.single):
            return True
        taken = self.references.get(known.taken or "")
        if taken is not None and taken.single and shared[-1] not in self.variables[taken.variable].groups:
            return True  # what comes after the group is compared with all of its iterations
        here = known.in_iteration.get(shared[-1])
        return here is None or {one.variable, other.variable} <= here

    def _is_late(self, reference: Reference) -> bool:
        """Whether it reads the elements before the one that is taken, of which there are none for the first."""
        return self._is_running(reference) and (reference.aggregated or reference.first or reference.last)


def _atoms(condition: Expression) -> list[Expression]:
    match condition:
        case Conjunction() | Disjunction():
            return [atom for operand in condition.operands for atom in _atoms(operand)]
        case Negation():
            return _atoms(condition.operand)
        case _:
            return [condition]
