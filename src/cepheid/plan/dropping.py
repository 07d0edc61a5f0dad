"""Whether events that fit no element may be dropped before the engine sees them."""

from __future__ import annotations

from cepheid.language.bound import BoundQuery
from cepheid.language.tree import Event, Policy, Repeat, walk


def reason_to_keep_all(bound: BoundQuery) -> str | None:
    """Why an event that fits no element still counts for the matches, or None where it does not.

    It does where neighbours matter (``strict``, SEMANTICS 3.3 and 3.4), under UNTIL (3.5), and in windows and gaps
    that are measured in events (5.1, 5.2).
    """
    window = bound.window
    if bound.policy is Policy.STRICT:
        return "POLICY strict asks for neighbours among all events"
    for node in walk(bound.pattern):
        if isinstance(node, Event) and node.policy is Policy.STRICT:
            return "strict asks for neighbours among all events"
        if isinstance(node, Repeat) and node.until is not None:
            return "UNTIL is tested on every event while its loop is open"
    if window.within_events is not None:
        return "WITHIN counts every event"
    if window.each_events is not None:
        return "BETWEEN EACH counts every event"
    if window.size_events is not None:
        return "WINDOW counts every event"
    return None
