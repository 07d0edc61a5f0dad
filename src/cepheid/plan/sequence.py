"""Patterns that are sequences."""

from __future__ import annotations

from cepheid.language.bound import BoundQuery
from cepheid.language.tree import Event, Pattern, Repeat, Seq


def parts_of(pattern: Pattern) -> list[Pattern]:
    """The parts of a sequence in their order, sequences in it taken apart; of another pattern, itself."""
    if isinstance(pattern, Seq):
        return [leaf for part in pattern.parts for leaf in parts_of(part)]
    return [pattern]


def positive_variables(bound: BoundQuery) -> list[str]:
    """The variables of a sequence of events that a match binds, in the order of the pattern."""
    names = []
    for part in parts_of(bound.pattern):
        event = part.part if isinstance(part, Repeat) else part
        if isinstance(event, Event):
            assert event.name is not None
            names.append(event.name)
    return names
