"""UNTIL: what closes a loop, in terms of the event that is read (SEMANTICS 3.5).

The event that is read is a variable of its own here, as one under NOT is. A loop takes an event if, since the one
before it in the match, none was read that closes the loop, itself included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeVar, cast

from cepheid.events.types import BOOL, DataType
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.structure import parts, patterns
from cepheid.language.tree import (
    Aggregate,
    And,
    AnyOf,
    At,
    Attribute,
    Conjunction,
    Disjunction,
    Event,
    Expression,
    Literal,
    LiteralKind,
    Negation,
    Node,
    Not,
    Pattern,
    Repeat,
    walk,
)
from cepheid.plan.prefixes import has_prefixes
from cepheid.plan.references import has_remote

_N = TypeVar("_N", bound=Node)

_NEVER = Literal(False, LiteralKind.BOOL)


@dataclass(frozen=True)
class Until:
    """What closes a loop.

    Attributes:
        variable: the name of the event that is read; no other variable has it.
        alone: the conditions on this event alone.
        rest: what else must be true, or None.
        first: the same where nothing is bound yet, or None.
        at_start: whether an event closes the loop that satisfies ``alone`` and ``first``, where nothing is bound yet.
    """

    variable: str
    alone: tuple[Conjunct, ...]
    rest: Conjunct | None
    first: Conjunct | None
    at_start: bool


def loop_variable(loop: Repeat) -> str:
    """The variable of a loop over an element; bind has named it."""
    assert isinstance(loop.part, Event)
    assert loop.part.name is not None
    return loop.part.name


def until_of(
    loop: Repeat, variable: str, types: Mapping[Expression, DataType]
) -> tuple[Until, dict[Expression, DataType]]:
    """What closes a loop, and the types of the expressions that are new in it.

    Args:
        loop: a quantifier with UNTIL.
        variable: the name for the event that is read.
        types: of the expressions of the query.
    """
    assert loop.until is not None
    new: dict[Expression, DataType] = {}
    own = loop_variable(loop)
    condition = _reading(loop.until, own, variable, types, new)
    operands = condition.operands if isinstance(condition, Conjunction) else (condition,)
    alone = [operand for operand in operands if _reads_only(operand, variable)]
    others = [operand for operand in operands if not _reads_only(operand, variable)]
    rest = _all_of(others, new)
    first = _all_of([left for left in (_where_unbound(o, variable, new) for o in others) if left is not None], new)
    at_start = bool(alone) or first is not None
    if rest is not None and not alone:  # what is absent as a whole closes nothing
        rest = Disjunction((rest, _NEVER))
        new[rest] = new[_NEVER] = BOOL
    return (
        Until(
            variable,
            tuple(Conjunct(operand, (variable,), variable) for operand in alone),
            None if rest is None else Conjunct(rest, _names(rest), variable),
            None if first is None else Conjunct(first, (variable,), variable),
            at_start,
        ),
        new,
    )


def _names(expression: Expression) -> tuple[str, ...]:
    found = [n.variable for n in walk(expression) if isinstance(n, Attribute | Aggregate) and n.variable is not None]
    return tuple(dict.fromkeys(found))


def _all_of(operands: list[Expression], new: dict[Expression, DataType]) -> Expression | None:
    if len(operands) < 2:
        return operands[0] if operands else None
    conjunction = Conjunction(tuple(operands))
    new[conjunction] = BOOL
    return conjunction


def _reading(
    node: _N, own: str, variable: str, types: Mapping[Expression, DataType], new: dict[Expression, DataType]
) -> _N:
    """A condition in terms of the event that is read; ``prev`` of the loop is the last that it has taken."""
    made: Node = node
    if isinstance(node, Aggregate):
        return node
    if isinstance(node, Attribute):
        if node.variable == own and node.at is At.EACH:
            made = replace(node, variable=variable)
        elif node.variable == own and node.at is At.PREV:
            made = replace(node, at=At.LAST)
    else:
        changes: dict[str, object] = {}
        for item in fields(node):
            value = getattr(node, item.name)
            if isinstance(value, Node):
                changes[item.name] = _reading(value, own, variable, types, new)
            elif isinstance(value, tuple) and any(isinstance(part, Node) for part in value):
                changes[item.name] = tuple(_reading(part, own, variable, types, new) for part in value)
        made = replace(node, **changes) if changes else node  # type: ignore[arg-type]
    expression = cast(Expression, node)
    if expression in types:
        new[cast(Expression, made)] = types[expression]
    return cast(_N, made)


def _reads_only(expression: Expression, variable: str) -> bool:
    return all(
        not isinstance(node, Aggregate) and not (isinstance(node, Attribute) and node.variable != variable)
        for node in walk(expression)
    )


def _where_unbound(expression: Expression, variable: str, new: dict[Expression, DataType]) -> Expression | None:
    """A condition where no other variable is bound; None where it is absent then."""
    if _reads_only(expression, variable):
        return expression
    match expression:
        case Conjunction(operands) | Disjunction(operands):
            left = [part for part in (_where_unbound(o, variable, new) for o in operands) if part is not None]
            if len(left) < 2:
                return left[0] if left else None
            made = replace(expression, operands=tuple(left))
            new[made] = BOOL
            return made
        case Negation(operand):
            part = _where_unbound(operand, variable, new)
            if part is None:
                return None
            negation = Negation(part)
            new[negation] = BOOL
            return negation
        case _:
            return None


# --- what does not run yet ------------------------------------------------------------------------------


def not_yet(bound: BoundQuery) -> tuple[str, Node] | None:
    """What the engine cannot run of the UNTILs of a query, and where it stands; None where it runs all."""
    loops = [node for node in patterns(bound.pattern) if isinstance(node, Repeat) and node.until is not None]
    if loops and has_prefixes(bound):
        return "UNTIL with prefixes on elements", loops[0]
    return _not_yet(bound, bound.pattern, inside=None)


def _not_yet(bound: BoundQuery, pattern: Pattern, inside: str | None) -> tuple[str, Node] | None:
    if isinstance(pattern, Repeat) and pattern.until is not None:
        if inside is not None:
            return f"UNTIL {inside}", pattern
        return _not_yet_read(bound, pattern)
    if isinstance(pattern, Not):
        inside = "under NOT"
    elif isinstance(pattern, And | AnyOf):
        inside = inside or "inside AND or ANY"
    for part in parts(pattern):
        found = _not_yet(bound, part, inside)
        if found is not None:
            return found
    return None


def _not_yet_read(bound: BoundQuery, loop: Repeat) -> tuple[str, Node] | None:
    assert loop.until is not None
    own = loop_variable(loop)
    remote = has_remote(loop.until)
    if remote is not None:
        return f"REMOTE {remote.store}[...]", remote
    repeated = bool(bound.variables[own].groups) and bound.variables[own].optional
    for node in walk(loop.until):
        if isinstance(node, Aggregate):
            if node.variable != own:
                return "UNTIL with an aggregate of another variable", node
            if repeated:
                return "UNTIL with an aggregate of a loop that an iteration may leave out", node
        elif isinstance(node, Attribute) and node.variable not in (None, own):
            assert node.variable is not None
            if node.at is not At.EACH or bound.variables[node.variable].loop:
                return "UNTIL that reads a variable with several elements", node
    return None
