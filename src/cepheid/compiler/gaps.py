"""The NOTs of a plan: where their gaps end, and a plan without those that need no look at what a match holds."""

from __future__ import annotations

from dataclasses import replace

from cepheid.compiler.registers import Registers
from cepheid.compiler.scope import LAST_EVENT
from cepheid.kernels import layout as k
from cepheid.plan.automaton import Absence, Anchor, Automaton, Edge, Reads


def anchor_of(registers: Registers, anchor: Anchor, which: str, remembered: int) -> tuple[int, int]:
    """Where the event at an end of a gap is found: the source and the argument of an operand.

    Args:
        registers: of the plan.
        anchor: the end.
        which: ``left`` or ``right``.
        remembered: the number under which the ends of the gap are remembered.
    """
    if anchor is Anchor.CURRENT:
        return (k.FROM_HEADER, k.M_CURRENT)
    if anchor is Anchor.LAST_TAKEN:
        return (k.FROM_ROW, LAST_EVENT)
    if anchor is Anchor.OPEN:
        return (k.GAP_OPEN, 0)
    if anchor is Anchor.REOPENED:
        return (k.GAP_REOPENED, registers.slot(which, remembered))
    return (k.FROM_ROW, registers.slot(which, remembered))


def without_gaps(automaton: Automaton) -> tuple[Automaton, tuple[int, ...]] | None:
    """The plan of the same sequence without its NOTs, where each of them lies between two steps and tests nothing.

    What breaks such a NOT is known of the event alone, and so it breaks it for all partial matches of its partition (of
    all, where the query has none) that wait for the next step at that time.

    Returns:
        The plan; and for each positive element, the negated ones that may not come between the event before it and its
        own, as bits. None where there is no NOT, or one of another form.
    """
    negated = automaton.elements[automaton.n_positive :]
    if not negated or automaton.graph or automaton.mixed or automaton.leading or automaton.postpones:
        return None
    if any(element.inner is not None for element in negated) or not all(map(_plain, automaton.edges)):
        return None
    if any(state.absences or state.closing_absences or state.closers or state.ends for state in automaton.states):
        return None
    gaps = [0] * automaton.n_positive
    for edge in automaton.edges:
        for absence in edge.absences:
            gaps[edge.element] |= 1 << absence.negated
    plain = replace(
        automaton,
        elements=automaton.elements[: automaton.n_positive],
        variables=automaton.variables[: automaton.n_positive],
        edges=tuple(replace(edge, absences=()) for edge in automaton.edges),
    )
    return plain, tuple(gaps)


def _plain(edge: Edge) -> bool:
    """Whether all NOTs of a step are about what lies between its event and the one before, whatever these are."""
    if edge.made_absences or edge.remembers:
        return False
    return all(
        absence
        == Absence(
            absence.negated,
            Anchor.LAST_TAKEN,
            Anchor.CURRENT,
            tests=(),
            fatal=absence.fatal,
            gap=absence.gap,
            reads=Reads.BETWEEN,
        )
        for absence in edge.absences
    )
