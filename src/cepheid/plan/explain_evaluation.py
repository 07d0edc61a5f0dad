"""An evaluation plan as `explain` shows it: the variables in its order, and where each condition is tested then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.printer import print_expression, print_pattern
from cepheid.language.tree import Event, Not, Pattern, Repeat
from cepheid.plan.automaton import Absence, Automaton, Joins
from cepheid.plan.automaton import Edge as Step
from cepheid.plan.evaluation import Evaluation, why_not_chosen
from cepheid.plan.explanation import Edge, EdgeKind, Explanation, PredicateRow, State
from cepheid.plan.lazy import build_lazy
from cepheid.plan.sequence import parts_of
from cepheid.ports.evaluation import Decision, told_time, told_wait


def explain_evaluation(explanation: Explanation, bound: BoundQuery, evaluation: Evaluation) -> Explanation:
    """What `explain` says of a query, for an evaluation plan.

    The states are in the order of the plan: what was kept is joined after the last event of the pattern has come, or,
    where that is the last of a loop, before it.

    Args:
        explanation: of the same query, evaluated as its events arrive.
        bound: the query.
        evaluation: the plan.
    """
    drawn = _Drawn(bound, build_lazy(bound, evaluation))
    return replace(
        explanation,
        states=tuple(drawn.states()),
        edges=tuple(drawn.edges()),
        predicates=tuple(drawn.predicates(explanation.predicates)),
        evaluation=drawn.said(),
    )


def explain_adaptive(explanation: Explanation, bound: BoundQuery, decision: Decision | None) -> Explanation:
    """What `explain` says of a query whose evaluation plan is chosen while it runs.

    Args:
        explanation: of the same query, under the plan that was chosen last, or eager.
        bound: the query.
        decision: the last one; None before it runs.
    """
    reason = why_not_chosen(bound)
    if reason is not None:
        return explain_refused(explanation, reason)
    if decision is None:
        return replace(explanation, evaluation="chosen while it runs; it begins with all as events arrive")
    notes = [
        f"{'chosen' if one.plan == decision.plan else 'not chosen'}: {one.plan}: a last event "
        f"{told_wait(one.waiting_s)}, is served in {told_time(one.service_s)}; "
        f"{one.events_per_s:,.0f} events/s at most, {one.utilization:.0%} busy "
        f"({'by a trial' if one.tried else 'by the cost model'})"
        for one in decision.estimates
    ]
    said = explanation.evaluation or "all as events arrive"
    return replace(explanation, evaluation=f"chosen while it runs; now {said}", notes=(*explanation.notes, *notes))


def explain_refused(explanation: Explanation, reason: str) -> Explanation:
    """What `explain` says of a query that is evaluated as its events arrive, though something else was asked for.

    Args:
        explanation: of the query.
        reason: why.
    """
    return replace(explanation, evaluation=f"as events arrive; there is no choice: {reason}")


class _Drawn:
    def __init__(self, bound: BoundQuery, automaton: Automaton) -> None:
        self.bound = bound
        self.automaton = automaton
        assert automaton.joins is not None
        self.joins: Joins = automaton.joins
        self.parts: dict[str, Pattern] = {}
        for part in parts_of(bound.pattern):
            event = part.part if isinstance(part, Repeat | Not) else part
            assert isinstance(event, Event)
            assert event.name is not None
            self.parts[event.name] = part
        self.order = self.joins.order
        self.id = {element: place + 1 for place, element in enumerate(self.order)}

    def states(self) -> Iterator[State]:
        yield State(0, "", initial=True)
        for element in self.order:
            one = self.automaton.elements[element]
            yield State(self.id[element], one.variable, accepting=element == self.order[-1], kleene=one.loop)

    def steps(self) -> Iterator[tuple[int, int, Step]]:
        """The steps that take an event, with the ids of their states."""
        trigger = self.automaton.edges[self.joins.trigger]
        for step in self.automaton.edges:
            if step is not trigger or not self.joins.closes_with_loop:
                yield 0 if step.source is None else self.id[step.source], self.id[step.element], step

    def edges(self) -> Iterator[Edge]:
        joined = {step.element for step in self.joins.steps}
        for source, target, step in self.steps():
            kept = ", kept" if step.element in joined else ""
            yield Edge(
                source=source,
                target=target,
                label=print_pattern(self.parts[self.automaton.elements[step.element].variable]) + kept,
                kind=EdgeKind.LOOP if source == target else EdgeKind.TAKE,
                predicates=tuple(print_expression(test.conjunct.expression) for test in step.tests),
            )
            for absence in step.made_absences:
                yield self._guard(absence, source, target)

    def _guard(self, absence: Absence, source: int, target: int) -> Edge:
        return Edge(
            source=source,
            target=target,
            label=print_pattern(self.parts[self.automaton.elements[absence.negated].variable]),
            kind=EdgeKind.NEGATED,
            predicates=tuple(print_expression(test.conjunct.expression) for test in absence.tests),
        )

    def predicates(self, rows: tuple[PredicateRow, ...]) -> Iterator[PredicateRow]:
        """The rows of the eager plan, with the places where this one tests what is between events."""
        labels = ["start", *(self.automaton.elements[element].variable for element in self.order)]
        where: dict[Conjunct, list[str]] = {}
        for source, target, step in self.steps():
            for test in (*step.tests, *(test for absence in step.made_absences for test in absence.tests)):
                where.setdefault(test.conjunct, []).append(f"{labels[source]} -> {labels[target]}")
        last = self.automaton.states[self.order[-1]]
        for test in (*last.tests, *(test for absence in last.absences for test in absence.tests)):
            where.setdefault(test.conjunct, []).append("the end of the match")
        n_partition = 1 if self.bound.partition else 0
        yield from rows[:n_partition]
        for conjunct, row in zip(self.bound.conjuncts, rows[n_partition:], strict=True):
            places = where.get(conjunct)
            yield row if places is None else replace(row, where=f"on {', '.join(dict.fromkeys(places))}")

    def said(self) -> str:
        plan = self.joins.evaluation
        last = self.automaton.elements[self.automaton.n_positive - 1].variable
        eager = f"{', '.join(plan.eager)} as events arrive; " if plan.eager else ""
        if not plan.lazy:
            return f"{eager}{last} ends a match"
        return f"{eager}when {last} has come, {', then '.join(plan.lazy)}, from what was kept"
