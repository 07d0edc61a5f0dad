"""What a partial match waits for: a pattern, as far as it is still to come, and the ways on from there.

A state of the automaton holds such a term. Its ways come in the order of preference: more of a greedy loop before its
end, after it if reluctant; the parts of AND and ANY in the order of the text (SEMANTICS 3.2). The end of the pattern
stands among them, so that "decided at once" and "decided late" can be told apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

CURRENT, LATER = 0, 1
"""An iteration of a quantified group: the one that is under way, or one that has not begun."""

Place: TypeAlias = frozenset[tuple[int, int]]
"""Where a variable may still be bound: for each quantified group around it, (group, CURRENT or LATER)."""


@dataclass(frozen=True, slots=True)
class One:
    """An element that waits for its event."""

    element: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A NOT in its place."""

    negation: int


@dataclass(frozen=True, slots=True)
class Chain:
    """The parts one after the other; none: the match is complete."""

    parts: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Parts in any interleaving.

    Attributes:
        n_missing: how many of the parts are still to be begun (ANY; 0 under AND).
        parts: in the order of the text; the flag says that a part has begun, or must.
    """

    n_missing: int
    parts: tuple[tuple[Term, bool], ...]


@dataclass(frozen=True, slots=True)
class Branches:
    """Exactly one of the parts."""

    parts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A quantifier.

    Attributes:
        number: which one (`Terms.quantifiers`).
        n_done: complete iterations, no more than matter.
        current: what is left of the iteration under way, or None.
        following: what the next iteration is, where an UNTIL has closed a loop in it (`plan.closings`), or None.
        closed: its UNTIL has closed it.
    """

    number: int
    n_done: int = 0
    current: Term | None = None
    following: Term | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Dead:
    """What cannot be completed, as a loop in it was closed below its bound."""

    term: Term


Term: TypeAlias = One | Gap | Chain | Shuffle | Branches | Loop | Dead

DONE = Chain()


@dataclass(frozen=True)
class Quantifier:
    """What a `Loop` repeats.

    Attributes:
        minimum, maximum, greedy: as written; no maximum: None.
        body: one iteration.
        names: the variables in it.
        group: its number among the groups under a quantifier, or None where it stands on one element.
        until: the number of its UNTIL, or None.
    """

    minimum: int
    maximum: int | None
    greedy: bool
    body: Term
    names: frozenset[str]
    group: int | None
    until: int | None = None

    @property
    def most_counted(self) -> int:
        """From this many iterations on, one more makes no difference."""
        return max(self.minimum, 1) if self.maximum is None else self.maximum


@dataclass(frozen=True, slots=True)
class Way:
    """A way on: an element that takes the next event, or the end of the pattern.

    Attributes:
        element: None for the end.
        rest: what is left after it.
        empty: variables of loops and optional parts that it passes over.
        gaps: the NOTs that it passes.
        begins: the quantified groups of which it begins an iteration.
        leaves: it passes the end of a loop that could have gone on.
        closed: it passes the end of a loop that its UNTIL closed.
        dropped: of the end only: the group whose unfinished iteration gives its events back, or None.
        scattered: the same, where other events of the match may lie among them (AND, ANY).
    """

    element: int | None = None
    rest: Term = DONE
    empty: frozenset[str] = frozenset()
    gaps: tuple[int, ...] = ()
    begins: frozenset[int] = frozenset()
    leaves: bool = False
    closed: bool = False
    dropped: int | None = None
    scattered: frozenset[int] = frozenset()

    def after(self, end: Way, *, leaves: bool = False) -> Way:
        """This way, after the ``end`` of what stands before it."""
        return replace(
            self,
            empty=self.empty | end.empty,
            gaps=end.gaps + self.gaps,
            leaves=self.leaves or end.leaves or leaves,
            closed=self.closed or end.closed,
            dropped=self.dropped if end.dropped is None else end.dropped,
            scattered=self.scattered | end.scattered,
        )


@dataclass
class Terms:
    """The terms of one pattern.

    Attributes:
        variables: element -> its variable.
        quantifiers: by number.
        every_end: ANY ends with each choice of parts that took nothing (any), not with the first in the text alone.
    """

    variables: list[str] = field(default_factory=list)
    quantifiers: list[Quantifier] = field(default_factory=list)
    every_end: bool = False
    _ways: dict[Term, tuple[Way, ...]] = field(default_factory=dict)

    # --- ways on ------------------------------------------------------------------------------------

    def ways(self, term: Term) -> tuple[Way, ...]:
        """The ways on, the preferred first."""
        known = self._ways.get(term)
        if known is None:
            known = self._ways[term] = tuple(self._find_ways(term))
        return known

    def _find_ways(self, term: Term) -> Iterator[Way]:
        match term:
            case One(element):
                yield Way(element)
            case Gap(negation):
                yield Way(gaps=(negation,))
            case Chain(()):
                yield Way()
            case Chain((head, *tail)):
                yield from self._of_chain(head, tuple(tail))
            case Branches(parts):
                for part in parts:
                    yield from self.ways(part)
            case Shuffle():
                yield from self._of_shuffle(term)
            case Loop():
                yield from self._of_loop(term)
            case Dead():
                return

    def _of_chain(self, head: Term, tail: tuple[Term, ...]) -> Iterator[Way]:
        ways = self.ways(head)
        could_go_on = any(way.element is not None for way in ways)
        for way in ways:
            if way.element is not None:
                yield replace(way, rest=chain((way.rest, *map(reopened, tail))))
            else:
                for further in self.ways(chain(tail)):
                    yield further.after(way, leaves=could_go_on)

    def _of_loop(self, loop: Loop) -> Iterator[Way]:
        if loop.current is None:
            yield from self._between(loop)
            return
        ways = self.ways(loop.current)
        could_go_on = any(way.element is not None for way in ways)
        for way in ways:
            if way.element is not None:
                yield replace(way, rest=self._iterating(loop, way.rest))
            else:
                for further in self._between(replace(self._complete(loop), following=loop.following)):
                    yield further.after(way, leaves=could_go_on)

    def _between(self, loop: Loop) -> list[Way]:
        """The ways on between two iterations."""
        quantifier = self.quantifiers[loop.number]
        more: list[Way] = []
        if self.may_go_on(loop):
            begins = frozenset[int]() if quantifier.group is None else frozenset((quantifier.group,))
            more = [
                replace(way, rest=self._iterating(loop, way.rest), begins=way.begins | begins)
                for way in self.ways(quantifier.body if loop.following is None else loop.following)
                if way.element is not None
            ]
        end: list[Way] = []
        if loop.n_done >= quantifier.minimum or self.nullable(quantifier.body):
            end = [Way(empty=self._empty(loop), closed=loop.closed)]
        return more + end if quantifier.greedy else end + more

    def may_go_on(self, loop: Loop) -> bool:
        """Whether another iteration may begin once the one under way is complete."""
        most = self.quantifiers[loop.number].maximum
        if loop.closed:
            return False
        return most is None or loop.n_done + (loop.current is not None) < most

    def _empty(self, loop: Loop) -> frozenset[str]:
        return self.quantifiers[loop.number].names if loop.n_done == 0 else frozenset()

    def _complete(self, loop: Loop) -> Loop:
        n_done = min(loop.n_done + 1, self.quantifiers[loop.number].most_counted)
        return Loop(loop.number, n_done)

    def _iterating(self, loop: Loop, left: Term) -> Loop:
        """The loop after an event was taken, with ``left`` to come in its iteration."""
        return self._complete(loop) if left == DONE else replace(loop, current=left, following=None)

    def _of_shuffle(self, shuffle: Shuffle) -> Iterator[Way]:
        """The parts in the order of the text; the end stands behind what must still come."""
        ahead: list[Way] = []
        behind: list[Way] = []
        ends: list[list[Way]] = []
        in_order: list[Way] = []
        for index, (part, begun) in enumerate(shuffle.parts):
            own: list[Way] = []
            for way in self.ways(part):
                if way.element is None:
                    own.append(way)
                elif begun or shuffle.n_missing:
                    taken = replace(way, rest=_begin(shuffle, index, way.rest))
                    in_order.append(taken)
                    (behind if own else ahead).append(taken)
            ends.append(own if self.every_end else own[:1])
        spare = [i for i, (_, begun) in enumerate(shuffle.parts) if not begun and ends[i]]
        begun_ones = [i for i, (_, begun) in enumerate(shuffle.parts) if begun]
        if len(spare) < shuffle.n_missing or not all(ends[i] for i in begun_ones):
            yield from in_order
            return
        yield from ahead
        choices = itertools.combinations(spare, shuffle.n_missing)
        for chosen in choices if self.every_end else itertools.islice(choices, 1):
            for complete in itertools.product(*(ends[i] for i in (*begun_ones, *chosen))):
                empty = frozenset[str]().union(*(end.empty for end in complete))
                yield Way(empty=empty, closed=any(end.closed for end in complete))
        yield from behind

    # --- what a term is like --------------------------------------------------------------------------

    def nullable(self, term: Term) -> bool:
        """True where the match may end here."""
        return any(way.element is None for way in self.ways(term))

    def places(self, term: Term) -> frozenset[tuple[str, Place]]:
        """Every variable that may still be bound, with the iterations in which that would be."""
        return frozenset(self._places(term, frozenset()))

    def _places(self, term: Term, around: Place) -> Iterator[tuple[str, Place]]:
        match term:
            case One(element):
                yield self.variables[element], around
            case Gap() | Dead():
                return
            case Chain((head, *tail)):
                goes_on = any(way.element is not None for way in self.ways(head))
                for part in (head, *(map(reopened, tail) if goes_on else tail)):
                    yield from self._places(part, around)
            case Chain(parts) | Branches(parts):
                for part in parts:
                    yield from self._places(part, around)
            case Shuffle():
                for part, begun in term.parts:
                    if begun or term.n_missing:
                        yield from self._places(part, around)
            case Loop():
                quantifier = self.quantifiers[term.number]
                if term.current is not None:
                    yield from self._places(term.current, _inside(around, quantifier.group, CURRENT))
                stuck = term.current is None and isinstance(term.following, Dead)
                if self.may_go_on(term) and not stuck:
                    yield from self._places(quantifier.body, _inside(around, quantifier.group, LATER))

    def closed_empty(self, term: Term) -> Iterator[tuple[frozenset[str], Place, bool]]:
        """The loops that an UNTIL has closed before they took anything, and that have not been passed.

        Yields:
            the variables, the iterations in which they would be, and whether the branch is taken for sure: then they
            are empty, else they may be absent.
        """
        yield from self._closed_empty(term, frozenset(), taken=True)

    def _closed_empty(self, term: Term, around: Place, *, taken: bool) -> Iterator[tuple[frozenset[str], Place, bool]]:
        match term:
            case Chain(parts):
                for part in parts:
                    yield from self._closed_empty(part, around, taken=taken)
                    # What follows opens anew if something is taken before it.
                    taken = taken and all(way.element is None for way in self.ways(part))
            case Branches(parts):
                for part in parts:
                    yield from self._closed_empty(part, around, taken=taken and len(parts) == 1)
            case Shuffle(n_missing, marked):
                every = n_missing == sum(not begun for _, begun in marked)
                for part, begun in marked:
                    yield from self._closed_empty(part, around, taken=taken and (begun or every))
            case Loop(number, n_done, current, following, closed):
                quantifier = self.quantifiers[number]
                if closed and n_done == 0:
                    yield quantifier.names, around, taken
                if current is not None:
                    yield from self._closed_empty(current, _inside(around, quantifier.group, CURRENT), taken=taken)
                if following is not None:
                    yield from self._closed_empty(following, _inside(around, quantifier.group, LATER), taken=False)

    def gaps(self, term: Term) -> frozenset[int]:
        """The NOTs that have not been passed."""
        match term:
            case Gap(negation):
                return frozenset((negation,))
            case Chain(parts) | Branches(parts):
                return frozenset[int]().union(*(self.gaps(part) for part in parts))
            case _:  # NOT stands in no AND, in no ANY and under no quantifier
                return frozenset()

    # --- the end --------------------------------------------------------------------------------------

    def cut(self, term: Term) -> Way | None:
        """The end of the longest complete form, the events of an unfinished iteration dropped (SEMANTICS 3.2)."""
        match term:
            case One() | Dead():
                return None
            case Gap() | Chain(()):
                return self.ways(term)[0]
            case Chain(parts):
                return _joined(self.cut(part) for part in parts)
            case Branches(parts):
                return next((end for end in map(self.cut, parts) if end is not None), None)
            case Shuffle():
                return self._cut_shuffle(term)
            case Loop():
                return self._cut_loop(term)

    def _cut_shuffle(self, shuffle: Shuffle) -> Way | None:
        ends = [self.cut(part) for part, begun in shuffle.parts if begun]
        spare = [end for end in (self.cut(part) for part, begun in shuffle.parts if not begun) if end is not None]
        if len(spare) < shuffle.n_missing:
            return None
        end = _joined([*ends, *spare[: shuffle.n_missing]])
        if end is None:
            return None
        chosen = [way for way in (*ends, *spare[: shuffle.n_missing]) if way is not None]
        scattered = end.scattered | {way.dropped for way in chosen if way.dropped is not None}
        return replace(end, dropped=None, scattered=scattered)

    def _cut_loop(self, loop: Loop) -> Way | None:
        quantifier = self.quantifiers[loop.number]
        if loop.current is not None:
            inner = self.cut(loop.current)
            if inner is not None and loop.n_done + 1 >= quantifier.minimum:
                return inner
        if loop.n_done < quantifier.minimum and not self.nullable(quantifier.body):
            return None
        return Way(empty=self._empty(loop), dropped=None if loop.current is None else quantifier.group)

    # --- variants -------------------------------------------------------------------------------------

    def variants(self, term: Term) -> Iterator[Term]:
        """The term once for each choice of branches of the ORs outside of loops (SEMANTICS 3.2)."""
        match term:
            case Branches(parts):
                for part in parts:
                    yield from self.variants(part)
            case Chain(parts):
                for chosen in itertools.product(*(list(self.variants(part)) for part in parts)):
                    yield chain(chosen)
            case Shuffle(n_missing, marked):
                for chosen in itertools.product(*(list(self.variants(part)) for part, _ in marked)):
                    yield Shuffle(n_missing, tuple(zip(chosen, (begun for _, begun in marked), strict=True)))
            case Loop(number) if self.quantifiers[number].maximum == 1:
                # An optional part is no loop; where it takes nothing, the variables of all its branches are empty.
                bodies = list(self.variants(self.quantifiers[number].body))
                if len(bodies) == 1:
                    yield term
                    return
                for body in bodies:
                    self.quantifiers.append(replace(self.quantifiers[number], body=body))
                    yield Loop(len(self.quantifiers) - 1)
            case _:
                yield term


def chain(parts: Iterable[Term]) -> Term:
    """The parts one after the other, in the form in which equal ones are equal."""
    flat: list[Term] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Chain) else (part,))
    return flat[0] if len(flat) == 1 else Chain(tuple(flat))


def reopened(term: Term) -> Term:
    """A part of a pattern that has not begun, as if no UNTIL had closed anything in it."""
    match term:
        case Chain(parts):
            return Chain(tuple(map(reopened, parts)))
        case Branches(parts):
            return Branches(tuple(map(reopened, parts)))
        case Shuffle(n_missing, marked):
            return Shuffle(n_missing, tuple((reopened(part), begun) for part, begun in marked))
        case Loop(number):
            return Loop(number)
        case Dead(part):
            return reopened(part)
        case _:
            return term


def _begin(shuffle: Shuffle, index: int, left: Term) -> Term:
    """The shuffle after its part at ``index`` took an event, and has ``left`` to come."""
    n_missing = shuffle.n_missing - (not shuffle.parts[index][1])
    parts = list(shuffle.parts)
    parts[index] = (left, True)
    kept = tuple((part, begun) for part, begun in parts if part != DONE and (begun or n_missing))
    return Shuffle(n_missing, kept) if kept else DONE


def _inside(around: Place, group: int | None, iteration: int) -> Place:
    return around if group is None else around | {(group, iteration)}


def _joined(ends: Iterable[Way | None]) -> Way | None:
    result = Way()
    for end in ends:
        if end is None:
            return None
        result = end.after(result)
    return result
