"""UNTIL in an automaton of `plan.graph`: what closes a loop is kept as a NOT's events are, and tested on its edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.plan.automaton import Absence, Anchor, Element, Reads, Situation, Test
from cepheid.plan.pattern_terms import PatternTerms
from cepheid.plan.terms import CURRENT, LATER, Way
from cepheid.plan.until import Until, loop_variable, until_of


class GraphUntil:
    """The loops with UNTIL of a pattern.

    Attributes:
        elements: one for each such loop: the events that close it, as far as one event tells.
        variables: the same as variables.
    """

    def __init__(self, bound: BoundQuery, named: PatternTerms, numbers: Mapping[str, int], *, strict: bool) -> None:
        """Begin.

        Args:
            bound: the query.
            named: its pattern.
            numbers: of the variables of the pattern, those under NOT among them.
            strict: the query is strict throughout.
        """
        self._query, self._numbers, self._groups = bound, numbers, named.groups
        self._loop_of = named.loop_of
        self._loops = [loop_variable(loop) for loop in named.loops]
        self._first_gap, self._first_variable = len(named.gaps), len(numbers)
        self._strict = strict
        self._untils: list[Until] = []
        self._types = dict(bound.types)
        for number, loop in enumerate(named.loops):
            until, new = until_of(loop, f"#until{number}", bound.types)
            self._untils.append(until)
            self._types.update(new)
        first = len(named.elements) + len(named.gaps)
        self.elements = [
            Element(first + i, until.variable, (), until.alone, negated=True) for i, until in enumerate(self._untils)
        ]
        self.variables = [
            Element(len(numbers) + i, until.variable, (), (), negated=True) for i, until in enumerate(self._untils)
        ]

    @property
    def bound(self) -> BoundQuery:
        """The query, with the types of what its UNTILs read as far as they have been asked for."""
        return replace(self._query, types=self._types)

    def absences(self, way: Way, last: int | None) -> tuple[Absence, ...]:
        """What must hold for a loop with UNTIL to take an event: it has not been closed.

        Args:
            way: which takes the event, or to the end of the pattern.
            last: the variable bound last before it; None for none.
        """
        number = None if way.element is None else self._loop_of.get(way.element)
        if number is None:
            return ()
        until = self._untils[number]
        if last is None:
            first = until.at_start(way.empty, self._types, self._types)
            if first is False:
                return ()
            return (self._absence(number, None if first is True else first, None, Reads.CURRENT, way),)
        return (self._absence(number, until.rest, last, Reads.CURRENT if self._strict else Reads.TO_CURRENT, way),)

    def closers(self, ways: Iterable[Way], last: int) -> tuple[Absence, ...]:
        """What is broken, each of them, once a partial match can go on in none of these ways.

        Args:
            ways: to the events that it could take.
            last: the variable bound last.

        Returns:
            none where one of them is in no loop with UNTIL.
        """
        found: list[Absence] = []
        for way in ways:
            number = None if way.element is None else self._loop_of.get(way.element)
            if number is None:
                return ()
            absence = self._absence(number, self._untils[number].rest, last, Reads.BETWEEN, way)
            if absence not in found:
                found.append(absence)
        return tuple(found)

    def _absence(self, number: int, condition: Conjunct | None, last: int | None, reads: Reads, way: Way) -> Absence:
        variable = self._first_variable + number
        loop = self._loops[number]
        around = {group: LATER if group in way.begins else CURRENT for group in self._groups[loop]}
        situation = Situation(
            skipped=frozenset(self._numbers[name] for name in way.empty),
            negated=variable,
            last=last,
            made=True,
            closing=self._numbers[loop],
            around=frozenset(around.items()),
        )
        return Absence(
            negated=variable,
            left=Anchor.LAST_TAKEN,
            right=Anchor.OPEN if reads is Reads.BETWEEN else Anchor.CURRENT,
            tests=() if condition is None else (Test(condition, situation),),
            fatal=reads is Reads.TO_CURRENT,
            gap=self._first_gap + number,
            reads=reads,
        )
