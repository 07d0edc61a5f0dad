"""Types of function calls and of look-ups in remote stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.errors import QueryError
from cepheid.events.types import DataType, Kind
from cepheid.language.faults import fault, listing, suggestion
from cepheid.language.functions import BUILTINS, Builtin, Takes, accepts, expected
from cepheid.language.operands import met, rank
from cepheid.language.results import AGGREGATES, SCALARS, common_type_of
from cepheid.language.scope import article, attribute_type
from cepheid.language.tree import Aggregate, Attribute, Call, Expression, Literal, Remote, walk

if TYPE_CHECKING:
    from cepheid.language.typecheck import Typing


def call(typing: Typing, node: Call, hint: DataType | None) -> tuple[Expression, DataType]:
    """A call of a built-in or registered function with its arguments typed, and its type.

    Raises:
        QueryError: there is no such function, or it takes other arguments.
    """
    builtin = BUILTINS.get(node.function.lower())
    registered = typing.catalog.functions.get(node.function)
    if builtin is not None and registered is not None:
        raise fault(
            f"{node.function} is a built-in function and a registered one", node, "register it under another name"
        )
    if builtin is not None:
        return _builtin(typing, node, builtin, hint)
    if registered is None and node.function.lower() in AGGREGATES:
        raise _no_aggregate(typing, node)
    if registered is None:
        known = (*BUILTINS, *AGGREGATES, *typing.catalog.functions)
        otherwise = "register it in the catalog before the query is bound"
        raise fault(f"there is no function {node.function}", node, suggestion(node.function, known, otherwise))
    if len(node.arguments) != len(registered.arguments):
        raise _wrong_count(node, registered.name, str(len(registered.arguments)))
    arguments = []
    for index, (argument, want) in enumerate(zip(node.arguments, registered.arguments, strict=True)):
        new, dtype = typing.typed(argument, want)
        if not _fits(dtype, want):
            raise fault(
                f"argument {index + 1} of {registered.name} is {article(want)}, and "
                f"{typing.show(argument)} is {article(dtype)}",
                argument,
                f"pass {article(want)}, or register {registered.name} with another type",
            )
        arguments.append(new)
    return replace(node, arguments=tuple(arguments)), registered.result


def _no_aggregate(typing: Typing, node: Call) -> QueryError:
    """Why a call of an aggregate is none: the tree has an Aggregate where it reads exactly one variable."""
    name = node.function.lower()
    nodes = [below for below in walk(node) if isinstance(below, (Attribute, Aggregate))]
    read = dict.fromkeys(below.variable for below in nodes if below.variable is not None)
    if len(node.arguments) > 1:
        several = {"min": "least", "max": "greatest"}.get(name)
        remedy = f"write {several}(...) for the {name} of several values" if several else f"write {name}(b.x)"
        return fault(f"{name} takes one argument, not {len(node.arguments)}", node, remedy)
    if len(read) > 1:
        return fault(
            f"an aggregate reads one variable, and this one reads {' and '.join(read)}",
            node,
            "move the other variable out of the aggregate",
        )
    return fault(f"{typing.show(node)} reads no variable", node, f"write {name}(b.x), for a variable b of the pattern")


def _builtin(typing: Typing, node: Call, builtin: Builtin, hint: DataType | None) -> tuple[Expression, DataType]:
    n_given = len(node.arguments)
    if n_given < builtin.n_least or (builtin.n_most is not None and n_given > builtin.n_most):
        wanted = str(builtin.n_least)
        if builtin.n_most is None:
            wanted = f"at least {builtin.n_least}"
        elif builtin.n_most != builtin.n_least:
            wanted = f"{builtin.n_least} or {builtin.n_most}"
        raise _wrong_count(node, builtin.name, wanted)
    gives_float = builtin.name in ("sqrt", "power", "distance")
    typed: dict[int, tuple[Expression, DataType]] = {}
    for index in sorted(range(n_given), key=lambda i: rank(typing, node.arguments[i])):
        others = [dtype for _, dtype in typed.values()]
        want = expected(builtin.taken(index), others, hint, gives_float)
        typed[index] = typing.typed(node.arguments[index], want)
    alike = common_type_of(dtype for _, dtype in typed.values())
    arguments, types = [], []
    for index in range(n_given):
        new, dtype = typed[index]
        takes = builtin.taken(index)
        if not accepts(takes, dtype) or (takes is Takes.DIGITS and not isinstance(new, Literal)):
            raise fault(
                f"argument {index + 1} of {builtin.name} is {takes.value}, and "
                f"{typing.show(node.arguments[index])} is {article(dtype)}",
                node.arguments[index],
                f"write {builtin.signature}",
            )
        if takes is Takes.ALIKE and alike is not None:
            new, dtype = met(typing, new, dtype, alike)
        arguments.append(new)
        types.append(dtype)
    result = builtin.result(types, _digits(builtin, arguments))
    if result is None:
        raise fault(
            f"the arguments of {builtin.name} cannot be compared: "
            + ", ".join(f"{typing.show(a)} is {article(t)}" for a, t in zip(node.arguments, types, strict=True)),
            node,
            "give it values of one type",
        )
    return replace(node, function=builtin.name, arguments=tuple(arguments)), result


def _wrong_count(node: Call, name: str, wanted: str) -> QueryError:
    n_given = len(node.arguments)
    return fault(
        f"{name} takes {wanted} argument{'' if wanted == '1' else 's'}, not {n_given}",
        node,
        f"write {BUILTINS[name].signature}" if name in BUILTINS else f"give it {wanted}",
    )


def remote(typing: Typing, node: Remote) -> tuple[Expression, DataType]:
    """A look-up with its key typed, and the type of what it gives.

    Raises:
        QueryError: the store is not declared, has no such field, or has another key.
    """
    store = typing.catalog.stores.get(node.store)
    if store is None:
        known = listing(typing.catalog.stores)
        otherwise = f"declare it in the catalog; declared are: {known}"
        raise fault(f"there is no store {node.store}", node, suggestion(node.store, typing.catalog.stores, otherwise))
    n_parts = len(store.key)
    if len(node.key) != n_parts:
        raise fault(
            f"the key of {store.name} has {n_parts} part{'' if n_parts == 1 else 's'}, not {len(node.key)}",
            node,
            f"write REMOTE {store.name}[{', '.join(str(part) for part in store.key)}]",
        )
    key = []
    for part, want in zip(node.key, store.key, strict=True):
        new, dtype = typing.typed(part, want)
        if not _fits(dtype, want):
            raise fault(
                f"the key of {store.name} is {article(want)}, and {typing.show(part)} is {article(dtype)}",
                part,
                f"look it up by {article(want)}",
            )
        key.append(new)
    return replace(node, key=tuple(key)), _remote_type(node, store.name, dict(store.fields))


def _remote_type(node: Remote, store: str, fields: dict[str, DataType]) -> DataType:
    if not node.path:
        if "" in fields:
            return fields[""]
        raise fault(
            f"an element of {store} has fields: it is no value itself",
            node,
            f"name one of its fields: {listing(fields)}",
        )
    if "" in fields and len(fields) == 1 and fields[""].kind is not Kind.STRUCT:
        raise fault(f"an element of {store} is {article(fields[''])}: it has no fields", node, "name no field")
    if "" in fields and fields[""].kind is Kind.STRUCT:
        fields = dict(fields[""].fields)
    return attribute_type(fields, Attribute(None, node.path, span=node.span), f"an element of {store}", called="field")


def _fits(dtype: DataType, want: DataType) -> bool:
    """True where a value of ``dtype`` can be handed over as ``want``: an int may stand for a float."""
    if dtype.kind is Kind.NULL or dtype == want:
        return True
    if want.kind is Kind.FLOAT:
        return dtype.is_number
    if want.kind is Kind.DECIMAL:
        return dtype.kind in (Kind.INT, Kind.DECIMAL) and (dtype.scale or 0) <= (want.scale or 0)
    return dtype.kind is want.kind and dtype.kind in SCALARS


def _digits(builtin: Builtin, arguments: Sequence[Expression]) -> int | None:
    for index, argument in enumerate(arguments):
        if builtin.taken(index) is Takes.DIGITS and isinstance(argument, Literal):
            assert isinstance(argument.value, int)
            return argument.value
    return None
