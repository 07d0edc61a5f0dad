"""The oracle against itself: two ways to the same matches, and what no later event may change."""

from __future__ import annotations

from hypothesis import assume, given

from cepheid.language.tree import Policy
from cepheid.testing.oracle import OracleMatch, match
from cepheid.testing.oracle_assignments import prepared
from cepheid.testing.oracle_expressions import Evaluator
from cepheid.testing.oracle_runs import Runs, is_policy_throughout
from cepheid.testing.oracle_windows import frames
from cepheid.testing.strategies import Example, Features, examples

ANY_ONLY = Features.ALL & ~(Features.NEXT | Features.STRICT | Features.PREFIXES | Features.SKIP | Features.SAME)


def described(matches: tuple[OracleMatch, ...]) -> list[tuple[object, ...]]:
    return [
        (sorted((name, event.identity) for name, event in one.bindings), one.window, one.decision_time)
        for one in matches
    ]


@given(examples(ANY_ONLY, n_most=8))
def test_any_by_forking_runs_is_any_by_enumeration(example: Example):
    problem = prepared(example.bound, Evaluator(example.bound.types, example.bound.catalog, example.stores))
    assert is_policy_throughout(problem, Policy.ANY)
    assume(not example.bound.window.one_match)
    stream = sorted(example.events, key=lambda event: event.sort_key)
    by_runs = set()
    for frame in frames(stream, example.bound.window):
        runs = Runs(problem, frame)
        runs.search()
        by_runs |= {(key, frame.bounds, found.decided[:2]) for key, found in runs.found.items()}
    by_enumeration = set()
    position = {event: index for index, event in enumerate(stream)}
    for one in match(example.bound, example.events, stores=example.stores, timed_out=False).matches:
        key = frozenset((name, position[event]) for name, event in one.bindings)
        time = float("inf") if one.decision_time is None else one.decision_time
        by_enumeration.add((key, one.window, (time, 0 if one.decided_by_event else 1)))
    assert by_runs == by_enumeration


@given(examples(Features.ALL, n_most=10))
def test_what_is_decided_does_not_depend_on_later_events(example: Example):
    whole = match(example.bound, example.events, stores=example.stores, timed_out=False).matches
    for watermark in sorted({event.time for event in example.events}):
        earlier = [event for event in example.events if event.time <= watermark]
        known = match(example.bound, earlier, watermark=watermark, stores=example.stores, timed_out=False)
        expected = [one for one in whole if one.decision_time is not None and one.decision_time <= watermark]
        assert described(known.matches) == described(tuple(expected))


@given(examples(Features.ALL, n_most=10, shuffled=True))
def test_the_order_of_arrival_does_not_matter(example: Example):
    in_order = sorted(example.events, key=lambda event: event.sort_key)
    one = match(example.bound, example.events, stores=example.stores)
    other = match(example.bound, in_order, stores=example.stores)
    assert one == other


@given(examples(Features.ALL, n_most=10))
def test_each_match_is_reported_once_and_in_order(example: Example):
    found = match(example.bound, example.events, stores=example.stores, timed_out=False).matches
    keys = [(frozenset(one.bindings), one.window) for one in found]
    assert len(set(keys)) == len(keys)
    times = [float("inf") if one.decision_time is None else one.decision_time for one in found]
    assert times == sorted(times)
