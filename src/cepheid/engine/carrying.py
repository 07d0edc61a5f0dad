"""For which plans a kernel can go on with later events from what it holds."""

from __future__ import annotations

from cepheid.compiler.tables import CompiledPlan
from cepheid.language.tree import Event, Not, Policy, Repeat, SkipMode, walk


def reason_not_carried(compiled: CompiledPlan) -> str | None:
    """Why what a kernel holds after some events is not all that it needs to go on with later ones; None where it is.

    It is not where windows count events or slide, where matches are found twice, or where what decides one is told
    afterwards: there, `engine.rerun` runs over the last window again.
    """
    automaton = compiled.automaton
    bound = automaton.bound
    if automaton.sliding:
        return "its windows slide"
    if automaton.counts_events or automaton.two_clocks:
        return "its windows or gaps count events"
    if automaton.strict:
        return "under POLICY strict each event extends or ends all partial matches of its partition"
    if automaton.tells_timed_out:
        return "what times out is told"
    if bound.skip.mode is not SkipMode.NONE:
        return f"with AFTER MATCH {bound.skip.mode.value} a match that was kept before has a say in which are kept now"
    for node in walk(bound.pattern):
        match node:
            case Event(policy=Policy() as policy) if policy is not bound.policy:
                return f"the prefix {policy.value} gives an event another policy than the pattern has"
            case Not(part=part) if not isinstance(part, Event):
                return "NOT of a group is matched by itself, before the rest of the pattern"
            case Repeat(until=until) if until is not None:
                return "UNTIL is tested on every event while its loop is open"
    if automaton.scattered:
        return "a match may give back events that lie among others of it"
    if automaton.graph and automaton.ambiguous:
        return "the pattern may find one match in several ways"
    if automaton.each is not None and compiled.needs.fire:
        return "it has BETWEEN EACH, and time may decide a match after its last event"
    if automaton.leading and automaton.within is None:
        return "a NOT stands before the first event, and no WITHIN says how far back it looks"
    return None


def reason_not_dropped(compiled: CompiledPlan) -> str | None:
    """Why no partial match can be given up, whatever a cap says; None where some can.

    What is given up must cost matches, and never bring others. Where `engine.rerun` runs over the last window again,
    that is so if no later match asks for the events that are forgotten.
    """
    if reason_not_carried(compiled) is None:
        return None
    automaton = compiled.automaton
    window = automaton.bound.window
    if automaton.strict:
        return "under POLICY strict each event extends or ends all partial matches of its partition"
    if automaton.tells_timed_out:
        return "what times out is told"
    if automaton.skips:
        return f"with AFTER MATCH {automaton.bound.skip.mode.value} a match that is lost would let others be kept"
    if window.one_match:
        return "with ONE MATCH PER WINDOW a match that is lost would let another be told"
    if window.size_events is not None:
        return "its windows count the events that would be forgotten"
    if automaton.leading:
        return "a NOT stands before the first event, and asks for events that would be forgotten"
    return None
