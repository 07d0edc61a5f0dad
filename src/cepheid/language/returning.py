"""RETURN: the output columns, their names and types (SEMANTICS 8)."""

from __future__ import annotations

from cepheid.errors import QueryError
from cepheid.events.types import DataType, Kind, list_of
from cepheid.language.bound import Returned
from cepheid.language.faults import fault
from cepheid.language.scope import Scope
from cepheid.language.tree import (
    Aggregate,
    At,
    Attribute,
    Expression,
    Node,
    ReturnItem,
    children,
)
from cepheid.language.typecheck import Typing


def returned(items: tuple[ReturnItem, ...], scope: Scope, typing: Typing) -> tuple[Returned, ...]:
    """The columns that RETURN names.

    Raises:
        QueryError: an expression that does not fit, two columns of one name, a column without a type.
    """
    columns: list[Returned] = []
    names: dict[str, str] = {}
    for item in items:
        column = _column(item, scope, typing)
        before = names.setdefault(column.name.lower(), column.name)
        if any(have.name.lower() == column.name.lower() for have in columns):
            raise _duplicate(item, column.name, before)
        columns.append(column)
    return tuple(columns)


def _duplicate(item: ReturnItem, name: str, before: str) -> QueryError:
    message = f"RETURN names two columns {name}"
    if before != name:
        message = f"RETURN names the columns {before} and {name}: Spark does not tell them apart"
    return fault(message, item, f"give one of them another name, as in ... AS {name}_2")


def _column(item: ReturnItem, scope: Scope, typing: Typing) -> Returned:
    expression, dtype = typing.typed(item.expression)
    # A column of the events that holds nothing but NULL (pandas and Arrow give it no type) is carried as any other.
    if dtype.kind is Kind.NULL and not typing.unresolved and not isinstance(item.expression, Attribute):
        raise fault("this column is NULL in every match, and has no type", item, "leave it out of RETURN")
    if dtype.kind is Kind.SET:
        raise fault(
            f"{typing.show(item.expression)} is a set, which cannot be returned",
            item,
            "return a test of it, as in a.x IN REMOTE store[key].field",
        )
    dtype = _over_elements(item.expression, dtype, scope, typing)
    name = item.name if item.name is not None else default_name(item.expression, typing)
    if not name:
        raise fault("a column of RETURN has an empty name", item, "give it a name with AS")
    return Returned(name, expression, dtype)


def default_name(expression: Expression, typing: Typing) -> str:
    """The name of a column that has no AS: the attribute's own, else the expression as it is written."""
    if isinstance(expression, Attribute):
        return expression.path[-1]
    return typing.show(expression)


def _over_elements(expression: Expression, dtype: DataType, scope: Scope, typing: Typing) -> DataType:
    """The type of a column: ``b.x`` of a loop is the list of its values."""
    if _each_element(expression, scope):
        return list_of(dtype)
    if isinstance(expression, Aggregate):
        return dtype
    inner = _loop_inside(expression, scope)
    if inner is not None:
        name = inner.variable
        raise fault(
            f"{typing.show(inner)} is the list of its values in RETURN, which cannot be computed with",
            inner,
            f"return {typing.show(inner)} alone, or an aggregate or first({name}), last({name}) of it",
        )
    return dtype


def _each_element(node: Node, scope: Scope) -> bool:
    return (
        isinstance(node, Attribute)
        and node.at is At.EACH
        and node.variable is not None
        and scope.variables[node.variable].loop
    )


def _loop_inside(node: Node, scope: Scope) -> Attribute | None:
    """The first attribute of each element of a loop below ``node``, outside of aggregates."""
    for child in children(node):
        if isinstance(child, Aggregate):
            continue
        if isinstance(child, Attribute) and _each_element(child, scope):
            return child
        below = _loop_inside(child, scope)
        if below is not None:
            return below
    return None
