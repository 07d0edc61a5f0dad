"""WHERE as a list of conditions: NOT pushed inward, brackets of AND removed (SEMANTICS 4.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from cepheid.language.tree import (
    Aggregate,
    Arithmetic,
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

OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""The comparison that holds exactly where the other does not; NULL and absent stay what they are, and
NaN has its place in the order, so the opposite is right for every value."""

MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The comparison with its sides exchanged."""

_Flagged = TypeVar("_Flagged", IsNull, In, InSet, Like)


def pushed_inward(condition: Expression, negate: bool = False) -> Expression:
    """``condition`` (or its negation) with NOT only on what has no opposite: an attribute, a call.

    De Morgan's rules keep the meaning with NULL and with absent operands, which are neutral in AND and
    in OR alike.
    """
    match condition:
        case Negation():
            return pushed_inward(condition.operand, not negate)
        case Conjunction() | Disjunction():
            operands = tuple(pushed_inward(operand, negate) for operand in condition.operands)
            wants_and = isinstance(condition, Conjunction) is not negate
            kind: type[Conjunction] | type[Disjunction] = Conjunction if wants_and else Disjunction
            return kind(_flat(kind, operands), span=condition.span)
        case Compare():
            inner = replace(condition, left=pushed_inward(condition.left), right=pushed_inward(condition.right))
            return replace(inner, operator=OPPOSITE[inner.operator]) if negate else inner
        case IsNull():
            return _flipped(replace(condition, operand=pushed_inward(condition.operand)), negate)
        case In():
            options = tuple(pushed_inward(option) for option in condition.options)
            return _flipped(replace(condition, operand=pushed_inward(condition.operand), options=options), negate)
        case InSet():
            return _flipped(replace(condition, operand=pushed_inward(condition.operand)), negate)
        case Like():
            return _flipped(replace(condition, operand=pushed_inward(condition.operand)), negate)
        case Literal() if negate and condition.kind is LiteralKind.BOOL:
            return replace(condition, value=not condition.value)
        case Literal() if negate and condition.kind is LiteralKind.NULL:
            return condition
        case _:
            inner_value = _below(condition)
            return Negation(inner_value, span=condition.span) if negate else inner_value


def _below(value: Expression) -> Expression:
    """``value``, no condition itself, with NOT pushed inward in the conditions that it is computed from."""
    match value:
        case Arithmetic():
            return replace(value, left=pushed_inward(value.left), right=pushed_inward(value.right))
        case Negative():
            return replace(value, operand=pushed_inward(value.operand))
        case Call():
            return replace(value, arguments=tuple(pushed_inward(argument) for argument in value.arguments))
        case Remote():
            return replace(value, key=tuple(pushed_inward(part) for part in value.key))
        case Aggregate() if value.argument is not None:
            return replace(value, argument=pushed_inward(value.argument))
        case _:
            return value


def _flipped(condition: _Flagged, negate: bool) -> _Flagged:
    return replace(condition, negated=not condition.negated) if negate else condition


def _flat(kind: type[Conjunction] | type[Disjunction], operands: tuple[Expression, ...]) -> tuple[Expression, ...]:
    flat: list[Expression] = []
    for operand in operands:
        if isinstance(operand, kind):
            flat.extend(operand.operands)
        else:
            flat.append(operand)
    return tuple(flat)


def split(condition: Expression | None) -> tuple[Expression, ...]:
    """The operands of AND in a condition whose NOTs are pushed inward; TRUE asks for nothing."""
    if condition is None:
        return ()
    operands = condition.operands if isinstance(condition, Conjunction) else (condition,)
    return tuple(operand for operand in operands if not _is_true(operand))


def _is_true(condition: Expression) -> bool:
    return isinstance(condition, Literal) and condition.kind is LiteralKind.BOOL and condition.value is True
