"""What a query must obey beyond its grammar: each clause once, SAME beside the other conditions, names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from cepheid.errors import QueryError, Span
from cepheid.language import canonical
from cepheid.language.actions import RawQuery, Same
from cepheid.language.tree import (
    Aggregate,
    At,
    Attribute,
    Call,
    Conjunction,
    Event,
    Expression,
    Node,
    Query,
    Skip,
    Window,
    children,
    walk,
)


def assemble(raw: RawQuery) -> Query:
    """The query of ``raw``.

    Raises:
        QueryError: for a clause that is given twice, a SAME in a wrong place, a name that stands alone.
    """
    clauses: dict[str, Any] = {}
    spans: dict[str, Span] = {}
    for clause in raw.clauses:
        if clause.keyword in clauses:
            remedy = "keep one of the two"
            if clause.keyword == "WHERE":
                remedy = "join the conditions by AND in one WHERE"
            raise QueryError(f"{clause.keyword} is given twice", remedy=remedy, span=clause.span)
        clauses[clause.keyword] = clause.value
        spans[clause.keyword] = clause.span
    where, same = _split(clauses.get("WHERE"))
    within, exclusive = clauses.get("WITHIN", (None, False))
    window_spans = [spans[k] for k in ("WITHIN", "BETWEEN EACH", "WINDOW") if k in spans]
    window = Window(
        within,
        exclusive,
        clauses.get("BETWEEN EACH"),
        clauses.get("WINDOW"),
        span=_joined(window_spans),
    )
    returns = clauses.get("RETURN", ())
    variables = {n.name for n in walk(raw.pattern) if isinstance(n, Event)}
    for root in (raw.pattern, *([where] if where is not None else []), *returns):
        check_expression(root, variables)
    query = Query(
        raw.pattern,
        where,
        tuple(same_key(key) for key in same),
        window,
        clauses.get("POLICY"),
        clauses.get("AFTER MATCH", Skip()),
        returns,
        clauses.get("FROM"),
        span=raw.span,
    )
    return canonical.name_by_type(query)


def _joined(spans: list[Span]) -> Span | None:
    return Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else None


def _split(where: Any) -> tuple[Expression | None, tuple[Expression, ...]]:
    """The condition without SAME, and what SAME names."""
    if where is None:
        return None, ()
    operands = where.operands if isinstance(where, Conjunction) else (where,)
    rest: list[Any] = []
    keys: list[Expression] = []
    for operand in operands:
        if isinstance(operand, Same):
            keys.extend(operand.keys)
        else:
            rest.append(operand)
    if not rest:
        return None, tuple(keys)
    if len(rest) == len(operands):
        return where, ()
    return canonical.conjunction(rest, where.span), tuple(keys)


def check_expression(root: Node, variables: Collection[str | None] = ()) -> None:
    """Refuse SAME inside of an expression, names without an attribute, and numbers beyond 64 bits.

    Args:
        root: the expression, or a node that holds some.
        variables: the names that the pattern gives.

    Raises:
        QueryError: at the first of them.
    """
    for node in walk(root):
        if isinstance(node, Same):
            raise QueryError(
                "SAME stands inside of a condition",
                remedy="it splits the whole stream: join it to the other conditions by AND, outside of OR and NOT",
                span=node.span,
            )
        if isinstance(node, Call):
            _check_call(node)
        if isinstance(node, Attribute | Aggregate) and node.variable is not None:
            canonical.check_variable(node.variable, node.span)
        if isinstance(node, Attribute) and node.variable is None:
            name = node.path[0]
            remedy = f"name the variable too, as in a.{name}; text is written in single quotes: '{name}'"
            if name in variables:
                remedy = f"name an attribute of it: {name}.x"
            raise QueryError(f"`{name}` stands alone", remedy=remedy, span=node.span)
    canonical.check_numbers(root)


def _check_call(node: Call) -> None:
    """Say what is wrong with ``sum(b)`` before the bare ``b`` is blamed."""
    if node.function.lower() not in canonical.AGGREGATES or len(node.arguments) != 1:
        return
    argument = node.arguments[0]
    if isinstance(argument, Attribute) and argument.variable is None:
        name = node.function.lower()
        raise QueryError(
            f"{name} needs an attribute to work on",
            remedy=f"write {name}({argument.path[0]}.x); only count takes a variable alone",
            span=argument.span or node.span,
        )


def same_key(node: Any) -> Any:
    """``node`` as SAME reads it: ``address.city`` is a path in every event, not a variable.

    Raises:
        QueryError: for what does not read one event.
    """
    if isinstance(node, Attribute):
        if node.at is not At.EACH:
            raise _same_error(node)
        return node if node.variable is None else Attribute(None, (node.variable, *node.path), span=node.span)
    if isinstance(node, Aggregate | Same):
        raise _same_error(node)
    changes: dict[str, Any] = {}
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        if isinstance(value, Node):
            changes[name] = same_key(value)
        elif isinstance(value, tuple) and any(isinstance(x, Node) for x in value):
            changes[name] = tuple(same_key(x) for x in value)
    if not changes and not list(children(node)):
        return node
    return replace(node, **changes)


def _same_error(node: Node) -> QueryError:
    return QueryError(
        "SAME reads one event at a time",
        remedy="name attributes, or functions of them: SAME[card, lower(city)]",
        span=node.span,
    )
