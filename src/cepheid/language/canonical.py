"""The one form of each tree: what the parser and the builder share, so that both make equal trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cepheid.errors import QueryError, Span
from cepheid.language.literals import minus
from cepheid.language.tree import (
    Aggregate,
    And,
    AnyOf,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Conjunction,
    Disjunction,
    Event,
    Expression,
    Literal,
    LiteralKind,
    Negation,
    Negative,
    Node,
    Not,
    Or,
    Pattern,
    Query,
    Repeat,
    Seq,
    children,
    walk,
)

MAX_DEPTH = 100
"""Levels a tree may have: what reads a tree calls itself once or more per level."""

MAX_NODES = 100_000
"""Nodes a tree may have, shared ones counted in each place."""

AGGREGATES = ("count", "sum", "avg", "min", "max")
INT64 = range(-(2**63), 2**63)

_NUMBERS = (LiteralKind.INT, LiteralKind.FLOAT, LiteralKind.DURATION, LiteralKind.DECIMAL)


def is_hidden(name: str) -> bool:
    """Whether ``name`` is of those that elements without one are given, which no text may write."""
    return name.startswith("#")


def check_variable(name: str, span: Span | None = None) -> str:
    """``name``, if a variable may have it.

    Raises:
        QueryError: it begins with ``#``.
    """
    if is_hidden(name):
        raise QueryError(
            f"the name of a variable does not begin with `#`, as {name!r} does",
            remedy="such names are given to elements without a name; choose another",
            span=span,
        )
    return name


# --- expressions ----------------------------------------------------------------------------------


def conjunction(operands: Sequence[Expression], span: Span | None = None) -> Expression:
    """AND of ``operands``, those of nested ANDs among them; a single operand as it is."""
    flat: list[Expression] = []
    for operand in operands:
        flat.extend(operand.operands if isinstance(operand, Conjunction) else (operand,))
    return flat[0] if len(flat) == 1 else Conjunction(tuple(flat), span=span)


def disjunction(operands: Sequence[Expression], span: Span | None = None) -> Expression:
    """OR of ``operands``, those of nested ORs among them; a single operand as it is."""
    flat: list[Expression] = []
    for operand in operands:
        flat.extend(operand.operands if isinstance(operand, Disjunction) else (operand,))
    return flat[0] if len(flat) == 1 else Disjunction(tuple(flat), span=span)


def negative(operand: Expression, span: Span | None = None) -> Expression:
    """``-operand``; of a number it is the number below zero."""
    if isinstance(operand, Literal) and operand.kind in _NUMBERS:
        return Literal(minus(operand.value), operand.kind, span=span)  # type: ignore[arg-type]
    return Negative(operand, span=span)


def arithmetic(first: Expression, rest: Sequence[tuple[str, Expression]], measure: Measure) -> Expression:
    """``first + a - b ...``, from left to right; each step is measured, for chains may be long."""
    made = first
    for operator, right in rest:
        span = made.span.join(right.span) if made.span else right.span
        made = Arithmetic(operator, made, right, span=span)
        measure.check(made)
    return made


def between(
    operand: Expression, low: Expression, high: Expression, negated: bool = False, span: Span | None = None
) -> Expression:
    """``operand BETWEEN low AND high``: two comparisons."""
    both = conjunction((Compare(">=", operand, low, span=span), Compare("<=", operand, high, span=span)), span)
    return Negation(both, span=span) if negated else both


def call(function: str, arguments: Sequence[Expression], span: Span | None = None) -> Expression:
    """A call; an aggregate where ``function`` is one and the one argument reads one variable."""
    name = function.lower()
    if name in AGGREGATES and len(arguments) == 1:
        argument = arguments[0]
        if isinstance(argument, Attribute) and argument.variable is None:
            if name == "count" and len(argument.path) == 1:
                return Aggregate("count", argument.path[0], span=span)
        else:
            variables = {n.variable for n in walk(argument) if isinstance(n, Attribute | Aggregate)}
            if len(variables) == 1:
                (variable,) = variables
                if variable is not None:
                    return Aggregate(name, variable, argument, span=span)
    return Call(function, tuple(arguments), span=span)


# --- patterns -------------------------------------------------------------------------------------


def sequence(parts: Sequence[Pattern], span: Span | None = None) -> Pattern:
    """SEQ of ``parts``; a single part as it is."""
    return parts[0] if len(parts) == 1 else Seq(tuple(parts), span=span)


def both(parts: Sequence[Pattern], span: Span | None = None) -> Pattern:
    """AND of ``parts``; a single part as it is."""
    return parts[0] if len(parts) == 1 else And(tuple(parts), span=span)


def either(parts: Sequence[Pattern], span: Span | None = None) -> Pattern:
    """OR of ``parts``; a single part as it is."""
    return parts[0] if len(parts) == 1 else Or(tuple(parts), span=span)


def any_of(count: int, parts: Sequence[Pattern], span: Span | None = None) -> Pattern:
    """ANY(count, parts); one of a single part is the part itself."""
    if count < 1:
        raise QueryError(f"ANY takes at least 1 of its patterns, not {count}", remedy="write ANY(1, ...)", span=span)
    return parts[0] if count == len(parts) == 1 else AnyOf(count, tuple(parts), span=span)


def negated_between(parts: Sequence[Pattern], span: Span | None = None) -> Pattern:
    """``NSEQ(first, middle, last)``: a sequence of the first and the last with no middle between."""
    if len(parts) != 3:
        raise QueryError(
            f"NSEQ takes three patterns, here are {len(parts)}",
            remedy="write NSEQ(A a, B b, C c): an A, then a C, with no B between",
            span=span,
        )
    first, middle, last = parts
    return Seq((first, Not(middle, span=middle.span), last), span=span)


def check_bounds(minimum: int, maximum: int | None, span: Span | None = None) -> None:
    """Refuse bounds of a loop that nothing fits.

    Raises:
        QueryError: the upper bound is below 1 or below the lower bound.
    """
    if minimum < 0 or (maximum is not None and (maximum < 1 or minimum > maximum)):
        raise QueryError(
            f"{{{minimum},{'' if maximum is None else maximum}}} is no range of repetitions",
            remedy="the upper bound is at least 1, and not below the lower bound: {2,3}",
            span=span,
        )


def until_of_a_group(span: Span | None = None) -> QueryError:
    """The error for UNTIL behind a group."""
    return QueryError(
        "UNTIL closes the loop of one variable, not of a group",
        remedy="write it after a variable: B+ b UNTIL condition",
        span=span,
    )


def repeat(
    part: Pattern,
    minimum: int,
    maximum: int | None,
    greedy: bool = True,
    until: Expression | None = None,
    span: Span | None = None,
) -> Pattern:
    """``part{minimum,maximum}``; once and no more is ``part`` itself."""
    check_bounds(minimum, maximum, span)
    if until is not None and not isinstance(part, Event):
        raise until_of_a_group(span)
    if minimum == maximum == 1 and until is None:
        return part
    return Repeat(part, minimum, maximum, greedy, until, span=span)


# --- the whole ------------------------------------------------------------------------------------


class Measure:
    """Keeps trees within bounds while they grow, so that all that reads them may call itself.

    Nodes may be shared (``x BETWEEN 1 AND 2`` reads x twice); a shared node is measured once and counts
    in each place.
    """

    def __init__(self) -> None:
        # The node is kept beside its measure: its id would be given to another once it is gone.
        self._known: dict[int, tuple[Node, int, int]] = {}

    def check(self, node: Node) -> None:
        """Refuse a tree with more than `MAX_DEPTH` levels or `MAX_NODES` nodes.

        Raises:
            QueryError: at ``node``, or at the node below it that is too deep.
        """
        open_ = [node]
        while open_:
            top = open_[-1]
            if id(top) in self._known:
                open_.pop()
                continue
            below = list(children(top))
            unknown = [child for child in below if id(child) not in self._known]
            if unknown:
                open_.extend(unknown)
                continue
            depth = 1 + max((self._known[id(child)][1] for child in below), default=0)
            size = 1 + sum(self._known[id(child)][2] for child in below)
            if depth > MAX_DEPTH:
                raise QueryError(
                    f"this is nested more than {MAX_DEPTH} levels deep",
                    remedy="split the query; a long chain of + or - can be bracketed in halves",
                    span=top.span,
                )
            if size > MAX_NODES:
                raise QueryError(
                    f"this has more than {MAX_NODES} parts",
                    remedy="split the query, or look the values up: IN REMOTE ...",
                    span=top.span,
                )
            self._known[id(top)] = (top, depth, size)
            open_.pop()


def check_numbers(node: Node) -> None:
    """Refuse whole numbers and lengths of time that an int64 does not hold.

    Raises:
        QueryError: at the first such literal.
    """
    for found in walk(node):
        # Only ints are looked up in the range: for a float, `in` would walk through it.
        if not isinstance(found, Literal) or not isinstance(found.value, int) or found.value in INT64:
            continue
        if found.kind is LiteralKind.INT:
            raise QueryError(
                "this number does not fit 64 bits",
                remedy="write it with a decimal point, as a floating-point number",
                span=found.span,
            )
        if found.kind is LiteralKind.DURATION:
            raise QueryError(
                "this length of time does not fit 64 bits of microseconds",
                remedy="use a shorter one; 290,000 years fit",
                span=found.span,
            )


def name_by_type(query: Query) -> Query:
    """The query with a name on elements that it refers to by their type (``A; B WHERE A.x < B.x``).

    Only where exactly one element without a name has that type, alone, and no variable is called so.
    """
    events = [n for n in walk(query.pattern) if isinstance(n, Event)]
    named = {e.name for e in events}
    single = [e.types[0] for e in events if e.name is None and len(e.types) == 1 and not is_hidden(e.types[0])]
    read: set[str | None] = set()
    for root in (query.pattern, *([query.where] if query.where else []), *query.returns):
        read.update(n.variable for n in walk(root) if isinstance(n, Attribute | Aggregate))
    read.add(query.skip.variable)
    wanted = {t for t in single if t in read and t not in named and single.count(t) == 1}
    return replace(query, pattern=_with_names(query.pattern, wanted)) if wanted else query


def _with_names(pattern: Pattern, types: set[str]) -> Pattern:
    if isinstance(pattern, Event):
        if pattern.name is None and len(pattern.types) == 1 and pattern.types[0] in types:
            return replace(pattern, name=pattern.types[0])
        return pattern
    if isinstance(pattern, Not | Repeat):
        return replace(pattern, part=_with_names(pattern.part, types))
    return replace(pattern, parts=tuple(_with_names(p, types) for p in pattern.parts))
