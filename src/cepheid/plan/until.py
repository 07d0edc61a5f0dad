"""UNTIL: what closes a loop, in terms of the event that is read (SEMANTICS 3.5).

The event that is read is a variable of its own here, as one under NOT is. A loop takes an event if, since the one
before it in the match, none was read that closes the loop, itself included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeVar, cast

from cepheid.events.types import BOOL, INT, NULL, DataType
from cepheid.language.bound import Conjunct
from cepheid.language.tree import (
    Aggregate,
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
    Repeat,
    walk,
)
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
        others: the operands of ``rest``.
    """

    variable: str
    alone: tuple[Conjunct, ...]
    rest: Conjunct | None
    others: tuple[Expression, ...]

    def at_start(
        self, empty: frozenset[str], types: Mapping[Expression, DataType], new: dict[Expression, DataType]
    ) -> Conjunct | bool:
        """What must be true beside ``alone`` for an event to close the loop where nothing is bound yet.

        Args:
            empty: the variables that are passed over on the way to the loop: their aggregates are over nothing.
            types: of the expressions in ``others``.
            new: takes the types of the expressions that are new in it.

        Returns:
            True where nothing must, False where no event closes it.
        """
        left = [_where_unbound(operand, self.variable, empty, types, new) for operand in self.others]
        first = _all_of([operand for operand in left if operand is not None], new)
        return bool(self.alone) if first is None else Conjunct(first, (self.variable,), self.variable)


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
    # What is looked up is asked for as a whole, where the loop is open.
    alone = [operand for operand in operands if _reads_only(operand, variable) and has_remote(operand) is None]
    others = [operand for operand in operands if operand not in alone]
    rest = _all_of(others, new)
    if rest is not None and not alone:  # what is absent as a whole closes nothing
        rest = Disjunction((rest, _NEVER))
        new[rest] = new[_NEVER] = BOOL
    return (
        Until(
            variable,
            tuple(Conjunct(operand, (variable,), variable) for operand in alone),
            None if rest is None else Conjunct(rest, _names(rest), variable),
            tuple(others),
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


def _changed(
    node: _N,
    change: Callable[[Node], Node | None],
    types: Mapping[Expression, DataType],
    new: dict[Expression, DataType],
) -> _N:
    """A tree with some of its nodes replaced, those for which ``change`` gives another; the rest keeps its types."""
    made = change(node)
    if made is None:
        changes: dict[str, object] = {}
        for item in fields(node):
            value = getattr(node, item.name)
            if isinstance(value, Node):
                changes[item.name] = _changed(value, change, types, new)
            elif isinstance(value, tuple) and any(isinstance(part, Node) for part in value):
                changes[item.name] = tuple(_changed(part, change, types, new) for part in value)
        made = replace(node, **changes) if changes else node  # type: ignore[arg-type]
    before, after = cast(Expression, node), cast(Expression, made)
    if before in types and after not in new:
        new[after] = types[before]
    return cast(_N, made)


def _reading(
    node: Expression, own: str, variable: str, types: Mapping[Expression, DataType], new: dict[Expression, DataType]
) -> Expression:
    """A condition in terms of the event that is read; ``prev`` of the loop is the last that it has taken."""

    def change(node: Node) -> Node | None:
        match node:
            case Aggregate():
                return node
            case Attribute(variable=name, at=At.EACH) if name == own:
                return replace(node, variable=variable)
            case Attribute(variable=name, at=At.PREV) if name == own:
                return replace(node, at=At.LAST)
            case Attribute():
                return node
            case _:
                return None

    return _changed(node, change, types, new)


def _reads_only(expression: Expression, variable: str) -> bool:
    return all(
        not isinstance(node, Aggregate) and not (isinstance(node, Attribute) and node.variable != variable)
        for node in walk(expression)
    )


def _where_unbound(
    expression: Expression,
    variable: str,
    empty: frozenset[str],
    types: Mapping[Expression, DataType],
    new: dict[Expression, DataType],
) -> Expression | None:
    """A condition where no other variable is bound, and some are empty; None where it is absent then."""
    if _reads_only(expression, variable):
        return expression
    match expression:
        case Conjunction(operands) | Disjunction(operands):
            left = [
                part for part in (_where_unbound(o, variable, empty, types, new) for o in operands) if part is not None
            ]
            if len(left) < 2:
                return left[0] if left else None
            made = replace(expression, operands=tuple(left))
            new[made] = BOOL
            return made
        case Negation(operand):
            part = _where_unbound(operand, variable, empty, types, new)
            if part is None:
                return None
            negation = Negation(part)
            new[negation] = BOOL
            return negation
        case _:
            over_nothing = _over_nothing(expression, empty, types, new)
            return over_nothing if _reads_only(over_nothing, variable) else None


def _over_nothing(
    node: Expression, empty: frozenset[str], types: Mapping[Expression, DataType], new: dict[Expression, DataType]
) -> Expression:
    """An expression with the values of the aggregates of variables that took nothing (SEMANTICS 4.3)."""

    def change(node: Node) -> Node | None:
        if not isinstance(node, Aggregate):
            return None
        if node.variable not in empty:
            return node
        count = node.function == "count"
        made = Literal(0, LiteralKind.INT) if count else Literal(None, LiteralKind.NULL)
        new[made] = INT if count else NULL
        return made

    return _changed(node, change, types, new)
