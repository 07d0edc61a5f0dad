"""NOT of a group: the query that finds what must not lie in a gap (SEMANTICS 2.2).

What stands under NOT is matched under `any`, wholly in the gap. Its matches do not depend on the match around it but
for conditions that name variables of both, which are tested when the NOT is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.structure import parts, patterns, with_parts
from cepheid.language.tree import Event, Not, Pattern, Policy, Skip, SkipMode


def names_of(pattern: Pattern) -> tuple[str, ...]:
    """The variables of what stands under a NOT, in the order of the text, each once."""
    return tuple(dict.fromkeys(str(part.name) for part in patterns(pattern) if isinstance(part, Event)))


def groups(pattern: Pattern) -> Iterator[Pattern]:
    """What stands under each NOT of a group, in the order of the text."""
    for part in patterns(pattern):
        if isinstance(part, Not) and not isinstance(part.part, Event):
            yield part.part


def slots(pattern: Pattern) -> dict[str, int]:
    """A number for each variable under a NOT of a group; those of one group stand side by side."""
    names = [name for group in groups(pattern) for name in names_of(group)]
    return {name: number for number, name in enumerate(names)}


def is_inside(conjunct: Conjunct, inside: frozenset[str]) -> bool:
    """Whether a condition is about what stands under one NOT of a group, and nothing else."""
    return bool(conjunct.variables) and inside.issuperset(conjunct.variables)


def query_of(bound: BoundQuery, group: Pattern) -> BoundQuery:
    """The query whose matches are those of what stands under a NOT, in the windows of the query around it."""
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
    )


def _without_prefixes(pattern: Pattern) -> Pattern:
    if isinstance(pattern, Event):
        return replace(pattern, policy=None)
    return with_parts(pattern, tuple(_without_prefixes(part) for part in parts(pattern)))
