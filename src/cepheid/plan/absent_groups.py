"""NOT of a group: the query that finds what must not lie in a gap (SEMANTICS 2.2).

What stands under NOT is matched under `any`, wholly in the gap. Its matches do not depend on the match around it but
for conditions that name variables of both, which are tested when the NOT is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from cepheid.events.types import DataType
from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.structure import is_repeated_group, nullable, parts, patterns, with_parts
from cepheid.language.tree import And, AnyOf, Event, Expression, Not, Or, Pattern, Policy, Repeat, Seq, Skip, SkipMode
from cepheid.plan.references import references


def names_of(pattern: Pattern) -> tuple[str, ...]:
    """The variables of what stands under a NOT, in the order of the text, each once."""
    return tuple(dict.fromkeys(str(part.name) for part in patterns(pattern) if isinstance(part, Event)))


def groups(pattern: Pattern) -> Iterator[Pattern]:
    """What stands under each NOT of a group, in the order of the text."""
    for part in patterns(pattern):
        if isinstance(part, Not) and not isinstance(part.part, Event):
            yield part.part


def in_several_ways(bound: BoundQuery, group: Pattern) -> frozenset[str]:
    """Variables under a NOT that one reading of a match may leave empty and another not, where that is asked for.

    The events of a match may be read in several ways where a name stands in several branches, where a branch can be
    empty, and where branches stand in a loop. An aggregate from outside of the NOT tells these from each other.
    """
    named = names_of(group)
    optional = {name for name in named if bound.variables[name].optional}
    read = {
        name
        for c in bound.conjuncts
        if not is_inside(c, frozenset(named))
        for name, reference in references(c.expression).items()
        if reference.aggregated and name in optional
    }
    branches = [part for part in patterns(group) if isinstance(part, Or | AnyOf)]
    places = [part.name for part in patterns(group) if isinstance(part, Event)]
    looped = any(
        isinstance(part, Or | AnyOf) for loop in patterns(group) if is_repeated_group(loop) for part in patterns(loop)
    )
    unclear = looped or len(set(places)) < len(places) or any(nullable(part) for b in branches for part in b.parts)
    return frozenset(read) if branches and unclear else frozenset()


OWN, BEFORE, FIRST, FIRST_BEFORE, LAST, NUMBER = range(6)
"""What a condition may read of a loop under a NOT: the element that it is tried on, the one before that, the first of
all, the first if it lies before the element, the last of all; and of which elements, for aggregates."""
N_OF_LOOP = 6


def read_from_outside(bound: BoundQuery) -> frozenset[str]:
    """The variables under a NOT of a group that conditions name together with what stands outside of it."""
    inside = frozenset(name for group in groups(bound.pattern) for name in names_of(group))
    return frozenset(n for c in bound.conjuncts if not is_inside(c, inside) for n in c.variables if n in inside)


def slots(bound: BoundQuery, read: frozenset[str]) -> dict[str, int]:
    """The first slot of each variable under a NOT of a group; those of one group stand side by side.

    Args:
        bound: the query.
        read: the variables under NOT that are read where the NOT is tested. A loop among them has `N_OF_LOOP`, any
            other variable has one.
    """
    found, n = {}, 0
    for group in groups(bound.pattern):
        for name in names_of(group):
            found[name] = n
            n += N_OF_LOOP if name in read and bound.variables[name].loop else 1
    return found


def n_slots(bound: BoundQuery, read: frozenset[str]) -> int:
    """How many slots there are; see `slots`."""
    named = slots(bound, read)
    return sum(N_OF_LOOP if name in read and bound.variables[name].loop else 1 for name in named)


def is_inside(conjunct: Conjunct, inside: frozenset[str]) -> bool:
    """Whether a condition is about what stands under one NOT of a group, and nothing else."""
    return bool(conjunct.variables) and inside.issuperset(conjunct.variables)


def query_of(bound: BoundQuery, group: Pattern, types: Mapping[Expression, DataType]) -> BoundQuery:
    """The query whose matches are those of what stands under a NOT, in the windows of the query around it.

    Args:
        bound: the query around it.
        group: what stands under the NOT.
        types: of expressions that only ``group`` has.
    """
    names = frozenset(names_of(group))
    return replace(
        bound,
        pattern=_without_prefixes(group),
        variables={n: replace(v, negated=False) for n, v in bound.variables.items() if n in names},
        conjuncts=tuple(replace(c, negated=None) for c in bound.conjuncts if is_inside(c, names)),
        window=replace(bound.window, one_match=False),
        policy=Policy.ANY,
        skip=Skip(SkipMode.NONE),
        returns=(),
        types={**bound.types, **types} if types else bound.types,
    )


def _without_prefixes(pattern: Pattern) -> Pattern:
    if isinstance(pattern, Event):
        return replace(pattern, policy=None)
    return with_parts(pattern, tuple(_without_prefixes(part) for part in parts(pattern)))


# --- loops that need not be long ----------------------------------------------------------------------


def with_short_loops(bound: BoundQuery) -> BoundQuery:
    """The query with loops under NOTs of groups no longer than they must be.

    Only whether a match of such a group lies in a gap counts, and one that does still does so without some elements of
    a loop, if all that is asked of them is asked of each alone: the order and the windows hold for the rest, and it
    begins no earlier and ends no later. Without this, `any` would try every subset.
    """
    if bound.window.each_us is not None or bound.window.each_events is not None:
        return bound  # elements may bridge a gap
    if not any(True for _ in groups(bound.pattern)):
        return bound
    read = [r for c in bound.conjuncts for r in references(c.expression).values()]
    in_order = frozenset(r.variable for r in read if r.prev or r.first or r.last or r.aggregated)
    in_order |= _read_by_untils(bound.pattern)
    pattern = _in_negations(bound.pattern, in_order)
    loops = dict.fromkeys(bound.variables, False)
    _find_loops(pattern, loops, inside=False)
    variables = {n: replace(v, loop=v.loop and (loops[n] or not v.negated)) for n, v in bound.variables.items()}
    return replace(bound, pattern=pattern, variables=variables)


def _in_negations(pattern: Pattern, in_order: frozenset[str]) -> Pattern:
    if isinstance(pattern, Not):
        return replace(pattern, part=_short(pattern.part, in_order))
    return with_parts(pattern, tuple(_in_negations(part, in_order) for part in parts(pattern)))


def _short(pattern: Pattern, in_order: frozenset[str]) -> Pattern:
    short = with_parts(pattern, tuple(_short(part, in_order) for part in parts(pattern)))
    if not isinstance(short, Repeat) or not in_order.isdisjoint(names_of(short)) or not _is_sure(short.part):
        return short
    least = max(short.minimum, 1)
    once = short.minimum == least == 1 and short.until is None
    return short.part if once else replace(short, maximum=least)


def _read_by_untils(pattern: Pattern) -> frozenset[str]:
    """The variables that UNTILs read, but for the event that is read: with fewer elements they may close more.

    A loop that itself ends sooner is open for long enough.
    """
    found = set[str]()
    for loop in patterns(pattern):
        if not isinstance(loop, Repeat) or loop.until is None:
            continue
        own = names_of(loop)[0]
        for name, read in references(loop.until).items():
            if name != own or read.prev or read.first or read.last or read.aggregated:
                found.add(name)
    return frozenset(found)


def _is_sure(pattern: Pattern) -> bool:
    """Whether each match of it binds all of its variables."""
    match pattern:
        case Event():
            return True
        case Seq() | And():
            return all(_is_sure(part) for part in pattern.parts)
        case Repeat():
            return pattern.minimum > 0 and _is_sure(pattern.part)
        case _:
            return False


def _find_loops(pattern: Pattern, loops: dict[str, bool], *, inside: bool) -> None:
    if isinstance(pattern, Event):
        loops[str(pattern.name)] = loops[str(pattern.name)] or inside
    inside = inside or (isinstance(pattern, Repeat) and pattern.maximum != 1)
    for part in parts(pattern):
        _find_loops(part, loops, inside=inside)
