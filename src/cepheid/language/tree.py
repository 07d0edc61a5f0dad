"""The tree of a query. The parser and the builder make it, the printer writes it, bind checks it.

All nodes are frozen and hashable. ``span`` is the place in the text (None from the builder); it takes
no part in equality, so ``parse(print(q)) == q``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TypeAlias

from cepheid.errors import Span


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree, with its place in the text."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


# --- patterns -------------------------------------------------------------------------------------


class Policy(Enum):
    """Which events a partial match may skip (SEMANTICS 3)."""

    ANY = "any"
    NEXT = "next"
    STRICT = "strict"


@dataclass(frozen=True, slots=True)
class Event(Node):
    """One event: ``Txn a``, ``(A | B) x``, ``* x``, ``strict B b``.

    Attributes:
        types: the event types it takes; empty for any type (``*``).
        name: the variable; None where the text gives none.
        policy: the prefix, or None.
    """

    types: tuple[str, ...]
    name: str | None = None
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class Seq(Node):
    """All events of each part before all of the next."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class And(Node):
    """All parts, in any interleaving."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """Exactly one of the parts."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Node):
    """Exactly ``count`` of the parts, in any interleaving: ``ANY(2, A a, B b, C c)``."""

    count: int
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Not(Node):
    """No match of ``part`` in its place."""

    part: Pattern


@dataclass(frozen=True, slots=True)
class Repeat(Node):
    """``P+ P* P? P{n,m}``: from ``minimum`` to ``maximum`` matches of ``part``, one after the other.

    Attributes:
        part: an `Event` (a Kleene variable, or an optional one) or a group.
        maximum: None for no bound.
        greedy: False for a reluctant quantifier (``+?``).
        until: closes the loop, or None; only where ``part`` is an Event.
    """

    part: Pattern
    minimum: int
    maximum: int | None
    greedy: bool = True
    until: Expression | None = None


Pattern: TypeAlias = Event | Seq | And | Or | AnyOf | Not | Repeat


# --- expressions ----------------------------------------------------------------------------------


class LiteralKind(Enum):
    """What a literal is; it decides how the value prints."""

    INT = "int"
    FLOAT = "float"  # value: float; decimal.Decimal where it has more digits than a float keeps
    TEXT = "text"
    BOOL = "bool"
    NULL = "null"
    DURATION = "duration"  # value: int microseconds
    TIMESTAMP = "timestamp"  # value: int microseconds since the epoch
    DECIMAL = "decimal"  # value: decimal.Decimal; bind makes these, where a decimal is met


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant. ``TIMESTAMP '2024-01-31 10:00:00'``, ``5 minutes``, ``'text'``, ``1.5``, ``NULL``.

    Note that 1 == 1.0 == True in Python; ``kind`` keeps such literals apart.
    """

    value: object
    kind: LiteralKind


class At(Enum):
    """Which element of a variable an attribute is read from."""

    EACH = "each"  # ``b.x``: the event; on a Kleene variable each element
    FIRST = "first"  # ``first(b).x``
    LAST = "last"  # ``last(b).x``
    PREV = "prev"  # ``prev(b).x``: the element before the one that is being taken


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """``a.amount``, ``a.address.city``, ``first(b).x``; in SAME[...] ``variable`` is None."""

    variable: str | None
    path: tuple[str, ...]
    at: At = At.EACH


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """``count(b)``, ``count(b.x)``, ``sum(b.x * b.n)``, avg, min, max over a variable.

    Attributes:
        function: count, sum, avg, min or max.
        variable: the one variable that ``argument`` reads.
        argument: None for ``count(b)``, which counts elements; else NULLs are passed over, as in SQL.
    """

    function: str
    variable: str
    argument: Expression | None = None


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """``left operator right`` with operator one of ``+ - * / %``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """``-operand``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """``left operator right`` with operator one of ``= <> < <= > >=``."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Conjunction(Node):
    """``AND`` of two or more operands, none of them a Conjunction."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Disjunction(Node):
    """``OR`` of two or more operands, none of them a Disjunction."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Negation(Node):
    """``NOT operand``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """``operand IS NULL``; with ``negated``, ``IS NOT NULL``. An absent operand is absent here too."""

    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class In(Node):
    """``operand IN (v, ...)``; with ``negated``, ``NOT IN``. Three-valued, as in SQL."""

    operand: Expression
    options: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InSet(Node):
    """``operand IN container`` where ``container`` is a set or list (a remote field, a list column)."""

    operand: Expression
    container: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Node):
    """``operand LIKE 'pattern'`` with ``%`` and ``_``, and backslash to escape them."""

    operand: Expression
    pattern: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``abs(a.x - b.x)``: a built-in or registered function; ``function`` is kept as written."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """``:limit``, bound when the query is run."""

    name: str


@dataclass(frozen=True, slots=True)
class Remote(Node):
    """``REMOTE store[key].field``: a look-up; ``path`` is empty where the element is a scalar or set."""

    store: str
    key: tuple[Expression, ...]
    path: tuple[str, ...] = ()


Expression: TypeAlias = (
    Literal
    | Attribute
    | Aggregate
    | Arithmetic
    | Negative
    | Compare
    | Conjunction
    | Disjunction
    | Negation
    | IsNull
    | In
    | InSet
    | Like
    | Call
    | Parameter
    | Remote
)


# --- the query ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Extent(Node):
    """A length of time or a number of events.

    Attributes:
        value: the number as written (``50K`` is 50000).
        unit: us, ms, s, min, h, d, ``events``, or None for a bare number (the time column's unit).
    """

    value: int | float
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Sliding(Node):
    """``WINDOW size SLIDE slide [CLOSED]``; ``one_match`` for ``ONE MATCH PER WINDOW``."""

    size: Extent
    slide: Extent
    closed: bool = False
    one_match: bool = False


@dataclass(frozen=True, slots=True)
class Window(Node):
    """The windows of a query; each part may be absent.

    Attributes:
        within: ``WITHIN extent``.
        exclusive: ``WITHIN extent EXCLUSIVE``.
        each: ``BETWEEN EACH extent``.
        sliding: ``WINDOW ... SLIDE ...``.
    """

    within: Extent | None = None
    exclusive: bool = False
    each: Extent | None = None
    sliding: Sliding | None = None


class SkipMode(Enum):
    """What follows a match (SEMANTICS 6)."""

    NONE = "NO SKIP"
    PAST_LAST = "SKIP PAST LAST"
    TO_NEXT = "SKIP TO NEXT"
    TO_FIRST = "SKIP TO FIRST"
    TO_LAST = "SKIP TO LAST"


@dataclass(frozen=True, slots=True)
class Skip(Node):
    """``AFTER MATCH ...``; ``variable`` for TO_FIRST and TO_LAST."""

    mode: SkipMode = SkipMode.NONE
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class ReturnItem(Node):
    """``expression AS name``; ``name`` is None where the text gives none."""

    expression: Expression
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Query(Node):
    """A whole query.

    Attributes:
        where: the condition without SAME, or None.
        same: the expressions of ``SAME[...]`` (``[...]`` in the papers), over attributes of one event
            (`Attribute` with ``variable`` None); empty for one partition.
        policy: None where the text names none, which means `Policy.NEXT`.
        source: the name of the query whose matches are the events (``FROM name``), or None.
    """

    pattern: Pattern
    where: Expression | None = None
    same: tuple[Expression, ...] = ()
    window: Window = Window()
    policy: Policy | None = None
    skip: Skip = Skip()
    returns: tuple[ReturnItem, ...] = ()
    source: str | None = None


_NO_NODES = frozenset(
    {
        *("At", "LiteralKind", "Policy | None", "SkipMode", "Span | None"),
        *("bool", "int", "int | None", "int | float", "object", "str", "str | None", "tuple[str, ...]"),
    }
)
"""Annotations of fields that hold no nodes."""


_names: dict[type, tuple[str, ...]] = {}


def names_of_nodes(kind: type[Node]) -> tuple[str, ...]:
    """The names of those fields of a kind of node that can hold nodes, or tuples of them."""
    found = _names.get(kind)
    if found is None:
        found = _names[kind] = tuple(item.name for item in fields(kind) if item.type not in _NO_NODES)
    return found


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below ``node``, in the order of the text."""
    for name in names_of_nodes(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (part for part in value if isinstance(part, Node))


def walk(node: Node) -> Iterator[Node]:
    """``node`` and all nodes below it, in the order of the text."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if names_of_nodes(type(node)):
            waiting.extend(reversed(list(children(node))))
