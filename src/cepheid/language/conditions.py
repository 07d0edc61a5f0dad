"""Types of comparisons, IN, LIKE and IS NULL: which values can meet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.errors import QueryError
from cepheid.events.types import BOOL, TEXT, DataType, Kind, list_of
from cepheid.language.faults import fault, listing
from cepheid.language.operands import pair, rank
from cepheid.language.results import SCALARS, common_type
from cepheid.language.scope import article
from cepheid.language.tree import Compare, Expression, In, InSet, IsNull, Like, Literal, LiteralKind, Parameter

if TYPE_CHECKING:
    from cepheid.language.typecheck import Typing


def compare(typing: Typing, node: Compare) -> tuple[Expression, DataType]:
    """A comparison with both sides typed.

    Raises:
        QueryError: the sides cannot be compared, or one is NULL.
    """
    left, left_type, right, right_type = pair(typing, node.left, node.right)
    for side, dtype in ((node.left, left_type), (node.right, right_type)):
        if dtype.kind is Kind.NULL and isinstance(side, Literal):
            raise fault(
                "a comparison with NULL is never true",
                node,
                "write IS NULL"
                if node.operator == "="
                else "write IS NOT NULL"
                if node.operator == "<>"
                else "compare with a value, or write IS NULL",
            )
        check_scalar(typing, side, dtype, "compared")
    if common_type(left_type, right_type) is None:
        raise mismatch(typing, node, node.left, left_type, node.right, right_type)
    return replace(node, left=left, right=right), BOOL


def is_null(typing: Typing, node: IsNull) -> tuple[Expression, DataType]:
    """``IS NULL`` with its operand typed; it takes any type but a set, which is never NULL.

    Raises:
        QueryError: the operand is a set.
    """
    operand, dtype = typing.typed(node.operand)
    if dtype.kind is Kind.SET:
        raise fault(
            f"{typing.show(node.operand)} is a set, which is never NULL: a missing key gives the empty set",
            node,
            "test an element of it with IN",
        )
    return replace(node, operand=operand), BOOL


def in_list(typing: Typing, node: In) -> tuple[Expression, DataType]:
    """``IN (...)`` with all values typed; the operand is compared with each as by ``=``.

    Raises:
        QueryError: a value cannot be compared with the operand.
    """
    if not node.options and not typing.empty_lists:
        raise fault("IN has nothing to choose from", node, "name at least one value")
    # All are compared with the operand; where that is open, the first option with a type of its own leads.
    lead = min(range(len(node.options)), key=lambda index: rank(typing, node.options[index]), default=None)
    done: dict[int, tuple[Expression, DataType]] = {}
    if lead is not None and rank(typing, node.operand) > rank(typing, node.options[lead]):
        done[lead] = typing.typed(node.options[lead])
    operand, operand_type = typing.typed(node.operand, done[lead][1] if lead in done else None)
    check_scalar(typing, node.operand, operand_type, "compared")
    options = []
    for index, option in enumerate(node.options):
        new, dtype = done.get(index) or typing.typed(option, operand_type)
        check_scalar(typing, option, dtype, "compared")
        if common_type(operand_type, dtype) is None:
            raise mismatch(typing, option, node.operand, operand_type, option, dtype)
        options.append(new)
    return replace(node, operand=operand, options=tuple(options)), BOOL


def in_set(typing: Typing, node: InSet) -> tuple[Expression, DataType]:
    """``IN container`` with both sides typed.

    Raises:
        QueryError: the container is no set or list, or holds values of another type.
    """
    if isinstance(node.container, Parameter) and node.container.name not in typing.parameters:
        operand, operand_type = typing.typed(node.operand)
        container, container_type = typing.typed(node.container, list_of(operand_type))
    else:
        container, container_type = typing.typed(node.container)
        operand, operand_type = typing.typed(node.operand, container_type.element)
    if container_type.kind not in (Kind.LIST, Kind.SET) or container_type.element is None:
        raise fault(
            f"{typing.show(node.container)} is {article(container_type)}, not a set or list",
            node.container,
            f"write = to compare with one value, or IN ({typing.show(node.container)})",
        )
    check_scalar(typing, node.operand, operand_type, "an element of a set")
    if common_type(operand_type, container_type.element) is None:
        raise fault(
            f"{typing.show(node.operand)} is {article(operand_type)}, and {typing.show(node.container)} "
            f"is {article(container_type)}: it can hold no such element",
            node,
            mismatch_remedy(typing, node.operand, operand_type, node.container, container_type.element),
        )
    return replace(node, operand=operand, container=container), BOOL


def like(typing: Typing, node: Like) -> tuple[Expression, DataType]:
    """``LIKE`` with its operand typed.

    Raises:
        QueryError: the operand is no text, or the pattern ends in a backslash that escapes nothing.
    """
    operand, dtype = typing.typed(node.operand, TEXT)
    if dtype.kind not in (Kind.TEXT, Kind.NULL):
        raise fault(
            f"LIKE is for texts, and {typing.show(node.operand)} is {article(dtype)}",
            node,
            "compare it with =, <, > or BETWEEN",
        )
    escapes = len(node.pattern) - len(node.pattern.rstrip("\\"))
    if escapes % 2:
        raise fault("the pattern of LIKE ends in \\, which escapes nothing", node, "write \\\\ for a backslash")
    return replace(node, operand=operand), BOOL


def check_scalar(typing: Typing, node: Expression, dtype: DataType, verb: str) -> None:
    """Refuse a list, set, struct or value of another kind that has no order.

    Raises:
        QueryError: ``dtype`` is of such a kind.
    """
    if dtype.kind in SCALARS or dtype.kind is Kind.NULL:
        return
    match dtype.kind:
        case Kind.STRUCT:
            names = listing(name for name, _ in dtype.fields)
            remedy = f"compare one of its fields: {names}"
        case Kind.LIST | Kind.SET:
            remedy = f"test an element of it: value IN {typing.show(node)}"
        case _:
            remedy = "it can only be returned, or tested with IS NULL"
    raise fault(f"{typing.show(node)} is {article(dtype)}, which cannot be {verb}", node, remedy)


def mismatch(
    typing: Typing, node: Expression, left: Expression, left_type: DataType, right: Expression, right_type: DataType
) -> QueryError:
    """The error of two values of types that cannot be compared, at ``node``."""
    message = (
        f"{typing.show(left)} is {article(left_type)} and {typing.show(right)} is {article(right_type)}: "
        "they cannot be compared"
    )
    return fault(message, node, mismatch_remedy(typing, left, left_type, right, right_type))


def mismatch_remedy(
    typing: Typing, left: Expression, left_type: DataType, right: Expression, right_type: DataType
) -> str:
    """What to do about two values that cannot be compared."""
    kinds = {left_type.kind, right_type.kind}
    number = next((t for t in (left_type, right_type) if t.is_number), None)
    if Kind.TEXT in kinds and number is not None:
        constant = next((side for side in (left, right) if isinstance(side, Literal)), None)
        if constant is not None and constant.kind is LiteralKind.TEXT:
            return "write the number without quotes"
        if constant is not None:
            return f"write it as a text: '{typing.show(constant)}'"
        return "compare columns of one type"
    if Kind.DURATION in kinds and number is not None:
        unit = typing.scope.schema.time_unit
        if typing.scope.schema.fields[typing.scope.schema.time].is_number and unit is not None:
            return f"the time column has numbers in {unit}: write a plain number of {unit}"
        return "give the number a unit, such as 5 minutes"
    if Kind.TIMESTAMP in kinds and number is not None:
        return "write a time, such as TIMESTAMP '2024-01-31 10:00:00'"
    if Kind.TIMESTAMP in kinds and Kind.DURATION in kinds:
        return "subtract two timestamps to get a duration"
    return "compare values of one type"
