"""What the parser does with each production of ``grammar.lark``: tokens become nodes of the tree.

Each action gets its children, tokens and the results of other actions, in the order of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from cepheid.errors import QueryError, Span
from cepheid.language import canonical
from cepheid.language.lalr import Action
from cepheid.language.lexer import UNITS, Token
from cepheid.language.quantities import duration_us, extent_value, number, timestamp_us
from cepheid.language.tree import (
    At,
    Attribute,
    Compare,
    Event,
    Expression,
    Extent,
    In,
    InSet,
    IsNull,
    Like,
    Literal,
    LiteralKind,
    Negation,
    Node,
    Not,
    Parameter,
    Pattern,
    Policy,
    Remote,
    ReturnItem,
    Skip,
    SkipMode,
    Sliding,
)

T = TypeVar("T")
N = TypeVar("N", bound=Node)

_ELEMENTS = {"first": At.FIRST, "last": At.LAST, "prev": At.PREV}


@dataclass(frozen=True, slots=True)
class Same(Node):
    """``SAME[...]`` while it stands in a condition; a finished tree has it in `Query.same`."""

    keys: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause: its keyword, what it says, and its place."""

    keyword: str
    value: Any
    span: Span


@dataclass(frozen=True, slots=True)
class RawQuery:
    """The pattern and the clauses of a query, in the order of the text."""

    pattern: Pattern
    clauses: tuple[Clause, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class _Types:
    """The event types of an element; none for ``*``."""

    value: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class _Name:
    """The name of an element; ``is_list`` where it is followed by ``[]``."""

    value: str
    is_list: bool
    span: Span


@dataclass(frozen=True, slots=True)
class _Quantifier:
    """How often, as in `Repeat`."""

    minimum: int
    maximum: int | None
    greedy: bool
    span: Span


@dataclass(frozen=True, slots=True)
class _Until:
    """``UNTIL condition``."""

    value: Expression
    span: Span


def span_of(children: Iterable[object]) -> Span:
    """The place that ``children`` fill together."""
    spans = [s for s in (getattr(c, "span", None) for c in children) if s is not None]
    return Span(min(s.start for s in spans), max(s.end for s in spans))


def _only(kind: type[T], children: Iterable[object]) -> list[T]:
    return [c for c in children if isinstance(c, kind)]


def _nodes(children: Sequence[Any]) -> list[Any]:
    return [c for c in children if not isinstance(c, Token)]


def _has(children: Iterable[object], type_: str) -> bool:
    return any(isinstance(c, Token) and c.type == type_ for c in children)


def actions() -> dict[str, Action]:
    """Name in the grammar -> action, for one parse. What they make is kept from growing too deep."""
    measure = canonical.Measure()
    made = _Actions(measure)

    def checked(action: Action) -> Action:
        def run(children: list[Any]) -> Any:
            result = action(children)
            if isinstance(result, Node):
                measure.check(result)
            return result

        return run

    return {name: checked(getattr(made, name)) for name in _NAMES}


class _Actions:
    """A method per production, named as in the grammar."""

    def __init__(self, measure: canonical.Measure) -> None:
        self._measure = measure

    # --- the query

    def query(self, c: list[Any]) -> RawQuery:
        pattern, *clauses = [x for x in c if not isinstance(x, Token)]
        return RawQuery(pattern, tuple(clauses), span_of(c))

    def where(self, c: list[Any]) -> Clause:
        return Clause("WHERE", c[1], span_of(c))

    def within(self, c: list[Any]) -> Clause:
        return Clause("WITHIN", (c[1], _has(c, "EXCLUSIVE")), span_of(c))

    def each(self, c: list[Any]) -> Clause:
        return Clause("BETWEEN EACH", c[1], span_of(c))

    def sliding(self, c: list[Any]) -> Clause:
        span = span_of(c)
        return Clause("WINDOW", Sliding(c[1], c[3], _has(c, "CLOSED"), _has(c, "ONE"), span=span), span)

    def policy(self, c: list[Any]) -> Clause:
        return Clause("POLICY", Policy(c[1].type.lower()), span_of(c))

    def after_no_skip(self, c: list[Any]) -> Clause:
        return self._after(c, SkipMode.NONE)

    def after_past_last(self, c: list[Any]) -> Clause:
        return self._after(c, SkipMode.PAST_LAST)

    def after_to_next(self, c: list[Any]) -> Clause:
        return self._after(c, SkipMode.TO_NEXT)

    def after_to_first(self, c: list[Any]) -> Clause:
        return self._after(c, SkipMode.TO_FIRST, _variable(c[-1]))

    def after_to_last(self, c: list[Any]) -> Clause:
        return self._after(c, SkipMode.TO_LAST, _variable(c[-1]))

    def _after(self, c: list[Any], mode: SkipMode, variable: str | None = None) -> Clause:
        span = span_of(c)
        return Clause("AFTER MATCH", Skip(mode, variable, span=span), span)

    def returned(self, c: list[Any]) -> Clause:
        return Clause("RETURN", tuple(_only(ReturnItem, c)), span_of(c))

    def item(self, c: list[Any]) -> ReturnItem:
        return ReturnItem(c[0], c[2].value if len(c) == 3 else None, span=span_of(c))

    def source(self, c: list[Any]) -> Clause:
        return Clause("FROM", c[1].value, span_of(c))

    def extent(self, c: list[Any]) -> Extent:
        unit, factor = UNITS[c[1].value.lower()] if len(c) == 2 else (None, 1)
        return Extent(extent_value(c[0], unit, factor), unit, span=span_of(c))

    # --- patterns

    def sequence(self, c: list[Any]) -> Pattern:
        return canonical.sequence(c[0], span_of(c[0]))

    def parts(self, c: list[Any]) -> list[Pattern]:
        return _nodes(c)

    def either(self, c: list[Any]) -> Pattern:
        return canonical.either(_nodes(c), span_of(c))

    def both_of(self, c: list[Any]) -> Pattern:
        return canonical.both(_nodes(c), span_of(c))

    def negated(self, c: list[Any]) -> Pattern:
        return Not(c[1], span=span_of(c))

    def types(self, c: list[Any]) -> _Types:
        return _Types(tuple(t.value for t in c if t.type == "NAME"), span_of(c))

    def name(self, c: list[Any]) -> _Name:
        return _Name(_variable(c[0]), False, c[0].span)

    def name_of_list(self, c: list[Any]) -> _Name:
        return _Name(_variable(c[0]), True, span_of(c))

    def tail(self, c: list[Any]) -> list[Any]:
        return c

    def until(self, c: list[Any]) -> _Until:
        return _Until(c[1], span_of(c))

    def event(self, c: list[Any]) -> Pattern:
        prefix = c[0] if isinstance(c[0], Token) else None
        types, tail, *untils = c[1:] if prefix is not None else c
        names = [piece for piece in tail if isinstance(piece, _Name)]
        quantifiers = [piece for piece in tail if isinstance(piece, _Quantifier)]
        made = Event(
            tuple(dict.fromkeys(types.value)),
            names[0].value if names else None,
            Policy(prefix.type.lower()) if prefix is not None else None,
            span=span_of([x for x in (prefix, types, *tail) if x is not None]),
        )
        if quantifiers:
            return self._loop(made, quantifiers[0], untils, span_of([made, *untils]))
        if untils:
            raise _no_loop(untils[0])
        if names and names[0].is_list:
            shown = types.value[0] if types.value else "*"
            raise QueryError(
                f"`{names[0].value}[]` stands for several events, but nothing says how many",
                remedy=f"write a quantifier: {shown}+ {names[0].value}[]",
                span=names[0].span,
            )
        return made

    def _loop(self, part: Pattern, quantifier: _Quantifier, untils: list[_Until], span: Span) -> Pattern:
        if untils and not isinstance(part, Event):
            raise canonical.until_of_a_group(untils[0].span)
        until = untils[0].value if untils else None
        return canonical.repeat(part, quantifier.minimum, quantifier.maximum, quantifier.greedy, until, span)

    def repeated(self, c: list[Any]) -> Pattern:
        part: Pattern = c[0]
        names = _only(Token, c)
        quantifiers, untils = _only(_Quantifier, c), _only(_Until, c)
        if names:
            if isinstance(part, Event) and part.name is not None:
                raise QueryError(
                    f"this event has a name already: {part.name}",
                    remedy="give it one name; an event of either type is (A | B) x",
                    span=names[0].span,
                )
            if not isinstance(part, Event):
                raise QueryError(
                    "a group takes no name", remedy="name the events in it: (SEQ(A a, B b))+", span=names[0].span
                )
            part = replace(part, name=_variable(names[0]))
        if quantifiers:
            return self._loop(part, quantifiers[0], untils, span_of(c))
        if untils:
            raise _no_loop(untils[0])
        return part

    def group_sequence(self, c: list[Any]) -> Pattern:
        return _spanned(canonical.sequence(c[-2]), span_of(c))

    def group_and(self, c: list[Any]) -> Pattern:
        return _spanned(canonical.both(c[2]), span_of(c))

    def group_or(self, c: list[Any]) -> Pattern:
        return _spanned(canonical.either(c[2]), span_of(c))

    def group_any(self, c: list[Any]) -> Pattern:
        return _spanned(canonical.any_of(_count(c[2]), c[4], span_of(c)), span_of(c))

    def group_nseq(self, c: list[Any]) -> Pattern:
        return canonical.negated_between(c[2], span_of(c))

    def group_kl(self, c: list[Any]) -> Pattern:
        return canonical.repeat(canonical.sequence(c[2], span_of(c)), 1, None, span=span_of(c))

    def quantifier_mark(self, c: list[Any]) -> _Quantifier:
        minimum, maximum = {"+": (1, None), "*": (0, None), "?": (0, 1)}[c[0].value]
        return _Quantifier(minimum, maximum, len(c) == 1, span_of(c))

    def quantifier_exact(self, c: list[Any]) -> _Quantifier:
        n = _count(c[1])
        return _range(c, n, n)

    def quantifier_range(self, c: list[Any]) -> _Quantifier:
        comma = next(i for i, t in enumerate(c) if t.type == "COMMA")
        upper = c[comma + 1]
        return _range(c, _count(c[1]) if comma == 2 else 0, _count(upper) if upper.type == "NUMBER" else None)

    # --- expressions

    def disjunction(self, c: list[Any]) -> Expression:
        return canonical.disjunction(_nodes(c), span_of(c))

    def conjunction(self, c: list[Any]) -> Expression:
        return canonical.conjunction(_nodes(c), span_of(c))

    def negation(self, c: list[Any]) -> Expression:
        return Negation(c[1], span=span_of(c))

    def compare(self, c: list[Any]) -> Expression:
        operator = {"==": "=", "!=": "<>"}.get(c[1].value, c[1].value)
        return Compare(operator, c[0], c[2], span=span_of(c))

    def in_list(self, c: list[Any]) -> Expression:
        return In(c[0], tuple(c[-2]), _has(c, "NOT"), span=span_of(c))

    def in_set(self, c: list[Any]) -> Expression:
        return InSet(c[0], c[-1], _has(c, "NOT"), span=span_of(c))

    def like(self, c: list[Any]) -> Expression:
        return Like(c[0], c[-1].value, _has(c, "NOT"), span=span_of(c))

    def is_null(self, c: list[Any]) -> Expression:
        return IsNull(c[0], _has(c, "NOT"), span=span_of(c))

    def between(self, c: list[Any]) -> Expression:
        return canonical.between(c[0], c[-3], c[-1], _has(c, "NOT"), span_of(c))

    def arithmetic(self, c: list[Any]) -> Expression:
        return canonical.arithmetic(c[0], [(c[i].value, c[i + 1]) for i in range(1, len(c), 2)], self._measure)

    def negative(self, c: list[Any]) -> Expression:
        return canonical.negative(c[1], span_of(c))

    def number(self, c: list[Any]) -> Expression:
        return number(c[0])

    def duration(self, c: list[Any]) -> Expression:
        return Literal(duration_us(c[0], c[1]), LiteralKind.DURATION, span=span_of(c))

    def text(self, c: list[Any]) -> Expression:
        return Literal(c[0].value, LiteralKind.TEXT, span=c[0].span)

    def timestamp(self, c: list[Any]) -> Expression:
        return Literal(timestamp_us(c[1].value, c[1].span), LiteralKind.TIMESTAMP, span=span_of(c))

    def boolean(self, c: list[Any]) -> Expression:
        return Literal(c[0].type == "TRUE", LiteralKind.BOOL, span=c[0].span)

    def null(self, c: list[Any]) -> Expression:
        return Literal(None, LiteralKind.NULL, span=c[0].span)

    def parameter(self, c: list[Any]) -> Expression:
        return Parameter(c[0].value, span=c[0].span)

    def bracketed(self, c: list[Any]) -> Expression:
        bracketed: Expression = _spanned(c[1], span_of(c))
        return bracketed

    def attribute(self, c: list[Any]) -> Expression:
        first, *path = [t.value for t in c if t.type == "NAME"]
        if not path:
            return Attribute(None, (first,), span=span_of(c))
        return Attribute(first, tuple(path), span=span_of(c))

    def call(self, c: list[Any]) -> Expression:
        function: str = c[0].value
        arguments: list[Expression] = c[2] if isinstance(c[2], list) else []
        close = next(i for i, x in enumerate(c) if isinstance(x, Token) and x.type == "RPAR")
        path = tuple(t.value for t in c[close + 1 :] if t.type == "NAME")
        at = _ELEMENTS.get(function.lower())
        if at is None and not path:
            return canonical.call(function, arguments, span_of(c))
        bare = arguments[0] if len(arguments) == 1 else None
        variable = bare.path[0] if isinstance(bare, Attribute) and bare.variable is None else None
        if at is None:
            raise QueryError(
                f"the result of {function}(...) has no attributes",
                remedy="only first(b).x, last(b).x and prev(b).x read an attribute of a call",
                span=Span(c[close + 1].start, c[-1].end),
            )
        if variable is None or not path:
            raise QueryError(
                f"{function} reads an attribute of one element of a variable",
                remedy=f"write {function.lower()}({variable or 'b'}).x",
                span=span_of(c),
            )
        return Attribute(variable, path, at, span=span_of(c))

    def remote(self, c: list[Any]) -> Expression:
        close = next(i for i, x in enumerate(c) if isinstance(x, Token) and x.type == "RSQB")
        path = tuple(t.value for t in c[close + 1 :] if t.type == "NAME")
        return Remote(c[1].value, tuple(c[3]), path, span=span_of(c))

    def remote_without_store(self, c: list[Any]) -> Expression:
        raise QueryError(
            "REMOTE does not say which store to look in",
            remedy="write the store's name before the bracket: REMOTE places[a.customer]",
            span=span_of(c[:2]),
        )

    def same(self, c: list[Any]) -> Same:
        return Same(tuple(c[-2]), span=span_of(c))

    def expressions(self, c: list[Any]) -> list[Expression]:
        return _nodes(c)


def _variable(token: Token) -> str:
    return canonical.check_variable(token.value, token.span)


def _spanned(node: N, span: Span) -> N:
    """``node`` with the brackets around it in its place."""
    return replace(node, span=span)


def _no_loop(until: _Until) -> QueryError:
    return QueryError(
        "UNTIL closes a loop, and there is none here",
        remedy="give the variable a quantifier: B+ b UNTIL condition",
        span=until.span,
    )


def _range(c: Sequence[Token], minimum: int, maximum: int | None) -> _Quantifier:
    """``{n,m}``, refused at its own place rather than at the whole loop's."""
    canonical.check_bounds(minimum, maximum, span_of(c))
    return _Quantifier(minimum, maximum, c[-1].type != "QUESTION", span_of(c))


MOST_DIGITS = 9  # of a bound of a loop


def _count(token: Token) -> int:
    if token.value.isdigit() and len(token.value) > MOST_DIGITS:
        raise QueryError(
            f"no loop takes more than {10**MOST_DIGITS - 1} elements",
            remedy="write a smaller number, or no upper bound: {2,}",
            span=token.span,
        )
    if not token.value.isdigit():
        raise QueryError("this counts events: a whole number", remedy="write it in digits: {2,3}", span=token.span)
    return int(token.value)


_NAMES = tuple(name for name in vars(_Actions) if not name.startswith("_"))
