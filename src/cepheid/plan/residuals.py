"""What is left of a pattern after an event: its partial derivatives (Antimirov 1996), for patterns.

``SEQ(A a, B+ b, C c)`` after an A is ``SEQ(B+ b, C c)``; after a B as well, ``b`` may go on or be left. The engine's
own automaton (`plan.build`) covers what the engine runs; residuals cover the whole language: AND and ANY as shuffles,
OR, NOT, groups under quantifiers, at any depth. `plan.reachable` makes states of them.

A quantifier on one element is one place whatever its bounds, as the element's bounds are counted beside the states;
a quantifier on a group counts its iterations down, until only "any number more" is left of ``+`` and ``*``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from cepheid.language.structure import is_repeated_group, patterns
from cepheid.language.tree import And, AnyOf, Event, Not, Or, Pattern, Repeat, Seq


@dataclass(frozen=True, slots=True)
class Element:
    """An element that waits for an event.

    Attributes:
        event: as bound, with a name.
        repeat: the quantifier that stands on it, or None.
        begun: it has taken an event and may take more.
        place: its number in the text; equal elements of exclusive branches are one.
    """

    event: Event
    repeat: Repeat | None = None
    begun: bool = False
    place: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        """Its variable."""
        assert self.event.name is not None
        return self.event.name

    @property
    def loop(self) -> bool:
        """It may take more than one event."""
        return self.repeat is not None and (self.repeat.maximum is None or self.repeat.maximum > 1)


@dataclass(frozen=True, slots=True)
class Absence:
    """A NOT in its place."""

    negation: Not


@dataclass(frozen=True, slots=True)
class Chain:
    """The parts one after the other; without parts, what is left of a match."""

    parts: tuple[Residual, ...] = ()


@dataclass(frozen=True, slots=True)
class Shuffle:
    """All parts, in any interleaving."""

    parts: tuple[Residual, ...]


@dataclass(frozen=True, slots=True)
class Branches:
    """Exactly one of the parts."""

    parts: tuple[Residual, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Exactly ``count`` of the parts, none of which has begun, in any interleaving."""

    count: int
    parts: tuple[Residual, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """``count`` more of ``n_all`` among ``elements``, which of them already came being left open.

    A coarser form of `Shuffle` and `Choice`: it has one state per number of events instead of one per set.
    """

    count: int
    n_all: int
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Rounds:
    """A group under a quantifier.

    Attributes:
        minimum, maximum: how often it must and may still match; None for no bound.
        greedy: it rather goes on than ends.
        group: its number among the repeated groups, as in `Variable.groups`; None where it matches once at most.
        begun: it has matched before.
    """

    part: Residual
    minimum: int
    maximum: int | None
    greedy: bool = True
    group: int | None = None
    begun: bool = False


Residual: TypeAlias = Element | Absence | Chain | Shuffle | Branches | Choice | Counted | Rounds

DONE = Chain()


@dataclass(frozen=True, slots=True)
class Step:
    """A way to take one event.

    Attributes:
        element: what takes it.
        residual: what is left.
        crossed: the NOTs before the element, whose gap the event ends.
        passed: the variables of optional parts before the element that take nothing; of loops that end, too.
        rounds: the repeated groups of which an iteration begins, by number.
        counted: how many events of a `Counted` have come with this one, or None outside of it.
    """

    element: Element
    residual: Residual
    crossed: tuple[Not, ...] = ()
    passed: frozenset[str] = frozenset()
    rounds: frozenset[int] = frozenset()
    counted: tuple[int, int] | None = None


# --- from the pattern ---------------------------------------------------------------------------------


def residual_of(pattern: Pattern, *, coarse: bool = False) -> Residual:
    """The pattern as what is left before any event.

    Args:
        pattern: of a bound query.
        coarse: AND and ANY of plain elements only count their events, and the iterations of a group are not counted:
            fewer residuals, that hold fewer facts.
    """
    return _Maker(coarse).make(pattern)


class _Maker:
    """Makes residuals of patterns; numbers elements and repeated groups in the order of the text."""

    def __init__(self, coarse: bool) -> None:
        self.coarse = coarse
        self.places = itertools.count()
        self.groups = itertools.count()

    def make(self, pattern: Pattern) -> Residual:
        """The pattern as what is left of it before any event."""
        match pattern:
            case Event():
                return Element(pattern, place=next(self.places))
            case Repeat(part=Event() as event):
                return Element(event, pattern, place=next(self.places))
            case Repeat():
                group = next(self.groups) if is_repeated_group(pattern) else None
                rounds = Rounds(self.make(pattern.part), pattern.minimum, pattern.maximum, pattern.greedy, group)
                if self.coarse and group is not None:
                    rounds = replace(rounds, minimum=min(rounds.minimum, 1), maximum=None)
                return rounds
            case Not():
                for part in patterns(pattern.part):
                    if is_repeated_group(part):
                        next(self.groups)
                return Absence(pattern)
            case Seq():
                return chain([self.make(part) for part in pattern.parts])
            case Or():
                return Branches(tuple(self.make(part) for part in pattern.parts))
            case And() | AnyOf():
                parts = [self.make(part) for part in pattern.parts]
                count = pattern.count if isinstance(pattern, AnyOf) else len(parts)
                elements = tuple(part for part in parts if isinstance(part, Element) and part.repeat is None)
                if self.coarse and len(elements) == len(parts):
                    return Counted(count, count, elements)
                return choice(count, parts)


def chain(parts: Sequence[Residual]) -> Residual:
    """The parts one after the other, in the form in which equal ones are equal."""
    flat: list[Residual] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Chain) else (part,))
    return flat[0] if len(flat) == 1 else Chain(tuple(flat))


def shuffle(parts: Sequence[Residual]) -> Residual:
    """All parts in any interleaving, in the form in which equal ones are equal."""
    flat: list[Residual] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Shuffle) else (part,))
    kept = sorted((part for part in flat if part != DONE), key=_place)
    if not kept:
        return DONE
    return kept[0] if len(kept) == 1 else Shuffle(tuple(kept))


def choice(count: int, parts: Sequence[Residual]) -> Residual:
    """Exactly ``count`` of the parts, in the form in which equal ones are equal."""
    if count == 0:
        return DONE
    return shuffle(parts) if count == len(parts) else Choice(count, tuple(parts))


def _place(residual: Residual) -> int:
    """The number in the text of the first element in it."""
    match residual:
        case Element():
            return residual.place
        case Absence():
            return 0  # NOT stands in no AND or ANY, so nothing is ordered by it
        case Chain() | Shuffle() | Branches() | Choice():
            return min((_place(part) for part in residual.parts), default=0)
        case Counted():
            return residual.elements[0].place
        case Rounds():
            return _place(residual.part)


# --- what it is like ----------------------------------------------------------------------------------


def nullable(residual: Residual) -> bool:
    """True where a match may end here: nothing that is left needs an event."""
    match residual:
        case Element(repeat=repeat, begun=begun):
            return begun or (repeat is not None and repeat.minimum == 0)
        case Absence():
            return True
        case Chain() | Shuffle():
            return all(nullable(part) for part in residual.parts)
        case Branches():
            return any(nullable(part) for part in residual.parts)
        case Choice():
            return sum(nullable(part) for part in residual.parts) >= residual.count
        case Counted():
            return residual.count == 0
        case Rounds():
            return residual.minimum == 0 or nullable(residual.part)


def crossed_at_end(residual: Residual) -> tuple[Not, ...]:
    """The NOTs in a residual that is left without taking an event of it; of all its ways to be empty."""
    match residual:
        case Absence():
            return (residual.negation,)
        case Chain() | Shuffle() | Branches() | Choice():
            found = (crossed_at_end(part) for part in residual.parts if nullable(part))
            return tuple(dict.fromkeys(negation for part in found for negation in part))
        case Element() | Counted() | Rounds():
            return ()


def rather_goes_on(residual: Residual) -> bool:
    """True where a match may end here, but a greedy quantifier would take more first."""
    match residual:
        case Element(repeat=repeat):
            return nullable(residual) and repeat is not None and repeat.greedy
        case Rounds():
            return nullable(residual) and residual.greedy
        case Chain() | Shuffle() | Branches() | Choice():
            return nullable(residual) and any(rather_goes_on(part) for part in residual.parts)
        case Absence() | Counted():
            return False


def names(residual: Residual) -> frozenset[str]:
    """Every variable that may still take an event; those under NOT are none of them."""
    return frozenset(_names(residual, first_only=False))


def pending(residual: Residual) -> frozenset[str]:
    """The variables that may still take their first event (within the iteration that has begun)."""
    return frozenset(_names(residual, first_only=True))


def _names(residual: Residual, first_only: bool) -> Iterator[str]:
    match residual:
        case Element():
            if not (first_only and residual.begun):
                yield residual.name
        case Absence():
            return
        case Chain() | Shuffle() | Branches() | Choice():
            for part in residual.parts:
                yield from _names(part, first_only)
        case Counted():
            if not (first_only and residual.count < residual.n_all):
                yield from (element.name for element in residual.elements)
        case Rounds():
            if not (first_only and residual.begun):
                yield from _names(residual.part, first_only)


# --- derivatives --------------------------------------------------------------------------------------


def steps(residual: Residual) -> list[Step]:
    """Every way to take one event, in the order of the text."""
    match residual:
        case Element():
            left: Residual = replace(residual, begun=True) if residual.loop else DONE
            return [Step(residual, left)]
        case Absence():
            return []
        case Chain():
            return list(_of_chain(residual.parts))
        case Shuffle():
            return [
                replace(step, residual=shuffle([*_without(residual.parts, index), step.residual]))
                for index, part in enumerate(residual.parts)
                for step in steps(part)
            ]
        case Branches():
            return [step for part in residual.parts for step in steps(part)]
        case Choice():
            return [
                replace(
                    step,
                    residual=shuffle([step.residual, choice(residual.count - 1, _without(residual.parts, index))]),
                )
                for index, part in enumerate(residual.parts)
                for step in steps(part)
            ]
        case Counted():
            further: Residual = replace(residual, count=residual.count - 1) if residual.count > 1 else DONE
            counted = (residual.n_all - residual.count + 1, residual.n_all)
            return [Step(element, further, counted=counted) for element in residual.elements]
        case Rounds():
            begins = frozenset[int]() if residual.group is None else frozenset((residual.group,))
            return [
                replace(
                    step,
                    residual=chain([step.residual, *_further_rounds(residual)]),
                    rounds=step.rounds | begins,
                )
                for step in steps(residual.part)
            ]


def _of_chain(parts: Sequence[Residual]) -> Iterator[Step]:
    crossed: tuple[Not, ...] = ()
    passed: frozenset[str] = frozenset()
    for index, part in enumerate(parts):
        for step in steps(part):
            yield replace(
                step,
                residual=chain([step.residual, *parts[index + 1 :]]),
                crossed=crossed + step.crossed,
                passed=passed | step.passed,
            )
        if not nullable(part):
            return
        crossed += crossed_at_end(part)
        passed |= names(part)


def _without(parts: Sequence[Residual], index: int) -> list[Residual]:
    return [*parts[:index], *parts[index + 1 :]]


def _further_rounds(rounds: Rounds) -> list[Residual]:
    if rounds.maximum == 1:
        return []
    maximum = rounds.maximum if rounds.maximum is None else rounds.maximum - 1
    return [replace(rounds, minimum=max(rounds.minimum - 1, 0), maximum=maximum, begun=True)]
