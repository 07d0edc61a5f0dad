"""Types of arithmetic, and how constants and parameters take the type of what they meet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.events.types import DURATION, FLOAT, INT, TIMESTAMP, DataType, Kind
from cepheid.language.faults import fault
from cepheid.language.literals import literal_type, negated
from cepheid.language.results import arithmetic_type
from cepheid.language.scope import article
from cepheid.language.tree import Arithmetic, Expression, Literal, LiteralKind, Negative, Parameter

if TYPE_CHECKING:
    from cepheid.language.typecheck import Typing


CLOSED = 0
"""The rank of what has a type of its own."""
MIXED = 1
"""The rank of what has a type, and a parameter in it that asks for a hint."""
CONSTANT = 2
EMPTY = 3
"""The rank of NULL."""
OPEN = 4
"""The rank of a parameter that nothing has settled yet, alone or among constants."""


def rank(typing: Typing, node: Expression) -> int:
    """In which order the sides of an operation are typed: the lowest first, for the others to meet."""
    match node:
        case Parameter():
            return CLOSED if node.name in typing.parameters else OPEN
        case Literal():
            return EMPTY if node.kind is LiteralKind.NULL else CONSTANT
        case Negative():
            return rank(typing, node.operand)
        case Arithmetic():
            ranks = (rank(typing, node.left), rank(typing, node.right))
            if min(ranks) <= MIXED:
                return MIXED if OPEN in ranks or MIXED in ranks else CLOSED
            return max(ranks)
        case _:
            return CLOSED


def pair(
    typing: Typing, left: Expression, right: Expression, hint: DataType | None = None
) -> tuple[Expression, DataType, Expression, DataType]:
    """Both sides typed, the second with the first in view, the first with ``hint``."""
    ranks = (rank(typing, left), rank(typing, right))
    # A constant can tell what a parameter on the other side is: `b.ts - :start < 5 minutes`.
    left_first = ranks[0] <= ranks[1] if set(ranks) != {MIXED, CONSTANT} else ranks[0] == CONSTANT
    if left_first:
        new_left, left_type = typing.typed(left, hint)
        new_right, right_type = typing.typed(right, left_type)
    else:
        new_right, right_type = typing.typed(right, hint)
        new_left, left_type = typing.typed(left, right_type)
    # Two constants: a float makes a float of the other.
    new_left, left_type = met(typing, new_left, left_type, right_type)
    new_right, right_type = met(typing, new_right, right_type, left_type)
    return new_left, left_type, new_right, right_type


def met(typing: Typing, node: Expression, dtype: DataType, other: DataType) -> tuple[Expression, DataType]:
    """``node``, brought to the type of the other side where it is a constant."""
    if not isinstance(node, Literal):
        return node, dtype
    new = typing.coerced(node, other)
    assert isinstance(new, Literal)
    typing.types[new] = literal_type(new)
    return new, typing.types[new]


def arithmetic(typing: Typing, node: Arithmetic, hint: DataType | None) -> tuple[Expression, DataType]:
    """Arithmetic with both operands typed, and its type.

    Raises:
        QueryError: there is no such operation for their types.
    """
    left, left_type, right, right_type = _operands(typing, node, hint)
    result = arithmetic_type(node.operator, left_type, right_type)
    if result is None:
        raise fault(
            f"{typing.show(node.left)} is {article(left_type)} and {typing.show(node.right)} is {article(right_type)}: "
            f"there is no {node.operator} for them",
            node,
            _arithmetic_remedy(node, left_type, right_type),
        )
    return replace(node, left=left, right=right), result


def _operands(
    typing: Typing, node: Arithmetic, hint: DataType | None
) -> tuple[Expression, DataType, Expression, DataType]:
    """Both operands typed; an open one takes what its partner and ``hint`` tell."""
    number = hint if hint is not None and hint.is_number else None
    left_rank, right_rank = rank(typing, node.left), rank(typing, node.right)
    if (left_rank <= MIXED) is (right_rank <= MIXED) and (left_rank == OPEN) is (right_rank == OPEN):
        return pair(typing, node.left, node.right, number)
    if left_rank < right_rank:
        left, left_type = typing.typed(node.left, number)
        wanted = _operand_hint(typing, node.operator, left_type, hint, False, node.right)
        right, right_type = typing.typed(node.right, wanted)
    else:
        right, right_type = typing.typed(node.right, number)
        wanted = _operand_hint(typing, node.operator, right_type, hint, True, node.left)
        left, left_type = typing.typed(node.left, wanted)
    return left, left_type, right, right_type


def _arithmetic_remedy(node: Arithmetic, left: DataType, right: DataType) -> str:
    kinds = {left.kind, right.kind}
    if kinds == {Kind.TEXT} and node.operator == "+":
        return "write concat(...) to join texts"
    if Kind.TIMESTAMP in kinds and (left.is_number or right.is_number) and node.operator in "+-":
        return "give the number a unit, such as 5 minutes"
    if Kind.DURATION in kinds and node.operator in "*/" and (left.is_number or right.is_number):
        return "a duration is multiplied by an int, and divided by a duration"
    if kinds == {Kind.TIMESTAMP}:
        return "two timestamps can only be subtracted, which gives a duration"
    if Kind.TIMESTAMP in kinds:
        return "a timestamp takes + and - with a duration, and - with a timestamp"
    if left.is_number and right.is_number:
        return "the result would have more than 38 digits after the point: multiply by a float"
    return "arithmetic takes numbers, timestamps and durations"


def _operand_hint(
    typing: Typing, operator: str, have: DataType, hint: DataType | None, open_left: bool, opened: Expression
) -> DataType:
    moment = hint is not None and hint.kind is Kind.TIMESTAMP
    unsettled = rank(typing, opened) == OPEN
    match have.kind, operator:
        case Kind.TIMESTAMP, "-" if isinstance(opened, Literal) and opened.kind is LiteralKind.TEXT:
            return TIMESTAMP
        case Kind.TIMESTAMP, "-" if open_left or (hint is not None and hint.kind is Kind.DURATION):
            return TIMESTAMP
        case Kind.TIMESTAMP, _:
            return DURATION
        case Kind.DURATION, "+" if moment:
            return TIMESTAMP
        case Kind.DURATION, "-" if moment and open_left:
            return TIMESTAMP
        case Kind.DURATION, "*":
            return INT
        case Kind.INT, "/" if unsettled:
            return FLOAT
        case Kind.INT, _ if unsettled and hint is not None and hint.is_number:
            return hint
        case _:
            return have


def negative(typing: Typing, node: Negative, hint: DataType | None) -> tuple[Expression, DataType]:
    """``-operand`` and its type; of a constant it is the constant below zero.

    Raises:
        QueryError: the operand has no negative.
    """
    if isinstance(node.operand, Literal):
        constant = negated(node.operand)
        if constant is not None:
            return typing.literal(replace(constant, span=node.span), hint)
    operand, dtype = typing.typed(node.operand, hint)
    if not (dtype.is_number or dtype.kind in (Kind.DURATION, Kind.NULL)):
        raise fault(
            f"{typing.show(node.operand)} is {article(dtype)}: it has no negative",
            node,
            "remove the minus, or negate a number",
        )
    return replace(node, operand=operand), dtype
