"""The registers of a partial match: events it must remember, and aggregates kept up to date as loops grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cepheid.compiler.requests import Register, Requests, Shape
from cepheid.kernels import layout as k
from cepheid.language.tree import Expression
from cepheid.plan.automaton import Automaton, Edge


@dataclass(frozen=True)
class Slot:
    """A register that holds the number of an event.

    Attributes:
        which: ``event`` of a single element, ``first`` or ``last`` of a loop, ``left`` or ``right`` end of the
            gap of a NOT.
        element: the element, or the negated one.
    """

    which: str
    element: int


@dataclass(frozen=True)
class Count:
    """A register that holds the number of elements that a loop has taken.

    Attributes:
        element: the loop.
        begun: it stays absent where the loop took nothing (UNTIL).
    """

    element: int
    begun: bool = False


@dataclass(frozen=True)
class Tally:
    """The registers of an aggregate: a count of values, and for all but ``count`` the value itself.

    Attributes:
        function: count, sum, min or max (avg is a sum and its count).
        element: the loop.
        column: the number of the argument's column.
        shape: of the argument.
        begun: it stays absent where the loop took nothing (UNTIL).
    """

    function: str
    element: int
    column: int
    shape: Shape
    begun: bool = False


@dataclass(frozen=True)
class Value:
    """A register that holds the value of an int column for the event of a single element.

    Attributes:
        element: the element.
        column: the number of the column.
    """

    element: int
    column: int


@dataclass(frozen=True)
class Iteration:
    """A register that holds the id of the row with which the present iteration of a quantified group began."""

    group: int


@dataclass(frozen=True)
class Passed:
    """A register that holds 1 once a step has left a loop empty, which later iterations may fill; else 0."""

    element: int


AnyRegister: TypeAlias = Slot | Count | Value | Tally | Iteration | Passed


class Registers:
    """Gives out registers as conditions ask for them, then says how each step brings them up to date."""

    def __init__(self, automaton: Automaton, requests: Requests) -> None:
        self.automaton = automaton
        self.requests = requests
        self.numbers: dict[AnyRegister, int] = {}
        self.float_numbers: dict[Tally, int] = {}
        self.n_ints = 0
        self.n_floats = 0

    def slot(self, which: str, element: int) -> int:
        """The register of a `Slot`, which is given out where it is new."""
        return self._of(Slot(which, element))

    def count(self, element: int, begun: bool = False) -> int:
        """The register of a `Count`."""
        return self._of(Count(element, begun))

    def value(self, element: int, column: int) -> int:
        """The register of a `Value`."""
        return self._of(Value(element, column))

    def iteration(self, group: int) -> int:
        """The register of an `Iteration`."""
        return self._of(Iteration(group))

    def passed(self, element: int) -> int | None:
        """The register of a `Passed`; None where no step leaves the loop empty."""
        if not any(element in edge.empties for edge in self.automaton.edges):
            return None
        return self._of(Passed(element))

    def tally(self, function: str, element: int, argument: Expression, shape: Shape, begun: bool = False) -> Tally:
        """The registers of an aggregate over an expression on one element."""
        column = self.requests.leaf(argument, shape, self.automaton.bound.types)
        wanted = Tally(function, element, column, shape, begun)
        if wanted not in self.numbers:
            self.numbers[wanted] = self.n_ints
            self.n_ints += 1
            if function != "count":
                if shape.register is Register.FLOAT:
                    self.float_numbers[wanted] = self.n_floats
                    self.n_floats += 1
                else:
                    # The value stands beside the count; after a sum, what it has of whole 2**64.
                    self.n_ints += 2 if function == "sum" else 1
        return wanted

    def _of(self, wanted: Slot | Count | Value | Iteration | Passed) -> int:
        if wanted not in self.numbers:
            self.numbers[wanted] = self.n_ints
            self.n_ints += 1
        return self.numbers[wanted]

    def updates(self, edge: Edge) -> list[list[int]]:
        """The rows of the table `updates` for a step."""
        if self.automaton.graph:
            return self._graph_updates(edge)
        rows: list[list[int]] = []
        for register, number in self.numbers.items():
            assert not isinstance(register, Iteration | Passed)
            if isinstance(register, Slot) and register.which in ("left", "right"):
                if register.element in edge.remembers:
                    op = k.SET_SLOT if register.which == "right" else k.SET_PARENT_SLOT
                    rows.append([op, number, 0, 0, 0])
                continue
            if register.element in edge.skipped:
                rows.append([k.SET_INT, number, k.EMPTY if isinstance(register, Slot) else 0, 0, 0])
                continue
            if register.element != edge.element:
                continue
            if isinstance(register, Value):
                rows.append([k.SET_VALUE, number, 0, register.column, 0])
            elif isinstance(register, Slot):
                if edge.entering or register.which == "last":
                    rows.append([k.SET_SLOT, number, 0, 0, 0])
            elif isinstance(register, Count):
                rows.append([k.SET_INT, number, 1, 0, 0] if edge.entering else [k.INCREMENT, number, 0, 0, 0])
            else:
                rows.extend(self._tally_updates(register, number, edge.entering))
        return rows

    def _graph_updates(self, edge: Edge) -> list[list[int]]:
        """The rows of a step in a plan of `plan.graph`: what a variable had before, only registers know."""
        rows: list[list[int]] = []
        taken = self.automaton.states[edge.target].element
        for register, number in self.numbers.items():
            if isinstance(register, Passed):
                if edge.source is None or register.element in edge.empties:
                    rows.append([k.SET_INT, number, int(register.element in edge.empties), 0, 0])
                continue
            unset = k.NOT_BEGUN if isinstance(register, Count | Tally) else k.NOT_BOUND
            if edge.source is None:
                rows.append([k.SET_INT, number, unset, 0, 0])
                if isinstance(register, Tally) and register in self.float_numbers:
                    rows.append([k.SET_FLOAT, 0, 0, 0, self.float_numbers[register]])
            if isinstance(register, Iteration):
                if register.group in edge.begins:
                    rows.append([k.SET_ROW, number, 0, 0, 0])
                continue
            if isinstance(register, Slot) and register.which in ("left", "right"):
                if register.element in edge.remembers and (register.which == "right" or edge.source is not None):
                    rows.append([k.SET_SLOT if register.which == "right" else k.SET_PARENT_SLOT, number, 0, 0, 0])
                continue
            if register.element in edge.empties and not (isinstance(register, Count | Tally) and register.begun):
                rows.append([k.SET_IF, number, k.EMPTY if isinstance(register, Slot) else 0, unset, 0])
            if register.element != taken:
                continue
            if isinstance(register, Value):
                rows.append([k.SET_VALUE, number, 0, register.column, 0])
            elif isinstance(register, Slot):
                rows.append([k.SET_FIRST_SLOT if register.which == "first" else k.SET_SLOT, number, 0, 0, 0])
            elif isinstance(register, Count):
                rows.append([k.COUNT_ON, number, 0, 0, 0])
            else:
                rows.append([k.SET_IF, number, 0, k.NOT_BEGUN, 0])
                rows.append(self._tally_row(register, number))
        return rows

    def _tally_updates(self, tally: Tally, number: int, entering: bool) -> list[list[int]]:
        rows: list[list[int]] = []
        is_float = tally.shape.register is Register.FLOAT
        if entering:
            rows.append([k.SET_INT, number, 0, 0, 0])
            if tally.function != "count":
                if is_float:
                    rows.append([k.SET_FLOAT, 0, 0, 0, self.float_numbers[tally]])
                else:
                    n_words = 2 if tally.function == "sum" else 1
                    rows.extend([k.SET_INT, number + 1 + word, 0, 0, 0] for word in range(n_words))
        rows.append(self._tally_row(tally, number))
        return rows

    def _tally_row(self, tally: Tally, number: int) -> list[int]:
        """Bring an aggregate up to date with the event that is being taken."""
        is_float = tally.shape.register is Register.FLOAT
        if tally.function == "count":
            return [k.COUNT_VALUE_FLOAT if is_float else k.COUNT_VALUE_INT, number, 0, tally.column, 0]
        if is_float:
            op = {"sum": k.SUM_FLOAT, "min": k.MIN_FLOAT, "max": k.MAX_FLOAT}[tally.function]
            return [op, number, 0, tally.column, self.float_numbers[tally]]
        op = {"sum": k.SUM_INT, "min": k.MIN_INT, "max": k.MAX_INT}[tally.function]
        return [op, number, number + 1, tally.column, 0]
