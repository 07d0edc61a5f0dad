"""Cutting by time and dropping events that fit no element change no match, judged by the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cepheid.language.bound import BoundQuery
from cepheid.spark.admission import may_drop_events, single_event_conjuncts
from cepheid.spark.timecut import margins
from cepheid.testing.oracle import OracleEvent, OracleMatch, match
from cepheid.testing.oracle_expressions import ABSENT, Evaluator, OneEvent
from cepheid.testing.strategies import Example, examples
from cepheid.testing.strategies_features import Features

FEATURES = Features.ALL & ~Features.REMOTE & ~Features.SOURCES & ~Features.SKIP & ~Features.EVENTS


def matches_in(bound: BoundQuery, events: Iterable[OracleEvent]) -> list[OracleMatch]:
    return list(match(bound, events, timed_out=False).matches)


def counted(matches: Iterable[OracleMatch]) -> Counter[object]:
    return Counter((m.bindings, m.window) for m in matches)


def last_time(found: OracleMatch) -> int:
    return max(event.time for _, event in found.bindings)


@given(examples(FEATURES & ~Features.SAME, n_most=10), st.data())
@settings(max_examples=50)
def test_pieces_of_time_find_all_matches_once(example: Example, data: st.DataObject):
    reach = margins(example.bound)
    assume(reach is not None)
    assert reach is not None
    events = sorted(example.events, key=lambda event: event.sort_key)
    whole = matches_in(example.bound, events)
    assume(whole)
    times = sorted({event.time for event in events})
    cuts = sorted(data.draw(st.sets(st.sampled_from(times), min_size=1, max_size=3)))
    found: list[OracleMatch] = []
    for before, end in zip([None, *cuts], [*cuts, None], strict=True):
        piece = [
            event
            for event in events
            if (before is None or event.time > before - reach.back_us)
            and (end is None or event.time <= end + reach.forward_us)
        ]
        found += [
            m
            for m in matches_in(example.bound, piece)
            if (before is None or last_time(m) > before) and (end is None or last_time(m) <= end)
        ]
    assert counted(found) == counted(whole), example.text


@given(examples(Features.ALL & ~Features.REMOTE & ~Features.SOURCES, n_most=10))
@settings(max_examples=50)
def test_events_that_fit_no_element_can_be_dropped(example: Example):
    bound = example.bound
    assume(may_drop_events(bound))
    conjuncts = single_event_conjuncts(bound)
    evaluator = Evaluator(bound.types, bound.catalog, {})

    def fits(event: OracleEvent, name: str) -> bool:
        types = bound.variables[name].types
        if types and event.type not in types:
            return False
        values = [evaluator.value(c.expression, OneEvent(event)) for c in conjuncts[name]]
        return all(value is True or value is ABSENT for value in values)

    kept = [event for event in example.events if any(fits(event, name) for name in bound.variables)]
    assume(len(kept) < len(example.events))
    assert counted(matches_in(bound, kept)) == counted(matches_in(bound, example.events)), example.text
