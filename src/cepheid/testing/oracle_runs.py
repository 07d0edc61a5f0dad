"""Matches found by reading the events in order: runs (`next`, prefixes) and backtracking (`strict`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from cepheid.language.structure import parts, patterns, with_parts
from cepheid.language.tree import AnyOf, Event, Not, Or, Pattern, Policy, Repeat
from cepheid.testing.oracle_assignments import Problem, broken, name_of, takes, until_holds
from cepheid.testing.oracle_closings import closed_empty
from cepheid.testing.oracle_conditions import NOTHING_MORE, Binding, Path, all_hold, taken
from cepheid.testing.oracle_pairs import pair_of
from cepheid.testing.oracle_states import Looping, State, Step, as_parts, names
from cepheid.testing.oracle_windows import END, Frame, Point, admits, at_event, closing

Key: TypeAlias = frozenset[tuple[str, int]]
"""A match as a set: (variable, position) pairs."""


@dataclass(frozen=True)
class Found:
    """A complete match.

    Attributes:
        bindings: in the order of the events.
        empty: variables of the taken branches that took nothing.
        decided: its own decision point, before any delay.
    """

    bindings: tuple[Binding, ...]
    empty: frozenset[str]
    decided: Point

    @property
    def key(self) -> Key:
        """What makes two matches equal."""
        return key_of(self.bindings)


def key_of(bindings: Sequence[Binding]) -> Key:
    """What makes two matches equal."""
    return frozenset((binding.variable, binding.position) for binding in bindings)


class Outcome(Enum):
    """What came of ending a run."""

    FAILED = "a condition or a NOT does not hold"
    REFUTED = "a NOT at the end was broken"


@dataclass(frozen=True)
class Run:
    """A partial match.

    Attributes:
        bindings: in the order of the events.
        state: what it waits for.
        empty: variables of the taken branches that took nothing.
        nots: the NOTs that it passed, each with the number of bindings to its left.
        left: it has left the loop that it stands in, and waits only for `any` elements behind.
        forked: another copy took an event that this one skipped, or stayed in the loop that this one left.
    """

    bindings: tuple[Binding, ...]
    state: State
    empty: frozenset[str] = frozenset()
    nots: tuple[tuple[Not, int], ...] = ()
    left: bool = False
    forked: bool = False


@dataclass
class Reader:
    """What runs and backtracking share: taking an event, and ending.

    Attributes:
        problem: the query.
        frame: where the events lie.
        found: the matches, each once, with its earliest decision.
        timed_out: (what was bound, the moment when its window closed).
        ended: first position of each start -> the moment when its last run ended.
    """

    problem: Problem
    frame: Frame
    found: dict[Key, Found] = field(default_factory=dict)
    timed_out: list[Found] = field(default_factory=list)
    ended: dict[int, Point] = field(default_factory=dict)

    def policy(self, element: Event) -> Policy:
        """The policy of the edge that leads to ``element``."""
        return element.policy or self.problem.bound.policy

    def ways(self, state: State) -> list[Step]:
        """The ways on from ``state``, the end included."""
        return self.problem.states.steps(state)

    def closing(self, run: Run) -> Point:
        """The moment from which the windows let ``run`` take no more."""
        return closing(self.problem.bound.window, self.frame, run.bindings[0], run.bindings[-1])

    def read(self, run: Run, position: int) -> State | None:
        """The state of ``run`` once the UNTIL of its open loops has been tested; None where the run ends."""

        def closes(loop: Repeat, path: Path, empty: frozenset[str]) -> bool:
            tested = Binding(position, name_of(loop.part), self.frame.stream[position], path)
            return until_holds(self.problem, loop, tested, run.bindings, empty)

        return self.problem.states.closed(run.state, closes, run.empty)

    def take(self, run: Run, step: Step, position: int) -> Run | None:
        """``run`` with the event at ``position`` taken for ``step``; None where it does not qualify."""
        event = self.frame.stream[position]
        if step.element is None or not takes(step.element, event):
            return None
        pair = pair_of(self.frame, run.bindings, position)
        if self.problem.watch.drops(pair):
            return None
        bindings = (*run.bindings, Binding(position, name_of(step.element), event, step.path))
        if not admits(self.problem.bound.window, bindings):
            return None
        nots = (*run.nots, *((node, len(run.bindings)) for node in step.nots))
        known = not is_policy_throughout(self.problem, Policy.ANY)  # `any` asks of whole assignments
        closed = [(name, path, known and sure) for name, path, sure in closed_empty(self.problem.states, step.state)]
        sure = frozenset(name for name, _, for_sure in closed if for_sure)
        unsure = frozenset((name, path) for name, path, for_sure in closed if not for_sure)
        new = Run(bindings, step.state, run.empty | step.empty | sure, nots)
        ways = self.ways(step.state)
        empty = new.empty
        if all(way.element is None for way in ways):
            empty, unsure = empty | ways[0].empty, frozenset()
        future = self.problem.states.future(step.state) | unsure
        have = taken(bindings, empty, self.problem.loops)
        if not all_hold(self.problem.conditions, have, future, self.problem.evaluator):
            return None
        to_come = {name for name, _ in future}
        for node, n_left in nots:
            if n_left == len(bindings) or not self._testable(node, n_left, to_come):
                continue
            if broken(self.problem, self.frame, node, bindings, n_left, empty) is not None:
                return None
        self.problem.watch.took(pair, bindings[-1])
        return new

    def _testable(self, negated: Not, n_left: int, to_come: set[str]) -> bool:
        """True where nothing that decides over a NOT with a right neighbour can change any more."""
        window = self.problem.bound.window
        if n_left == 0 and to_come and (window.within_us is not None or window.within_events is not None):
            return False
        conditions = (c for name in names(negated.part) for c in self.problem.against.get(name, ()))
        return not any(name in to_come for c in conditions for name in c.conjunct.variables)

    def finish(self, run: Run, end: Step, moment: Point) -> Found | Outcome:
        """The match that ``run`` is when it ends here, decided at ``moment`` or when a NOT at its end is."""
        dropped = end.dropped
        bindings = tuple(b for b in run.bindings if not any(b.path[: len(path)] == path for path in dropped))
        empty = run.empty | end.empty
        if not bindings or not admits(self.problem.bound.window, bindings):
            return Outcome.FAILED
        have = taken(bindings, empty, self.problem.loops)
        if not all_hold(self.problem.conditions, have, NOTHING_MORE, self.problem.evaluator):
            return Outcome.FAILED
        nots = (*run.nots, *((node, len(bindings)) for node in end.nots))
        refuted = False
        for node, n_left in nots:
            breaks = broken(self.problem, self.frame, node, bindings, n_left, empty)
            if n_left < len(bindings):
                if breaks is not None:
                    return Outcome.FAILED
                continue
            refuted = refuted or breaks is not None
            moment = max(moment, decision(self.problem, self.frame, node, bindings) if breaks is None else breaks)
        self.ended[bindings[0].position] = max(self.ended.get(bindings[0].position, moment), moment)
        return Outcome.REFUTED if refuted else Found(bindings, empty, moment)

    def keep(self, found: Found) -> None:
        """Count a match, once, with its earliest decision."""
        before = self.found.get(found.key)
        if before is None or found.decided < before.decided:
            self.found[found.key] = found


def decision(problem: Problem, frame: Frame, negated: Not, bindings: Sequence[Binding]) -> Point:
    """The moment when a NOT at the end of a match can no longer be broken."""
    return closing(problem.bound.window, frame, bindings[0], bindings[-1], n_most(negated.part))


def n_most(pattern: Pattern) -> float:
    """The number of events of the longest match of a pattern; infinite where there is no bound."""
    match pattern:
        case Event():
            return 1
        case Not():
            return 0
        case Or():
            return max(n_most(part) for part in pattern.parts)
        case Repeat():
            return n_most(pattern.part) * (float("inf") if pattern.maximum is None else pattern.maximum)
        case AnyOf():
            return sum(sorted(n_most(part) for part in pattern.parts)[-pattern.count :])
        case _:
            return sum(n_most(part) for part in parts(pattern))


def alternatives(pattern: Pattern) -> Iterator[State]:
    """``pattern`` once for each choice of branches of the ORs outside of loops (SEMANTICS 3.2)."""
    match pattern:
        case Or():
            for part in pattern.parts:
                yield from alternatives(part)
        case Repeat(maximum=1):
            # An optional part is no loop; where it takes nothing, it leaves the variables of all branches empty.
            for part_left in alternatives(pattern.part):
                yield Looping(pattern, 0, None, part_left)
        case Event() | Not() | Repeat():
            yield pattern
        case _:
            for chosen in itertools.product(*(alternatives(part) for part in pattern.parts)):
                yield with_parts(pattern, as_parts(chosen))


@dataclass
class Runs(Reader):
    """Runs over a frame, one event after the other (SEMANTICS 3.2 and 3.4).

    Attributes:
        grown: what runs had bound that took one event more, or were complete.
    """

    grown: set[Key] = field(default_factory=set)

    @property
    def prefixes(self) -> bool:
        """Under `any` throughout, runs are the prefixes of matches."""
        return is_policy_throughout(self.problem, Policy.ANY)

    def search(self) -> None:
        """Read every event of the frame; the results are in the attributes."""
        variants = list(alternatives(self.problem.bound.pattern))
        order = {name: index for index, name in enumerate(self.problem.bound.variables)}
        runs: list[Run] = []
        for position in range(self.frame.first, self.frame.stop):
            moment = at_event(self.frame.stream[position])
            following: list[Run] = []
            for run in runs:
                closes = self.closing(run)
                if closes < moment:
                    self.close(run, closes)
                else:
                    following += self.advance(run, position)
            for variant in variants:
                following += self.begin(Run((), variant), position, order)
            runs = list(dict.fromkeys(following))
        for run in runs:
            self.close(run, self.closing(run))
        # Runs that bind the same are one prefix under `any`: it timed out if none of them went on or is complete.
        more = self.grown if self.prefixes else set()
        self.timed_out = list({one.key: one for one in self.timed_out if one.key not in more}.values())

    def begin(self, empty: Run, position: int, order: dict[str, int]) -> list[Run]:
        """The runs that the event at ``position`` starts."""
        state = self.read(empty, position)
        if state is None:
            return []
        ways = [step for step in self.ways(state) if step.element is not None]
        ways.sort(key=lambda step: order[name_of(step.element)] if step.element is not None else 0)
        started: list[Run] = []
        for step in ways:
            new = self.take(empty, step, position)
            if new is not None:
                self.ended.setdefault(position, at_event(self.frame.stream[position]))
                started += self.settle(new, position)
                if self.problem.bound.policy is not Policy.ANY:
                    break
        return started

    def advance(self, run: Run, position: int) -> list[Run]:
        """What becomes of ``run`` when it reads the event at ``position``."""
        moment = at_event(self.frame.stream[position])
        state = self.read(run, position)
        if state is None:
            self.end(run, moment)
            return []
        run = replace(run, state=state)
        ways = [step for step in self.ways(state) if step.element is not None]
        if run.left:
            # What closes the loop that it left does not concern it any more.
            ways = [step for step in ways if self.skips_a_loop(step, left=True)]
        after: list[Run] = []
        for step in ways:
            assert step.element is not None
            policy = self.policy(step.element)
            if policy is Policy.STRICT and position != run.bindings[-1].position + 1:
                continue
            new = self.take(run, step, position)
            if new is None:
                continue
            self.grown.add(key_of(run.bindings))
            after += self.settle(new, position)
            if policy is not Policy.ANY:
                return after
            run = replace(run, forked=True)
        if any(step.element is not None and self.policy(step.element) is not Policy.STRICT for step in ways):
            after.append(run)
        else:
            self.end(run, moment)
        return after

    def skips_a_loop(self, step: Step, *, left: bool = False) -> bool:
        """True for a way past a loop to an `any` element; of a copy that ``left`` it, though it is closed by now."""
        if step.element is None or self.policy(step.element) is not Policy.ANY:
            return False
        return step.leaves or (left and step.closed)

    def settle(self, run: Run, position: int) -> list[Run]:
        """``run``, which just took the event at ``position``: complete it where it is, and fork it where it does."""
        moment = at_event(self.frame.stream[position])
        ways = self.ways(run.state)
        elements = [step for step in ways if step.element is not None]
        end = next((index for index, step in enumerate(ways) if step.element is None), None)
        if end is not None:
            self.grown.add(key_of(run.bindings))
            ahead = [step.element for step in ways[:end] if step.element is not None]
            # What a fork would take or skip is decided by its copies: this one is complete as it stands.
            if all(self.policy(element) is Policy.ANY for element in ahead):
                outcome = self.finish(run, ways[end], moment)
                if isinstance(outcome, Found):
                    self.keep(outcome)
                if not elements or (not ahead and outcome is not Outcome.FAILED):
                    return []
        copies = [run]
        behind = [step for step in elements if self.skips_a_loop(step)]
        others = [step.element for step in elements if step.element is not None and not self.skips_a_loop(step)]
        if behind and any(self.policy(element) is not Policy.ANY for element in others):
            copies.append(replace(run, left=True, forked=True))
        return copies

    def close(self, run: Run, moment: Point) -> None:
        """End ``run`` because its window closed, or the input ended."""
        window = self.problem.bound.window
        bounded = self.frame.bounds is not None or window.within_events is not None or window.each_events is not None
        self.problem.watch.expired(run.bindings, self.frame.bounds)
        complete = self.end(run, moment)
        if self.prefixes:
            # Under `any` no run gives events back: what has begun an iteration is not complete before it ends.
            complete = any(step.element is None for step in self.ways(run.state))
        if not complete and not run.forked and (bounded or moment != END):
            self.timed_out.append(Found(run.bindings, run.empty, moment))

    def end(self, run: Run, moment: Point) -> bool:
        """End ``run``: a loop at its end gives its longest complete form. False where it has none."""
        start = run.bindings[0].position
        self.ended[start] = max(self.ended.get(start, moment), moment)
        cut = self.problem.states.cut(run.state)
        if cut is None:
            return False
        outcome = self.finish(run, cut, moment)
        if isinstance(outcome, Found):
            self.keep(outcome)
        return True


@dataclass
class Backtracking(Reader):
    """Neighbouring events, per start the preferred assignment (SEMANTICS 3.3).

    Attributes:
        latest: the moment at which the last assignment that was preferred, but fails, is known to fail.
        waiting: the preferred partial match of the start whose window closed.
        started: some element takes the start.
    """

    latest: Point = END
    waiting: Run | None = None
    started: bool = False

    def search(self) -> None:
        """Try every event of the frame as a start; the results are in the attributes."""
        for position in range(self.frame.first, self.frame.stop):
            self.try_start(position)

    def try_start(self, position: int) -> None:
        """Find the match that starts with the event at ``position``, if there is one."""
        self.latest, self.waiting, self.started = at_event(self.frame.stream[position]), None, False
        found = self.attempt(Run((), self.problem.bound.pattern), position)
        self._conclude(position, found)

    def _conclude(self, position: int, found: Found | None) -> None:
        if self.started:
            self.ended[position] = max(self.latest, self.ended.get(position, self.latest))
        if found is not None:
            self.keep(found)
        elif self.waiting is not None:
            self.timed_out.append(Found(self.waiting.bindings, self.waiting.empty, self.closing(self.waiting)))

    def attempt(self, run: Run, position: int) -> Found | None:
        """The preferred match that ``run`` grows to, its next event at ``position``.

        It is decided when all assignments that are preferred to it are known to fail (``latest``).
        """
        within = position < self.frame.stop and (
            not run.bindings or self.closing(run) >= at_event(self.frame.stream[position])
        )
        state = self.read(run, position) if within else run.state
        left = [] if state is None else [step for step in self.ways(state) if step.element is not None]
        for step in self.ways(run.state):
            if step.element is None:
                outcome = self._ended(run, step)
                if outcome is not None:
                    return outcome
                continue
            if not within:
                self._out_of_reach(run)
                continue
            # The way may be closed, by the UNTIL of its loop.
            still = next((way for way in left if way.element == step.element and way.path == step.path), None)
            new = None
            if still is not None:
                left.remove(still)
                new = self.take(run, still, position)
            if new is None:
                self.latest = max(self.latest, at_event(self.frame.stream[position]))
                continue
            self.started = True
            found = self.attempt(new, position + 1)
            if found is not None:
                return found
        return None

    def _ended(self, run: Run, end: Step) -> Found | None:
        if not run.bindings:
            return None
        outcome = self.finish(run, end, max(self.latest, at_event(run.bindings[-1].event)))
        if isinstance(outcome, Found):
            return outcome
        if outcome is Outcome.REFUTED:
            self.latest = max(self.latest, self.ended[run.bindings[0].position])
        return None

    def _out_of_reach(self, run: Run) -> None:
        """The next event lies outside of the window, or there is none."""
        if not run.bindings:
            return
        closes = self.closing(run)
        self.latest = max(self.latest, closes)
        window = self.problem.bound.window
        bounded = self.frame.bounds is not None or window.within_events is not None or window.each_events is not None
        if self.waiting is None and (bounded or closes != END):
            self.waiting = run


def is_policy_throughout(problem: Problem, policy: Policy) -> bool:
    """True where every edge of the pattern, those under NOT left out, has this policy."""
    if problem.bound.policy is not policy:
        return False
    inside = [node for node in patterns(problem.bound.pattern) if isinstance(node, Event)]
    return all(element.policy in (None, policy) for element in inside)
