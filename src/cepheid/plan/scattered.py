"""AND and ANY with a repeated group at the end of a pattern, under `next`: what of it the compiled engine runs."""

from __future__ import annotations

from cepheid.errors import NotSupportedError
from cepheid.plan.automaton import Automaton


def require_scattered(automaton: Automaton) -> None:
    """Check that the engine can make a match anew without the events of an unfinished iteration.

    The events tell the steps that take them only where each state has one for each variable.

    Raises:
        NotSupportedError: it names what stands in the way.
    """
    if not automaton.scattered:
        return
    bound = automaton.bound
    ways = {
        "AFTER MATCH": automaton.skips,
        "what timed out told": automaton.tells_timed_out,
        "windows and gaps of which one counts EVENTS and another measures time": automaton.two_clocks,
        "prefixes on elements": automaton.mixed,
        "OR": bool(automaton.further_starts),
        "a variable that may be bound in two ways": automaton.ambiguous,
    }
    for what, stands in ways.items():
        if stands:
            raise NotSupportedError(
                "the compiled engine cannot run AND or ANY with a repeated group in it at the end of the pattern under "
                f"POLICY next with {what} yet",
                remedy="split the pattern, or use POLICY any",
                text=bound.text,
                origin=bound.origin,
                span=bound.query.pattern.span,
            )
