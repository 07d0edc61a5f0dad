"""Which variables a condition reads, and how: this decides when it can be tested."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.language.bound import Conjunct
from cepheid.language.tree import Aggregate, At, Attribute, Expression, Remote, children


@dataclass(frozen=True)
class Reference:
    """How an expression reads one variable.

    Attributes:
        variable: its name.
        single: it reads a single element: ``b.x`` or ``prev(b).x``.
        first, last, prev: it reads ``first(b)``, ``last(b)``, ``prev(b)``.
        aggregated: it reads ``count(b)`` or another aggregate.
    """

    variable: str
    single: bool = False
    first: bool = False
    last: bool = False
    prev: bool = False
    aggregated: bool = False


def references(expression: Expression) -> dict[str, Reference]:
    """How ``expression`` reads each of its variables."""
    found: dict[str, dict[str, bool]] = {}

    def visit(node: Expression, inside: bool) -> None:
        if isinstance(node, Attribute) and node.variable is not None:
            entry = found.setdefault(node.variable, {})
            if not inside:
                entry["single"] = entry.get("single", False) or node.at in (At.EACH, At.PREV)
                entry["prev"] = entry.get("prev", False) or node.at is At.PREV
                entry["first"] = entry.get("first", False) or node.at is At.FIRST
                entry["last"] = entry.get("last", False) or node.at is At.LAST
        if isinstance(node, Aggregate):
            found.setdefault(node.variable, {})["aggregated"] = True
            inside = True
        for child in children(node):
            visit(child, inside)  # type: ignore[arg-type]

    visit(expression, False)
    return {name: Reference(name, **flags) for name, flags in found.items()}


def is_single(conjunct: Conjunct) -> bool:
    """Whether a conjunct is about one event alone, so that it can be evaluated column-wise before the engine."""
    if len(conjunct.variables) != 1 or has_remote(conjunct.expression) is not None:
        return False
    (reference,) = references(conjunct.expression).values()
    return reference.single and not (reference.prev or reference.first or reference.last or reference.aggregated)


def has_remote(expression: Expression) -> Remote | None:
    """The first remote look-up in ``expression``, or None."""
    if isinstance(expression, Remote):
        return expression
    for child in children(expression):
        found = has_remote(child)  # type: ignore[arg-type]
        if found is not None:
            return found
    return None
