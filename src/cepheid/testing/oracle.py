"""The oracle: what a query means, computed slowly and in the plainest way.

Written from the definition of the language (`docs/semantics.md`), for tests. It enumerates where the definition
is declarative (`any`, NOT), simulates runs where that is how the definition speaks (`next`, prefixes), and
backtracks for `strict`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from cepheid.errors import DataError
from cepheid.language.bound import BoundQuery
from cepheid.language.tree import Policy, SkipMode
from cepheid.testing.oracle_assignments import Assignment, Enumeration, Problem, broken, in_order, prepared, stays_open
from cepheid.testing.oracle_composites import composite_events, composite_watermark, returned
from cepheid.testing.oracle_conditions import NOTHING_MORE, all_hold, taken
from cepheid.testing.oracle_events import OracleEvent, OracleMatch, OracleResult, Watermark
from cepheid.testing.oracle_expressions import Evaluator, OneEvent
from cepheid.testing.oracle_pairs import Watch, pairs_of
from cepheid.testing.oracle_runs import (
    Backtracking,
    Found,
    Reader,
    Runs,
    decision,
    is_policy_throughout,
)
from cepheid.testing.oracle_states import States, group_numbers
from cepheid.testing.oracle_windows import Frame, Point, admits, at_event, frames

__all__ = ["OracleEvent", "OracleMatch", "OracleResult", "Watermark", "match", "returned"]


def match(
    bound: BoundQuery,
    events: Iterable[OracleEvent | Watermark],
    *,
    watermark: int | None = None,
    stores: Mapping[str, Mapping[object, object]] | None = None,
    timed_out: bool = True,
    watch: Watch | None = None,
) -> OracleResult:
    """The matches of a query.

    Args:
        bound: the query; its parameters have been replaced by values.
        events: those of the table or stream (with FROM, of the innermost query), in the order of arrival; a `Watermark`
            among them makes what comes after it late or not.
        watermark: microseconds: how far event time has come after the last event; None for the end of a bounded
            input. What is decided later than that is not reported.
        stores: remote store -> key -> element, for REMOTE.
        timed_out: also find what timed out, which under `any` costs as much as the matches.
        watch: is told of pairs of an event and a partial match, and may keep them apart.

    Returns:
        The matches known by then, in their order, and the events that went elsewhere.

    Raises:
        DataError: two events have the same source and order key, or a store is missing.
        ParameterError: the query has a parameter without a value.
    """
    evaluator = Evaluator(bound.types, bound.catalog, stores or {})
    problem = prepared(bound, evaluator, watch)
    below = OracleResult((), (), (), ())
    if bound.inner is not None:
        below = match(bound.inner, events, watermark=watermark, stores=stores, timed_out=False)
        watermark = composite_watermark(bound.inner, watermark)
        events = composite_events(bound, below.matches, watermark, stores or {})
    on_time, late = _by_lateness(events)
    partitions, rejected = _partitions(bound, evaluator, on_time)
    matches: list[tuple[Point, OracleMatch]] = []
    out: list[tuple[Point, OracleMatch]] = []
    for stream in partitions:
        for frame in frames(stream, bound.window):
            found, expired = _searched(problem, frame, timed_out)
            for one in found.found.values():
                problem.watch.completed(pairs_of(frame, one.bindings), one.bindings)
            reported = _skipped(problem, frame, found) if bound.skip.mode is not SkipMode.NONE else _plain(found)
            reported.sort(key=lambda pair: _order(problem, pair[0], pair[1], frame))
            if bound.window.one_match:
                reported = reported[:1]
            matches += [(point, _match(problem, frame, one, point)) for point, one in reported]
            out += [(one.decided, _match(problem, frame, one, one.decided)) for one in expired]
    last = math.inf if watermark is None else watermark
    return OracleResult(
        matches=_until(problem, matches, last),
        timed_out=_until(problem, out, last),
        late=(*below.late, *late),
        rejected=(*below.rejected, *rejected),
    )


def _by_lateness(items: Iterable[OracleEvent | Watermark]) -> tuple[list[OracleEvent], list[OracleEvent]]:
    """The events that are on time, and the late ones: at or before the watermark when they arrive."""
    reached = -math.inf
    on_time: list[OracleEvent] = []
    late: list[OracleEvent] = []
    for item in items:
        if isinstance(item, Watermark):
            reached = max(reached, item.time)
        else:
            (late if item.time <= reached else on_time).append(item)
    seen: set[tuple[str, tuple[object, ...]]] = set()
    for event in on_time:
        if event.identity in seen:
            raise DataError(
                f"two events of {event.source} have the order key {event.order}",
                remedy="an order key tells each event of a source from all others",
            )
        seen.add(event.identity)
    return on_time, late


def _partitions(
    bound: BoundQuery, evaluator: Evaluator, events: Iterable[OracleEvent]
) -> tuple[list[list[OracleEvent]], list[OracleEvent]]:
    """The streams that SAME splits the events into, and the events that are in none."""
    streams: dict[tuple[object, ...], list[OracleEvent]] = {}
    rejected: list[OracleEvent] = []
    for event in sorted(events, key=lambda event: event.sort_key):
        key = [evaluator.value(expression, OneEvent(event)) for expression in bound.partition]
        if any(value is None for value in key):
            rejected.append(event)
            continue
        # NaN equals itself here, and Python's does not.
        same = ["NaN" if isinstance(value, float) and math.isnan(value) else (value,) for value in key]
        streams.setdefault(tuple(same), []).append(event)
    return list(streams.values()), rejected


def _searched(problem: Problem, frame: Frame, timed_out: bool) -> tuple[Reader, list[Found]]:
    """Every match in a frame, each once; the moments when starts ended; and what timed out."""
    bound = problem.bound
    if is_policy_throughout(problem, Policy.STRICT):
        strict = Backtracking(problem, frame)
        strict.search()
        return strict, strict.timed_out
    runs = Runs(problem, frame)
    if not is_policy_throughout(problem, Policy.ANY):
        runs.search()
        return runs, runs.timed_out
    if timed_out or bound.skip.mode is not SkipMode.NONE:
        runs.search()
    expired = runs.timed_out
    runs.found = {}
    for found in _assigned(problem, frame):
        runs.keep(found)
    return runs, expired


def _assigned(problem: Problem, frame: Frame) -> Iterator[Found]:
    """`any`: every assignment that satisfies order, predicates and window."""
    enumeration = Enumeration(problem, frame, frame.stop, problem.conditions)
    for found in enumeration.of(problem.bound.pattern, Assignment(), frame.first - 1):
        bindings = in_order(found.bindings)
        if not admits(problem.bound.window, bindings):
            continue
        have = taken(bindings, found.empty, problem.loops)
        if not all_hold(problem.conditions, have, NOTHING_MORE, problem.evaluator):
            continue
        if not stays_open(problem, frame, found):
            continue
        if any(problem.watch.drops(pair) for pair in pairs_of(frame, bindings)):
            continue
        moment: Point | None = at_event(bindings[-1].event)
        for negated, n_left in found.nots:
            if broken(problem, frame, negated, bindings, n_left, found.empty) is not None:
                moment = None
                break
            if n_left == len(bindings) and moment is not None:
                moment = max(moment, decision(problem, frame, negated, bindings))
        if moment is not None:
            yield Found(bindings, found.empty, moment)


def _plain(reader: Reader) -> list[tuple[Point, Found]]:
    """Every match, at its own decision point."""
    return [(found.decided, found) for found in reader.found.values()]


def _skipped(problem: Problem, frame: Frame, reader: Reader) -> list[tuple[Point, Found]]:
    """The matches that AFTER MATCH keeps, each at the moment when no earlier start is open (SEMANTICS 6)."""
    skip = problem.bound.skip
    candidates = sorted(
        reader.found.values(),
        key=lambda found: (found.bindings[0].position, _order(problem, found.decided, found, frame)),
    )
    kept: list[tuple[Point, Found]] = []
    frontier = frame.first
    for found in candidates:
        start = found.bindings[0].position
        if start < frontier:
            continue
        open_before = [end for position, end in reader.ended.items() if frontier <= position < start]
        point = max([found.decided, *open_before, *(earlier for earlier, _ in kept)])
        kept.append((point, found))
        of_variable = [binding.position for binding in found.bindings if binding.variable == skip.variable]
        match skip.mode:
            case SkipMode.PAST_LAST:
                frontier = found.bindings[-1].position + 1
            case SkipMode.TO_NEXT:
                frontier = start + 1
            case SkipMode.TO_FIRST:
                frontier = of_variable[0]
            case _:
                frontier = of_variable[-1]
    return kept


def _order(problem: Problem, point: Point, found: Found, frame: Frame) -> tuple[object, ...]:
    """The order of SEMANTICS 7.2."""
    return _sort_key(problem, point, [(b.variable, b.event) for b in found.bindings], frame.bounds)


def _sort_key(
    problem: Problem,
    point: Point,
    bindings: Sequence[tuple[str, OracleEvent]],
    bounds: tuple[int, int] | None,
) -> tuple[object, ...]:
    text = {name: index for index, name in enumerate(problem.bound.variables)}
    return (
        point,
        tuple(event.sort_key for _, event in bindings),
        tuple(text[name] for name, _ in bindings),
        bounds or (),
    )


def _match(problem: Problem, frame: Frame, found: Found, point: Point) -> OracleMatch:
    time, phase, _ = point
    # Equal matches are one match, however they were found: what it leaves empty is told from what it binds.
    sequence = [(binding.variable, binding.event.type) for binding in found.bindings]
    empty = States(group_numbers(problem.bound.pattern)).empty_in(sequence, problem.bound.pattern)
    return OracleMatch(
        bindings=tuple((binding.variable, binding.event) for binding in found.bindings),
        window=frame.bounds,
        decision_time=None if math.isinf(time) else int(time),
        decided_by_event=phase == 0,
        empty=found.empty if empty is None else empty,
    )


def _until(problem: Problem, matches: list[tuple[Point, OracleMatch]], last: float) -> tuple[OracleMatch, ...]:
    """What is known once the watermark has reached ``last``, in order."""
    known = [(point, one) for point, one in matches if point[0] <= last]
    known.sort(key=lambda pair: _sort_key(problem, pair[0], pair[1].bindings, pair[1].window))
    return tuple(replace(one) for _, one in known)
