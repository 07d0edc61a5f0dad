"""From a bound query to its automaton; patterns that are no plain sequence are left to `plan.graph`.

A state is "the element taken last". From a state a partial match may take more of a loop, or go on to a later
element past optional ones. A condition is tested on the first step after which nothing that it reads can change:
when its last variable takes its event (each element of a loop), or, where it reads a finished loop, on the step
that leaves the loop (SEMANTICS 3.2, 4.1, 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.tree import Event, Not, Policy, Repeat, SkipMode
from cepheid.plan.absent_groups import with_short_loops
from cepheid.plan.automaton import (
    Absence,
    Accepting,
    Anchor,
    Automaton,
    CountTest,
    Edge,
    Situation,
    State,
    Test,
)
from cepheid.plan.graph import build_graph
from cepheid.plan.postponing import reason_to_wait
from cepheid.plan.prefixes import has_prefixes
from cepheid.plan.references import Reference, references
from cepheid.plan.retention import closes, limits_of
from cepheid.plan.sequence import parts_of
from cepheid.plan.sequence_elements import sequence_elements
from cepheid.plan.supported import require_supported

TAKEN, CLOSED = 0, 1  # phases of an element: an event of it is taken; it takes no more


@dataclass(frozen=True)
class _Condition:
    """A conjunct with the moment from which it can be tested: (position, phase) of a positive element."""

    conjunct: Conjunct
    ready: tuple[int, int]


@dataclass(frozen=True)
class _Gap:
    """A NOT: it stands before the positive element ``before``; ``ready`` as in `_Condition`."""

    element: int
    before: int
    conditions: tuple[Conjunct, ...]
    ready: tuple[int, int] | None  # None: when its right neighbour is taken


def build(bound: BoundQuery, *, timed_out: bool = False, postpones: bool = False) -> Automaton:
    """The automaton of a query.

    Args:
        bound: the query.
        timed_out: tell what timed out, too (SEMANTICS 7.3), where there is a window that closes. The states are then
            what is left of the pattern.
        postpones: partial matches go on where a condition waits for an answer, if they can (`plan.postponing`).

    Raises:
        NotSupportedError: for what the engine cannot run yet.
    """
    require_supported(bound)
    bound = with_short_loops(bound)
    tells = timed_out and closes(bound.window)
    if not tells and _is_plain(bound):
        automaton = _Builder(bound).build()
    else:
        automaton = replace(build_graph(bound), tells_timed_out=tells)
    return replace(automaton, postpones=True) if postpones and reason_to_wait(automaton) is None else automaton


def _is_plain(bound: BoundQuery) -> bool:
    """Whether a query is a sequence of elements, loops on elements and NOTs between them, as `_Builder` runs it."""
    parts = parts_of(bound.pattern)
    if any(isinstance(part, Repeat) and part.until is not None for part in parts):
        return False
    if bound.policy is Policy.STRICT or has_prefixes(bound):
        return False
    if not all(isinstance(p, Event) or (isinstance(p, Repeat | Not) and isinstance(p.part, Event)) for p in parts):
        return False
    sure = [not isinstance(part, Not) and not (isinstance(part, Repeat) and part.minimum == 0) for part in parts]
    for i, part in enumerate(parts):
        if isinstance(part, Not) and not (any(sure[:i]) and any(sure[i + 1 :])):
            return False
    last = parts[-1]
    gaps = bound.window.each_us is not None or bound.window.each_events is not None
    if gaps and bound.policy is Policy.ANY and bound.skip.mode is not SkipMode.NONE:
        return False  # the states of `plan.graph` tell which partial matches can go on
    return not (gaps and isinstance(last, Repeat) and bound.policy is not Policy.ANY)


class _Builder:
    def __init__(self, bound: BoundQuery) -> None:
        self.bound = bound
        self.any = bound.policy is Policy.ANY
        self.sequence = sequence_elements(bound)
        self.positive = self.sequence.positive
        self.position = {element.variable: element.index for element in self.positive}
        self.gaps: list[_Gap] = []
        self.conditions: list[_Condition] = []
        self.edges: list[Edge] = []

    def build(self) -> Automaton:
        self._place_conditions()
        n = len(self.positive)
        starts = self._edges_of_options(None, self._onward(0))
        if not self.any:
            # The earliest element that an event fits: the order of the text, reluctant or not.
            starts = sorted(starts, key=lambda number: self.edges[number].element)
        states = tuple(self._state(i) for i in range(n))
        window = self.bound.window
        elements = (*self.positive, *self.sequence.negated)
        return Automaton(
            bound=self.bound,
            elements=elements,
            n_positive=n,
            states=states,
            edges=tuple(self.edges),
            starts=tuple(starts),
            partition=self.bound.partition,
            **limits_of(window),
            constants=self.sequence.constants,
            variables=elements,
        )

    # --- elements and conditions ------------------------------------------------------------------

    def _ready(self, reference: Reference, whole: bool) -> tuple[int, int]:
        """When what a reference reads is settled; ``whole``: a NOT reads all elements of a loop."""
        at = self.position[reference.variable]
        element = self.positive[at]
        if not element.loop:
            return (at, TAKEN)
        if reference.single and not whole:
            return (at, TAKEN)
        if reference.aggregated or reference.last or whole:
            return (at, CLOSED)
        return (at, TAKEN)

    def _place_conditions(self) -> None:
        of_gap: dict[str, list[Conjunct]] = {}
        for conjunct in self.sequence.crossing:
            if conjunct.negated is not None:
                of_gap.setdefault(conjunct.negated, []).append(conjunct)
                continue
            ready = max(self._ready(r, whole=False) for r in references(conjunct.expression).values())
            self.conditions.append(_Condition(conjunct, ready))
        for element, before in zip(self.sequence.negated, self.sequence.before, strict=True):
            conditions = tuple(of_gap.get(element.variable, ()))
            moments = [
                self._ready(r, whole=True)
                for c in conditions
                for r in references(c.expression).values()
                if r.variable in self.position
            ]
            self.gaps.append(_Gap(element.index, before, conditions, max(moments) if moments else None))

    # --- steps ------------------------------------------------------------------------------------

    def _onward(self, k: int) -> list[int | None]:
        """The elements that may come next from element ``k`` on, in order of preference; None: the end."""
        if k == len(self.positive):
            return [None]
        element = self.positive[k]
        if not element.optional:
            return [k]
        return [k, *self._onward(k + 1)] if element.greedy else [*self._onward(k + 1), k]

    def _options(self, state: int) -> list[int | None]:
        element = self.positive[state]
        onward = self._onward(state + 1)
        if not element.loop:
            return onward
        return [state, *onward] if element.greedy else [*onward, state]

    def _state(self, state: int) -> State:
        options = self._options(state)
        edges = self._edges_of_options(state, options)
        element = self.positive[state]
        n = len(self.positive)
        state_of = State(state, state, tuple(edges), Accepting.NO)
        if element.loop and element.maximum is not None and not self.any:
            # An event that fills a loop closes it, so what the end of the loop settles decides whether it qualifies.
            closed = frozenset({(state, CLOSED)})
            state_of = replace(
                state_of,
                full_at=element.maximum,
                over_when_full=self._onward(state + 1) == [None],
                ends_when_full=self._onward(state + 1)[0] is None,
                closing_tests=self._tests(closed, Situation(last=state)),
                closing_absences=self._absences(state, state, closed, Situation(last=state)),
            )
        if None not in options:
            return state_of
        if self.any:
            accepting = Accepting.ALSO
        else:
            accepting = Accepting.AT_ONCE if options[0] is None else Accepting.LATE
        skipped = frozenset(range(state + 1, n))
        settled = self._settled(state, skipped, None)
        return replace(
            state_of,
            accepting=accepting,
            counts=self._closing_counts(state),
            tests=self._tests(settled, Situation(skipped=skipped, last=state)),
            absences=self._absences(state, n, settled, Situation(skipped=skipped, last=state)),
        )

    def _closing_counts(self, state: int) -> tuple[CountTest, ...]:
        element = self.positive[state]
        if element.loop and element.minimum > 1:
            return (CountTest(state, least=element.minimum),)
        return ()

    def _edges_of_options(self, state: int | None, options: Sequence[int | None]) -> list[int]:
        numbers = []
        for option in options:
            if option is not None:
                numbers.append(len(self.edges))
                self.edges.append(self._edge(state, option))
        return numbers

    def _edge(self, state: int | None, taken: int) -> Edge:
        loops = state == taken
        first = 0 if state is None else state + 1
        skipped = frozenset() if loops else frozenset(range(first, taken))
        settled = self._settled(state, skipped, taken)
        situation = Situation(current=taken, entering=not loops, skipped=skipped, last=state)
        counts: tuple[CountTest, ...] = ()
        element = self.positive[taken]
        if loops:
            if element.maximum is not None:
                counts = (CountTest(taken, most=element.maximum - 1),)
        elif state is not None:
            counts = self._closing_counts(state)
        return Edge(
            source=state,
            target=taken,
            element=taken,
            entering=not loops,
            skipped=tuple(sorted(skipped)),
            forks=self.any,
            counts=counts,
            tests=self._tests(settled, situation),
            absences=() if state is None else self._absences(state, taken, settled, situation),
            remembers=() if state is None or loops else self._remembered(state, taken),
        )

    def _settled(self, state: int | None, skipped: frozenset[int], taken: int | None) -> frozenset[tuple[int, int]]:
        """The moments that a step brings."""
        moments = {(k, phase) for k in skipped for phase in (TAKEN, CLOSED)}
        if taken is not None:
            moments.add((taken, TAKEN))
        if state is not None and state != taken:
            moments.add((state, CLOSED))
        return frozenset(moments)

    def _tests(self, settled: frozenset[tuple[int, int]], situation: Situation) -> tuple[Test, ...]:
        return tuple(Test(c.conjunct, situation) for c in self.conditions if c.ready in settled)

    def _crosses(self, gap: _Gap, state: int, taken: int) -> bool:
        return state < gap.before <= taken and state != taken

    def _absences(
        self, state: int, taken: int, settled: frozenset[tuple[int, int]], situation: Situation
    ) -> tuple[Absence, ...]:
        """The NOTs that a step tests: those whose gap it closes, and those that waited for a later variable."""
        found = []
        for gap in self.gaps:
            crossed = self._crosses(gap, state, taken)
            if crossed:
                due = not self._is_later(gap, taken)
            else:
                due = gap.before <= state and gap.ready in settled
            if not due:
                continue
            reads_current = any(self.position.get(name) == taken for c in gap.conditions for name in c.variables)
            found.append(
                Absence(
                    negated=gap.element,
                    left=Anchor.LAST_TAKEN if crossed else Anchor.REMEMBERED,
                    right=Anchor.CURRENT if crossed else Anchor.REMEMBERED,
                    tests=tuple(Test(c, replace(situation, negated=gap.element)) for c in gap.conditions),
                    fatal=crossed and not reads_current,
                )
            )
        return tuple(found)

    def _is_later(self, gap: _Gap, taken: int) -> bool:
        """Whether a gap that is closed by taking ``taken`` can only be tested on a later step."""
        return gap.ready is not None and gap.ready > (taken, TAKEN)

    def _remembered(self, state: int, taken: int) -> tuple[int, ...]:
        return tuple(
            gap.element for gap in self.gaps if self._crosses(gap, state, taken) and self._is_later(gap, taken)
        )
