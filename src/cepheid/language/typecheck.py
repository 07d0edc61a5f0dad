"""The type of every expression, and constants brought to the type of what they meet."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cepheid.events.types import BOOL, NULL, DataType, Kind
from cepheid.language.attributes import aggregate, attribute
from cepheid.language.bound import Catalog
from cepheid.language.calls import call, remote
from cepheid.language.conditions import compare, in_list, in_set, is_null, like
from cepheid.language.faults import fault, shown
from cepheid.language.literals import INT_LEAST, INT_MOST, coerced, literal_type
from cepheid.language.operands import arithmetic, negative
from cepheid.language.results import common_type
from cepheid.language.scope import Clause, Scope, article
from cepheid.language.tree import (
    Aggregate,
    Arithmetic,
    Attribute,
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
    Parameter,
    Remote,
)


@dataclass
class Typing:
    """Types expressions, one clause after the other, and gathers what they tell of parameters.

    Attributes:
        scope: the names of the pattern.
        catalog: functions and stores.
        text: the query's text, which messages quote.
        parameters: the types of parameters that are settled.
        met: parameter -> the types that its places ask for, with the node that asks.
        types: every expression that was typed -> its type.
        clause: where the expression stands.
        until: the loop variable whose UNTIL is typed, or None: its attributes are the tested event's.
        aggregated: the variable of the aggregate that is typed, or None.
        empty_lists: ``IN ()`` may stand: a parameter's list of values may be empty.
        unresolved: parameters with a place that does not tell their type, until another place does.
    """

    scope: Scope
    catalog: Catalog
    text: str
    parameters: dict[str, DataType] = field(default_factory=dict)
    met: dict[str, list[tuple[DataType, Parameter]]] = field(default_factory=dict)
    types: dict[Expression, DataType] = field(default_factory=dict)
    clause: Clause = Clause.WHERE
    until: str | None = None
    aggregated: str | None = None
    empty_lists: bool = False
    unresolved: dict[str, Parameter] = field(default_factory=dict)

    # --- entry points ------------------------------------------------------------------------------

    def condition(self, node: Expression) -> Expression:
        """``node`` with its constants coerced.

        Raises:
            QueryError: it is no condition, or something in it does not fit.
        """
        typed, dtype = self.typed(node, BOOL)
        if dtype.kind is Kind.NULL:
            raise fault("this condition is NULL, which never holds", node, "write a condition, or leave it out")
        if dtype.kind is not Kind.BOOL:
            raise fault(
                f"{self.show(node)} is {article(dtype)}, not a condition",
                node,
                "compare it with something, as in a.x > 5",
            )
        return typed

    def typed(self, node: Expression, hint: DataType | None = None) -> tuple[Expression, DataType]:
        """``node`` with its constants coerced, and its type.

        Args:
            node: the expression as written.
            hint: the type of what it meets, or None; it settles parameters, and the kind of constants.

        Raises:
            QueryError: something in it is unknown or does not fit.
        """
        new, dtype = self._typed(node, hint)
        self.types[new] = dtype
        return new, dtype

    def show(self, node: Expression) -> str:
        """``node`` as a message names it."""
        return shown(node, self.text)

    # --- by kind of node ---------------------------------------------------------------------------

    def _typed(self, node: Expression, hint: DataType | None) -> tuple[Expression, DataType]:
        match node:
            case Literal():
                return self.literal(node, hint)
            case Attribute():
                return node, attribute(self, node)
            case Aggregate():
                return aggregate(self, node, hint)
            case Arithmetic():
                return arithmetic(self, node, hint)
            case Negative():
                return negative(self, node, hint)
            case Compare():
                return compare(self, node)
            case Conjunction() | Disjunction():
                return replace(node, operands=tuple(self.condition(part) for part in node.operands)), BOOL
            case Negation():
                return replace(node, operand=self.condition(node.operand)), BOOL
            case IsNull():
                return is_null(self, node)
            case In():
                return in_list(self, node)
            case InSet():
                return in_set(self, node)
            case Like():
                return like(self, node)
            case Call():
                return call(self, node, hint)
            case Parameter():
                return node, self._parameter(node, hint)
            case Remote():
                return remote(self, node)

    def literal(self, node: Literal, hint: DataType | None) -> tuple[Expression, DataType]:
        """A constant of the type of what it meets, and that type.

        Raises:
            QueryError: it does not fit an int64, or is text that is no timestamp where a timestamp is met.
        """
        new = node if hint is None else self.coerced(node, hint)
        assert isinstance(new, Literal)
        dtype = literal_type(new)
        if new.kind in (LiteralKind.INT, LiteralKind.DURATION, LiteralKind.TIMESTAMP):
            assert isinstance(new.value, int)
            if not INT_LEAST <= new.value <= INT_MOST:
                raise fault(
                    f"{self.show(node)} does not fit in 64 bits",
                    node,
                    f"write a number between {INT_LEAST} and {INT_MOST}, or one with a point (a float)",
                )
        return new, dtype

    def coerced(self, node: Expression, target: DataType) -> Expression:
        """``node``, brought to ``target`` where it is a constant."""
        if not isinstance(node, Literal):
            return node
        new = coerced(node, target)
        if new is None:
            raise fault(
                f"{self.show(node)} is not a timestamp",
                node,
                "write it as '2024-01-31' or '2024-01-31 10:00:00' (UTC unless it names a zone)",
            )
        return new

    def _parameter(self, node: Parameter, hint: DataType | None) -> DataType:
        known = self.parameters.get(node.name)
        asked = hint is not None and hint.kind is not Kind.NULL
        # What is known was found in an earlier round; a place may still ask for a wider number.
        if hint is not None and asked and (known is None or (hint.is_number and common_type(known, hint) is not None)):
            self.met.setdefault(node.name, []).append((hint, node))
        if known is not None:
            return known
        if hint is not None and asked:
            return hint
        self.unresolved.setdefault(node.name, node)
        return NULL
