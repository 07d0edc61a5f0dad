"""Types of attributes and aggregates, and what each clause may read of a variable."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.errors import QueryError
from cepheid.events.types import INT, DataType
from cepheid.language.bound import Variable
from cepheid.language.faults import fault, listing
from cepheid.language.results import AGGREGATES, aggregate_type
from cepheid.language.scope import Clause, article, attribute_type
from cepheid.language.tree import Aggregate, At, Attribute, Expression, walk

if TYPE_CHECKING:
    from cepheid.language.typecheck import Typing


def attribute(typing: Typing, node: Attribute) -> DataType:
    """The type of an attribute, where its clause may read it.

    Raises:
        QueryError: there is no such variable or attribute, or the clause may not read it.
    """
    if typing.clause is Clause.SAME:
        return _attribute_of_all(typing, node)
    if node.variable is None:
        raise _bare(typing, node)
    variable = typing.scope.variable(node.variable, node)
    check_use(typing, variable, node)
    if not node.path:
        raise fault(
            f"{typing.show(node)} is an event, not a value",
            node,
            f"name one of its attributes: {listing(variable.fields)}",
        )
    fields, types = variable.fields, variable.types
    owner = f"{variable.name} ({' | '.join(types)})" if types else variable.name
    if variable.name == typing.until and node.at is At.EACH and typing.aggregated is None:
        # UNTIL tests every event, of any type.
        fields, types, owner = typing.scope.schema.fields, (), "an event"
    others = [name for name, have in typing.scope.schema.per_type.items() if node.path[0] in have]
    dtype = attribute_type(fields, node, owner, others=others)
    clash = typing.scope.conflict(types, node.path[0])
    if clash is not None:
        raise fault(
            f"{node.path[0]} has another type in {clash[0]} than in {clash[1]}",
            node,
            "take the two event types in two elements, or bring the columns to one type",
        )
    return dtype


def _attribute_of_all(typing: Typing, node: Attribute) -> DataType:
    fields = typing.scope.schema.fields
    if node.variable is not None:
        raise fault(
            f"SAME is for all events, not for those of {node.variable}",
            node,
            f"write SAME[{'.'.join(node.path)}], or compare two variables with =",
        )
    if len(node.path) > 1 and node.path[0] not in fields and node.path[0] in typing.scope.variables:
        raise fault(
            f"SAME is for all events, not for those of {node.path[0]}",
            node,
            f"write SAME[{'.'.join(node.path[1:])}], or compare two variables with =",
        )
    dtype = attribute_type(fields, node, "an event")
    for name, variable in typing.scope.variables.items():
        _check_everywhere(typing, node, name, variable)
    clash = typing.scope.conflict((), node.path[0])
    if clash is not None:
        raise fault(
            f"{node.path[0]} has another type in {clash[0]} than in {clash[1]}",
            node,
            "bring the columns to one type",
        )
    return dtype


def _check_everywhere(typing: Typing, node: Attribute, name: str, variable: Variable) -> None:
    for event_type in variable.types:
        fields = typing.scope.schema.per_type.get(event_type)
        if fields is not None and node.path[0] not in fields:
            raise fault(
                f"SAME[{node.path[0]}] leaves out every {event_type}: it has no such attribute",
                node,
                f"an event without {node.path[0]} is in no partition; name an attribute that all types have",
            )


def _bare(typing: Typing, node: Attribute) -> QueryError:
    name = node.path[0] if node.path else "it"
    owners = [v.name for v in typing.scope.variables.values() if not v.hidden and name in v.fields]
    if name in typing.scope.variables:
        return fault(f"{name} is an event, not a value", node, f"name an attribute, as in {name}.attribute")
    remedy = f"write {owners[0]}.{name}" if owners else "write variable.attribute"
    return fault(f"{name} stands without a variable", node, remedy)


def check_use(typing: Typing, variable: Variable, node: Attribute) -> None:
    """Refuse what a clause or an aggregate may not read of ``variable``.

    Raises:
        QueryError: a negated variable in RETURN, ``prev`` where nothing is before, two variables in one
            aggregate.
    """
    if typing.clause is Clause.RETURN and variable.negated:
        raise fault(
            f"{variable.name} stands under NOT: a match has no such event to return",
            node,
            "return attributes of the variables that a match binds",
        )
    if typing.aggregated is not None:
        if variable.name != typing.aggregated:
            raise fault(
                f"an aggregate reads one variable, and this one reads {typing.aggregated} and {variable.name}",
                node,
                "move the other variable out of the aggregate",
            )
        if node.at is not At.EACH:
            raise fault(
                f"{node.at.value}({variable.name}) stands inside an aggregate, which reads each element",
                node,
                f"write {variable.name}.{'.'.join(node.path)}",
            )
        return
    if node.at is At.PREV:
        if not variable.loop:
            raise fault(
                f"prev({variable.name}) asks for the element before, but {variable.name} is one event",
                node,
                f"put a quantifier on {variable.name}, such as +, or name the variable before it",
            )
        if typing.clause is Clause.RETURN:
            raise fault(
                f"prev({variable.name}) has no meaning in RETURN, where the match is complete",
                node,
                f"return first({variable.name}), last({variable.name}) or {variable.name}.{'.'.join(node.path)}",
            )


def aggregate(typing: Typing, node: Aggregate, hint: DataType | None) -> tuple[Expression, DataType]:
    """An aggregate with its argument typed, and its type. A variable that is no loop is a loop of one.

    Raises:
        QueryError: it stands in SAME or in another aggregate, or its function does not take such an argument.
    """
    if typing.clause is Clause.SAME:
        raise fault("SAME is tested on one event: it has nothing to aggregate", node, "name attributes alone")
    if typing.aggregated is not None:
        raise fault("an aggregate stands inside an aggregate", node, "aggregate once")
    if node.function not in AGGREGATES:
        raise fault(f"{node.function} is no aggregate", node, f"the aggregates are: {listing(AGGREGATES)}")
    place = Attribute(node.variable, (), span=node.span)
    variable = typing.scope.variable(node.variable, place)
    check_use(typing, variable, place)
    if node.argument is None:
        if node.function != "count":
            raise fault(
                f"{node.function}({node.variable}) does not say of which attribute",
                node,
                f"write {node.function}({node.variable}.attribute); only count takes a variable",
            )
        return node, INT
    typing.aggregated = variable.name
    try:
        argument, dtype = typing.typed(node.argument, hint if node.function in ("sum", "min", "max") else None)
    finally:
        typing.aggregated = None
    if not any(isinstance(below, Attribute) for below in walk(node.argument)):
        raise fault(
            f"{typing.show(node)} reads no attribute of {node.variable}",
            node,
            f"write {node.function}({node.variable}.x)",
        )
    result = aggregate_type(node.function, dtype)
    if result is None:
        takes = "a number" if node.function in ("sum", "avg") else "values that have an order"
        raise fault(
            f"{node.function} takes {takes}, and {typing.show(node.argument)} is {article(dtype)}",
            node.argument,
            "count takes any type" if node.function in ("sum", "avg") else "name a field of it, or count it",
        )
    return replace(node, argument=argument), result
