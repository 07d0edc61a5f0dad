"""Which branches of a pattern a match has taken, told from the variables that it binds.

It decides what an aggregate over a variable without events is: 0 or NULL where the variable stands in a branch that was
taken, absent where it does not (SEMANTICS 4.3).
"""

from __future__ import annotations

from itertools import chain

from cepheid.language.tree import And, AnyOf, Event, Not, Or, Pattern, Repeat, Seq
from cepheid.plan.pattern_terms import PatternTerms
from cepheid.plan.terms import Term


def taken_variables(pattern: Pattern, bound: frozenset[str]) -> frozenset[str]:
    """The variables in the branches that a match has taken, those among them that took no event included.

    Args:
        pattern: the bound pattern, with a name on every element.
        bound: the variables that the match binds.

    Returns:
        ``bound`` and the empty variables. Where several ways of taking branches bind the same variables, the first in
        the text counts.
    """
    taken = _taken(pattern, bound, strict=True)
    # A pattern that is repeated may take one branch in one iteration and another in the next.
    return bound | (_taken(pattern, bound, strict=False) or frozenset() if taken is None else taken)


def taken_in_order(pattern: Pattern, sequence: tuple[tuple[str, str | None], ...]) -> frozenset[str]:
    """The same, told from the variables in the order of the events, where branches stand in a loop or share a name.

    Args:
        pattern: as before.
        sequence: the variable and the type of each event of a match; None where types are not told.

    Returns:
        As before; of several ways, the one that strict prefers (SEMANTICS 3.3) counts.
    """
    named = PatternTerms({})
    whole, terms = named.term(pattern), named.terms

    def takes(element: int, i: int) -> bool:
        name, kind = sequence[i]
        types = named.elements[element].types
        return terms.variables[element] == name and (not types or kind is None or kind in types)

    failed: set[tuple[Term, int]] = set()
    # One way after the other, without recursion: matches may be long.
    ways = [iter(terms.ways(whole))]
    at: list[tuple[Term, frozenset[str]]] = [(whole, frozenset())]
    while ways:
        i = len(ways) - 1
        state, empty = at[-1]
        for way in ways[-1]:
            if way.element is None:
                if i == len(sequence):
                    return empty | way.empty | {name for name, _ in sequence}
            elif i < len(sequence) and takes(way.element, i) and (way.rest, i + 1) not in failed:
                ways.append(iter(terms.ways(way.rest)))
                at.append((way.rest, empty | way.empty))
                break
        else:
            failed.add((state, i))
            ways.pop()
            at.pop()
    raise AssertionError("a match takes some way through its pattern")


def readings(pattern: Pattern, sequence: tuple[tuple[str, str | None], ...]) -> tuple[frozenset[str], ...]:
    """The same in every way of taking branches, the different ones of these, in no order.

    Args:
        pattern, sequence: as of `taken_in_order`.
    """
    named = PatternTerms({}, every_end=True)
    reached: dict[Term, set[frozenset[str]]] = {named.term(pattern): {frozenset()}}
    terms = named.terms
    for name, kind in sequence:
        following: dict[Term, set[frozenset[str]]] = {}
        for state, empties in reached.items():
            for way in terms.ways(state):
                if way.element is None or terms.variables[way.element] != name:
                    continue
                types = named.elements[way.element].types
                if not types or kind is None or kind in types:
                    following.setdefault(way.rest, set()).update(empty | way.empty for empty in empties)
        reached = following
    bound = frozenset(name for name, _ in sequence)
    ends = ((way, empty) for state, empties in reached.items() for way in terms.ways(state) for empty in empties)
    return tuple({empty | way.empty | bound for way, empty in ends if way.element is None})


def _names(pattern: Pattern) -> frozenset[str]:
    match pattern:
        case Event():
            return frozenset() if pattern.name is None else frozenset((pattern.name,))
        case Not():
            return frozenset()
        case Repeat():
            return _names(pattern.part)
        case _:
            return frozenset(chain.from_iterable(_names(part) for part in pattern.parts))


def _taken(pattern: Pattern, bound: frozenset[str], *, strict: bool) -> frozenset[str] | None:
    """The variables in the branches taken by a match of ``pattern`` that binds, of its variables, those in ``bound``.

    Args:
        pattern: a part of the whole pattern.
        bound: may hold variables of other parts.
        strict: one match of ``pattern``, rather than several, one after the other.

    Returns:
        The variables; None where no match of ``pattern`` binds just these.
    """
    bound = bound & _names(pattern)
    match pattern:
        case Event():
            return bound or None
        case Not():
            return frozenset()
        case Repeat():
            if not bound and pattern.minimum == 0:
                return _names(pattern.part)
            once = pattern.maximum == 1
            return _taken(pattern.part, bound, strict=strict and once)
        case Seq() | And():
            return _all(pattern.parts, bound, strict)
        case Or():
            return _one(pattern, bound, strict)
        case AnyOf():
            return _some(pattern, bound, strict)


def _all(parts: tuple[Pattern, ...], bound: frozenset[str], strict: bool) -> frozenset[str] | None:
    taken: frozenset[str] = frozenset()
    for part in parts:
        below = _taken(part, bound, strict=strict)
        if below is None:
            return None
        taken |= below
    return taken


def _one(pattern: Or, bound: frozenset[str], strict: bool) -> frozenset[str] | None:
    possible = []
    for part in pattern.parts:
        below = _taken(part, bound, strict=strict)
        if below is None:
            continue
        if strict and not bound <= _names(part):
            continue
        # Over several iterations each branch with a bound variable was taken in one.
        if strict or bound & _names(part):
            if strict:
                return below
            possible.append(below)
    if possible:
        return frozenset(chain.from_iterable(possible))
    if strict or bound:
        return None
    return next((b for b in (_taken(p, bound, strict=False) for p in pattern.parts) if b is not None), None)


def _some(pattern: AnyOf, bound: frozenset[str], strict: bool) -> frozenset[str] | None:
    taken: frozenset[str] = frozenset()
    n_taken = 0
    empty = []
    for part in pattern.parts:
        below = _taken(part, bound, strict=strict)
        if bound & _names(part):
            if below is None:
                return None
            taken |= below
            n_taken += 1
        elif below is not None:
            empty.append(below)
    missing = pattern.count - n_taken
    if (strict and missing < 0) or missing > len(empty):
        return None
    for below in empty[: max(0, missing)]:
        taken |= below
    return taken
