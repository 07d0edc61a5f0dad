"""The conditions of a sequence that are about several of its variables, and what a look-up can make of them."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.events.types import Kind
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.tree import Attribute, Compare, walk
from cepheid.plan.references import references
from cepheid.plan.sequence_elements import sequence_elements
from cepheid.ports.evaluation import Form, Pattern

_RANGES = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class Between:
    """A condition on several variables that a match binds.

    Attributes:
        conjunct: the condition.
        variables: those that it names.
        form: of use to a look-up.
    """

    conjunct: Conjunct
    variables: frozenset[str]
    form: Form


def conditions_between(bound: BoundQuery) -> tuple[Between, ...]:
    """The conditions of a sequence that name several variables, but for those of a NOT, in the order of the text.

    Args:
        bound: a query that has a choice: see `evaluation.only_eager_because`.
    """
    elements = sequence_elements(bound)
    loops = frozenset(element.variable for element in elements.positive if element.loop)
    return tuple(
        Between(one, frozenset(one.variables), _form(bound, one, loops))
        for one in elements.crossing
        if one.negated is None and len(one.variables) > 1
    )


def _form(bound: BoundQuery, conjunct: Conjunct, loops: frozenset[str]) -> Form:
    """As `compiler.keys` and `compiler.joins` find keys and ranges."""
    expression = conjunct.expression
    if not isinstance(expression, Compare) or len(conjunct.variables) != 2 or not loops.isdisjoint(conjunct.variables):
        return Form.OTHER
    for side in (expression.left, expression.right):
        if len({node.variable for node in walk(side) if isinstance(node, Attribute)}) != 1:
            return Form.OTHER
        if any(r.first or r.last or r.prev or r.aggregated for r in references(side).values()):
            return Form.OTHER
    kinds = {bound.types[side].kind for side in (expression.left, expression.right)}
    if len(kinds) > 1 or kinds & {Kind.LIST, Kind.STRUCT, Kind.OTHER}:
        return Form.OTHER
    if expression.operator == "=":
        return Form.EQUALITY
    return Form.RANGE if expression.operator in _RANGES else Form.OTHER


def pattern_of(bound: BoundQuery, *, kernel: str, at_once: bool) -> Pattern:
    """What a policy that chooses between evaluation plans knows of a query.

    Args:
        bound: a query that has a choice: see `evaluation.only_eager_because`.
        kernel, at_once: see `Pattern`.
    """
    positive = sequence_elements(bound).positive
    return Pattern(
        variables=tuple(element.variable for element in positive),
        conditions=tuple((one.variables, one.form) for one in conditions_between(bound)),
        loops={e.variable: (e.minimum, e.maximum) for e in positive if e.loop},
        same=bool(bound.partition),
        within_us=bound.window.within_us,
        within_events=bound.window.within_events,
        kernel=kernel,
        at_once=at_once,
    )
