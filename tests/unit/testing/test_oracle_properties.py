"""The oracle against itself: two ways to the same matches, and what no later event may change."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings

from cepheid.language.bound import BoundQuery
from cepheid.language.structure import with_parts
from cepheid.language.tree import Event, Not, Pattern, Policy, Repeat, Skip, SkipMode
from cepheid.testing.oracle import OracleMatch, match
from cepheid.testing.oracle_assignments import prepared
from cepheid.testing.oracle_expressions import Evaluator
from cepheid.testing.oracle_runs import Runs, is_policy_throughout
from cepheid.testing.oracle_windows import frames
from cepheid.testing.strategies import Example, Features, examples

ANY_ONLY = Features.ALL & ~(Features.NEXT | Features.STRICT | Features.PREFIXES | Features.SKIP | Features.SAME)

# The oracle tries all there is, and the engine is held against it on many more examples.
FEW = settings(max_examples=40)


def described(matches: tuple[OracleMatch, ...]) -> list[tuple[object, ...]]:
    return [
        (sorted((name, event.identity) for name, event in one.bindings), one.window, one.decision_time)
        for one in matches
    ]


@FEW
@given(examples(ANY_ONLY, n_most=7))
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


@FEW
@given(examples(Features.ALL, n_most=8))
def test_what_is_decided_does_not_depend_on_later_events(example: Example):
    whole = match(example.bound, example.events, stores=example.stores, timed_out=False).matches
    for watermark in sorted({event.time for event in example.events}):
        earlier = [event for event in example.events if event.time <= watermark]
        known = match(example.bound, earlier, watermark=watermark, stores=example.stores, timed_out=False)
        expected = [one for one in whole if one.decision_time is not None and one.decision_time <= watermark]
        assert described(known.matches) == described(tuple(expected))


@FEW
@given(examples(Features.ALL, n_most=8, shuffled=True))
def test_the_order_of_arrival_does_not_matter(example: Example):
    in_order = sorted(example.events, key=lambda event: event.sort_key)
    one = match(example.bound, example.events, stores=example.stores)
    other = match(example.bound, in_order, stores=example.stores)
    assert one == other


@FEW
@given(examples(Features.ALL, n_most=8))
def test_each_match_is_reported_once_and_in_order(example: Example):
    found = match(example.bound, example.events, stores=example.stores, timed_out=False).matches
    keys = [(frozenset(one.bindings), one.window) for one in found]
    assert len(set(keys)) == len(keys)
    times = [float("inf") if one.decision_time is None else one.decision_time for one in found]
    assert times == sorted(times)


def under_any(bound: BoundQuery) -> BoundQuery:
    """The same query with `any` throughout."""

    def plain(pattern: Pattern) -> Pattern:
        if isinstance(pattern, Event):
            return replace(pattern, policy=None)
        if isinstance(pattern, Repeat):
            return replace(pattern, part=plain(pattern.part), greedy=True)
        if isinstance(pattern, Not):
            return pattern
        return with_parts(pattern, tuple(plain(part) for part in pattern.parts))

    window = replace(bound.window, one_match=False)
    return replace(bound, policy=Policy.ANY, pattern=plain(bound.pattern), skip=Skip(), window=window)


def keys(matches: tuple[OracleMatch, ...]) -> set[tuple[object, ...]]:
    return {(frozenset(one.bindings), one.window) for one in matches}


@FEW
@given(examples(Features.ALL & ~Features.ANY, n_most=7))
def test_what_next_and_strict_find_any_finds_too(example: Example):
    found = match(example.bound, example.events, stores=example.stores, timed_out=False).matches
    assume(found)
    every = match(under_any(example.bound), example.events, stores=example.stores, timed_out=False).matches
    assert keys(found) <= keys(every)


STRICT_ONLY = Features.ALL & ~(Features.ANY | Features.NEXT | Features.PREFIXES | Features.SKIP | Features.SAME)


@FEW
@given(examples(STRICT_ONLY, n_most=7))
def test_strict_finds_one_match_for_each_start_of_neighbours(example: Example):
    assume(not example.bound.window.one_match)
    stream = sorted(example.events, key=lambda event: event.sort_key)
    position = {event: index for index, event in enumerate(stream)}

    def starts(matches: tuple[OracleMatch, ...]) -> list[tuple[object, ...]]:
        """(position of the first event, window) of the matches of neighbouring events."""
        found = []
        for one in matches:
            at = [position[event] for _, event in one.bindings]
            if at == list(range(at[0], at[0] + len(at))):
                found.append((at[0], one.window))
        return found

    strict = match(example.bound, example.events, stores=example.stores, timed_out=False).matches
    every = match(under_any(example.bound), example.events, stores=example.stores, timed_out=False).matches
    assert len(starts(strict)) == len(strict) == len(set(starts(strict)))
    assert set(starts(strict)) == set(starts(every))


@FEW
@given(examples(Features.ALL, n_most=7))
def test_skipping_keeps_some_of_the_matches(example: Example):
    skip = example.bound.skip.mode
    assume(skip is not SkipMode.NONE and not example.bound.window.one_match)
    kept = match(example.bound, example.events, stores=example.stores, timed_out=False).matches
    without = replace(example.bound, skip=Skip())
    every = match(without, example.events, stores=example.stores, timed_out=False).matches
    assert keys(kept) <= keys(every)
    assert bool(kept) == bool(every)
    own = {(frozenset(one.bindings), one.window): (one.decision_time, one.decided_by_event) for one in every}
    for one in kept:
        time, _ = own[(frozenset(one.bindings), one.window)]
        later = one.decision_time is None or (time is not None and one.decision_time >= time)
        assert later
