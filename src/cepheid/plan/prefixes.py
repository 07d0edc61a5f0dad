"""Policies of single edges: prefixes (SEMANTICS 3.4)."""

from __future__ import annotations

from cepheid.language.bound import BoundQuery
from cepheid.language.structure import patterns
from cepheid.language.tree import Event, Not


def has_prefixes(bound: BoundQuery) -> bool:
    """Whether an edge has another policy than the query: a prefix that repeats the query's says nothing."""
    absent = {part for node in patterns(bound.pattern) if isinstance(node, Not) for part in patterns(node)}
    taken = [part for part in patterns(bound.pattern) if isinstance(part, Event) and part not in absent]
    return not {part.policy for part in taken} <= {None, bound.policy}
