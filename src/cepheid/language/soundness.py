"""What a tree must be to be read at all: a tree put together by hand can be anything."""

from __future__ import annotations

from decimal import Decimal

from cepheid.errors import QueryError
from cepheid.language.conjuncts import OPPOSITE
from cepheid.language.faults import fault
from cepheid.language.tree import (
    Arithmetic,
    Attribute,
    Compare,
    Conjunction,
    Disjunction,
    Event,
    Extent,
    Literal,
    LiteralKind,
    Node,
    Query,
    walk,
)

_VALUES: dict[LiteralKind, type | tuple[type, ...]] = {
    LiteralKind.INT: int,
    LiteralKind.FLOAT: (int, float, Decimal),
    LiteralKind.TEXT: str,
    LiteralKind.BOOL: bool,
    LiteralKind.NULL: type(None),
    LiteralKind.DURATION: int,
    LiteralKind.TIMESTAMP: int,
    LiteralKind.DECIMAL: Decimal,
}
"""Kind of a constant -> the Python types that its value may have."""


def check_sound(query: Query) -> None:
    """Refuse a tree that breaks what its nodes promise, such as an operator that does not exist.

    Raises:
        QueryError: at the first such node. The parser and the builder make none.
    """
    for node in walk(query):
        what = _wrong(node)
        if what is not None:
            raise _error(what, node)


def _error(what: str, node: Node) -> QueryError:
    return fault(f"the tree is malformed: {what}", node, "make trees with the parser or the builder")


def _wrong(node: Node) -> str | None:
    match node:
        case Attribute() if node.variable is None and not node.path:
            return "an attribute has neither a variable nor a path"
        case Attribute() if not all(isinstance(part, str) and part for part in node.path):
            return "an attribute's path has a part that is no name"
        case Compare() if node.operator not in OPPOSITE:
            return f"there is no comparison {node.operator!r}"
        case Arithmetic() if node.operator not in ("+", "-", "*", "/", "%"):
            return f"there is no operator {node.operator!r}"
        case Conjunction() | Disjunction() if not node.operands:
            return "AND or OR has no operands"
        case Event() if not all(isinstance(name, str) and name for name in node.types):
            return "an event type is no name"
        case Extent() if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            return f"{node.value!r} is no length"
        case Literal() if not _is_value(node):
            return f"{node.value!r} is no {node.kind.value}"
        case _:
            return None


def _is_value(literal: Literal) -> bool:
    # A bool is an int to Python, but never a number here.
    if isinstance(literal.value, bool):
        return literal.kind is LiteralKind.BOOL
    if literal.kind in (LiteralKind.FLOAT, LiteralKind.DECIMAL) and isinstance(literal.value, Decimal):
        return literal.value.is_finite()
    return isinstance(literal.value, _VALUES[literal.kind])
