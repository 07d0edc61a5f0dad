"""What a run waits for: the part of a pattern that is still to come, and the ways on from there.

The state of a run is a pattern again: what is left of the query's own. ``SEQ(A a, B+ b, C c)`` after an A is
``SEQ(B+ b, C c)``, and after a B ``SEQ(<B+ b, one taken>, C c)``. Three nodes exist only in states: `Looping`,
`Choosing` and `Closing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from cepheid.language.structure import nullable, parts, patterns
from cepheid.language.tree import And, AnyOf, Event, Not, Or, Pattern, Repeat, Seq
from cepheid.testing.oracle_conditions import LATER, Future, Path


@dataclass(frozen=True)
class Looping:
    """A quantifier under way.

    Attributes:
        repeat: the quantifier.
        n_done: iterations that are complete.
        current: what is left of the iteration that has begun, or None.
        following: what the next iteration is; differs from ``repeat.part`` where UNTIL closed a loop in it, and is
            None where it closed one below its bound.
        closed: no further iteration begins.
    """

    repeat: Repeat
    n_done: int
    current: State | None
    following: State | None
    closed: bool = False

    @property
    def may_go_on(self) -> bool:
        """Another iteration may begin once the current one is complete."""
        most = self.repeat.maximum
        n_begun = self.n_done + (self.current is not None)
        return not self.closed and (most is None or n_begun < most)


@dataclass(frozen=True)
class Choosing:
    """``ANY(k, ...)`` under way.

    Attributes:
        n_missing: parts that are still to be begun.
        parts: in the order of the text; the flag says that a part has begun.
    """

    n_missing: int
    parts: tuple[tuple[State, bool], ...]


@dataclass(frozen=True)
class Closing:
    """A SEQ whose first part may be over or not, and with it closed loops in what follows.

    Attributes:
        head: what is left of the first part.
        rest: what follows if the first part is over; None where a loop was closed below its bound.
        fresh: what follows if the first part takes more: then the loops behind it open anew.
    """

    head: State
    rest: State | None
    fresh: tuple[Pattern, ...]


State: TypeAlias = Pattern | Looping | Choosing | Closing

DONE: State = Seq(())

Closes: TypeAlias = Callable[[Repeat, Path, frozenset[str]], bool]
"""Whether an event closes a loop by its UNTIL, in one iteration of the groups around it; these variables are empty."""


@dataclass(frozen=True)
class Step:
    """A way on from a state: an element that takes the next event, or the end of the pattern.

    Attributes:
        element: the element, or None for the end.
        path: the iterations in which it stands.
        state: what is left after it.
        empty: variables of loops and optional parts that are passed over.
        nots: what stands under the NOTs that are passed over.
        leaves: it passes the end of a loop that could have gone on.
        closed: it passes the end of a loop that its UNTIL closed.
        dropped: at the end only: iterations that are not complete, whose events are given back.
    """

    element: Event | None = None
    path: Path = ()
    state: State = DONE
    empty: frozenset[str] = frozenset()
    nots: tuple[Not, ...] = ()
    leaves: bool = False
    closed: bool = False
    dropped: tuple[Path, ...] = ()

    def after(self, end: Step, leaves: bool = False) -> Step:
        """This step, taken after ``end`` of what stands before it."""
        return replace(
            self,
            empty=self.empty | end.empty,
            nots=end.nots + self.nots,
            leaves=self.leaves or end.leaves or leaves,
            closed=self.closed or end.closed,
            dropped=end.dropped + self.dropped,
        )


def names(pattern: Pattern) -> frozenset[str]:
    """The variables of a pattern, those under NOT left out."""
    if isinstance(pattern, Not):
        return frozenset()
    if isinstance(pattern, Event):
        assert pattern.name is not None
        return frozenset((pattern.name,))
    return frozenset[str]().union(*(names(part) for part in parts(pattern)))


def group_numbers(pattern: Pattern) -> dict[Repeat, int]:
    """A number for each group under a quantifier; equal ones stand in exclusive branches and may share theirs."""
    return {
        node: number
        for number, node in enumerate(patterns(pattern))
        if isinstance(node, Repeat) and not isinstance(node.part, Event)
    }


def empty_of(node: Repeat, n_done: int) -> frozenset[str]:
    """The variables that a quantifier leaves empty when it ends after ``n_done`` iterations."""
    return names(node.part) if n_done == 0 else frozenset()


@dataclass(frozen=True)
class States:
    """The ways on in the states of one query.

    Attributes:
        groups: group under a quantifier -> its number.
    """

    groups: Mapping[Repeat, int]

    def inner(self, path: Path, node: Repeat, iteration: int) -> Path:
        """The path inside an iteration of ``node``."""
        return (*path, (self.groups[node], iteration)) if node in self.groups else path

    # --- the ways on, the preferred first (SEMANTICS 3.2 and 3.3) -----------------------------------

    def steps(self, state: State, path: Path = ()) -> list[Step]:
        """The ways on from ``state``: more of a greedy loop before the end of it, after it if reluctant."""
        match state:
            case Event():
                return [Step(state, path)]
            case Not():
                return [Step(nots=(state,))]
            case Seq(parts=()):
                return [Step()]
            case Seq():
                return self._sequence(state.parts[0], Seq(state.parts[1:]), state.parts[1:], path)
            case And():
                return self._choose(_all_of(state), path)
            case Or():
                return [step for part in state.parts for step in self.steps(part, path)]
            case AnyOf():
                return self._choose(_unbegun(state), path)
            case Repeat():
                return self._loop(_looping(state), path)
            case Looping():
                return self._loop(state, path)
            case Choosing():
                return self._choose(state, path)
            case Closing():
                return self._sequence(state.head, state.rest, state.fresh, path)

    def _sequence(self, head: State, rest: State | None, fresh: tuple[Pattern, ...], path: Path) -> list[Step]:
        steps = self.steps(head, path)
        could_go_on = any(step.element is not None for step in steps)
        found: list[Step] = []
        for step in steps:
            if step.element is not None:
                found.append(replace(step, state=_before(step.state, fresh)))
            elif rest is not None:
                found += [further.after(step, leaves=could_go_on) for further in self.steps(rest, path)]
        return found

    def _loop(self, state: Looping, path: Path) -> list[Step]:
        if state.current is None:
            return self._between(state, path)
        steps = self.steps(state.current, self.inner(path, state.repeat, state.n_done))
        could_go_on = any(step.element is not None for step in steps)
        found: list[Step] = []
        for step in steps:
            if step.element is not None:
                found.append(replace(step, state=_iterating(state, step.state)))
            else:
                complete = replace(state, n_done=state.n_done + 1, current=None)
                found += [further.after(step, leaves=could_go_on) for further in self._between(complete, path)]
        return found

    def _between(self, state: Looping, path: Path) -> list[Step]:
        """The ways on when no iteration is under way."""
        more: list[Step] = []
        if state.may_go_on and state.following is not None:
            below = self.steps(state.following, self.inner(path, state.repeat, state.n_done))
            more = [replace(s, state=_iterating(state, s.state)) for s in below if s.element is not None]
        end: list[Step] = []
        if state.n_done >= state.repeat.minimum or nullable(state.repeat.part):
            end = [Step(empty=empty_of(state.repeat, state.n_done), closed=state.closed)]
        return more + end if state.repeat.greedy else end + more

    def _choose(self, state: Choosing, path: Path) -> list[Step]:
        """AND and ANY: the parts in the order of the text."""
        ahead: list[Step] = []
        behind: list[Step] = []
        ends: list[Step | None] = []
        for index, (part, begun) in enumerate(state.parts):
            end: Step | None = None
            for step in self.steps(part, path):
                if step.element is None:
                    end = end or step
                elif begun or state.n_missing:
                    (ahead if end is None else behind).append(replace(step, state=_begin(state, index, step.state)))
            ends.append(end)
        chosen = [index for index, (_, begun) in enumerate(state.parts) if begun]
        spare = [i for i, (_, begun) in enumerate(state.parts) if not begun and ends[i] is not None]
        chosen += spare[: state.n_missing]
        complete = [end for end in (ends[index] for index in chosen) if end is not None]
        if len(spare) < state.n_missing or len(complete) < len(chosen):
            return self._in_text_order(state, path)
        empty = frozenset[str]().union(*(end.empty for end in complete))
        return [*ahead, Step(empty=empty, closed=any(end.closed for end in complete)), *behind]

    def _in_text_order(self, state: Choosing, path: Path) -> list[Step]:
        return [
            replace(step, state=_begin(state, index, step.state))
            for index, (part, begun) in enumerate(state.parts)
            if begun or state.n_missing
            for step in self.steps(part, path)
            if step.element is not None
        ]

    def empty_in(self, sequence: Sequence[tuple[str, str | None]], pattern: Pattern) -> frozenset[str] | None:
        """The variables that are empty in the preferred way of binding events of these types; None: there is none."""
        without: set[tuple[State, int]] = set()

        def below(state: State, n_read: int) -> frozenset[str] | None:
            if (state, n_read) in without:
                return None
            for step in self.steps(state):
                rest: frozenset[str] | None = None
                if step.element is None:
                    rest = frozenset() if n_read == len(sequence) else None
                elif n_read < len(sequence):
                    name, kind = sequence[n_read]
                    types = step.element.types
                    if step.element.name == name and (not types or kind in types):
                        rest = below(step.state, n_read + 1)
                if rest is not None:
                    return rest | step.empty
            without.add((state, n_read))
            return None

        return below(pattern, 0)

    # --- what may still come ------------------------------------------------------------------------

    def future(self, state: State, path: Path = ()) -> Future:
        """Every variable that may still be bound, with its iteration."""
        return frozenset(self._future(state, path))

    def _future(self, state: State, path: Path) -> Iterator[tuple[str, Path]]:
        match state:
            case Event():
                assert state.name is not None
                yield state.name, path
            case Not():
                return
            case Seq() | And() | Or() | AnyOf():
                for part in state.parts:
                    yield from self._future(part, path)
            case Choosing():
                for open_part, begun in state.parts:
                    if begun or state.n_missing:
                        yield from self._future(open_part, path)
            case Repeat():
                yield from self._future(_looping(state), path)
            case Looping():
                if state.current is not None:
                    yield from self._future(state.current, self.inner(path, state.repeat, state.n_done))
                if state.may_go_on and (state.following is not None or state.current is not None):
                    yield from self._future(state.repeat.part, self.inner(path, state.repeat, LATER))
            case Closing():
                yield from self._future(state.head, path)
                yield from self._future(Seq(state.fresh), path)

    # --- UNTIL --------------------------------------------------------------------------------------

    def closed(self, state: State, closes: Closes, empty: frozenset[str], path: Path = ()) -> State | None:
        """``state`` with the open loops closed whose UNTIL the event satisfies (SEMANTICS 3.5).

        Args:
            state: the state of a run before the event.
            closes: whether the event satisfies the UNTIL of a loop, in this iteration.
            empty: variables of the taken branches that took nothing.
            path: the iteration.

        Returns:
            None where a loop is closed below its lower bound: the run ends.
        """
        match state:
            case Event() | Not() | Seq(parts=()):
                return state
            case Seq():
                return self._closed_sequence(
                    Closing(state.parts[0], Seq(state.parts[1:]), state.parts[1:]), closes, empty, path
                )
            case And():
                return _unless_same(self._closed_choice(_all_of(state), closes, empty, path), _all_of(state), state)
            case Or():
                left = [self.closed(part, closes, empty, path) for part in state.parts]
                waiting = [state_left for state_left in left if state_left is not None]
                return Or(as_parts(waiting)) if waiting else None
            case AnyOf():
                return _unless_same(self._closed_choice(_unbegun(state), closes, empty, path), _unbegun(state), state)
            case Choosing():
                return self._closed_choice(state, closes, empty, path)
            case Repeat():
                return _unless_same(self._closed_loop(_looping(state), closes, empty, path), _looping(state), state)
            case Looping():
                return self._closed_loop(state, closes, empty, path)
            case Closing():
                return self._closed_sequence(state, closes, empty, path)

    def _closed_sequence(self, state: Closing, closes: Closes, empty: frozenset[str], path: Path) -> State | None:
        head, rest = self.closed(state.head, closes, empty, path), state.rest
        if head is None:
            return None
        steps = self.steps(head, path)
        over = next((step for step in steps if step.element is None), None)
        if rest is not None and over is not None:
            rest = self.closed(rest, closes, empty | over.empty, path)
        if rest == Seq(state.fresh):
            return _before(head, state.fresh)
        if any(step.element is not None for step in steps):
            return Closing(head, rest, state.fresh)
        return None if rest is None else _before(head, as_parts([rest]))

    def _closed_choice(self, state: Choosing, closes: Closes, empty: frozenset[str], path: Path) -> State | None:
        left: list[tuple[State, bool]] = []
        for part, begun in state.parts:
            below = self.closed(part, closes, empty, path)
            if below is not None:
                left.append((below, begun))
            elif begun:
                return None
        if sum(not begun for _, begun in left) < state.n_missing:
            return None
        return Choosing(state.n_missing, tuple(left))

    def _closed_loop(self, state: Looping, closes: Closes, empty: frozenset[str], path: Path) -> State | None:
        if state.repeat.until is not None:
            if not state.may_go_on or not closes(state.repeat, path, empty):
                return state
            return None if state.n_done < state.repeat.minimum else replace(state, closed=True)
        current = state.current
        steps: list[Step] = []
        if current is not None:
            here = self.inner(path, state.repeat, state.n_done)
            current = self.closed(current, closes, empty, here)
            if current is None:
                return None
            steps = self.steps(current, here)
            state = replace(state, current=current)
            if all(step.element is not None for step in steps):
                return state
        if not state.may_go_on or state.following is None:
            return state
        empty |= next((step.empty for step in steps if step.element is None), frozenset())
        following = self.closed(state.following, closes, empty, self.inner(path, state.repeat, LATER))
        n_sure = state.n_done + (current is not None)
        stuck = all(step.element is None for step in steps) and n_sure < state.repeat.minimum
        return None if following is None and stuck else replace(state, following=following)

    # --- the end ------------------------------------------------------------------------------------

    def cut(self, state: State, path: Path = ()) -> Step | None:
        """The end of the longest complete form, unfinished last iterations dropped; None if there is none."""
        match state:
            case Event():
                return None
            case Not() | Seq(parts=()):
                return self.steps(state, path)[0]
            case Seq() | And():
                ends = [self.cut(part, path) for part in state.parts]
                return _joined(ends)
            case Or():
                return next((end for end in (self.cut(part, path) for part in state.parts) if end is not None), None)
            case AnyOf():
                return self.cut(_unbegun(state), path)
            case Choosing():
                ends = [self.cut(part, path) for part, begun in state.parts if begun]
                spare = [self.cut(part, path) for part, begun in state.parts if not begun]
                usable: list[Step | None] = [end for end in spare if end is not None]
                return _joined(ends + usable[: state.n_missing]) if len(usable) >= state.n_missing else None
            case Repeat():
                return self.cut(_looping(state), path)
            case Looping():
                return self._cut_loop(state, path)
            case Closing():
                return _joined([self.cut(state.head, path), None if state.rest is None else self.cut(state.rest, path)])

    def _cut_loop(self, state: Looping, path: Path) -> Step | None:
        here = self.inner(path, state.repeat, state.n_done)
        if state.current is not None:
            inner = self.cut(state.current, here)
            if inner is not None and state.n_done + 1 >= state.repeat.minimum:
                return inner
        if state.n_done < state.repeat.minimum and not nullable(state.repeat.part):
            return None
        dropped = (here,) if state.current is not None else ()
        return Step(empty=empty_of(state.repeat, state.n_done), dropped=dropped)


def as_parts(states: Sequence[State]) -> tuple[Pattern, ...]:
    """States as the parts of a pattern: only the methods of `States` ever look inside."""
    return cast(tuple[Pattern, ...], tuple(states))


def _all_of(node: And) -> Choosing:
    return Choosing(0, tuple((part, True) for part in node.parts))


def _looping(node: Repeat) -> Looping:
    return Looping(node, 0, None, node.part)


def _unbegun(node: AnyOf) -> Choosing:
    return Choosing(node.count, tuple((part, False) for part in node.parts))


def _before(state: State, rest: tuple[Pattern, ...]) -> State:
    if state == DONE:
        return Seq(rest)
    return Seq(as_parts([state, *rest]))


def _iterating(loop: Looping, state: State) -> Looping:
    """The loop after an event was taken, with ``state`` left of its current iteration."""
    if state == DONE:
        return replace(loop, n_done=loop.n_done + 1, current=None, following=loop.repeat.part)
    return replace(loop, current=state, following=loop.repeat.part)


def _begin(choice: Choosing, index: int, state: State) -> State:
    """The choice after its part at ``index`` took an event, and has ``state`` left."""
    n_missing = choice.n_missing - (not choice.parts[index][1])
    left = [(part, begun) for part, begun in choice.parts]
    left[index] = (state, True)
    kept = tuple((part, begun) for part, begun in left if part != DONE and (begun or n_missing))
    return Choosing(n_missing, kept) if kept else DONE


def _unless_same(closed: State | None, before: State, state: State) -> State | None:
    """``state`` itself where nothing was closed in it."""
    return state if closed == before else closed


def _joined(ends: list[Step | None]) -> Step | None:
    result = Step()
    for end in ends:
        if end is None:
            return None
        result = end.after(result)
    return result
