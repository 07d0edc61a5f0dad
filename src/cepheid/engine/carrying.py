"""For which plans a kernel can go on with later events from what it holds."""

from __future__ import annotations

from cepheid.compiler.tables import CompiledPlan
from cepheid.language.tree import Event, Not, Policy, Repeat, SkipMode, walk


def can_be_carried(compiled: CompiledPlan) -> bool:
    """Whether what a kernel holds after some events is all that it needs to go on with later ones.

    Not so where windows count events or slide, where matches are found twice, or where what decides one is told
    afterwards: there, `engine.incremental` runs over the last window again.
    """
    automaton = compiled.automaton
    bound = automaton.bound
    if automaton.sliding or automaton.counts_events or automaton.strict or automaton.tells_timed_out:
        return False
    if automaton.two_clocks or automaton.scattered:
        return False
    if (automaton.graph and automaton.ambiguous) or bound.skip.mode is not SkipMode.NONE:
        return False
    if automaton.each is not None and compiled.needs.fire:
        return False
    if automaton.leading and automaton.within is None:
        return False
    for node in walk(bound.pattern):
        match node:
            case Event(policy=Policy() as policy) if policy is not bound.policy:
                return False
            case Not(part=part) if not isinstance(part, Event):
                return False
            case Repeat(until=until) if until is not None:
                return False
    return True
