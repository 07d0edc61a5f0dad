"""How long partial matches and events must be kept."""

from __future__ import annotations

from cepheid.plan.automaton import Automaton

_LONGEST_US = 2**63 - 1


def retention_us(automaton: Automaton) -> tuple[int | None, int | None]:
    """How old the first event of a partial match, and an event that a NOT may ask for, can be and still matter.

    Returns:
        Both in us; None for without end.
    """
    within, each = automaton.within_us, automaton.each_us
    n_positive = automaton.n_positive
    if within is not None:
        # A NOT before the first event reaches back from the last one.
        return within, min(2 * within, _LONGEST_US) if automaton.leading else within
    if each is None or any(variable.loop for variable in automaton.variables):
        return None, None
    return min(each * (n_positive - 1), _LONGEST_US), min(each * (n_positive + 1), _LONGEST_US)
