"""Warnings about queries that are right by the rules but will not do what their author hopes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cepheid.errors import QueryError, Span, underline
from cepheid.language.bound import BoundQuery
from cepheid.language.contradictions import contradictions, message_of, remedy_of
from cepheid.language.estimates import combinations, n_in_window, subsets
from cepheid.language.faults import place_of
from cepheid.language.hopeless import reasons
from cepheid.language.structure import (
    Place,
    exclusive,
    first_names,
    is_loop,
    nodes_with_paths,
    nullable,
    places,
)
from cepheid.language.tree import (
    Aggregate,
    And,
    AnyOf,
    Attribute,
    Compare,
    Conjunction,
    Disjunction,
    Event,
    Expression,
    Node,
    Not,
    Pattern,
    Policy,
    Repeat,
    Seq,
    walk,
)


@dataclass(frozen=True, slots=True)
class Warning:
    """Something in a query that its author should know before it runs.

    Attributes:
        message: one sentence, what will happen.
        remedy: one sentence, what to do about it.
        span: where in the bound query's text, or None.
        estimate: how many partial matches that means, as a number or formula; None where it is no matter of size.
    """

    message: str
    remedy: str
    span: Span | None = None
    estimate: str | None = None

    def render(self, text: str) -> str:
        """The warning with its place in ``text`` marked."""
        lines = [self.message if self.estimate is None else f"{self.message}: {self.estimate}"]
        if self.span is not None and text:
            lines.append(underline(text, self.span))
        lines.append(f"  -> {self.remedy}")
        return "\n".join(lines)


def check(bound: BoundQuery, rates_per_s: Mapping[str, float] | None = None, *, stream: bool = False) -> list[Warning]:
    """What is worth knowing of a query before it runs, the gravest first.

    Args:
        bound: the query.
        rates_per_s: event type -> events per second, within one partition where the query has SAME. Estimates
            are numbers where it has every type they need, and formulas otherwise.
        stream: the query runs on a stream, whose partial matches must not be kept for ever.

    Raises:
        QueryError: ``stream``, and the query has no window although a loop or ``any`` makes its partial
            matches grow without bound (SEMANTICS 5.3).
        ValueError: a rate is negative or no number.
    """
    for name, rate in (rates_per_s or {}).items():
        if not (math.isfinite(rate) and rate >= 0):
            raise ValueError(f"the rate of {name} must be a number of events per second, at least 0, not {rate}")
    return [
        *_no_window(bound, stream),
        *_idle_gap(bound),
        *_explosive_loops(bound, rates_per_s),
        *_cross_product(bound, rates_per_s),
        *_interchangeable(bound),
        *_never_true(bound),
        *_impossible(bound),
        *_without_effect(bound),
        *_vacuous_not(bound),
    ]


def _policy(bound: BoundQuery, event: Event) -> Policy:
    return event.policy or bound.policy


def _place(bound: BoundQuery, node: Node) -> Span | None:
    return place_of(node) if bound.text else None


def _bounded(bound: BoundQuery) -> bool:
    """True where a partial match is given up once enough time or events have passed."""
    window = bound.window
    if window.within_us or window.within_events or window.size_us or window.size_events:
        return True
    # A gap at most so long between neighbours bounds a pattern without loops; bind refuses it with one.
    return bool(window.each_us or window.each_events)


def _taken(bound: BoundQuery) -> list[Place]:
    """The elements that a match binds, in the order of the text."""
    return [place for place in places(bound.pattern) if place.negation is None]


# --- windows -----------------------------------------------------------------------------------------


def _no_window(bound: BoundQuery, stream: bool) -> Iterator[Warning]:
    if _bounded(bound):
        return
    growing = _growing(bound)
    if growing is not None:
        node, why = growing
        if stream:
            raise QueryError(
                f"without a window, {why} lets partial matches grow without bound on a stream",
                remedy="add WITHIN, such as WITHIN 1 hour or WITHIN 10000 EVENTS",
                text=bound.text or None,
                origin=bound.origin,
                span=_place(bound, node),
            )
        yield Warning(
            f"without a window, {why} lets partial matches grow without bound: a stream refuses this query",
            "add WITHIN, such as WITHIN 1 hour or WITHIN 10000 EVENTS",
            _place(bound, node),
        )
        return
    yield Warning(
        "without a window, a stream keeps every partial match for ever",
        "add WITHIN, such as WITHIN 1 hour or WITHIN 10000 EVENTS",
        _place(bound, bound.pattern),
    )


def _idle_gap(bound: BoundQuery) -> Iterator[Warning]:
    """BETWEEN EACH that WITHIN already implies: no gap is longer than the whole match."""
    window, each = bound.window, bound.query.window.each
    in_time = window.each_us is not None and window.within_us is not None and window.each_us >= window.within_us
    # WITHIN n EVENTS is one position less than n.
    in_events = (
        window.each_events is not None
        and window.within_events is not None
        and window.each_events >= window.within_events - 1
    )
    if each is not None and (in_time or in_events):
        yield Warning(
            "BETWEEN EACH is no shorter than WITHIN, so it asks for nothing",
            "shorten BETWEEN EACH, or remove it",
            _place(bound, each),
        )


def _growing(bound: BoundQuery) -> tuple[Pattern, str] | None:
    """What makes the partial matches of one start unbounded, or None."""
    for node, _, ancestors in nodes_with_paths(bound.pattern):
        if isinstance(node, Repeat) and node.maximum is None and not any(isinstance(a, Not) for a in ancestors):
            return node, "a loop"
    for place in _taken(bound)[1:]:
        if _policy(bound, place.event) is Policy.ANY:
            return place.event, "any, which skips every event that it also takes,"
    return None


# --- sizes -------------------------------------------------------------------------------------------


def _explosive_loops(bound: BoundQuery, rates_per_s: Mapping[str, float] | None) -> Iterator[Warning]:
    for node, _, ancestors in nodes_with_paths(bound.pattern):
        if not isinstance(node, Repeat) or not is_loop(node):
            continue
        if any(isinstance(above, Not) for above in ancestors):
            continue
        own = _policy(bound, node.part) if isinstance(node.part, Event) else bound.policy
        if own is not Policy.ANY:
            continue
        if isinstance(node.part, Event):
            what = _types_of(node.part)
            n = n_in_window(bound, node.part.types, rates_per_s)
            count = f"{n:.4g} events" if n is not None else "n events"
            estimate = f"{count} of {what} in a window give {subsets(n, node.minimum, node.maximum)} choices per start"
            message = f"a loop under any takes every subset of the {what} events"
        else:
            estimate = (
                f"n matches of the group give up to {subsets(None, node.minimum, node.maximum)} choices per start"
            )
            message = "a group repeated under any takes every subset of its matches"
        yield Warning(
            message,
            "use POLICY next (or the prefix next) to take each event that qualifies, or bound the loop as in {1,3}",
            _place(bound, node),
            estimate,
        )


def _types_of(event: Event) -> str:
    return " | ".join(event.types) if event.types else "*"


def _cross_product(bound: BoundQuery, rates_per_s: Mapping[str, float] | None) -> Iterator[Warning]:
    """An element under ``any`` that no equality ties to the ones before it: each of its events pairs with each."""
    if bound.partition:
        return
    taken = _taken(bound)
    tied = _tied(bound, taken)
    for index in range(len(taken) - 1, 0, -1):
        last = taken[index]
        before = [place for place in taken[:index] if not exclusive(place, last) and place.name != last.name]
        if _policy(bound, last.event) is not Policy.ANY or all(tied[p.name] == tied[last.name] for p in before):
            continue
        elements = [*before, last]
        estimate = combinations(
            [_types_of(place.event) for place in elements],
            [n_in_window(bound, place.event.types, rates_per_s) for place in elements],
        )
        yield Warning(
            f"{_label(last.event)} is taken under any, and no equality ties it to the elements before it: "
            "each of its events pairs with each of theirs",
            "split the stream with SAME[attribute], or compare attributes of the elements with =",
            _place(bound, last.event),
            f"{estimate} partial matches in a window, before other conditions",
        )
        # The last such element has the longest product; the ones before it are factors of that.
        return


def _tied(bound: BoundQuery, taken: Sequence[Place]) -> dict[str, str]:
    """Name -> a name that stands for all that equalities tie it to."""
    tied = {place.name: place.name for place in taken}
    for conjunct in bound.conjuncts:
        if conjunct.negated is not None or not isinstance(conjunct.expression, Compare):
            continue
        left, right = _names(conjunct.expression.left), _names(conjunct.expression.right)
        if conjunct.expression.operator == "=" and len(left) == len(right) == 1 and left != right:
            kept, merged = tied[left.pop()], tied[right.pop()]
            tied = {name: kept if other == merged else other for name, other in tied.items()}
    return tied


def _names(expression: Expression) -> set[str]:
    return {
        node.variable
        for node in walk(expression)
        if isinstance(node, (Attribute, Aggregate)) and node.variable is not None
    }


def _interchangeable(bound: BoundQuery) -> Iterator[Warning]:
    """Parts of an AND that take the same events: one set of events is found in several orders."""
    for node, _, ancestors in nodes_with_paths(bound.pattern):
        if not isinstance(node, (And, AnyOf)) or any(isinstance(above, Not) for above in ancestors):
            continue
        events = [part for part in node.parts if isinstance(part, Event) and _policy(bound, part) is Policy.ANY]
        alike = [event for event in events if _sharing(event, events) > 1]
        names = {event.name for event in alike}
        if not alike or any(_ordered(conjunct.expression, names) for conjunct in bound.conjuncts):
            continue
        n_taken = min(len(alike), node.count) if isinstance(node, AnyOf) else len(alike)
        if n_taken > 1:
            yield Warning(
                f"{', '.join(_label(event) for event in alike)} take events of the same type in any order: "
                "each set of events is found in every order",
                "write SEQ, or a condition that tells them apart, such as a.x < b.x",
                _place(bound, node),
                f"up to {n_taken}! = {math.factorial(n_taken)} matches per set of events",
            )


def _ordered(condition: Expression, names: set[str | None]) -> bool:
    """True where the condition tells two of ``names`` apart."""
    return (
        isinstance(condition, Compare) and condition.operator not in ("=", "<>") and len(_names(condition) & names) > 1
    )


def _sharing(event: Event, events: list[Event]) -> int:
    return sum(not event.types or not other.types or bool(set(event.types) & set(other.types)) for other in events)


def _label(event: Event) -> str:
    assert event.name is not None
    return _types_of(event) if event.name.startswith("#") else event.name


# --- conditions --------------------------------------------------------------------------------------


def _never_true(bound: BoundQuery) -> Iterator[Warning]:
    """Conditions that no event satisfies, but without which there still may be matches (else bind refuses)."""
    conditions = [conjunct.expression for conjunct in bound.conjuncts]
    for found in contradictions(conditions, bound.schema, bound.variables, bound.types):
        names = [name for name in found.variables if bound.variables[name].negated]
        if names:
            outcome = f"so the NOT with {names[0]} is never violated"
        elif any(bound.variables[name].optional for name in found.variables):
            outcome = f"so a match never has {' and '.join(found.variables)}"
        elif found.branch:
            outcome = "so only the rest of the OR counts"
        else:
            outcome = "so there are no matches"
        yield Warning(f"{message_of(found)}, {outcome}", remedy_of(found), _place(bound, found.condition))


def _impossible(bound: BoundQuery) -> Iterator[Warning]:
    """Several conditions that no match satisfies together; those of `_never_true` are told there."""
    told = {warning.message for warning in _never_true(bound)}
    for message, remedy, place in reasons(bound):
        if message not in told:
            yield Warning(message, remedy, place)


def _without_effect(bound: BoundQuery) -> Iterator[Warning]:
    """Comparisons of variables that no match binds together: absent in every match, so they ask for nothing."""
    by_name: dict[str, list[Place]] = {}
    for place in places(bound.pattern):
        by_name.setdefault(place.name, []).append(place)
    for conjunct in bound.conjuncts:
        for atom in _atoms(conjunct.expression):
            names = sorted(_names(atom), key=list(bound.variables).index)
            for index, name in enumerate(names):
                apart = [
                    other
                    for other in names[index + 1 :]
                    if all(exclusive(one, two) for one in by_name[name] for two in by_name[other])
                ]
                if apart:
                    yield Warning(
                        f"{name} and {apart[0]} are never in one match, so this comparison asks for nothing",
                        "compare variables of one branch of the pattern",
                        _place(bound, atom),
                    )
                    break


def _atoms(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, (Conjunction, Disjunction)):
        for operand in condition.operands:
            yield from _atoms(operand)
    else:
        yield condition


# --- negation ----------------------------------------------------------------------------------------


def _vacuous_not(bound: BoundQuery) -> Iterator[Warning]:
    """NOT between two events that must be neighbours: nothing can stand there."""
    taken = _taken(bound)
    for node, path, _ in nodes_with_paths(bound.pattern):
        if not isinstance(node, Seq):
            continue
        for index, part in enumerate(node.parts):
            preceded = any(not nullable(earlier) for earlier in node.parts[:index])
            after = next((i for i in range(index, len(node.parts)) if not isinstance(node.parts[i], Not)), None)
            if not isinstance(part, Not) or not preceded or after is None or nullable(node.parts[after]):
                continue
            below = (*path, after)
            names = first_names(node.parts[after])
            nexts = [p.event for p in taken if p.path[: len(below)] == below and p.name in names]
            if all(_policy(bound, event) is Policy.STRICT for event in nexts):
                yield Warning(
                    "this NOT lies between two events that strict makes neighbours: nothing can stand there",
                    "remove the NOT, or use POLICY next",
                    _place(bound, part),
                )


def require_bounded(bounds: Mapping[str, BoundQuery]) -> None:
    """Refuse queries that would keep ever more of a stream.

    Args:
        bounds: name -> query; the one of a single query may be empty.

    Raises:
        QueryError: the first of them.
    """
    for name, bound in bounds.items():
        for one in bound.chain:
            try:
                check(one, stream=True)
            except QueryError as error:
                raise error.located(one.text, one.origin or name or None) from None
