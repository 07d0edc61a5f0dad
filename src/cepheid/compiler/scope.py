"""Where the operands of a condition find their events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.compiler.registers import Registers
from cepheid.kernels import layout as k
from cepheid.language.tree import At
from cepheid.plan.absent_groups import BEFORE, FIRST, FIRST_BEFORE, LAST, NUMBER, OWN
from cepheid.plan.automaton import Element, Situation
from cepheid.plan.references import Reference

LAST_EVENT = -1
"""As the argument of an operand of the row: the event it took last; `tables` puts the field in its place."""


@dataclass(frozen=True)
class Operand:
    """Where a leaf's event comes from: a source of `layout`, and its argument."""

    source: int
    argument: int = 0

    @property
    def pair(self) -> tuple[int, int]:
        """Both."""
        return self.source, self.argument


class Scope:
    """Where each variable's event is found in one test."""

    def __init__(
        self,
        elements: Mapping[str, Element],
        registers: Registers,
        situation: Situation,
        read: Mapping[str, Reference],
    ) -> None:
        """Find out which loops the test goes over, element by element.

        Args:
            elements: by variable.
            registers: give out what the operands need.
            situation: when the condition is tested.
            read: how it reads each of its variables.
        """
        self.elements = elements
        self.registers = registers
        self.situation = situation
        self.references = read
        self.iterated: list[int] = []
        self.firsts: dict[int, int] = {}
        for name, reference in read.items():
            element = elements[name]
            if element.negated or not element.loop or self.is_gone(element):
                continue
            if reference.single and (situation.made or element.index != situation.current):
                self.iterated.append(element.index)

    def is_gone(self, element: Element) -> bool:
        """Whether an element has no event and gets none; one that is repeated may have had some before."""
        return element.index in self.situation.skipped and not (element.loop and element.groups)

    def where_empty(self, element: Element) -> int:
        """When a loop is empty of which the row that is tested has no element, and knows nothing else."""
        if element.index in self.situation.skipped:
            return k.EMPTY_HERE
        passed = self.registers.passed(element.index) if self.situation.gives_back else None
        return k.NOT_EMPTY if passed is None else k.EMPTY_IF + passed

    def iteration_of(self, variable: str) -> int | None:
        """The number of the odometer's wheel that goes over the elements of a variable, or None."""
        element = self.elements[variable].index
        return self.iterated.index(element) if element in self.iterated else None

    def beside(self, element: Element) -> list[int]:
        """The numbers of the wheels that go over others in the iterations of an element."""
        groups = {of.index: of.groups for of in self.elements.values() if of is not element}
        return [wheel for wheel, one in enumerate(self.iterated) if groups.get(one, frozenset()) & element.groups]

    def operand(self, variable: str, at: At) -> Operand:
        """The source of ``variable``'s event."""
        element = self.elements[variable]
        situation = self.situation
        registers = self.registers
        if element.index == situation.negated or element.slot is not None:
            return self._negated(element, at)
        if self.is_gone(element):
            return Operand(k.FROM_HEADER, k.M_NOTHING)
        taking = element.index == situation.current
        if not element.loop:
            if at is At.PREV:
                return Operand(k.FROM_HEADER, k.M_NOTHING)
            if taking:
                return Operand(k.FROM_HEADER, k.M_CURRENT)
            return self._row(element.index, "event")
        wheel = self.iteration_of(variable)
        if at is At.EACH:
            if taking:
                return Operand(k.FROM_HEADER, k.M_CURRENT)
            assert wheel is not None
            return Operand(k.FROM_HEADER, k.M_ELEMENTS + wheel)
        running = self.references[variable].single  # then first and last are over the elements before this one
        if at is At.PREV or (at is At.LAST and running):
            if wheel is not None:
                return Operand(k.FROM_HEADER, k.M_BEFORES + wheel)
            if situation.entering:
                return Operand(k.FROM_HEADER, k.M_NOTHING)
            return self._row(element.index, "last")
        if at is At.LAST:
            return self._row(element.index, "last")
        first = registers.slot("first", element.index)
        if wheel is not None:
            self.firsts[wheel] = first
            return Operand(k.FROM_HEADER, k.M_FIRSTS + wheel)
        if taking and situation.entering:
            return Operand(k.FROM_HEADER, k.M_NOTHING if running else k.M_CURRENT)
        return self._slot(first)

    def _negated(self, element: Element, at: At) -> Operand:
        """The source of an event of what stands under a NOT."""
        if element.slot is None:
            return Operand(k.FROM_HEADER, k.M_TRIED)
        if not element.many:
            return Operand(k.FROM_HEADER, k.M_NOTHING if at is At.PREV else k.M_SLOTS + element.slot)
        running = self.references[element.variable].single  # first and last are over the elements before this one
        slots = {
            At.EACH: OWN,
            At.PREV: BEFORE,
            At.FIRST: FIRST_BEFORE if running else FIRST,
            At.LAST: BEFORE if running else LAST,
        }
        return Operand(k.FROM_HEADER, k.M_SLOTS + element.slot + slots[at])

    def elements_of(self, variable: str) -> Operand:
        """Where it is told which elements of a loop under a NOT there are."""
        slot = self.elements[variable].slot
        assert slot is not None
        return Operand(k.FROM_HEADER, k.M_SLOTS + slot + NUMBER)

    def _row(self, element: int, which: str) -> Operand:
        """The event that an element took last: the row's own, or one that a register holds."""
        if self.situation.last == element:
            return Operand(k.FROM_ROW, LAST_EVENT)
        return self._slot(self.registers.slot(which, element))

    def _slot(self, register: int) -> Operand:
        return Operand(k.FROM_ROW, register)
