"""Makes a counterexample small: events go, then parts of the query, then what is left becomes simpler.

The query is cut as a tree and the events as a list, so what remains reads as if someone had written it. Every step is
tried on both roads; it stays where they still differ.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cepheid.errors import CepheidError
from cepheid.language.bind import bind
from cepheid.language.bound import BoundQuery
from cepheid.language.parser import parse
from cepheid.language.printer import print_query
from cepheid.language.tree import (
    Aggregate,
    And,
    AnyOf,
    Attribute,
    Conjunction,
    Disjunction,
    Event,
    Expression,
    Negation,
    Node,
    Not,
    Or,
    Pattern,
    Query,
    Repeat,
    Seq,
    SkipMode,
    Window,
    walk,
)
from cepheid.plan.evaluation import only_eager_because
from cepheid.plan.sequence import positive_variables
from cepheid.testing.fuzz import Counterexample, OracleTooSlow, difference
from cepheid.testing.harness import AS_USUAL, EngineRoad, How
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, DOMAINS, SCHEMA, SECOND_US


def shrunk(found: Counterexample, longest_s: float = 60.0) -> Counterexample:
    """The smallest counterexample that can be reached from ``found`` by leaving things out.

    Args:
        found: a counterexample.
        longest_s: after this long, what has been reached is good enough.
    """
    end_s = time.monotonic() + longest_s
    best, tree, how = found, parse(found.text), found.how
    for name, plain in AS_USUAL._asdict().items():
        plainer = how._replace(**{name: plain})
        if plainer != how and (other := _tried(tree, best.events, plainer)) is not None:
            best, how = other, plainer
    smaller = True
    while smaller and time.monotonic() < end_s:
        smaller = False
        for events in _fewer(best.events):
            if (other := _tried(tree, events, how)) is not None:
                best, smaller = other, True
                break
        for candidate in () if smaller else _simpler_queries(tree):
            if (other := _tried(candidate, best.events, how)) is not None:
                best, tree, smaller = other, candidate, True
                break
        for events in () if smaller else _simpler_events(best.events):
            if (other := _tried(tree, events, how)) is not None:
                best, smaller = other, True
                break
    return best


def _tried(tree: Query, events: Sequence[OracleEvent], how: How) -> Counterexample | None:
    try:
        text = print_query(tree)
        bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
        road = EngineRoad(bound, **how._replace(evaluation=_cut(how.evaluation, bound))._asdict())
        return difference(road, text, events)
    except (CepheidError, OracleTooSlow):
        return None  # it is no query any more, or none that can be judged


def _cut(evaluation: str | None, bound: BoundQuery) -> str | None:
    """What is left of an evaluation plan in a query that may have lost variables."""
    if evaluation is None or only_eager_because(bound) is not None:
        return None
    left = positive_variables(bound)
    return "/".join(" ".join(name for name in group.split() if name in left) for group in evaluation.split("/"))


# --- events -----------------------------------------------------------------------------------------


def _fewer(events: tuple[OracleEvent, ...]) -> Iterator[tuple[OracleEvent, ...]]:
    for length in (len(events) // 2, 2, 1):
        for start in range(len(events) - length + 1 if length else 0):
            yield events[:start] + events[start + length :]


def _simpler_events(events: tuple[OracleEvent, ...]) -> Iterator[tuple[OracleEvent, ...]]:
    """One event closer to the one before, with a simpler value, or of the first source; or all in order."""
    numbered = tuple(replace(event, order=(number,)) for number, event in enumerate(events))
    if [event.order for event in numbered] != [event.order for event in events]:
        yield numbered
    if (in_order := tuple(sorted(events, key=lambda event: event.sort_key))) != events:
        yield tuple(replace(event, order=(number,)) for number, event in enumerate(in_order))
    for index, event in enumerate(events):
        before = events[index - 1].time if index else -SECOND_US
        if event.time - before > SECOND_US:  # this and all that follow come earlier
            late = [_at(other, other.time - SECOND_US) for other in events[index:]]
            yield (*events[:index], *late)
        if event.source != events[0].source:
            yield (*events[:index], replace(event, source=events[0].source), *events[index + 1 :])
        for name, domain in DOMAINS.items():
            value = event.values[name]
            for simple in domain[: domain.index(value) if value in domain else 1]:
                other = replace(event, values={**event.values, name: simple})
                yield (*events[:index], other, *events[index + 1 :])


def _at(event: OracleEvent, at_us: int) -> OracleEvent:
    return replace(event, time=at_us, values={**event.values, "ts": at_us})


# --- queries ----------------------------------------------------------------------------------------


def _simpler_queries(query: Query) -> Iterator[Query]:
    for pattern in _simpler_patterns(query.pattern):
        yield _without_lost_names(replace(query, pattern=pattern))
    if query.returns:
        yield replace(query, returns=())
        for index in range(len(query.returns)):
            yield replace(query, returns=query.returns[:index] + query.returns[index + 1 :])
    if query.skip.mode is not SkipMode.NONE:
        yield replace(query, skip=replace(query.skip, mode=SkipMode.NONE, variable=None))
    if query.same:
        yield replace(query, same=())
    if query.where is not None:
        yield replace(query, where=None)
        for condition in _simpler_conditions(query.where):
            yield replace(query, where=condition)
    if query.window != Window():
        yield replace(query, window=Window())
        for smaller in (
            replace(query.window, within=None, exclusive=False),
            replace(query.window, exclusive=False),
            replace(query.window, each=None),
        ):
            if smaller != query.window:
                yield replace(query, window=smaller)
    sliding = query.window.sliding
    if sliding is not None and (sliding.closed or sliding.one_match):
        yield replace(query, window=replace(query.window, sliding=replace(sliding, closed=False)))
        yield replace(query, window=replace(query.window, sliding=replace(sliding, one_match=False)))


def _simpler_conditions(condition: Expression) -> Iterator[Expression]:
    match condition:
        case Conjunction() | Disjunction():
            yield from condition.operands
            if len(condition.operands) > 2:
                for index in range(len(condition.operands)):
                    yield replace(condition, operands=condition.operands[:index] + condition.operands[index + 1 :])
            for index, operand in enumerate(condition.operands):
                for simple in _simpler_conditions(operand):
                    operands = (*condition.operands[:index], simple, *condition.operands[index + 1 :])
                    yield replace(condition, operands=operands)
        case Negation():
            yield condition.operand


def _simpler_patterns(pattern: Pattern) -> Iterator[Pattern]:
    match pattern:
        case Event():
            if pattern.policy is not None:
                yield replace(pattern, policy=None)
            if len(pattern.types) > 1:
                yield from (replace(pattern, types=(name,)) for name in pattern.types)
        case Not():
            for part in _simpler_patterns(pattern.part):
                yield replace(pattern, part=part)
        case Repeat():
            yield pattern.part
            if pattern.until is not None:
                yield replace(pattern, until=None)
            if not pattern.greedy:
                yield replace(pattern, greedy=True)
            if pattern.minimum != 1 or pattern.maximum is not None:
                yield replace(pattern, minimum=1, maximum=None)
            for part in _simpler_patterns(pattern.part):
                yield replace(pattern, part=part)
        case Seq() | And() | Or() | AnyOf():
            yield from (part for part in pattern.parts if not isinstance(part, Not))
            for index, part in enumerate(pattern.parts):
                if len(pattern.parts) > 2 or (isinstance(pattern, Seq) and len(pattern.parts) > 1):
                    yield replace(pattern, parts=pattern.parts[:index] + pattern.parts[index + 1 :])
                for simple in _simpler_patterns(part):
                    yield replace(pattern, parts=(*pattern.parts[:index], simple, *pattern.parts[index + 1 :]))
            if isinstance(pattern, And | AnyOf | Or):
                yield Seq(pattern.parts)


def _without_lost_names(query: Query) -> Query:
    """The query without the conditions and columns that name a variable which its pattern has no more."""
    known = {node.name for node in walk(query.pattern) if isinstance(node, Event)}

    def kept(node: Node) -> bool:
        names = {part.variable for part in walk(node) if isinstance(part, Attribute | Aggregate)}
        return names <= known

    where = query.where
    if where is not None and not kept(where):
        left = [part for part in where.operands if kept(part)] if isinstance(where, Conjunction) else []
        where = None if not left else left[0] if len(left) == 1 else Conjunction(tuple(left))
    lost = query.skip.variable is not None and query.skip.variable not in known
    skip = replace(query.skip, mode=SkipMode.PAST_LAST, variable=None) if lost else query.skip
    returns = tuple(item for item in query.returns if kept(item.expression))
    return replace(query, where=where, skip=skip, returns=returns)
