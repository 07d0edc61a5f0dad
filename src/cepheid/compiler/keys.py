"""The keys under which partial matches wait: equalities between the arriving event and an earlier one."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.compiler.registers import Registers
from cepheid.compiler.requests import ORDERED_SHAPE, PLACE, PLACE_AFTER, Register, Requests, Shape, shape_of
from cepheid.compiler.scope import LAST_EVENT
from cepheid.kernels import layout as k
from cepheid.language.bound import Conjunct
from cepheid.language.tree import Attribute, Compare, Expression, walk
from cepheid.plan.automaton import Automaton, Edge, Element, Join, Test
from cepheid.plan.references import has_remote, references


@dataclass(frozen=True)
class KeyPart:
    """One equality that a list's key stands for: a column of the row's event, and one of the arriving event."""

    source: int
    argument: int
    row_column: int
    event_column: int


class Keys:
    """Finds the key of each step of a plan."""

    def __init__(
        self, automaton: Automaton, registers: Registers, requests: Requests, partition_column: int | None
    ) -> None:
        """Begin.

        Args:
            automaton: the plan.
            registers, requests: give out what the keys need.
            partition_column: the column of the codes of partitions, or None.
        """
        self.automaton = automaton
        self.registers = registers
        self.requests = requests
        self.partition_column = partition_column

    def _equality(self, test: Test, edge: Edge) -> KeyPart | None:
        """What an equality between the arriving event and an earlier single event gives as a key, if it is one."""
        expression = test.conjunct.expression
        if not isinstance(expression, Compare) or expression.operator != "=" or edge.source is None:
            return None
        if has_remote(expression) is not None:
            return None
        taken = self.automaton.elements[edge.element]
        sides = []
        for side in (expression.left, expression.right):
            names = {node.variable for node in walk(side) if isinstance(node, Attribute)}
            if len(names) != 1 or any(r.first or r.last or r.prev or r.aggregated for r in references(side).values()):
                return None
            sides.append((side, next(iter(names))))
        here = [side for side, name in sides if name == taken.variable]
        there = [(side, name) for side, name in sides if name != taken.variable]
        if len(here) != 1 or len(there) != 1:
            return None
        other = self._always_bound_single(str(there[0][1]), edge)
        if other is None:
            return None
        shape = self._int_shape(here[0], there[0][0])
        if shape is None:
            return None
        types = self.automaton.bound.types
        last = self.automaton.states[edge.source].element
        slot = LAST_EVENT if other.index == last else self.registers.slot("event", other.index)
        return KeyPart(
            k.FROM_ROW,
            slot,
            self.requests.leaf(there[0][0], shape, types),
            self.requests.leaf(here[0], shape, types),
        )

    def _always_bound_single(self, name: str, edge: Edge) -> Element | None:
        for element in self.automaton.variables:
            if element.variable == name and not (element.loop or element.negated) and self.is_bound(element, edge):
                return element
        return None

    def _int_shape(self, left: Expression, right: Expression) -> Shape | None:
        """The shape in which two sides can be told apart by their bits, or None."""
        types = self.automaton.bound.types
        a, b = shape_of(types[left]), shape_of(types[right])
        if a != b or a is None:
            return None
        return ORDERED_SHAPE if a.register is Register.FLOAT else a

    def _parts(self, edge: Edge) -> list[KeyPart]:
        parts = []
        if self.partition_column is not None:
            # Every event of a match has the same partition: the row's own event will do.
            parts.append(KeyPart(k.FROM_HEADER, k.M_CURRENT, self.partition_column, self.partition_column))
        if edge.strict:
            parts.append(self.neighbour_part())
        for test in edge.tests:
            part = self._equality(test, edge)
            if part is not None and part not in parts:
                parts.append(part)
        return parts

    def key_of(self, edge: Edge) -> tuple[KeyPart, ...]:
        """The key of the list in which a partial match waits for a step, or with which it looks events up."""
        join = self._join_of(edge)
        if join is not None:
            return tuple(part for part, _ in self._join_parts(join))
        if edge.source is None:
            return ()
        state = self.automaton.states[edge.source]
        if all(self.automaton.edges[number].forks for number in state.edges):
            return tuple(self._parts(edge))
        # A run tries its steps in order, so all of them share one list: what they have in common is the key.
        common = self._parts(self.automaton.edges[state.edges[0]])
        for number in state.edges[1:]:
            other = self._parts(self.automaton.edges[number])
            common = [part for part in common if part in other]
        return tuple(common)

    def exact_equalities(self, edge: Edge) -> list[Test]:
        """Conditions that the key tests by itself: a single part is compared exactly, several as a hash."""
        join = self._join_of(edge)
        if join is not None:
            parts = self._join_parts(join)
            return [test for test in edge.tests if len(parts) == 1 and test.conjunct == parts[0][1]]
        key = () if self.automaton.strict else self.key_of(edge)
        if len(key) != 1:
            return []
        return [test for test in edge.tests if self._equality(test, edge) == key[0]]

    def _join_of(self, edge: Edge) -> Join | None:
        """The step that takes an event which was kept over an edge, or None where the event arrives."""
        joins = self.automaton.joins
        if joins is None or edge is self.automaton.edges[joins.trigger]:
            return None
        return next((step for step in joins.steps if step.element == edge.element), None)

    def _join_parts(self, join: Join) -> list[tuple[KeyPart, Conjunct | None]]:
        """The key with which events are looked up, each part with the condition that it stands for."""
        parts: list[tuple[KeyPart, Conjunct | None]] = []
        if self.partition_column is not None:
            column = self.partition_column
            parts.append((KeyPart(k.FROM_HEADER, k.M_TRIGGER, column, column), None))
        edges = self.automaton.edges
        entering = edges[join.entering]
        always = None if join.again is None else {test.conjunct for test in edges[join.again].tests}
        for test in entering.tests:
            part = self._equality(test, entering)
            new = part is not None and all(part != other for other, _ in parts)
            if part is not None and new and (always is None or test.conjunct in always):
                parts.append((part, test.conjunct))
        return parts

    def neighbour_part(self) -> KeyPart:
        """The place after that of the last event is that of the arriving one."""
        return KeyPart(k.FROM_ROW, LAST_EVENT, self.requests.number(PLACE_AFTER), self.requests.number(PLACE))

    def is_bound(self, variable: Element, edge: Edge) -> bool:
        """Whether a variable is bound for sure before a step."""
        return variable.index in edge.known if self.automaton.graph else not variable.optional
