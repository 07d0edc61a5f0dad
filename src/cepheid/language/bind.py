"""A query against its schema: names, types, units and every rule that can be tested before an event is seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from cepheid.errors import QueryError
from cepheid.events.schema import Schema
from cepheid.events.types import BOOL, DataType, Kind
from cepheid.language import wellformed
from cepheid.language.bound import BoundQuery, Catalog, Conjunct, Returned, Written
from cepheid.language.canonical import Measure
from cepheid.language.composite import composite_schema, inner_written, with_inner
from cepheid.language.conjuncts import pushed_inward, split
from cepheid.language.contradictions import check_satisfiable
from cepheid.language.faults import fault
from cepheid.language.parameter_types import settled
from cepheid.language.parser import parse
from cepheid.language.printer import print_query
from cepheid.language.returning import returned
from cepheid.language.scope import Clause, Scope, article, scope_of
from cepheid.language.soundness import check_sound
from cepheid.language.structure import parts, with_parts
from cepheid.language.tree import (
    Aggregate,
    Attribute,
    Expression,
    Node,
    Parameter,
    Pattern,
    Policy,
    Query,
    Repeat,
    walk,
)
from cepheid.language.typecheck import Typing
from cepheid.language.windows import resolved


def bind(query: Query, schema: Schema, *, catalog: Catalog | None = None, text: str | None = None) -> BoundQuery:
    """The query with every name, type and unit settled.

    Args:
        query: the tree, from the parser or the builder.
        schema: the events that it reads; with FROM, those that the query named there reads.
        catalog: the functions, stores and queries that it may name; none by default.
        text: the text that the query was parsed from, for errors; the printed query where it is None.

    Returns:
        The bound query. Its pattern has a name on every element (``#0``, ``#1``, ...), its conditions have
        NOT pushed inward and constants of the type of what they meet, conditions of UNTIL among them.

    Raises:
        QueryError: the query cannot be read with this schema, or breaks a rule of the language. It names the
            line and column, marks the place, and says what to do.
    """
    return _bind(query, schema, Catalog() if catalog is None else catalog, text, ())


def _bind(query: Query, schema: Schema, catalog: Catalog, text: str | None, above: tuple[str, ...]) -> BoundQuery:
    """`bind`; ``above`` are the queries whose events come from this one."""
    known = text if query.span is not None else None
    try:
        # Before the tree is printed or checked: both call themselves for each level, and trust each node.
        Measure().check(query)
        check_sound(query)
        known, placed = placed_in(query, text)
        inner = None
        if query.source is not None:
            name = inner_written(placed, catalog, above, known)
            inner = _bind_inner(catalog.queries[name], schema, catalog, (*above, name))
            schema = composite_schema(inner, name)
        return with_inner(replace(bound_query(placed, schema, catalog, known), query=query), inner)
    except QueryError as error:
        if not known:
            error.span = None
            raise
        raise error.located(known) from None


def _bind_inner(written: Written, schema: Schema, catalog: Catalog, above: tuple[str, ...]) -> BoundQuery:
    try:
        bound = _bind(written.tree, schema, catalog, written.text, above)
        return replace(bound, origin=written.origin)
    except QueryError as error:
        raise error.located(written.text, written.origin) from None


def placed_in(query: Query, text: str | None) -> tuple[str, Query]:
    """The text that errors point into, and the query with places in that text."""
    if text is not None and query.span is not None:
        return text, query
    try:
        text = print_query(query)
        read = parse(text)
    except QueryError:
        # A tree that no text gives (put together by hand): its errors have no place.
        return "", query
    return text, read if read == query else query


def bound_query(query: Query, schema: Schema, catalog: Catalog, text: str, *, filled: bool = False) -> BoundQuery:
    """The query with every name, type and unit settled, as `bind` gives it.

    Args:
        query: the tree, with places in ``text``.
        schema: the events.
        catalog: functions and stores.
        text: what messages quote.
        filled: constants stand for parameters: they may make conditions that never hold, and empty lists.

    Raises:
        QueryError: the query does not fit; the error does not have the text yet.
    """
    window = resolved(query.window, schema)
    policy = query.policy or Policy.NEXT
    wellformed.check_pattern(query.pattern)
    scope = scope_of(query.pattern, schema)
    wellformed.check_query(query, scope, window, policy)
    typed = _settle_parameters(query, scope, catalog, text, filled)
    conjuncts = tuple(_conjunct(expression, scope) for expression in split(typed.where))
    types = _types(typed, conjuncts)
    if not filled:
        check_satisfiable([conjunct.expression for conjunct in conjuncts], scope, types)
    return BoundQuery(
        query=query,
        schema=schema,
        pattern=typed.pattern,
        variables=scope.variables,
        conjuncts=conjuncts,
        partition=typed.partition,
        window=window,
        policy=policy,
        skip=query.skip,
        returns=typed.returns,
        parameters=typed.parameters,
        types=types,
        catalog=catalog,
        text=text,
    )


@dataclass(frozen=True)
class _Typed:
    """The expressions of a query with their types; ``where`` has NOT pushed inward."""

    pattern: Pattern
    where: Expression | None
    partition: tuple[Expression, ...]
    returns: tuple[Returned, ...]
    parameters: Mapping[str, DataType]
    types: Mapping[Expression, DataType]


def _settle_parameters(query: Query, scope: Scope, catalog: Catalog, text: str, filled: bool) -> _Typed:
    """Types the query until every place of each parameter agrees with its type."""
    parameters: dict[str, DataType] = {}
    while True:
        typing = Typing(scope, catalog, text, parameters=parameters, empty_lists=filled)
        typed = _type(query, scope, typing)
        found = settled(parameters, typing.met)
        if found == parameters:
            for name, node in typing.unresolved.items():
                raise fault(
                    f"nothing tells the type of :{name}", node, f"compare it with an attribute, as in a.x > :{name}"
                )
            return replace(typed, parameters=_in_order(query, parameters))
        parameters = found


def _in_order(query: Query, parameters: Mapping[str, DataType]) -> dict[str, DataType]:
    names = dict.fromkeys(node.name for node in walk(query) if isinstance(node, Parameter))
    return {name: parameters[name] for name in names}


def _type(query: Query, scope: Scope, typing: Typing) -> _Typed:
    typing.clause = Clause.SAME
    partition = tuple(_partition_key(key, typing) for key in query.same)
    typing.clause = Clause.WHERE
    where = None if query.where is None else _condition(query.where, typing)
    pattern = _with_until(scope.pattern, typing)
    typing.clause = Clause.RETURN
    returns = returned(query.returns, scope, typing)
    return _Typed(pattern, where, partition, returns, {}, typing.types)


def _condition(node: Expression, typing: Typing) -> Expression:
    inward = pushed_inward(typing.condition(node))
    for below in walk(inward):
        # What has no type yet was made while NOT was pushed inward: a condition.
        typing.types.setdefault(cast(Expression, below), BOOL)
    return inward


def _partition_key(key: Expression, typing: Typing) -> Expression:
    new, dtype = typing.typed(key)
    if not any(isinstance(node, Attribute) for node in walk(key)):
        raise fault("SAME names no attribute: every event would be in one partition", key, "name an attribute")
    if dtype.kind in (Kind.LIST, Kind.SET, Kind.STRUCT, Kind.OTHER):
        remedy = "name one of its fields" if dtype.kind is Kind.STRUCT else "name an attribute with single values"
        raise fault(f"SAME splits by single values, and {typing.show(key)} is {article(dtype)}", key, remedy)
    return new


def _with_until(pattern: Pattern, typing: Typing) -> Pattern:
    """The pattern with its UNTIL conditions typed."""
    below = tuple(_with_until(part, typing) for part in parts(pattern))
    new = with_parts(pattern, below) if below else pattern
    if not isinstance(new, Repeat) or new.until is None:
        return new
    wellformed.check_until(new, typing.scope)
    typing.clause, typing.until = Clause.UNTIL, wellformed.loop_name(new)
    until = _condition(new.until, typing)
    typing.clause, typing.until = Clause.WHERE, None
    return replace(new, until=until)


def variables_of(expression: Expression) -> frozenset[str]:
    """The names of the variables that ``expression`` reads."""
    return frozenset(
        node.variable
        for node in walk(expression)
        if isinstance(node, (Attribute, Aggregate)) and node.variable is not None
    )


def _conjunct(expression: Expression, scope: Scope) -> Conjunct:
    read = variables_of(expression)
    names = tuple(name for name in scope.variables if name in read)
    negated = [name for name in names if scope.variables[name].negated]
    if len(negated) > 1:
        raise fault(
            f"{negated[0]} and {negated[1]} both stand under NOT, and one condition names both",
            expression,
            "compare each with a variable outside of NOT, in a condition of its own",
        )
    return Conjunct(expression, names, negated[0] if negated else None)


def _types(typed: _Typed, conjuncts: Iterable[Conjunct]) -> dict[Expression, DataType]:
    """The types of the nodes that the bound query has, and of no others."""
    roots: list[Node] = [conjunct.expression for conjunct in conjuncts]
    roots.extend(typed.partition)
    roots.extend(item.expression for item in typed.returns)
    roots.extend(node.until for node in walk(typed.pattern) if isinstance(node, Repeat) and node.until is not None)
    nodes = (cast(Expression, node) for root in roots for node in walk(root))
    return {node: typed.types[node] for node in nodes}
