"""Expressions evaluated column-wise: over all events of a batch, or all matches of a result, at once.

`docs/expressions.md` says what every operator and function means; the oracle, the kernels and what is pushed into Spark
give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

import numpy as np

from cepheid.compiler.columnwise import arithmetic, choice, comparison, logic, numeric, texts
from cepheid.compiler.columnwise.casts import as_type
from cepheid.compiler.columnwise.masks import any_absent, truth_column, truth_of
from cepheid.compiler.columnwise.python_values import called
from cepheid.errors import DataError, NotSupportedError
from cepheid.events.column import AnyColumn, ArrowColumn, BoolArray, Column, all_null, constant
from cepheid.events.types import NULL, TEXT, DataType, Kind
from cepheid.language.bound import Function
from cepheid.language.functions import BUILTINS, Takes
from cepheid.language.literals import constant_value, literal_type
from cepheid.language.results import arithmetic_type
from cepheid.language.tree import (
    Aggregate,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    Expression,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Negative,
    Remote,
)

Resolve: TypeAlias = Callable[[Attribute | Aggregate | Remote], AnyColumn]
"""What gives the columns that an expression starts from: all of n rows, perhaps absent in some."""


def evaluate(
    expression: Expression, resolve: Resolve, n: int, functions: Mapping[str, Function] | None = None
) -> AnyColumn:
    """The value of an expression in each of ``n`` rows.

    Types follow from those of the columns and constants, as bind derives them.

    Args:
        expression: bound, its parameters replaced by constants.
        resolve: gives the column of an attribute, an aggregate or a look-up.
        n: the number of rows.
        functions: registered functions (`Catalog.functions`), which come before the built-in ones.

    Returns:
        A `Column`; an `ArrowColumn` only where the expression is an attribute that is one.

    Raises:
        DataError: a registered function raises, or gives a value of another type than it declared.
        NotSupportedError: a node that has no value in a row, such as a parameter without a value.
    """
    column = _Evaluation(resolve, n, functions or {}).of(expression)
    if isinstance(column, Column) and column.values.dtype == np.bool_:
        return Column(column.values.astype(np.int64), column.valid, column.type, absent=column.absent)
    return column


def is_true(column: Column) -> BoolArray:
    """Where a condition is true: neither false nor NULL nor absent. Shape (n,)."""
    return truth_of(column)


def holds(column: Column) -> BoolArray:
    """Where a conjunct of WHERE lets a match pass: true, or absent as a whole (SEMANTICS 4.2). Shape (n,)."""
    truth = truth_of(column)
    return truth if column.absent is None else truth | column.absent


@dataclass(frozen=True)
class _Evaluation:
    resolve: Resolve
    n: int
    functions: Mapping[str, Function] = field(default_factory=dict)

    def of(self, node: Expression) -> AnyColumn:
        match node:
            case Literal():
                return literal_column(node, self.n)
            case Attribute() | Aggregate() | Remote():
                return self.resolve(node)
            case Arithmetic():
                left, right = self.value(node.left), self.value(node.right)
                result = arithmetic_type(node.operator, left.type, right.type)
                assert result is not None, "bind lets no other operands pass"
                return arithmetic.arithmetic(node.operator, left, right, result)
            case Negative():
                return arithmetic.negative(self.value(node.operand))
            case Compare():
                return comparison.compare(node.operator, self.value(node.left), self.value(node.right))
            case Conjunction():
                return logic.conjunction([self.condition(o) for o in node.operands])
            case Disjunction():
                return logic.disjunction([self.condition(o) for o in node.operands])
            case Negation():
                return logic.negation(self.condition(node.operand))
            case IsNull():
                return _is_null(self.of(node.operand), node.negated)
            case In():
                found = comparison.is_in(self.value(node.operand), [self.value(o) for o in node.options])
                return logic.negation(found) if node.negated else found
            case InSet():
                container = self.of(node.container)
                assert isinstance(container, ArrowColumn), "bind lets only lists and sets be looked into"
                found = comparison.is_in_list(self.value(node.operand), container)
                return logic.negation(found) if node.negated else found
            case Like():
                found = texts.like(self.text(node.operand), node.pattern)
                return logic.negation(found) if node.negated else found
            case Call():
                return self.call(node)
            case _:
                raise NotSupportedError(
                    f"{type(node).__name__.lower()} has no value before the query is run",
                    remedy="give its parameters values",
                    span=node.span,
                )

    def value(self, node: Expression) -> Column:
        column = self.of(node)
        assert isinstance(column, Column), "bind lets only scalars be computed with"
        return column

    def text(self, node: Expression) -> Column:
        return as_type(self.value(node), TEXT)

    def condition(self, node: Expression) -> Column:
        column = self.value(node)
        if column.type.kind is Kind.NULL:
            return truth_column(np.zeros(self.n, np.bool_), np.zeros(self.n, np.bool_), column.absent)
        return column

    def call(self, node: Call) -> Column:
        function = self.functions.get(node.function)
        if function is not None:
            columns = [self.value(a) for a in node.arguments]
            try:
                return called(function, columns, self.n)
            except DataError as error:
                error.span = error.span or node.span
                raise
        name = node.function.lower()
        builtin = BUILTINS[name]
        columns = [self.value(a) for a in node.arguments]
        types = [c.type for c in columns]
        digits = _digits(node) if builtin.takes[-1] is Takes.DIGITS else 0
        result = builtin.result(types, digits)
        assert result is not None, "bind lets no other arguments pass"
        if choice.is_choice(name):
            return choice.chosen(name, columns, result)
        if any(t.kind is Kind.NULL for t in types):
            return self.all_null(result, columns)
        return _builtin(name, columns, result, digits)

    def all_null(self, dtype: DataType, arguments: list[Column]) -> Column:
        null = all_null(dtype, self.n)
        return Column(null.values, null.valid, dtype, null.dictionary, null.ordered, any_absent(arguments))


def _builtin(name: str, columns: list[Column], result: DataType, digits: int) -> Column:
    """A built-in function whose arguments all have a type."""
    match name, columns:
        case "abs", [x]:
            return numeric.absolute(x)
        case "sign", [x]:
            return numeric.sign(x)
        case "floor", [x]:
            return numeric.floor(x, result)
        case "ceil", [x]:
            return numeric.ceil(x, result)
        case "round", [x, *_]:
            return numeric.rounded(x, digits, result)
        case "sqrt", [x]:
            return numeric.square_root(x)
        case "power", [x, y]:
            return numeric.power(x, y)
        case "distance", [x1, y1, x2, y2]:
            return numeric.distance(x1, y1, x2, y2)
        case "length", [text]:
            return texts.length(text)
        case "lower", [text]:
            return texts.lower(text)
        case "upper", [text]:
            return texts.upper(text)
        case "trim", [text]:
            return texts.trim(text)
        case "substring", [text, position, size]:
            return texts.substring(text, position, size)
        case "concat", _:
            return texts.concat(columns)
        case "starts_with", [text, prefix]:
            return texts.starts_with(text, prefix)
        case "ends_with", [text, suffix]:
            return texts.ends_with(text, suffix)
        case _, [time] if name in numeric.DATE_PARTS:
            return numeric.date_part(name, time)
        case _:
            raise AssertionError(f"the built-in function {name} has no column-wise form")


def _digits(call: Call) -> int:
    """The digits of ``round``: a whole number written in the query, 0 where there is none."""
    if len(call.arguments) < 2:
        return 0
    digits = call.arguments[1]
    if isinstance(digits, Negative):
        return -_whole(digits.operand)
    return _whole(digits)


def _whole(node: Expression) -> int:
    assert isinstance(node, Literal), "bind lets no other digits pass"
    assert isinstance(node.value, int)
    return node.value


def _is_null(operand: AnyColumn, negated: bool) -> Column:
    has_value = operand.is_valid()
    truth = has_value.copy() if negated else ~has_value
    return truth_column(truth, None if operand.absent is None else ~operand.absent, operand.absent)


def literal_column(literal: Literal, n: int) -> Column:
    """A constant as a column of ``n`` rows."""
    if literal.kind is LiteralKind.NULL:
        return all_null(NULL, n)
    dtype = literal_type(literal)
    value = constant_value(literal)
    if isinstance(value, Decimal):
        value = int(value.scaleb(dtype.scale or 0))
    assert isinstance(value, int | float | str)
    return constant(value, dtype, n)
