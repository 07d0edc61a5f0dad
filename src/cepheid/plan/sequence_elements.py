"""The elements of a sequence of events, and which of its conditions are about several."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.tree import Event, Not, Repeat
from cepheid.plan.automaton import Element
from cepheid.plan.references import is_single
from cepheid.plan.sequence import parts_of
from cepheid.plan.supported import require_elements


@dataclass(frozen=True)
class SequenceElements:
    """The parts of a sequence as elements, and its conditions.

    Attributes:
        positive: in the order of the pattern; an element's number is its place.
        negated: numbered on.
        before: for each negated one, the positive element that it stands before.
        crossing: conditions on several events.
        constants: conditions on none.
    """

    positive: tuple[Element, ...]
    negated: tuple[Element, ...]
    before: tuple[int, ...]
    crossing: tuple[Conjunct, ...]
    constants: tuple[Conjunct, ...]


def sequence_elements(bound: BoundQuery) -> SequenceElements:
    """The elements of a query whose pattern is a sequence of events, loops on events and NOT of events.

    Raises:
        NotSupportedError: it has more than there are bits to tell them apart.
    """
    singles: dict[str, list[Conjunct]] = {}
    crossing: list[Conjunct] = []
    constants: list[Conjunct] = []
    for conjunct in bound.conjuncts:
        if not conjunct.variables:
            constants.append(conjunct)
        elif is_single(conjunct):
            singles.setdefault(conjunct.variables[0], []).append(conjunct)
        else:
            crossing.append(conjunct)
    positive: list[Element] = []
    gaps: list[tuple[Event, int]] = []
    for part in parts_of(bound.pattern):
        event = part.part if isinstance(part, Repeat | Not) else part
        assert isinstance(event, Event)
        if isinstance(part, Not):
            gaps.append((event, len(positive)))
            continue
        element = _element(event, len(positive), singles)
        if isinstance(part, Repeat):
            element = replace(element, minimum=part.minimum, maximum=part.maximum, greedy=part.greedy)
        positive.append(element)
    require_elements(bound, len(positive) + len(gaps))
    return SequenceElements(
        positive=tuple(positive),
        negated=tuple(
            replace(_element(event, len(positive) + number, singles), negated=True)
            for number, (event, _) in enumerate(gaps)
        ),
        before=tuple(before for _, before in gaps),
        crossing=tuple(crossing),
        constants=tuple(constants),
    )


def _element(event: Event, number: int, singles: dict[str, list[Conjunct]]) -> Element:
    assert event.name is not None
    return Element(number, event.name, event.types, tuple(singles.get(event.name, ())))
