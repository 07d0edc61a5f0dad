"""Which variables of a pattern are evaluated as their events arrive, and which wait for the last event.

All plans of a query give the same matches; they differ in when the work is done, and how much there is of it.

Source: APAM, section 4: the events of the eager group extend partial matches when they arrive, in the order of the
pattern; those of the lazy group are deferred, and joined in a chosen order when the final event arrives. Deviation: the
final event itself is joined before all that is deferred, whatever place the order gives it: it is one event, so no
other order tries fewer pairs. Where the pattern ends with a loop, its last event closes the match, so it comes last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.errors import NotSupportedError, QueryError
from cepheid.language.bound import BoundQuery
from cepheid.language.faults import suggestion
from cepheid.language.tree import And, AnyOf, Event, Not, Or, Pattern, Policy, Repeat, Seq, SkipMode
from cepheid.plan.references import has_remote
from cepheid.plan.sequence import parts_of, positive_variables


@dataclass(frozen=True)
class Evaluation:
    """An evaluation plan of a sequence.

    Attributes:
        eager: variables that extend partial matches as their events arrive, in the order of the pattern; never the
            last variable of the pattern, whose events start the joins.
        lazy: the other variables but the last, in the order in which they are joined.
    """

    eager: tuple[str, ...]
    lazy: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' '.join(self.eager)}/{' '.join(self.lazy)}"


_NAMES: dict[type[Pattern], str] = {
    Seq: "a group",
    And: "AND",
    Or: "OR",
    AnyOf: "ANY",
    Not: "NOT in a group",
    Repeat: "a loop over a loop",
}


def only_eager_because(bound: BoundQuery) -> str | None:
    """Why a query is evaluated as its events arrive, whatever is asked for; None where there is a choice.

    A choice there is for sequences of single events, repeated events that must come, and NOT of an event between two of
    them, under POLICY any.
    """
    window = bound.window
    if bound.policy is not Policy.ANY:
        return f"under POLICY {bound.policy.value}, which event a partial match takes depends on those that came before"
    if bound.skip.mode is not SkipMode.NONE:
        return "AFTER MATCH discards matches in the order in which they are found"
    if window.each_us is not None or window.each_events is not None:
        return "BETWEEN EACH bounds the distance of neighbours, not all of which are known when events are joined"
    if window.size_us is not None or window.size_events is not None:
        return "its windows slide"
    parts = parts_of(bound.pattern)
    for i, part in enumerate(parts):
        inner = part.part if isinstance(part, Repeat | Not) else part
        if not isinstance(inner, Event):
            return f"its pattern is more than a sequence of events: it has {_NAMES[type(inner)]}"
        if inner.policy is not None:
            return f"{inner.name} has a policy of its own"
        if isinstance(part, Repeat) and part.minimum == 0:
            return f"{inner.name} is optional"
        if isinstance(part, Repeat) and part.until is not None:
            return f"the loop {inner.name} ends with UNTIL"
        if isinstance(part, Not) and i in (0, len(parts) - 1):
            return f"NOT {inner.name} has a neighbour on one side only"
    if len(positive_variables(bound)) < 2:
        return "it has a single variable"
    return None


def evaluation_of(bound: BoundQuery, eager: Sequence[str], lazy: Sequence[str]) -> Evaluation:
    """An evaluation plan from two groups of variables.

    Args:
        bound: the query.
        eager: in any order; they are evaluated in the order of the pattern.
        lazy: in the order in which they are to be joined. The last variable of the pattern may be named in either
            group, or not at all.

    Raises:
        NotSupportedError: the query has one plan only.
        QueryError: the groups are not all the variables, each once.
    """
    reason = only_eager_because(bound)
    if reason is not None:
        raise NotSupportedError(
            f"this query can only be evaluated as its events arrive: {reason}",
            remedy="leave its evaluation plan out",
            text=bound.text,
            origin=bound.origin,
            span=bound.query.pattern.span,
        )
    names = positive_variables(bound)
    given = [*eager, *lazy]
    for name in given:
        if name not in names:
            raise QueryError(
                f"the evaluation plan names {name}, which is no variable that the pattern binds",
                remedy=suggestion(name, names, f"its variables are {', '.join(names)}"),
            )
    for name in names:
        if given.count(name) > 1:
            raise QueryError(f"the evaluation plan names {name} twice", remedy="name each variable once")
        if name not in given and name != names[-1]:
            raise QueryError(
                f"the evaluation plan leaves out {name}", remedy="put each variable into one of the groups"
            )
    return Evaluation(
        tuple(name for name in names[:-1] if name in eager), tuple(name for name in lazy if name != names[-1])
    )


def parse_evaluation(bound: BoundQuery, text: str) -> Evaluation:
    """An evaluation plan from text: eager variables, a slash, and the others in the order in which they are joined.

    Args:
        bound: the query.
        text: such as ``b/c a``.

    Raises:
        NotSupportedError, QueryError: see `evaluation_of`; or it is no such text.
    """
    groups = text.split("/")
    if len(groups) != 2:
        raise QueryError(
            f"the evaluation plan {text!r} has {len(groups) - 1} slashes",
            remedy="write the eager variables, one slash, and the others in the order in which they are joined: b/c a",
        )
    return evaluation_of(bound, groups[0].split(), groups[1].split())


EAGER, LAZY, ADAPTIVE = "eager", "lazy", "adaptive"


def why_not_chosen(bound: BoundQuery) -> str | None:
    """Why a query is evaluated as its events arrive where a plan is to be chosen; None where there is a choice."""
    if any(has_remote(conjunct.expression) is not None for conjunct in bound.conjuncts):
        return "it looks things up elsewhere, and what that takes is in no cost model"
    return only_eager_because(bound)


def asked_for(bound: BoundQuery, evaluation: str) -> Evaluation | None:
    """The evaluation plan that a setting asks for; None for the engine's own way, which does all as events arrive.

    Args:
        bound: the query.
        evaluation: ``eager``; ``lazy``, where every variable waits for the last one, and those that stand nearer to it
            are joined first; ``adaptive``, which begins eagerly; or a plan as `parse_evaluation` reads it. A query
            that has no choice is always eager under the first three.

    Raises:
        NotSupportedError, QueryError: see `parse_evaluation`.
    """
    if evaluation in (EAGER, ADAPTIVE) or (evaluation == LAZY and only_eager_because(bound) is not None):
        return None
    if evaluation == LAZY:
        return evaluation_of(bound, (), positive_variables(bound)[::-1])
    asked = parse_evaluation(bound, evaluation)
    return asked if asked.lazy else None
