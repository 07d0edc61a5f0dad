"""Loops that UNTIL closes while other parts of AND or ANY go on: what is left of a pattern then (SEMANTICS 3.5).

Outside of AND and ANY, a loop is open from the last event of the match on, and no state has to remember that it was
closed: the next event is its own, or opens it anew, or comes after it. Beside other parts, it stays closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cepheid.plan.terms import Branches, Chain, Dead, Loop, Shuffle, Term, Terms, Way, chain


@dataclass(frozen=True)
class Opening:
    """A loop with UNTIL that is open.

    Attributes:
        until: the number of its UNTIL.
        begins: the quantified groups of which an iteration would begin with an element of it.
        empty: variables that such an element would pass over.
        beside: it stands in AND or ANY.
    """

    until: int
    begins: frozenset[int] = frozenset()
    empty: frozenset[str] = frozenset()
    beside: bool = False


@dataclass(frozen=True)
class Case:
    """What has become of the loops with UNTIL in AND and ANY when the next event is taken.

    Attributes:
        closed, open: those that are closed by then, and those that are not.
        left: what is left of the pattern.
    """

    closed: tuple[Opening, ...]
    open: tuple[Opening, ...]
    left: Term


class Closings:
    """What events that satisfy UNTILs make of terms."""

    def __init__(self, terms: Terms, reads: Sequence[tuple[frozenset[str], frozenset[int]]]) -> None:
        """Begin.

        Args:
            terms: those of the pattern.
            reads: of each UNTIL, the variables that it reads beside its loop's own, and the quantified groups in which
                these stand together with it: where nothing else differs, an event closes all openings or none.
        """
        self.terms = terms
        self.reads = reads

    def openings(self, term: Term) -> tuple[Opening, ...]:
        """The loops that the next event may close, each once."""
        found: dict[Opening, None] = {}
        if self.reads:
            self._walk(term, Opening(-1), found, frozenset())
        return tuple(found)

    def close(self, term: Term, chosen: frozenset[Opening]) -> Term:
        """The term with some of its openings closed."""
        return self._walk(term, Opening(-1), {}, chosen) if chosen else term

    def _walk(self, term: Term, place: Opening, found: dict[Opening, None], chosen: frozenset[Opening]) -> Term:
        """Both: ``place`` tells where the term stands."""
        match term:
            case Chain((head, *tail)):
                closed = self._walk(head, place, found, chosen)
                rest = chain(tail)
                ways = self.terms.ways(closed)
                over = next((way for way in ways if way.element is None), None)
                if over is not None:
                    rest = self._walk(rest, replace(place, empty=place.empty | over.empty), found, chosen)
                dead = isinstance(rest, Dead) and all(way.element is None for way in ways)
                return Dead(term) if dead or isinstance(closed, Dead) else chain((closed, rest))
            case Branches(parts):
                left = tuple(self._walk(part, place, found, chosen) for part in parts)
                return Dead(term) if all(isinstance(part, Dead) for part in left) else Branches(left)
            case Shuffle(n_missing, marked):
                beside = replace(place, beside=True)
                kept = tuple((self._walk(part, beside, found, chosen), begun) for part, begun in marked)
                n_alive = sum(not (begun or isinstance(part, Dead)) for part, begun in kept)
                dead = n_alive < n_missing or any(begun and isinstance(part, Dead) for part, begun in kept)
                return Dead(term) if dead else Shuffle(n_missing, kept)
            case Loop():
                return self._walk_loop(term, place, found, chosen)
            case _:
                return term

    def _walk_loop(self, loop: Loop, place: Opening, found: dict[Opening, None], chosen: frozenset[Opening]) -> Term:
        quantifier = self.terms.quantifiers[loop.number]
        if quantifier.until is not None:
            if not self.terms.may_go_on(loop):
                return loop
            names, groups = self.reads[quantifier.until]
            opening = Opening(quantifier.until, place.begins & groups, place.empty & names, place.beside)
            found[opening] = None
            if opening not in chosen:
                return loop
            return Dead(loop) if loop.n_done < quantifier.minimum else replace(loop, closed=True)
        if quantifier.group is None:
            return loop
        ends = True
        if loop.current is not None:
            current = self._walk(loop.current, place, found, chosen)
            if isinstance(current, Dead):
                return Dead(loop)
            loop = replace(loop, current=current)
            ways = self.terms.ways(current)
            over = next((way for way in ways if way.element is None), None)
            if over is None:
                return loop
            place = replace(place, empty=place.empty | over.empty)
            ends = all(way.element is None for way in ways)
        if not self.terms.may_go_on(loop):
            return loop
        body = quantifier.body if loop.following is None else loop.following
        following = self._walk(body, replace(place, begins=place.begins | {quantifier.group}), found, chosen)
        n_sure = loop.n_done + (loop.current is not None)
        if isinstance(following, Dead) and ends and n_sure < quantifier.minimum:
            return Dead(loop)
        return loop if following == body else replace(loop, following=following)

    def cases(self, term: Term) -> Iterator[Case]:
        """What may have become of a term when the next event is taken; not those that leave no match."""
        openings = [opening for opening in self.openings(term) if opening.beside]
        for number in range(2 ** len(openings)):
            closed = tuple(opening for i, opening in enumerate(openings) if number >> i & 1)
            left = self.close(term, frozenset(closed))
            if not isinstance(left, Dead):
                yield Case(closed, tuple(opening for opening in openings if opening not in closed), left)


def preferred(term: Term, cases: Sequence[Case], terms: Terms) -> Iterator[tuple[Way, Case, bool]]:
    """The ways that take an event, in the order of preference from before it was known what is closed (SEMANTICS 3.3).

    Args:
        term: what is left of the pattern.
        cases: what may have become of it.
        terms: those of the pattern.

    Yields:
        a way on in a case, and whether the same way comes next in another one.
    """
    left = [(case, [way for way in terms.ways(case.left) if way.element is not None]) for case in cases]
    for way in terms.ways(term):
        if way.element is None:
            continue
        same = []
        for case, ways in left:
            still = next((w for w in ways if (w.element, w.begins) == (way.element, way.begins)), None)
            if still is not None:
                ways.remove(still)
                same.append((still, case))
        for index, (still, case) in enumerate(same):
            yield still, case, index + 1 < len(same)
