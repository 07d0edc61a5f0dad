"""UNTIL in an automaton of `plan.graph`: what closes a loop is kept as a NOT's events are, and tested on its edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cepheid.events.types import DataType
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.tree import Expression, Policy
from cepheid.plan.automaton import Absence, Anchor, Element, Reads, Situation, Test
from cepheid.plan.pattern_terms import PatternTerms
from cepheid.plan.until import Until, until_of


class GraphUntil:
    """The loops with UNTIL of a pattern.

    Attributes:
        bound: the query, with the types of what its UNTILs read.
        elements: one for each such loop: the events that close it, as far as one event tells.
        variables: the same as variables.
    """

    def __init__(self, bound: BoundQuery, named: PatternTerms, n_variables: int) -> None:
        """Begin.

        Args:
            bound: the query.
            named: its pattern.
            n_variables: the variables of the pattern, those under NOT among them.
        """
        self._loop_of = named.loop_of
        self._first_gap, self._first_variable = len(named.gaps), n_variables
        self._strict = bound.policy is Policy.STRICT
        self._untils: list[Until] = []
        types: dict[Expression, DataType] = {}
        for number, loop in enumerate(named.loops):
            until, new = until_of(loop, f"#until{number}", bound.types)
            self._untils.append(until)
            types.update(new)
        self.bound = replace(bound, types={**bound.types, **types}) if types else bound
        first = len(named.elements) + len(named.gaps)
        self.elements = [
            Element(first + i, until.variable, (), until.alone, negated=True) for i, until in enumerate(self._untils)
        ]
        self.variables = [
            Element(n_variables + i, until.variable, (), (), negated=True) for i, until in enumerate(self._untils)
        ]

    def absences(self, element: int | None, last: int | None) -> tuple[Absence, ...]:
        """What must hold for a loop with UNTIL to take an event: it has not been closed.

        Args:
            element: that takes the event; None for the end of the pattern.
            last: the variable bound last before it; None for none.
        """
        number = None if element is None else self._loop_of.get(element)
        if number is None:
            return ()
        until = self._untils[number]
        if last is None:
            return (self._absence(number, until.first, None, Reads.CURRENT),) if until.at_start else ()
        return (self._absence(number, until.rest, last, Reads.CURRENT if self._strict else Reads.TO_CURRENT),)

    def closers(self, elements: Iterable[int | None], last: int) -> tuple[Absence, ...]:
        """What is broken, each of them, once a partial match can go on with none of these elements.

        Args:
            elements: those that could take an event.
            last: the variable bound last.

        Returns:
            none where one of them is in no loop with UNTIL.
        """
        numbers = []
        for element in elements:
            number = None if element is None else self._loop_of.get(element)
            if number is None:
                return ()
            numbers.append(number)
        return tuple(
            self._absence(number, self._untils[number].rest, last, Reads.BETWEEN) for number in dict.fromkeys(numbers)
        )

    def _absence(self, number: int, condition: Conjunct | None, last: int | None, reads: Reads) -> Absence:
        variable = self._first_variable + number
        situation = Situation(negated=variable, last=last, made=True)
        return Absence(
            negated=variable,
            left=Anchor.LAST_TAKEN,
            right=Anchor.OPEN if reads is Reads.BETWEEN else Anchor.CURRENT,
            tests=() if condition is None else (Test(condition, situation),),
            fatal=reads is Reads.TO_CURRENT,
            gap=self._first_gap + number,
            reads=reads,
        )
