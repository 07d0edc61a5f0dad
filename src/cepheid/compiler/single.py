"""What a plan reads of one event, from its values as Python objects: the columns of `compiler.columns`, value by value.

What most queries are made of has a function of its own here, made once. All else is evaluated column by column, on
columns of one row: slowly, and by the same code as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.compiler.columns import constant_holds, shaped
from cepheid.compiler.elements import RemoteData
from cepheid.compiler.requests import PARTITION, TIME, Register, Request, detached
from cepheid.compiler.single_expressions import Reads, SingleExpressions, as_float, as_int, ordered
from cepheid.compiler.tables import CompiledPlan
from cepheid.compiler.vector import evaluate
from cepheid.events.column import AnyColumn, Column
from cepheid.events.convert import column_of
from cepheid.events.single import EventReader, Values
from cepheid.events.types import DataType, Kind
from cepheid.language.tree import (
    Aggregate,
    Attribute,
    Call,
    Compare,
    Expression,
    Remote,
    walk,
)


@dataclass(frozen=True, eq=False)
class EventFunctions:
    """What a plan reads of one event.

    Attributes:
        fit: the elements that an event fits, as bits.
        partition: the code of its partition; None where it is in none.
        partitioned: whether the plan has partitions.
        ints, floats: for each column of the plan, its value; None for NULL. The time is none of them.
        codes: of the texts and partitions met so far: what the codes stand for in the columns.
    """

    fit: Callable[[Values], int]
    partition: Reads
    partitioned: bool
    ints: tuple[Reads | None, ...]
    floats: tuple[Reads, ...]
    codes: dict[Any, int] = field(default_factory=dict)


def event_functions(compiled: CompiledPlan, reader: EventReader, arrow: Any) -> EventFunctions:
    """The functions for a plan.

    Args:
        compiled: the plan; what it reads of an event calls no registered function.
        reader: reads the events.
        arrow: the pyarrow Schema of the events.
    """
    return _Made(compiled, reader, arrow).functions()


class _Made:
    def __init__(self, compiled: CompiledPlan, reader: EventReader, arrow: Any) -> None:
        self.compiled = compiled
        self.reader = reader
        self.arrow = arrow
        self.codes: dict[Any, int] = {}
        self.expressions = SingleExpressions(reader, arrow)

    def functions(self) -> EventFunctions:
        automaton, requests = self.compiled.automaton, self.compiled.requests
        partition = self.partition([detached(expression) for expression in automaton.partition])

        def of(request: Request) -> Reads | None:
            if request == TIME:
                return None
            return partition if request == PARTITION else self.shaped(request)

        floats = [of(request) for request in requests.floats]
        return EventFunctions(
            fit=self.fit(),
            partition=partition,
            partitioned=bool(automaton.partition),
            ints=tuple(map(of, requests.ints)),
            floats=tuple(reads for reads in floats if reads is not None),
            codes=self.codes,
        )

    # --- which elements take an event ---------------------------------------------------------------------

    def fit(self) -> Callable[[Values], int]:
        automaton = self.compiled.automaton
        if not all(constant_holds(self.compiled, c.expression) for c in automaton.constants):
            return lambda values: 0
        names = {name for element in automaton.elements for name in element.types}
        conditions = {
            element.index: [self.of(detached(c.expression))[0] for c in element.conditions]
            for element in automaton.elements
        }

        def of_type(name: str | None) -> tuple[int, tuple[tuple[int, Sequence[Reads]], ...]]:
            """The bits of the elements that take a type and have no conditions, and the others."""
            own = [e.index for e in automaton.elements if not e.types or name in e.types]
            free = sum(1 << index for index in own if not conditions[index])
            return free, tuple((1 << index, conditions[index]) for index in own if conditions[index])

        by_type = {name: of_type(name) for name in names}
        otherwise = of_type(None)
        type_at = None if self.reader.schema.type is None else self.reader.names.index(self.reader.schema.type)

        def fit(values: Values) -> int:
            found, further = otherwise if type_at is None else by_type.get(values[type_at], otherwise)
            for bit, tests in further:
                for test in tests:
                    if not test(values):
                        break
                else:
                    found |= bit
            return found

        return fit

    # --- columns ------------------------------------------------------------------------------------------

    def partition(self, expressions: Sequence[Expression]) -> Reads:
        """The code of the partition."""
        parts = [self.part(expression) for expression in expressions]
        if not parts:
            return lambda values: 0
        if len(parts) == 1:
            return parts[0]
        codes = self.codes

        def of_several(values: Values) -> int | None:
            key = tuple([part(values) for part in parts])
            if None in key:
                return None
            code = codes.get(key)
            return codes.setdefault(key, len(codes)) if code is None else code

        return of_several

    def part(self, expression: Expression) -> Reads:
        """A number that tells the values of an expression apart."""
        reads, dtype = self.of(expression)
        if dtype.kind is Kind.TEXT:
            return self.coded(reads)
        return ordered(reads) if dtype.kind is Kind.FLOAT else as_int(reads, dtype)

    def coded(self, reads: Reads) -> Reads:
        """The code of a text."""
        codes = self.codes

        def code(values: Values) -> int | None:
            text = reads(values)
            if text is None:
                return None
            found = codes.get(text)
            return codes.setdefault(text, len(codes)) if found is None else found

        return code

    def shaped(self, request: Request) -> Reads:
        """The value of a column in the shape that the plan wants."""
        shape, expression = request.shape, request.expression
        assert expression is not None
        reads, dtype = self.of(expression)
        if dtype.kind is Kind.NULL:
            return lambda values: None
        if shape.text:
            return self.coded(reads)
        if shape.ordered:
            return ordered(as_float(reads, dtype)) if dtype.kind is not Kind.DECIMAL else self.by_columns(request)
        if shape.register is Register.FLOAT:
            return as_float(reads, dtype) if dtype.kind is not Kind.DECIMAL else self.by_columns(request)
        if not shape.bounded and shape.scale == (dtype.scale or 0):
            return as_int(reads, dtype)
        return self.by_columns(request)

    def by_columns(self, request: Request) -> Reads:
        """The value of a column from columns of one row."""
        assert request.expression is not None
        column_at = self.column(request.expression)

        def value(values: Values) -> int | float | None:
            numbers, valid = shaped(column_at(values), request)
            if valid is not None and not valid[0]:
                return None
            found: int | float = numbers[0].item()
            return found

        return value

    def column(self, expression: Expression) -> Callable[[Values], Column]:
        """An expression as a column of one row."""
        bound = self.compiled.automaton.bound

        def of_one_row(values: Values) -> Column:
            def resolve(node: Attribute | Aggregate | Remote) -> AnyColumn:
                if isinstance(node, Remote):
                    return RemoteData(bound).looked_up(node, resolve, 1)
                assert isinstance(node, Attribute)
                given = values[self.reader.names.index(node.path[0])]
                array = pa.array([given], self.arrow.field(node.path[0]).type)
                for name in node.path[1:]:
                    array = pc.struct_field(array, [array.type.get_field_index(name)])
                return column_of(array, ".".join(node.path))[0]

            column = evaluate(expression, resolve, 1, bound.catalog.functions)
            assert isinstance(column, Column)
            return column

        return of_one_row

    # --- expressions ----------------------------------------------------------------------------------------

    def of(self, node: Expression) -> tuple[Reads, DataType]:
        """The value of an expression, and its type; DECIMAL values are unscaled."""
        made = self.expressions.of(node)
        if made is not None:
            return made
        column_at = self.column(node)
        nothing = tuple([None] * len(self.reader.names))
        dtype = column_at(nothing).type

        def value(values: Values) -> Any:
            column = column_at(values)
            if column.valid is not None and not column.valid[0]:
                return None
            number = column.values[0].item()
            return column.dictionary[number].as_py() if dtype.kind is Kind.TEXT else number

        return value, dtype


def reason_not_single(compiled: CompiledPlan) -> str | None:
    """Why events cannot be read one by one for a plan; None where they can."""
    bound = compiled.automaton.bound
    if compiled.hosted:
        return "a condition between events is computed by Python"
    conditions = [conjunct.expression for conjunct in bound.conjuncts]
    for node in (node for root in (*conditions, *bound.partition) for node in walk(root)):
        if isinstance(node, Call) and node.function in bound.catalog.functions:
            return f"the registered function {node.function} is called for columns of events"
        if isinstance(node, Remote):
            return f"values are looked up in the store {node.store}"
    for request in compiled.requests.ints:
        if request.shape.text and any(_orders_texts(root, bound.types) for root in conditions):
            return "texts of several events are compared by their order"
    return None


def _orders_texts(condition: Expression, types: Mapping[Expression, DataType]) -> bool:
    """Whether a condition asks which of two texts comes first."""
    for node in walk(condition):
        match node:
            case Compare(operator="<" | "<=" | ">" | ">=", left=left, right=right):
                operands = [left, right]
            case Aggregate(function="min" | "max", argument=argument) if argument is not None:
                operands = [argument]
            case Call(function=name, arguments=arguments) if name.lower() in ("least", "greatest"):
                operands = list(arguments)
            case _:
                continue
        if any(types[operand].kind is Kind.TEXT for operand in operands if operand in types):
            return True
    return False
