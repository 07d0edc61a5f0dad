"""Expressions as Python objects: ``2 * a.amount`` makes the node that the text ``2 * a.amount`` makes."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NoReturn, TypeAlias

from cepheid.errors import QueryError
from cepheid.language import canonical
from cepheid.language.assemble import check_expression
from cepheid.language.lexer import is_word
from cepheid.language.literals import number_as_written
from cepheid.language.printer import print_expression
from cepheid.language.tree import (
    Aggregate,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Expression,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Parameter,
    Remote,
    ReturnItem,
)

Value: TypeAlias = "Expr | bool | int | float | str | Decimal | datetime | date | timedelta | None"
"""What may stand where a value is expected: an expression, or the Python value of a literal."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Expr:
    """A value or condition.

    Python's operators make larger ones: ``+ - * / %``, ``== != < <= > >=``, and ``& | ~`` for AND, OR and
    NOT (in round brackets, for they bind closer than comparisons). Attributes of attributes and of remote
    elements are read by ``.city`` or ``["city"]``.
    """

    __slots__ = ("_node",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: Expression) -> None:
        self._node = node

    # --- parts of it

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("_"):
            # Python looks such names up on its own (copy, pickle, notebooks); a column has ["_name"].
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Expr:
        node = self._node
        if not isinstance(node, Attribute | Remote):
            raise QueryError(
                f"{self} has no attribute {name!r}",
                remedy="attributes are read from the variable of an element, or from a remote element",
            )
        path = (*node.path, checked_name(name, "an attribute"))
        if isinstance(node, Attribute):
            return Expr(Attribute(node.variable, path, node.at))
        return Expr(Remote(node.store, node.key, path))

    def as_(self, name: str) -> Item:
        """The expression as the output column ``name``."""
        return Item(ReturnItem(self._node, checked_name(name, "an output column")))

    # --- arithmetic

    def __add__(self, other: Value) -> Expr:
        return Expr(Arithmetic("+", self._node, node_of(other)))

    def __radd__(self, other: Value) -> Expr:
        return Expr(Arithmetic("+", node_of(other), self._node))

    def __sub__(self, other: Value) -> Expr:
        return Expr(Arithmetic("-", self._node, node_of(other)))

    def __rsub__(self, other: Value) -> Expr:
        return Expr(Arithmetic("-", node_of(other), self._node))

    def __mul__(self, other: Value) -> Expr:
        return Expr(Arithmetic("*", self._node, node_of(other)))

    def __rmul__(self, other: Value) -> Expr:
        return Expr(Arithmetic("*", node_of(other), self._node))

    def __truediv__(self, other: Value) -> Expr:
        return Expr(Arithmetic("/", self._node, node_of(other)))

    def __rtruediv__(self, other: Value) -> Expr:
        return Expr(Arithmetic("/", node_of(other), self._node))

    def __mod__(self, other: Value) -> Expr:
        return Expr(Arithmetic("%", self._node, node_of(other)))

    def __rmod__(self, other: Value) -> Expr:
        return Expr(Arithmetic("%", node_of(other), self._node))

    def __neg__(self) -> Expr:
        return Expr(canonical.negative(self._node))

    def __abs__(self) -> Expr:
        return Expr(Call("abs", (self._node,)))

    # --- comparisons

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return Expr(Compare("=", self._node, node_of(other)))

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return Expr(Compare("<>", self._node, node_of(other)))

    def __lt__(self, other: Value) -> Expr:
        return Expr(Compare("<", self._node, node_of(other)))

    def __le__(self, other: Value) -> Expr:
        return Expr(Compare("<=", self._node, node_of(other)))

    def __gt__(self, other: Value) -> Expr:
        return Expr(Compare(">", self._node, node_of(other)))

    def __ge__(self, other: Value) -> Expr:
        return Expr(Compare(">=", self._node, node_of(other)))

    def between(self, low: Value, high: Value) -> Expr:
        """``low <= self AND self <= high``."""
        return Expr(canonical.between(self._node, node_of(low), node_of(high)))

    def is_in(self, options: Expr | Iterable[Value]) -> Expr:
        """IN: one of a list of values, or an element of a remote field, list attribute or parameter."""
        return self._in(options, negated=False)

    def not_in(self, options: Expr | Iterable[Value]) -> Expr:
        """NOT IN; see `is_in`."""
        return self._in(options, negated=True)

    def like(self, pattern: str) -> Expr:
        """LIKE, with ``%`` for any text and ``_`` for any character."""
        return self._like(pattern, negated=False)

    def not_like(self, pattern: str) -> Expr:
        """NOT LIKE; see `like`."""
        return self._like(pattern, negated=True)

    def is_null(self) -> Expr:
        """IS NULL."""
        return Expr(IsNull(self._node))

    def is_not_null(self) -> Expr:
        """IS NOT NULL."""
        return Expr(IsNull(self._node, negated=True))

    def _in(self, options: Expr | Iterable[Value], negated: bool) -> Expr:
        if isinstance(options, Expr):
            container = options._node
            if not isinstance(container, Attribute | Call | Aggregate | Remote | Parameter):
                raise QueryError(f"{options} holds no elements", remedy="give a list: is_in([1, 2, 3])")
            return Expr(InSet(self._node, container, negated))
        if isinstance(options, str) or not isinstance(options, Iterable):
            raise QueryError(f"{options!r} is no list of values", remedy="give a list: is_in([1, 2, 3])")
        listed = tuple(node_of(option) for option in options)
        if not listed:
            raise QueryError(
                "the list of values is empty", remedy="give at least one value, or leave the condition out"
            )
        return Expr(In(self._node, listed, negated))

    def _like(self, pattern: str, negated: bool) -> Expr:
        if not isinstance(pattern, str):
            raise QueryError(f"LIKE takes a text, not {pattern!r}", remedy='give a pattern: like("A%")')
        return Expr(Like(self._node, pattern, negated))

    # --- logic

    def __and__(self, other: Expr) -> Expr:
        return Expr(canonical.conjunction((self._node, condition_of(other))))

    def __rand__(self, other: Expr) -> Expr:
        return Expr(canonical.conjunction((condition_of(other), self._node)))

    def __or__(self, other: Expr) -> Expr:
        return Expr(canonical.disjunction((self._node, condition_of(other))))

    def __ror__(self, other: Expr) -> Expr:
        return Expr(canonical.disjunction((condition_of(other), self._node)))

    def __invert__(self) -> Expr:
        return Expr(Negation(self._node))

    # --- what Python would do on its own, and should not

    def __bool__(self) -> NoReturn:
        raise QueryError(
            "an expression of a query is neither true nor false before events are there",
            remedy="write & for and, | for or, ~ for not, each side in round brackets; "
            "x.between(low, high) for low < x < high; x.is_in([...]) for in",
        )

    def __contains__(self, item: object) -> NoReturn:
        raise QueryError("`in` cannot be part of a query", remedy="write x.is_in(...)")

    def __iter__(self) -> NoReturn:
        raise QueryError(
            "an expression of a query has no elements to go through", remedy="use x.is_in(...), or count(b)"
        )

    def __repr__(self) -> str:
        canonical.Measure().check(self._node)
        return print_expression(self._node)


class Item:
    """An output column: ``a.card.as_("card")``."""

    __slots__ = ("_node",)

    def __init__(self, node: ReturnItem) -> None:
        self._node = node

    def __repr__(self) -> str:
        return f"{print_expression(self._node.expression)} AS {self._node.name}"


class RemoteStore:
    """A remote store; ``store[a.customer]`` is the element under a key, of several parts where need be."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = checked_name(name, "a store")

    def __getitem__(self, key: Value | tuple[Value, ...]) -> Expr:
        parts = key if isinstance(key, tuple) else (key,)
        if not parts:
            raise QueryError("a look-up needs a key", remedy="write remote(store)[a.customer]")
        return Expr(Remote(self._name, tuple(node_of(part) for part in parts)))

    def __iter__(self) -> NoReturn:
        raise QueryError(
            "a remote store cannot be gone through", remedy="look an element up: remote(store)[a.customer]"
        )


def checked(expression: Expr) -> Expr:
    """``expression``, if a query may hold it.

    Raises:
        QueryError: it is too deep, has a number beyond 64 bits, or an attribute without a variable.
    """
    canonical.Measure().check(expression._node)
    check_expression(expression._node)
    return expression


def checked_name(name: object, role: str) -> str:
    """``name``, if it can be one.

    Raises:
        QueryError: it is no text, or has no characters.
    """
    if not isinstance(name, str) or not name:
        raise QueryError(f"{name!r} cannot be the name of {role}", remedy="give a text with at least one character")
    return str(name)


def call(function: str, arguments: Sequence[Value]) -> Expr:
    """A call of a built-in or registered function.

    Raises:
        QueryError: ``function`` is no function's name.
    """
    name = checked_name(function, "a function")
    if name.lower() in ("first", "last", "prev"):
        raise QueryError(
            f"{name} picks an element of a variable, it is no function", remedy=f"write build.{name.lower()}(b).x"
        )
    nodes = [node_of(argument) for argument in arguments]
    if name.lower() in canonical.AGGREGATES:
        for node in nodes:
            canonical.Measure().check(node)
    return Expr(canonical.call(name, nodes))


def parameter(name: str) -> Expr:
    """``:name``, bound when the query is run.

    Raises:
        QueryError: the name is no word.
    """
    if not is_word(checked_name(name, "a parameter")):
        raise QueryError(f"{name!r} cannot be the name of a parameter", remedy="use letters, digits and _")
    return Expr(Parameter(name))


def node_of(value: object) -> Expression:
    """The node of ``value``: of an expression, or of a Python value as a literal.

    Raises:
        QueryError: no literal has such a value.
    """
    if isinstance(value, Expr):
        return value._node
    if value is None:
        return Literal(None, LiteralKind.NULL)
    if isinstance(value, bool):
        return Literal(value, LiteralKind.BOOL)
    if isinstance(value, str):
        return Literal(str(value), LiteralKind.TEXT)
    if isinstance(value, numbers.Integral):
        return Literal(int(value), LiteralKind.INT)
    if isinstance(value, Decimal | numbers.Real):
        return _fractional(value)
    if isinstance(value, timedelta):
        return Literal(value // _MICROSECOND, LiteralKind.DURATION)
    if isinstance(value, date):
        return Literal(_timestamp(value), LiteralKind.TIMESTAMP)
    raise QueryError(f"{_shown(value)} is no value of a query", remedy=_remedy(value))


def condition_of(value: object) -> Expression:
    """The node of a condition.

    Raises:
        QueryError: ``value`` is no expression, such as the result of ``and`` or of a comparison in Python.
    """
    if isinstance(value, Expr):
        return value._node
    raise QueryError(
        f"{_shown(value)} is no condition", remedy='compare an attribute: a.amount > 10, or a["amount"] > 10'
    )


def _fractional(value: Decimal | numbers.Real) -> Literal:
    number = float(value)
    if not math.isfinite(number):
        raise QueryError(f"{value!r} is no number of a query", remedy="compare with a finite number")
    if isinstance(value, Decimal):
        if value == value.to_integral_value() and value.as_tuple().exponent >= 0:  # type: ignore[operator]
            return Literal(int(value), LiteralKind.INT)
        written = number_as_written(value, number)
        if not isinstance(written, Decimal) and Decimal(repr(number)) != value:
            raise QueryError(
                f"{value} has more digits than a literal keeps",
                remedy="use at most 18 digits",
            )
        return Literal(written, LiteralKind.FLOAT)
    return Literal(number, LiteralKind.FLOAT)


def _timestamp(value: date) -> int:
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    try:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise QueryError(
            f"{value} lies outside of the years 1 to 9999 in UTC", remedy="use a time within them"
        ) from None
    return (moment - _EPOCH) // _MICROSECOND


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _remedy(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset | dict):
        return "write x.is_in([...]) to compare with several values"
    if type(value).__module__.startswith("cepheid"):
        return 'name an attribute: a.amount or a["amount"]'
    return "use a number, a text, True, False, None, a datetime, a timedelta, or an expression"
