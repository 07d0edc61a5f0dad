"""A bound pattern as a term, with its elements and the NOTs in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cepheid.language.bound import Conjunct
from cepheid.language.tree import And, AnyOf, Event, Expression, Not, Or, Pattern, Repeat, Seq
from cepheid.plan.automaton import Element
from cepheid.plan.terms import Branches, Gap, Loop, One, Quantifier, Shuffle, Term, Terms, chain


class PatternTerms:
    """Numbers elements, quantified groups and NOTs in the order of the text.

    Attributes:
        terms: what the terms of the pattern refer to.
        elements: the positive elements; equal ones of exclusive branches are one.
        groups: variable -> the quantified groups around it.
        gaps: what stands under each NOT.
        loops: the loops with UNTIL.
        inside: of each of these, whether it stands in AND or ANY.
        loop_of: element -> the loop with UNTIL that takes it, by its number.
    """

    def __init__(self, singles: Mapping[str, tuple[Conjunct, ...]], *, every_end: bool = False) -> None:
        """Begin without any.

        Args:
            singles: variable -> the conditions on its event alone.
            every_end: see `Terms`.
        """
        self.singles = singles
        self.terms = Terms(every_end=every_end)
        self.elements: list[Element] = []
        self.groups: dict[str, set[int]] = {}
        self.n_groups = 0
        self.gaps: list[Pattern] = []
        self.loops: list[Repeat] = []
        self.inside: list[bool] = []
        self._depth = 0
        self.loop_of: dict[int, int] = {}

    def term(self, pattern: Pattern, around: tuple[int, ...] = ()) -> Term:
        """The term of a pattern that stands in the quantified groups ``around``."""
        match pattern:
            case Event():
                return One(self._element(pattern, around))
            case Not(part=part):
                self.gaps.append(part)
                return Gap(len(self.gaps) - 1)
            case Seq(parts=parts):
                return chain([self.term(part, around) for part in parts])
            case Or(parts=parts):
                return Branches(tuple(self.term(part, around) for part in parts))
            case And(parts=parts):
                return Shuffle(0, tuple((part, True) for part in self._beside(parts, around)))
            case AnyOf(count=count, parts=parts):
                return Shuffle(count, tuple((part, False) for part in self._beside(parts, around)))
            case Repeat(part=Repeat() as inner) if _says_it_again(pattern, inner):
                return self.term(replace(inner, minimum=pattern.minimum), around)
            case Repeat(part=part):
                group = until = None
                if isinstance(part, Event):
                    element = self._element(part, around, pattern)
                    body: Term = One(element)
                    until = self.loop_of.get(element)
                else:
                    group = self.n_groups
                    self.n_groups += 1
                    body = self.term(part, (*around, group))
                names = frozenset(name for name, _ in self.terms.places(body))
                self.terms.quantifiers.append(
                    Quantifier(pattern.minimum, pattern.maximum, pattern.greedy, body, names, group, until)
                )
                return Loop(len(self.terms.quantifiers) - 1)
        raise AssertionError(f"no term for {type(pattern).__name__}")

    def _beside(self, parts: Sequence[Pattern], around: tuple[int, ...]) -> list[Term]:
        """The terms of the parts of AND or ANY."""
        self._depth += 1
        terms = [self.term(part, around) for part in parts]
        self._depth -= 1
        return terms

    def _element(self, event: Event, around: tuple[int, ...], loop: Repeat | None = None) -> int:
        """The number of the element: equal ones of exclusive branches are one."""
        assert event.name is not None
        self.groups.setdefault(event.name, set()).update(around)
        until = None if loop is None else loop.until
        for element in self.elements:
            same = element.variable == event.name and (element.types, element.policy) == (event.types, event.policy)
            if same and self._until(element.index) == (until, until is not None and self._depth > 0):
                return element.index
        singles = self.singles.get(event.name, ())
        self.elements.append(Element(len(self.elements), event.name, event.types, singles, policy=event.policy))
        self.terms.variables.append(event.name)
        if loop is not None and until is not None:
            self.loop_of[len(self.elements) - 1] = len(self.loops)
            self.loops.append(loop)
            self.inside.append(self._depth > 0)
        return len(self.elements) - 1

    def _until(self, element: int) -> tuple[Expression | None, bool]:
        """The UNTIL of an element, and whether it stands in AND or ANY."""
        number = self.loop_of.get(element)
        return (None, False) if number is None else (self.loops[number].until, self.inside[number])


def _says_it_again(outer: Repeat, inner: Repeat) -> bool:
    """Whether a loop over a loop is a loop: ``(P+)+`` is ``P+``, and ``(P+)*`` is ``P*``.

    What lies in one iteration of the inner one lies in one of the outer one. Each level would double the states.
    """
    same = outer.maximum is None and inner.maximum is None and outer.greedy is inner.greedy
    return same and outer.minimum <= 1 and inner.minimum == 1 and inner.until is None
