"""Which plans go on where a condition waits for an answer of a remote store; others wait for it, too."""

from __future__ import annotations

from cepheid.language.bound import BoundQuery
from cepheid.language.structure import patterns
from cepheid.language.tree import Repeat
from cepheid.plan.automaton import Automaton
from cepheid.plan.references import has_remote
from cepheid.ports.stores import AsksStore


def waits_for_answers(bound: BoundQuery) -> bool:
    """Whether a query has conditions on a store that is asked now and answers later."""
    for conjunct in bound.conjuncts:
        remote = has_remote(conjunct.expression)
        if remote is not None and isinstance(bound.catalog.stores[remote.store].source, AsksStore):
            return True
    return False


def reason_to_wait(automaton: Automaton) -> str | None:
    """Why partial matches cannot go on with a predicate open; None where they can."""
    if automaton.strict:
        return "under POLICY strict the preferred match of a start decides which others are looked for"
    if automaton.joins is not None:
        return "variables wait for the last event"
    if automaton.tells_timed_out:
        return "what times out is told"
    if automaton.scattered:
        return "a match may give back events that lie among others of it"
    for part in patterns(automaton.bound.pattern):
        if isinstance(part, Repeat) and part.until is not None and has_remote(part.until) is not None:
            return "UNTIL looks something up"
    return None
