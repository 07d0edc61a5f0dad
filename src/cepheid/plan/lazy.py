"""The automaton of a sequence whose evaluation plan leaves some of its variables for the last event.

It takes the variables in the order of the plan: the eager ones as their events arrive, then the final event, then the
others from what was kept of them. So a state is, as in `plan.build`, "the element taken last", but what was taken last
need not be what comes last in time. Only sequences in which every variable is bound have such plans, so a step leads
from each variable to the next of the plan, and from a loop to itself.

A condition is tested with the first step after which nothing that it reads can change. A NOT is tested once the events
on both sides of its gap are known, and all that its conditions read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.plan.automaton import (
    Absence,
    Accepting,
    Anchor,
    Automaton,
    CountTest,
    Edge,
    Join,
    Joins,
    Situation,
    State,
    Test,
)
from cepheid.plan.evaluation import Evaluation
from cepheid.plan.references import references
from cepheid.plan.retention import limits_of
from cepheid.plan.sequence_elements import sequence_elements

TAKEN, CLOSED = 0, 1  # phases of a variable in the order of the plan: an event of it is taken; it takes no more


@dataclass(frozen=True)
class _Gap:
    """A NOT: its element, its neighbours, its conditions with others, and the moment from which it can be tested."""

    element: int
    left: int
    right: int
    conditions: tuple[Conjunct, ...]
    ready: tuple[int, int]


def build_lazy(bound: BoundQuery, evaluation: Evaluation) -> Automaton:
    """The automaton of a query under an evaluation plan.

    Args:
        bound: a query that has a choice: see `evaluation.only_eager_because`.
        evaluation: made by `evaluation.evaluation_of`.

    Raises:
        NotSupportedError: it has more elements than the engine can tell apart.
    """
    return _Builder(bound, evaluation).build()


class _Builder:
    def __init__(self, bound: BoundQuery, evaluation: Evaluation) -> None:
        self.bound = bound
        self.evaluation = evaluation
        self.sequence = sequence_elements(bound)
        self.positive = self.sequence.positive
        self.edges: list[Edge] = []

    def build(self) -> Automaton:
        numbers = {element.variable: element.index for element in self.positive}
        self.final = len(self.positive) - 1
        self.closes_with_loop = self.positive[self.final].loop
        eager = [numbers[name] for name in self.evaluation.eager]
        lazy = [numbers[name] for name in self.evaluation.lazy]
        self.order = [*eager, *lazy, self.final] if self.closes_with_loop else [*eager, self.final, *lazy]
        self.place = {element: place for place, element in enumerate(self.order)}
        self._place_conditions(numbers)
        entering, again = {}, {}
        for place, element in enumerate(self.order):
            entering[element] = self._add(self._edge(self.order[place - 1] if place else None, element))
            if self.positive[element].loop:
                again[element] = self._add(self._edge(element, element))
        joined = [*lazy, self.final] if self.closes_with_loop else lazy
        last_eager = eager[-1] if eager else None
        trigger = self._add(self._trigger(last_eager)) if self.closes_with_loop else entering[self.final]
        leaving: dict[int, tuple[int, ...]] = dict.fromkeys(self.order, ())
        for place, element in enumerate(eager):
            onward = trigger if element == last_eager else entering[eager[place + 1]]
            leaving[element] = (*((again[element],) if element in again else ()), onward)
        elements = (*self.positive, *self.sequence.negated)
        return Automaton(
            bound=self.bound,
            elements=elements,
            n_positive=len(self.positive),
            states=tuple(self._state(element.index, leaving) for element in self.positive),
            edges=tuple(self.edges),
            starts=(entering[eager[0]] if eager else trigger,),
            partition=self.bound.partition,
            **limits_of(self.bound.window),
            constants=self.sequence.constants,
            variables=elements,
            joins=Joins(
                evaluation=self.evaluation,
                order=tuple(self.order),
                trigger=trigger,
                steps=tuple(self._join(element, entering[element], again.get(element)) for element in joined),
                closes_with_loop=self.closes_with_loop,
            ),
        )

    # --- elements and conditions ------------------------------------------------------------------

    def _ready(self, element: int, *, each: bool) -> tuple[int, int]:
        """When a variable is known: for a loop, with each of its events or at its end."""
        closed = self.positive[element].loop and not each
        return (self.place[element], CLOSED if closed else TAKEN)

    def _place_conditions(self, numbers: dict[str, int]) -> None:
        """Find the moment in the order of the plan from which each condition and each NOT can be tested."""
        self.conditions: list[tuple[Conjunct, tuple[int, int]]] = []
        against: dict[str, list[Conjunct]] = {}
        for conjunct in self.sequence.crossing:
            if conjunct.negated is not None:
                against.setdefault(conjunct.negated, []).append(conjunct)
                continue
            moments = []
            for name, reference in references(conjunct.expression).items():
                # Beside a single element, first, last and aggregates are over the elements before it (SEMANTICS 4.3).
                each = reference.single or not (reference.aggregated or reference.last)
                moments.append(self._ready(numbers[name], each=each))
            self.conditions.append((conjunct, max(moments)))
        self.gaps: list[_Gap] = []
        for element, right in zip(self.sequence.negated, self.sequence.before, strict=True):
            left = right - 1
            conditions = tuple(against.get(element.variable, ()))
            names = {name for c in conditions for name in references(c.expression)} - {element.variable}
            read = [self._ready(numbers[name], each=False) for name in names]
            ready = max(self._ready(left, each=False), self._ready(right, each=True), *read)
            self.gaps.append(_Gap(element.index, left, right, conditions, ready))

    # --- steps ------------------------------------------------------------------------------------

    def _add(self, edge: Edge) -> int:
        self.edges.append(edge)
        return len(self.edges) - 1

    def _edge(self, source: int | None, taken: int) -> Edge:
        loops = source == taken
        element = self.positive[taken]
        settled = {(self.place[taken], TAKEN)}
        counts: tuple[CountTest, ...] = ()
        if loops:
            if element.maximum is not None:
                counts = (CountTest(taken, most=element.maximum - 1),)
        elif source is not None:
            settled.add((self.place[source], CLOSED))
            counts = self._closing_counts(source)
        situation = Situation(current=taken, entering=not loops, last=source)
        return Edge(
            source=source,
            target=taken,
            element=taken,
            entering=not loops,
            skipped=(),
            forks=True,
            counts=counts,
            tests=tuple(Test(c, situation) for c, ready in self.conditions if ready in settled),
            absences=(),
            remembers=(),
            # What a NOT reads of a loop is settled with its first event, so the others change nothing.
            made_absences=() if loops else self._absences(settled, taken),
        )

    def _trigger(self, source: int | None) -> Edge:
        """The step that looks for an event which may close the loop at the end: it takes none."""
        return Edge(
            source=source,
            target=self.final,
            element=self.final,
            entering=True,
            skipped=(),
            forks=True,
            counts=() if source is None else self._closing_counts(source),
            tests=(),
            absences=(),
            remembers=(),
        )

    def _closing_counts(self, element: int) -> tuple[CountTest, ...]:
        loop = self.positive[element]
        return (CountTest(element, least=loop.minimum),) if loop.loop and loop.minimum > 1 else ()

    def _absences(self, settled: set[tuple[int, int]], last: int) -> tuple[Absence, ...]:
        """The NOTs whose moment has come, on a partial match that took an event of ``last``."""
        situation = Situation(last=last)
        return tuple(
            Absence(
                negated=gap.element,
                left=Anchor.NEIGHBOUR,
                right=Anchor.NEIGHBOUR,
                tests=tuple(Test(c, replace(situation, negated=gap.element)) for c in gap.conditions),
                fatal=False,
                neighbours=(gap.left, gap.right),
            )
            for gap in self.gaps
            if gap.ready in settled
        )

    def _state(self, element: int, leaving: dict[int, tuple[int, ...]]) -> State:
        if element != self.order[-1]:
            return State(element, element, leaving[element], Accepting.NO)
        settled = {(self.place[element], CLOSED)}
        situation = Situation(last=element)
        return State(
            element,
            element,
            (),
            Accepting.ALSO,
            counts=self._closing_counts(element),
            tests=tuple(Test(c, situation) for c, ready in self.conditions if ready in settled),
            absences=self._absences(settled, element),
        )

    def _join(self, element: int, entering: int, again: int | None) -> Join:
        """Where the events of a variable may lie: between the nearest variables that are joined before it."""
        before = [other for other in self.order[: self.place[element]] if other < element]
        after = [other for other in self.order[: self.place[element]] if other > element]
        return Join(element, entering, again, max(before, default=None), min(after, default=None))
