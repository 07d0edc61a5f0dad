"""Projections: what of a query can be evaluated elsewhere, by another engine, over a part of its variables.

A match of a query under `any` is an assignment of events that satisfies order, conditions and window. Each of these
speaks of some of the variables, so what a match binds to a part of the variables is a match of the *projection* of the
query to them. The other way round, matches of projections that together bind all variables, and the same events to
those that they share, are a match of the query where they also satisfy what speaks of variables of several of them
(`engine.joiner` joins them).

Two operators speak of all variables around them. A NOT is part of a projection only together with its neighbours and
with what its conditions read (the papers: *negation-closed*). A Kleene variable is a single event in every projection
(*taken out*), as each of its events has to satisfy order, window and the conditions on single elements; the conditions
on the loop as a whole are left to where the query itself is put together.

Source: INEv, sections 3.3 (projections), 5.2 (negation-closed) and 6.1 (Kleene). Deviations: a NOT beside a Kleene
variable, or whose conditions read one, is part of no projection, as its gap begins or ends with the last or the first
event of the loop, whichever events that will be; so is a NOT at an end of the pattern, whose gap is bounded by the
window of the whole match.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from cepheid.errors import NotSupportedError, QueryError
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.faults import suggestion
from cepheid.language.structure import Place, always_before, patterns, places
from cepheid.language.tree import (
    And,
    AnyOf,
    Conjunction,
    Event,
    Expression,
    Not,
    Or,
    Pattern,
    Policy,
    Query,
    Repeat,
    Seq,
    Skip,
    SkipMode,
)
from cepheid.plan.references import has_remote, references

Pair = tuple[str, str]


@dataclass(frozen=True)
class Gap:
    """A NOT, and what decides it.

    Attributes:
        negated: the variables under it, in the order of the text.
        left, right: its neighbours: variables with no other between them and the gap; one of the two is empty for a
            NOT at the end or at the start of the pattern.
        conjuncts: conditions that name a variable under it and others.
        closure: the positive variables that a projection must have to test it; None where none can.
    """

    negated: tuple[str, ...]
    left: frozenset[str]
    right: frozenset[str]
    conjuncts: tuple[Conjunct, ...]
    closure: frozenset[str] | None


@dataclass(frozen=True)
class Split:
    """What a query says about pairs of its variables.

    Attributes:
        positive: variables that a match binds, in the order of the text.
        loops: those of them that are Kleene variables.
        before: pairs whose first lies before the second in every match; of positive variables, and of negated ones
            under one NOT.
        apart: other pairs of them whose elements can take one event: it fills one of them only.
        conjuncts: the conditions that speak of positive variables and can be tested on single events of loops; those
            on one negated variable, too.
        whole: the conditions on loops as a whole.
        gaps: the NOTs, in the order of the text.
    """

    positive: tuple[str, ...]
    loops: frozenset[str]
    before: frozenset[Pair]
    apart: frozenset[Pair]
    conjuncts: tuple[Conjunct, ...]
    whole: tuple[Conjunct, ...]
    gaps: tuple[Gap, ...]


def not_split_because(bound: BoundQuery) -> str | None:
    """Why a query has no projections; None where it has.

    Projections have queries under POLICY any of SEQ and AND, nested as may be, over events and Kleene variables, with
    NOT of events in sequence, or of SEQ and AND of events; with WITHIN a time, or no window.
    """
    window = bound.window
    if bound.inner is not None:
        return "its events are matches of another query"
    if bound.policy is not Policy.ANY:
        return f"under POLICY {bound.policy.value}, which event a partial match takes depends on all those before it"
    if bound.skip.mode is not SkipMode.NONE:
        return "AFTER MATCH discards matches in the order in which they are found"
    if window.within_events is not None or window.each_events is not None or window.size_events is not None:
        return "its window counts events, and nobody sees all of them"
    if window.each_us is not None:
        return "BETWEEN EACH bounds the distance of neighbours, and a projection does not know which events are"
    if window.size_us is not None:
        return "its windows slide"
    for part in patterns(bound.pattern):
        if isinstance(part, Or):
            return "it has OR; a query for each branch has projections"
        if isinstance(part, AnyOf):
            return "it has ANY"
        if isinstance(part, Event) and part.policy is not None:
            return f"{part.name} has a policy of its own"
        if isinstance(part, Repeat):
            if not isinstance(part.part, Event):
                return "a group in it is repeated"
            if part.minimum == 0:
                return f"{part.part.name} is optional"
            if part.until is not None:
                return f"the loop {part.part.name} ends with UNTIL"
    for variable in bound.variables.values():
        if variable.negated and (variable.loop or variable.optional):
            return f"{variable.name} is repeated, and stands under NOT"
    for conjunct in bound.conjuncts:
        if has_remote(conjunct.expression) is not None:
            return "it looks something up in a remote store"
    return None


def split(bound: BoundQuery) -> Split:
    """What a query says about pairs of its variables.

    Raises:
        NotSupportedError: it has no projections (`not_split_because`).
    """
    reason = not_split_because(bound)
    if reason is not None:
        raise NotSupportedError(
            f"this query cannot be split into projections: {reason}",
            remedy="evaluate it where all its events are",
            text=bound.text,
            origin=bound.origin,
            span=bound.query.pattern.span,
        )
    found: Split | None = bound.made.get(Split)
    if found is None:
        found = bound.made[Split] = _split(bound)
    return found


def _split(bound: BoundQuery) -> Split:
    standing = places(bound.pattern)
    positive = [place for place in standing if place.negation is None]
    names = frozenset(place.name for place in positive)
    loops = frozenset(name for name in names if bound.variables[name].loop)
    together = [group for group in (positive, *_negated(standing)) if group]
    ordered = [(one, other) for group in together for one in group for other in group if one is not other]
    before = frozenset((one.name, other.name) for one, other in ordered if always_before(one, other))
    apart = frozenset(
        (one.name, other.name)
        for one, other in ordered
        if one.path < other.path and (one.name, other.name) not in before and _alike(one.event, other.event)
    )
    against = tuple(c for c in bound.conjuncts if c.negated is not None and set(c.variables) & names)
    rest = [conjunct for conjunct in bound.conjuncts if conjunct not in against]
    whole = tuple(conjunct for conjunct in rest if not _is_on_elements(conjunct.expression, loops))
    gaps = [_gap(group, positive, before, against, loops) for group in _negated(standing)]
    return Split(
        positive=tuple(place.name for place in positive),
        loops=loops,
        before=before,
        apart=apart,
        conjuncts=tuple(conjunct for conjunct in rest if conjunct not in whole),
        whole=whole,
        gaps=tuple(gaps),
    )


def _negated(standing: tuple[Place, ...]) -> list[list[Place]]:
    """The elements under each NOT."""
    groups: dict[tuple[int, ...], list[Place]] = {}
    for place in standing:
        if place.negation is not None:
            depth = place.ancestors.index(place.negation)
            groups.setdefault(place.path[:depth], []).append(place)
    return list(groups.values())


def _gap(
    group: list[Place],
    positive: list[Place],
    before: frozenset[Pair],
    against: tuple[Conjunct, ...],
    loops: frozenset[str],
) -> Gap:
    negated = tuple(place.name for place in group)
    left = [place.name for place in positive if always_before(place, group[0])]
    right = [place.name for place in positive if always_before(group[0], place)]
    last = frozenset(one for one in left if not any((one, other) in before for other in left))
    first = frozenset(one for one in right if not any((other, one) in before for other in right))
    conjuncts = tuple(conjunct for conjunct in against if conjunct.negated in negated)
    read = {name for conjunct in conjuncts for name in conjunct.variables} - set(negated)
    closure = last | first | read
    closed = None if not left or not right or closure & loops else closure
    return Gap(negated, last, first, conjuncts, closed)


def _alike(one: Event, other: Event) -> bool:
    """Whether there are types that both elements take."""
    return not one.types or not other.types or not set(one.types).isdisjoint(other.types)


def _is_on_elements(expression: Expression, loops: frozenset[str]) -> bool:
    """Whether a condition reads single elements of loops, and nothing else of them."""
    return all(
        reference.single and not (reference.prev or reference.first or reference.last or reference.aggregated)
        for name, reference in references(expression).items()
        if name in loops
    )


def project(bound: BoundQuery, variables: Collection[str]) -> BoundQuery:
    """The query of a projection: to be evaluated elsewhere, by any engine, as any other query.

    It has the order, SAME and the window of the query, and of its conditions those that read only ``variables``; of
    Kleene variables a single event, with the conditions on single elements. Its matches, and what arrives of the other
    variables, are the parts that a `engine.joiner.Joiner` puts together.

    Args:
        bound: the query.
        variables: names of variables (``#0``, ``#1``, ... for those without a name), at least one of which a match
            binds; or all those under one NOT, for the events that the NOT looks for. A variable under NOT beside
            others: the projection tests the NOT (and must have its `Gap.closure`).

    Returns:
        A bound query with the default output. Its tree (``query``) can be printed, and bound again elsewhere; there,
        variables without a name are numbered anew.

    Raises:
        NotSupportedError: the query cannot be split.
        QueryError: a name is none of its variables, a NOT cannot be tested, or there is nothing to bind.
    """
    of_query = split(bound)
    for name in variables:
        if name not in bound.variables:
            raise QueryError(
                f"the projection names {name}, which is no variable of the query",
                remedy=suggestion(name, bound.variables, f"its variables are {', '.join(bound.variables)}"),
            )
    kept = frozenset(variables)
    positive = kept & frozenset(of_query.positive)
    if not kept:
        raise QueryError("the projection has no variables", remedy="name at least one variable that a match binds")
    if not positive:
        return _of_negated(bound, of_query, kept)
    for gap in of_query.gaps:
        _check_closed(gap, kept)
    pattern = _restricted(bound.pattern, kept)
    assert pattern is not None, "it has a variable that a match binds"
    return _with(bound, of_query, pattern, kept, kept)


def _check_closed(gap: Gap, kept: frozenset[str]) -> None:
    """Refuse a projection that has some of what stands under a NOT, and cannot test it."""
    named = [name for name in gap.negated if name in kept]
    if not named:
        return
    lacking = [name for name in gap.negated if name not in kept]
    if gap.closure is None:
        raise QueryError(
            f"the projection names {named[0]}, which stands under a NOT that only the whole query can test",
            remedy=f"leave {', '.join(gap.negated)} out, and let its events come by themselves",
        )
    lacking += sorted(gap.closure - kept)
    if lacking:
        raise QueryError(
            f"the projection names {named[0]}, which stands under NOT, without {', '.join(lacking)}: it cannot tell "
            "whether the NOT holds",
            remedy=f"name {', '.join(lacking)}, too, or leave {', '.join(gap.negated)} out",
        )


def _of_negated(bound: BoundQuery, of_query: Split, kept: frozenset[str]) -> BoundQuery:
    """The query of what stands under a NOT."""
    gap = next(gap for gap in of_query.gaps if kept & frozenset(gap.negated))
    if kept != frozenset(gap.negated):
        raise QueryError(
            f"the projection has {', '.join(sorted(kept))}, of which a match binds none",
            remedy="name variables that a match binds, or all those under one NOT",
        )
    negation = next(
        part for part in patterns(bound.pattern) if isinstance(part, Not) and _names(part) == set(gap.negated)
    )
    return _with(bound, of_query, negation.part, kept, frozenset())


def _names(pattern: Pattern) -> set[str]:
    return {place.name for place in places(pattern)}


def _restricted(pattern: Pattern, kept: frozenset[str]) -> Pattern | None:
    """What is left of a pattern with some of its variables, loops taken out; None for nothing."""
    match pattern:
        case Event():
            return pattern if pattern.name in kept else None
        case Repeat():
            return _restricted(pattern.part, kept)
        case Not():
            return pattern if _names(pattern) <= kept else None
        case Seq() | And():
            left = tuple(part for part in (_restricted(p, kept) for p in pattern.parts) if part is not None)
            if len(left) < 2:
                return left[0] if left else None
            return replace(pattern, parts=left)
        case _:
            raise AssertionError("such patterns are not split")


def _with(
    bound: BoundQuery, of_query: Split, pattern: Pattern, kept: frozenset[str], closed: frozenset[str]
) -> BoundQuery:
    """The query with another pattern and what is said of its variables.

    Args:
        bound, of_query: the query.
        pattern: the new pattern.
        kept: its variables.
        closed: of which some may stand under a NOT of it.
    """
    conjuncts = [c for c in of_query.conjuncts if set(c.variables) <= kept]
    for gap in of_query.gaps:
        if set(gap.negated) <= closed:
            conjuncts += gap.conjuncts
    ordered = tuple(conjunct for conjunct in bound.conjuncts if conjunct in conjuncts)
    names = {place.name for place in places(pattern)}
    if not closed:  # what stood under NOT stands by itself
        ordered = tuple(replace(conjunct, negated=None) for conjunct in ordered)
    variables = {
        name: replace(variable, loop=False, own_loop=False, negated=variable.negated and bool(closed))
        for name, variable in bound.variables.items()
        if name in names
    }
    expressions = tuple(conjunct.expression for conjunct in ordered)
    where: Expression | None = Conjunction(expressions) if len(expressions) > 1 else next(iter(expressions), None)
    query = Query(
        pattern=_without_hidden_names(pattern),
        where=where,
        same=bound.query.same,
        window=bound.query.window,
        policy=bound.policy,
        span=bound.query.span,
    )
    return replace(
        bound,
        query=query,
        pattern=pattern,
        variables=variables,
        conjuncts=ordered,
        skip=Skip(),
        returns=(),
        identified=False,
    )


def _without_hidden_names(pattern: Pattern) -> Pattern:
    """A pattern as it can be written."""
    match pattern:
        case Event():
            return replace(pattern, name=None) if (pattern.name or "#").startswith("#") else pattern
        case Seq() | And():
            return replace(pattern, parts=tuple(_without_hidden_names(part) for part in pattern.parts))
        case Not() | Repeat():
            return replace(pattern, part=_without_hidden_names(pattern.part))
        case _:
            return pattern
