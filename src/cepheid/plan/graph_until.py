"""UNTIL in an automaton of `plan.graph`: what closes a loop is kept as a NOT's events are, and tested on its edges."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.plan.automaton import Absence, Anchor, Element, Reads, Situation, Test
from cepheid.plan.closings import Case, Closings, Opening
from cepheid.plan.pattern_terms import PatternTerms
from cepheid.plan.terms import CURRENT, LATER, Dead, Term, Way
from cepheid.plan.until import Until, loop_variable, until_of


class GraphUntil:
    """The loops with UNTIL of a pattern.

    Attributes:
        elements: one for each such loop: the events that close it, as far as one event tells.
        variables: the same as variables.
        closings: what they make of terms.
    """

    def __init__(self, bound: BoundQuery, named: PatternTerms, numbers: Mapping[str, int], *, strict: bool) -> None:
        """Begin.

        Args:
            bound: the query.
            named: its pattern.
            numbers: of the variables of the pattern, those under NOT among them.
            strict: the query is strict throughout.
        """
        self._query, self._numbers, self._groups = bound, numbers, named.groups
        self._loop_of = named.loop_of
        self._beside = {number for number, inside in enumerate(named.inside) if inside}
        self._loops = [loop_variable(loop) for loop in named.loops]
        self._first_gap, self._first_variable = len(named.gaps), len(numbers)
        self._strict = strict
        self._untils: list[Until] = []
        self._types = dict(bound.types)
        for number, loop in enumerate(named.loops):
            until, new = until_of(loop, f"#until{number}", bound.types)
            self._untils.append(until)
            self._types.update(new)
        first = len(named.elements) + len(named.gaps)
        self.closings = Closings(named.terms, self._reads())
        self.elements = [
            Element(first + i, until.variable, (), until.alone, negated=True) for i, until in enumerate(self._untils)
        ]
        self.variables = [
            Element(len(numbers) + i, until.variable, (), (), negated=True) for i, until in enumerate(self._untils)
        ]

    @property
    def bound(self) -> BoundQuery:
        """The query, with the types of what its UNTILs read as far as they have been asked for."""
        return replace(self._query, types=self._types)

    def absences(self, way: Way, last: int | None, case: Case) -> tuple[Absence, ...]:
        """What must hold for a way to be taken: its loop has not been closed, and those beside it have or have not.

        Args:
            way: which takes an event.
            last: the variable bound last before it; None for none.
            case: what has become of the loops with UNTIL in AND and ANY.
        """
        found = []
        number = self._loop_of.get(-1 if way.element is None else way.element)
        if number is not None and number not in self._beside:
            found.append(self._tested(self._opening(way, number), last, fatal=True))
        found += [self._tested(opening, last) for opening in case.open]
        found += [self._tested(opening, last, broken=True) for opening in case.closed]
        return tuple(absence for absence in found if absence is not None)

    def _reads(self) -> list[tuple[frozenset[str], frozenset[int]]]:
        """Of each UNTIL, as `Closings` takes them."""
        found = []
        for loop, until in zip(self._loops, self._untils, strict=True):
            names = frozenset(() if until.rest is None else until.rest.variables) - {loop, until.variable}
            groups = frozenset[int]().union(*(self._groups.get(name, ()) for name in names))
            found.append((names, groups & frozenset(self._groups[loop])))
        return found

    def can_close(self, opening: Opening) -> bool:
        """Whether an event may close a loop where nothing is bound yet."""
        return self.at_start(opening) is not None

    def at_start(self, opening: Opening) -> tuple[Conjunct, ...] | None:
        """What an event satisfies that closes a loop where nothing is bound yet; None where none can."""
        until = self._untils[opening.until]
        rest = until.at_start(opening.empty, self._types, self._types)
        return None if rest is False else (*until.alone, *(() if rest is True else (rest,)))

    def closers(self, term: Term, onward: Callable[[Term], list[Way]], last: int) -> tuple[Absence, ...]:
        """What is broken once a partial match has nothing to wait for: all of some, up to one that is marked.

        Args:
            term: what is left of the pattern.
            onward: the ways on from it, or from what is left once loops in it are closed.
            last: the variable bound last.
        """
        openings = self.closings.openings(term)
        if not any(opening.beside for opening in openings):
            ways = onward(term)
            numbers = [self._loop_of.get(-1 if way.element is None else way.element) for way in ways]
            if None in numbers:
                return ()
            of_ways = [self._opening(w, n) for w, n in zip(ways, numbers, strict=True) if n is not None]
            return self._all_closed(list(dict.fromkeys(of_ways)), last)
        smallest: list[frozenset[Opening]] = []
        for n in range(1, len(openings) + 1):
            for chosen in map(frozenset, itertools.combinations(openings, n)):
                if not any(smaller <= chosen for smaller in smallest):
                    left = self.closings.close(term, chosen)
                    if isinstance(left, Dead) or not onward(left):
                        smallest.append(chosen)
        in_order = [[opening for opening in openings if opening in chosen] for chosen in smallest]
        return tuple(absence for chosen in in_order for absence in self._all_closed(chosen, last))

    def _all_closed(self, openings: Sequence[Opening], last: int) -> tuple[Absence, ...]:
        found = [self._absence(opening, self._untils[opening.until].rest, last, Reads.BETWEEN) for opening in openings]
        return (*found[:-1], replace(found[-1], last=True)) if found else ()

    @staticmethod
    def _opening(way: Way, number: int) -> Opening:
        return Opening(number, way.begins, way.empty)

    def _tested(
        self, opening: Opening, last: int | None, *, fatal: bool = False, broken: bool = False
    ) -> Absence | None:
        """Whether a loop is closed when an event is taken; None for one that cannot be."""
        until = self._untils[opening.until]
        if last is None:
            first = until.at_start(opening.empty, self._types, self._types)
            if first is False:
                return None
            return replace(self._absence(opening, None if first is True else first, None, Reads.CURRENT), broken=broken)
        reads = Reads.CURRENT if self._strict else Reads.TO_CURRENT
        absence = self._absence(opening, until.rest, last, reads)
        return replace(absence, fatal=fatal and not self._strict, broken=broken)

    def _absence(self, opening: Opening, condition: Conjunct | None, last: int | None, reads: Reads) -> Absence:
        variable = self._first_variable + opening.until
        loop = self._loops[opening.until]
        around = {group: LATER if group in opening.begins else CURRENT for group in self._groups[loop]}
        situation = Situation(
            skipped=frozenset(self._numbers[name] for name in opening.empty),
            negated=variable,
            last=last,
            made=True,
            closing=self._numbers[loop],
            around=frozenset(around.items()),
        )
        return Absence(
            negated=variable,
            left=Anchor.LAST_TAKEN,
            right=Anchor.OPEN if reads is Reads.BETWEEN else Anchor.CURRENT,
            tests=() if condition is None else (Test(condition, situation),),
            fatal=False,
            gap=self._first_gap + opening.until,
            reads=reads,
        )
