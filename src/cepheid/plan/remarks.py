"""The notes of an explanation: when a match is reported, and what neither the drawing nor the tables show."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.errors import NotSupportedError
from cepheid.language.bound import BoundQuery
from cepheid.language.canonical import is_hidden
from cepheid.language.partition import inferred_partition
from cepheid.language.printer import print_expression, print_extent, print_pattern, quoted
from cepheid.language.structure import is_repeated_group, patterns, places
from cepheid.language.tree import And, AnyOf, Event, Extent, Or, Pattern, Policy, Repeat, SkipMode, Window
from cepheid.plan.build import build
from cepheid.plan.dropping import reason_to_keep_all
from cepheid.plan.moments import Moments
from cepheid.plan.reachable import N_MAX_STATES, N_READABLE, Detail, Graph
from cepheid.plan.references import is_single
from cepheid.plan.residuals import Element, names, rather_goes_on


def remarks(bound: BoundQuery, graph: Graph, found: Moments) -> Iterator[str]:
    """What to know beside the drawing of ``graph``, one sentence each."""
    yield from _of_the_drawing(graph, bound)
    yield from _unsupported(bound)
    yield from _of_the_report(bound, graph, found)
    yield from _of_the_end(graph, found)
    yield from _of_nots(bound, found)
    yield from _of_until(bound)
    if bound.query.source is not None:
        yield f"the events are the matches of the query {quoted(bound.query.source)}"
    reason = reason_to_keep_all(bound)
    if reason is not None and any(is_single(conjunct) for conjunct in bound.conjuncts):
        yield f"no event is dropped before the engine: {reason}"
    yield from _inferred(bound)


# --- the drawing and the engine -----------------------------------------------------------------------


def _of_the_drawing(graph: Graph, bound: BoundQuery) -> Iterator[str]:
    if graph.detail is Detail.FULL:
        return
    simplified = []
    if any(point.counted is not None for point in graph.points):
        simplified.append("AND and ANY show how many of their events have come, not which")
    if any(is_repeated_group(part) for part in patterns(bound.pattern)):
        simplified.append("groups are repeated without regard to their bounds")
    if simplified:
        yield f"the drawing is simplified, as all states would be more than {N_READABLE}: {', and '.join(simplified)}"
    if graph.detail is Detail.CUT:
        yield f"the automaton has more than {N_MAX_STATES} states: only those nearest to the start are drawn"


def _unsupported(bound: BoundQuery) -> Iterator[str]:
    try:
        build(bound)
    except NotSupportedError as error:
        yield error.message if error.remedy is None else f"{error.message}; {error.remedy}"


# --- when a match is reported -------------------------------------------------------------------------


def _of_the_report(bound: BoundQuery, graph: Graph, found: Moments) -> Iterator[str]:
    delays = [*_trailing_nots(bound, found), *_greedy_ends(bound, graph), *_skip(bound)]
    yield from delays or ["a match is reported at its last event"]
    chooses = any(isinstance(part, And | Or | AnyOf | Repeat) for part in patterns(bound.pattern))
    if chooses and _policies(bound) == {Policy.STRICT}:
        yield "under strict each start gives at most one match: the first, in the order of preference, that passes"


def _policies(bound: BoundQuery) -> set[Policy]:
    """Those of the edges: a prefix on the first element is refused, so the query's own is always among them."""
    own = {part.policy for part in patterns(bound.pattern) if isinstance(part, Event) and part.policy is not None}
    return own | {bound.policy}


def _trailing_nots(bound: BoundQuery, found: Moments) -> Iterator[str]:
    trailing = dict.fromkeys(guard.negation for guard in found.guards if guard.source == guard.target)
    for negation in trailing:
        yield f"a match waits for {print_pattern(negation)} until {_end_of_window(bound)}"


def _end_of_window(bound: BoundQuery) -> str:
    window = bound.query.window
    if window.sliding is not None:
        return "its window has closed"
    if window.within is None:
        return "the input ends"
    if window.within.unit == "events":
        return f"{print_extent(window.within)} have come from its first event on"
    return f"the watermark has reached the time of its first event + {_length(window.within, bound)}"


def _length(extent: Extent, bound: BoundQuery) -> str:
    return f"{extent.value} {extent.unit or bound.schema.time_unit}"


def _greedy_ends(bound: BoundQuery, graph: Graph) -> Iterator[str]:
    waiting: dict[str, None] = {}
    growing: frozenset[str] = frozenset()
    for arc in graph.arcs:
        point = graph.points[arc.source]
        # Under any, each form of the end is a match of its own.
        under_any = all((element.event.policy or bound.policy) is Policy.ANY for element in arc.elements)
        if point.element is not None and rather_goes_on(point.residual) and not under_any:
            waiting[_name(point.element)] = None
            growing |= names(point.residual)
    if not waiting:
        return
    if _policies(bound) == {Policy.STRICT}:
        ends = ["an event comes that is not more of it"]
    else:
        ends = [] if bound.query.window == Window() else ["its window has passed"]
        if any(
            _is_bounded(part) and {place.name for place in places(part)} <= growing for part in patterns(bound.pattern)
        ):
            ends.append("an upper bound or UNTIL closes it")
    until = ", or ".join([*ends, "the input ends"])
    yield f"a match that ends in {' or '.join(waiting)} may still grow: it waits until {until}"


def _is_bounded(part: Pattern) -> bool:
    return isinstance(part, Repeat) and (part.maximum is not None or part.until is not None)


def _skip(bound: BoundQuery) -> Iterator[str]:
    if bound.skip.mode is not SkipMode.NONE:
        yield f"{bound.skip.mode.value} may discard a match: it is reported once no earlier start is open"


def _of_the_end(graph: Graph, found: Moments) -> Iterator[str]:
    last: dict[str, dict[str, None]] = {}
    for index, conjuncts in found.at_ends.items():
        element = graph.points[index].element
        for conjunct in conjuncts:
            ends = last.setdefault(print_expression(conjunct.expression), {})
            if element is not None:
                ends[_name(element)] = None
    for text, ends in last.items():
        ending = f"ends in {' or '.join(ends)}" if ends else "ends"
        yield f"{text} is tested when a match {ending} and takes no more"


# --- NOT, UNTIL, SAME ---------------------------------------------------------------------------------


def _of_nots(bound: BoundQuery, found: Moments) -> Iterator[str]:
    for negation in dict.fromkeys(guard.negation for guard in found.guards if guard.source == 0):
        start = "the start of the window" if bound.query.window.sliding is not None else "the last event - the window"
        yield f"{print_pattern(negation)} reaches back to {start}: it is tested when the last event is taken"
    for negation in dict.fromkeys(guard.negation for guard in found.guards):
        if not isinstance(negation.part, Event):
            yield f"{print_pattern(negation)} forbids what lies wholly in the gap, in any selection of its events"


def _of_until(bound: BoundQuery) -> Iterator[str]:
    for part in patterns(bound.pattern):
        if isinstance(part, Repeat) and part.until is not None and isinstance(part.part, Event):
            name = part.part.name or ""
            loop = print_pattern(part.part) if is_hidden(name) else name
            yield f"{loop} closes at the first event, of any type, with {print_expression(part.until)}"


def _inferred(bound: BoundQuery) -> Iterator[str]:
    inferred = inferred_partition(bound)
    if inferred is None:
        return
    parts = []
    for key in inferred.keys:
        paths = dict.fromkeys(".".join(path) for path in key.values())
        parts.append(next(iter(paths)) if len(paths) == 1 else " = ".join(f"{v}.{'.'.join(p)}" for v, p in key.items()))
    yield f"the equalities split the stream by {', '.join(parts)} as SAME would: work may be divided by it"


def _name(element: Element) -> str:
    return ("|".join(element.event.types) or "*") if is_hidden(element.name) else element.name
