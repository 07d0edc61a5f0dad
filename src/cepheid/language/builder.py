"""Queries built in Python; the tree is the one that the text gives.

    from cepheid import build

    a, d, b = build.event("Txn", "a"), build.event("Denied", "d"), build.event("Txn", "b")
    query = (
        build.seq(a, ~build.event("Refund", "r"), d.plus(), b)
        .where(a.amount > 10_000, b.amount > 2 * a.amount, build.count(d) >= 3)
        .where(b.place.not_in(build.remote("places")[a.customer].known))
        .same("card")
        .within("5 minutes")
        .skip_past_last()
        .returns(a.card.as_("card"), n_denied=build.count(d))
    )

Nothing is changed in place: each method gives a new object. Misuse raises `QueryError`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import QueryError
from cepheid.language import canonical, terms
from cepheid.language import tree as nodes
from cepheid.language.drafts import MAX_COUNT, Draft, Element, Group, Part, policy_of, variable_of
from cepheid.language.terms import Expr, RemoteStore, Value, checked_name, node_of

__all__ = [
    "Draft",
    "Element",
    "Expr",
    "Group",
    "all_of",
    "any_event",
    "any_of",
    "avg",
    "call",
    "count",
    "event",
    "field",
    "first",
    "last",
    "literal",
    "max",
    "min",
    "one_of",
    "param",
    "prev",
    "query",
    "remote",
    "seq",
    "sum",
]


# --- patterns -------------------------------------------------------------------------------------


def event(types: str | Sequence[str], name: str | None = None, *, policy: str | nodes.Policy | None = None) -> Element:
    """One event, ``Txn a``; of either type, ``(A | B) x``.

    Args:
        types: the event type, or several.
        name: the variable; None where nothing refers to it.
        policy: the prefix ``any``, ``next`` or ``strict``, or None.

    Raises:
        QueryError: for what is no name.
    """
    listed = tuple(types) if isinstance(types, list | tuple | set | frozenset) else (types,)
    if not listed:
        raise QueryError("an event needs a type", remedy="write any_event(name) for an event of any type")
    return _element(tuple(dict.fromkeys(checked_name(t, "an event type") for t in listed)), name, policy)


def any_event(name: str | None = None, *, policy: str | nodes.Policy | None = None) -> Element:
    """One event of any type, ``* x``; arguments as in `event`."""
    return _element((), name, policy)


def _element(types: tuple[str, ...], name: str | None, policy: str | nodes.Policy | None) -> Element:
    if name is not None:
        canonical.check_variable(checked_name(name, "a variable"))
    return Element(nodes.Event(types, name, None if policy is None else policy_of(policy)), name)


def seq(*parts: Element | Group) -> Group:
    """SEQ: all events of each part before all of the next."""
    return Group(canonical.sequence(_nodes("seq", parts)))


def all_of(*parts: Element | Group) -> Group:
    """AND: all parts, in any interleaving."""
    return Group(canonical.both(_nodes("all_of", parts)))


def one_of(*parts: Element | Group) -> Group:
    """OR: exactly one of the parts."""
    return Group(canonical.either(_nodes("one_of", parts)))


def any_of(count: int, *parts: Element | Group) -> Group:
    """ANY: exactly ``count`` of the parts, in any interleaving."""
    if isinstance(count, bool) or not isinstance(count, int) or count > MAX_COUNT:
        raise QueryError(f"{count!r} is no number of parts", remedy="write any_of(2, a, b, c)")
    return Group(canonical.any_of(count, _nodes("any_of", parts)))


def query(pattern: Element | Group) -> Draft:
    """A query for ``pattern``; the methods of the result add its clauses."""
    _nodes("query", (pattern,))
    return Draft.of(pattern)


def _nodes(function: str, parts: Sequence[object]) -> list[nodes.Pattern]:
    made = []
    for part in parts:
        if not isinstance(part, Part):
            raise QueryError(f"{function} takes patterns, not {part!r}", remedy='write event("Txn", "a")')
        made.append(part._node)
    if not made:
        raise QueryError(f"{function} needs at least one pattern", remedy='write event("Txn", "a")')
    return made


# --- expressions ----------------------------------------------------------------------------------


class _Of:
    """An element of a loop, by its place."""

    __slots__ = ("_at", "_variable")

    def __init__(self, variable: str, at: nodes.At) -> None:
        self._variable = variable
        self._at = at

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Expr:
        return Expr(nodes.Attribute(self._variable, (checked_name(name, "an attribute"),), self._at))


def first(variable: Element) -> _Of:
    """The first element of a loop: ``first(b).x``."""
    return _Of(variable_of(variable), nodes.At.FIRST)


def last(variable: Element) -> _Of:
    """The last element of a loop: ``last(b).x``."""
    return _Of(variable_of(variable), nodes.At.LAST)


def prev(variable: Element) -> _Of:
    """The element before the one that is being taken: ``prev(b).x``."""
    return _Of(variable_of(variable), nodes.At.PREV)


def count(argument: Element | Expr) -> Expr:
    """How many elements a variable has, or how many values of an expression are not NULL."""
    if isinstance(argument, Element):
        return Expr(nodes.Aggregate("count", variable_of(argument)))
    return _aggregate("count", argument)


def sum(argument: Expr) -> Expr:
    """The sum over a variable: ``sum(b.x)``."""
    return _aggregate("sum", argument)


def avg(argument: Expr) -> Expr:
    """The mean over a variable: ``avg(b.x)``."""
    return _aggregate("avg", argument)


def min(argument: Expr) -> Expr:
    """The least value over a variable: ``min(b.x)``."""
    return _aggregate("min", argument)


def max(argument: Expr) -> Expr:
    """The greatest value over a variable: ``max(b.x)``."""
    return _aggregate("max", argument)


def _aggregate(function: str, argument: Expr) -> Expr:
    if not isinstance(argument, Expr):
        raise QueryError(f"{function} takes an expression, not {argument!r}", remedy=f"write {function}(b.x)")
    made = terms.call(function, (argument,))
    if not isinstance(made._node, nodes.Aggregate):
        raise QueryError(
            f"{function} works on one variable, and {argument!r} does not read exactly one",
            remedy=f"write {function}(b.x); use call('least', ...) or call('greatest', ...) across variables",
        )
    return made


def call(function: str, *arguments: Value) -> Expr:
    """A built-in or registered function: ``call("distance", a.x, a.y, b.x, b.y)``."""
    return terms.call(function, arguments)


def literal(value: Value) -> Expr:
    """``value`` as an expression, where Python's operators would otherwise meet two Python values."""
    return Expr(node_of(value))


def param(name: str) -> Expr:
    """``:name``, bound when the query is run."""
    return terms.parameter(name)


def remote(store: str) -> RemoteStore:
    """A remote store: ``remote("places")[a.customer].known``."""
    return RemoteStore(store)


def field(*path: str) -> Expr:
    """An attribute of every event, for `Draft.same`: ``field("address", "city")``."""
    if not path:
        raise QueryError("field needs the name of an attribute", remedy='write field("card")')
    return Expr(nodes.Attribute(None, tuple(checked_name(name, "an attribute") for name in path)))
