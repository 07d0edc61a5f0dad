"""What a query does, before it runs: every query of the language, whether the engine can run it yet or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cepheid.language.bound import BoundQuery, Conjunct
from cepheid.language.canonical import is_hidden
from cepheid.language.check import Warning, check
from cepheid.language.printer import print_expression, print_extent, print_pattern, print_query, quoted
from cepheid.language.tree import Attribute, Extent, Node, walk
from cepheid.plan.dropping import reason_to_keep_all
from cepheid.plan.evaluation import ADAPTIVE, EAGER, LAZY, asked_for, only_eager_because
from cepheid.plan.explain_evaluation import explain_adaptive, explain_evaluation, explain_refused
from cepheid.plan.explanation import Edge, EdgeKind, Explanation, PredicateClass, PredicateRow, State
from cepheid.plan.moments import Guard, Moments, moments
from cepheid.plan.reachable import Arc, Detail, Graph, Point, reachable
from cepheid.plan.references import has_remote, is_single, references
from cepheid.plan.remarks import remarks
from cepheid.plan.residuals import Element, nullable
from cepheid.ports.evaluation import Decision

_N_LISTED = 3
"""Edges that are named one by one; more are described."""

_N_ELEMENTS = 4
"""Elements that are named on one edge; of more, the first and the last."""


def explain(bound: BoundQuery, evaluation: str = EAGER, decision: Decision | None = None) -> Explanation:
    """What a query does under an evaluation plan; by default, as its events arrive.

    Args:
        bound: the query.
        evaluation: see `plan.evaluation.asked_for`.
        decision: with ``adaptive``: what was decided while it ran; its plan is shown, with what was estimated of all.

    Raises:
        NotSupportedError, QueryError: the query has no such plan.
    """
    if evaluation == ADAPTIVE:
        shown = explain(bound, EAGER if decision is None else decision.plan)
        return explain_adaptive(shown, bound, decision)
    plan, eager = asked_for(bound, evaluation), _explain_eager(bound)
    if plan is not None:
        return explain_evaluation(eager, bound, plan)
    reason = only_eager_because(bound) if evaluation == LAZY else None
    return eager if reason is None else explain_refused(eager, reason)


def _explain_eager(bound: BoundQuery) -> Explanation:
    """The automaton of a query, where each of its conditions is tested, and what else decides its matches.

    A state is the variable bound last with what is left of the pattern; a Kleene variable is one state. A pattern
    with too many states (`plan.reachable`) is drawn more coarsely, or in part; a note says so.
    """
    graph = reachable(bound.pattern)
    tested = [c for c in bound.conjuncts if c.variables and not _before_the_engine(c)]
    found = moments(bound, graph, tested)
    labels = [_label(point) for point in graph.points]
    return Explanation(
        query=bound.text or print_query(bound.query),
        states=tuple(_state(index, point) for index, point in enumerate(graph.points)),
        edges=tuple(_edges(bound, graph, found)),
        predicates=tuple(_predicates(bound, graph, found, labels)),
        window=_window(bound),
        policy=bound.policy.value,
        partition=tuple(print_expression(key) for key in bound.partition),
        skip=bound.skip.mode.value + (f" {quoted(bound.skip.variable)}" if bound.skip.variable else ""),
        returns=tuple(f"{print_expression(r.expression)} AS {quoted(r.name)}" for r in bound.returns),
        columns=_columns(bound),
        warnings=tuple(_sentence(warning) for warning in check(bound)),
        notes=tuple(remarks(bound, graph, found)),
    )


def _before_the_engine(conjunct: Conjunct) -> bool:
    return is_single(conjunct)


# --- the automaton ------------------------------------------------------------------------------------


def _label(point: Point) -> str:
    if point.counted is not None:
        return f"{point.counted[0]} of {point.counted[1]}"
    return "" if point.element is None else _name(point.element)


def _name(element: Element) -> str:
    """Its variable; where the text gives none, its types."""
    return ("|".join(element.event.types) or "*") if is_hidden(element.name) else element.name


def _state(index: int, point: Point) -> State:
    return State(
        id=index,
        label=_label(point),
        initial=index == 0,
        accepting=nullable(point.residual),
        kleene=point.element is not None and point.element.loop,
    )


def _edges(bound: BoundQuery, graph: Graph, found: Moments) -> Iterable[Edge]:
    for arc, conjuncts in zip(graph.arcs, found.on_arcs, strict=True):
        yield Edge(
            source=arc.source,
            target=arc.target,
            label=_written(arc),
            kind=EdgeKind.LOOP if arc.source == arc.target else EdgeKind.TAKE,
            predicates=_texts(conjuncts),
            policy=_policy(bound, arc),
        )
    for guard in found.guards:
        yield Edge(
            source=guard.source,
            target=guard.target,
            label=print_pattern(guard.negation),
            kind=EdgeKind.NEGATED,
            predicates=_texts(guard.conditions),
        )


def _written(arc: Arc) -> str:
    """The elements as written, without their prefixes, which `Edge.policy` holds."""
    texts = []
    for element in arc.elements:
        event = replace(element.event, policy=None)
        texts.append(print_pattern(event if element.repeat is None else replace(element.repeat, part=event)))
    if len(texts) == 1:
        return texts[0]
    listed = texts if len(texts) <= _N_ELEMENTS else [*texts[:2], "...", texts[-1]]
    return f"one of {', '.join(listed)}"


def _policy(bound: BoundQuery, arc: Arc) -> str | None:
    own = {element.event.policy or bound.policy for element in arc.elements} - {bound.policy}
    return own.pop().value if own else None


def _texts(conjuncts: Sequence[Conjunct]) -> tuple[str, ...]:
    return tuple(print_expression(conjunct.expression) for conjunct in conjuncts)


# --- the conditions -----------------------------------------------------------------------------------


def _predicates(bound: BoundQuery, graph: Graph, found: Moments, labels: Sequence[str]) -> Iterable[PredicateRow]:
    if bound.partition:
        keys = ", ".join(print_expression(key) for key in bound.partition)
        yield PredicateRow(f"SAME[{keys}]", PredicateClass.PARTITION, "splits the stream")
    may_drop = reason_to_keep_all(bound) is None
    for conjunct in bound.conjuncts:
        text = print_expression(conjunct.expression)
        if not conjunct.variables:
            yield PredicateRow(text, _class(conjunct), "once, before any event")
        elif _before_the_engine(conjunct):
            yield PredicateRow(text, PredicateClass.SINGLE, "before the engine", pushed=may_drop)
        else:
            yield PredicateRow(text, _class(conjunct), _where(conjunct, graph, found, labels))


def _class(conjunct: Conjunct) -> PredicateClass:
    if has_remote(conjunct.expression) is not None:
        return PredicateClass.REMOTE
    if conjunct.negated is not None:
        return PredicateClass.NEGATED
    read = references(conjunct.expression).values()
    if any(reference.aggregated or reference.first or reference.last for reference in read):
        return PredicateClass.AGGREGATE
    return PredicateClass.CROSS if conjunct.variables else PredicateClass.SINGLE


def _where(conjunct: Conjunct, graph: Graph, found: Moments, labels: Sequence[str]) -> str:
    if conjunct.negated is not None:
        return _gaps([guard for guard in found.guards if conjunct in guard.conditions], conjunct, graph, labels)
    places = []
    arcs = [arc for arc, tested in zip(graph.arcs, found.on_arcs, strict=True) if conjunct in tested]
    if arcs:
        places.append(_on_edges(arcs, conjunct, labels))
    if any(conjunct in tested for tested in found.at_ends.values()):
        places.append("at the end of the match")
    if places:
        return " and ".join(places)
    if graph.detail is Detail.CUT:
        return "on an edge that is not drawn"
    return "never: no match has what it compares"


def _on_edges(arcs: Sequence[Arc], conjunct: Conjunct, labels: Sequence[str]) -> str:
    pairs = dict.fromkeys(f"{labels[arc.source] or 'start'} -> {labels[arc.target]}" for arc in arcs)
    if len(pairs) <= _N_LISTED and all(len(arc.elements) == 1 for arc in arcs):
        return f"on {'edge' if len(pairs) == 1 else 'edges'} {', '.join(pairs)}"
    found: set[Element] = set()
    for arc in arcs:
        found.update([e for e in arc.elements if e.name in conjunct.variables] or arc.elements)
    taken = dict.fromkeys(_name(element) for element in sorted(found, key=lambda element: element.place))
    if len(taken) <= _N_ELEMENTS:
        return f"on the edges that take {' or '.join(taken)}"
    return f"on {len(pairs)} edges"


def _gaps(guards: Sequence[Guard], conjunct: Conjunct, graph: Graph, labels: Sequence[str]) -> str:
    gaps: dict[str, None] = {}
    for guard in guards:
        if guard.source == guard.target:
            gaps[f"after {labels[guard.source]}"] = None
        elif guard.source == 0:
            gaps[f"before {labels[guard.target]}"] = None
        else:
            gaps[f"{labels[guard.source]} -> {labels[guard.target]}"] = None
    if not gaps:
        return "in a gap that is not drawn" if graph.detail is Detail.CUT else "never: no match has what it compares"
    listed = ", ".join(gaps) if len(gaps) <= _N_LISTED else f"before {conjunct.negated}'s {len(gaps)} right neighbours"
    awaited = dict.fromkeys(name for guard in guards for name in sorted(guard.awaited) if name in conjunct.variables)
    later = f", once {' and '.join(awaited)} is bound" if awaited else ""
    return f"in the gap {listed}{later}" if len(gaps) == 1 else f"in the gaps {listed}{later}"


# --- the facts ----------------------------------------------------------------------------------------


def _window(bound: BoundQuery) -> str:
    window = bound.query.window
    texts = []
    if window.within is not None:
        texts.append(f"WITHIN {_length(window.within, bound)}" + (" EXCLUSIVE" if window.exclusive else ""))
    if window.each is not None:
        texts.append(f"BETWEEN EACH {_length(window.each, bound)}")
    if window.sliding is not None:
        sliding = window.sliding
        text = f"WINDOW {_length(sliding.size, bound)} SLIDE {_length(sliding.slide, bound)}"
        text += " CLOSED" if sliding.closed else ""
        texts.append(text + (" ONE MATCH PER WINDOW" if sliding.one_match else ""))
    return ", ".join(texts) or "none"


def _length(extent: Extent, bound: BoundQuery) -> str:
    """A bare number is in the unit of the time column."""
    return print_extent(extent if extent.unit is not None else replace(extent, unit=bound.schema.time_unit))


def _columns(bound: BoundQuery) -> tuple[str, ...]:
    """In the order of the events' columns; all of them where the events themselves are returned."""
    schema = bound.schema
    if not bound.returns:
        return tuple(schema.fields)
    nodes: list[Node] = [bound.pattern]  # for UNTIL
    nodes += [conjunct.expression for conjunct in bound.conjuncts]
    nodes += bound.partition
    nodes += [returned.expression for returned in bound.returns]
    needed = {node.path[0] for root in nodes for node in walk(root) if isinstance(node, Attribute)}
    needed |= {schema.time, *schema.order} | ({schema.type} if schema.type is not None else set())
    return tuple(name for name in schema.fields if name in needed)


def _sentence(warning: Warning) -> str:
    estimate = "" if warning.estimate is None else f" ({warning.estimate})"
    return f"{warning.message}{estimate}: {warning.remedy}"
