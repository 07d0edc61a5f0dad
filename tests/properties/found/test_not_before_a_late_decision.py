"""Found at random: a NOT at the start is asked for when a run of a sliding window is decided, a window late."""

import pytest

from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.fuzz import same
from cepheid.testing.harness import EngineRoad, oracle_answers
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, DOMAINS, SCHEMA, SECOND_US

USUAL = {name: domain[0] for name, domain in DOMAINS.items()}


@pytest.mark.parametrize("window", ["WINDOW 6 s SLIDE 6 s", "WINDOW 6 s SLIDE 4 s", "WINDOW 2 EVENTS SLIDE 1 EVENTS"])
@pytest.mark.parametrize("element", ["B* e", "C? e", "** e"])
@pytest.mark.parametrize("times", [(0, 1, 7), (0, 1, 9), (0, 5, 11), (0, 1, 2)])
def test_engine_gives_what_the_oracle_gives(window, element, times):
    text = f"SEQ(NOT C a, C b, {element}) WHERE a.ts + 3 s >= e.ts {window} POLICY next"
    bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
    events = [
        OracleEvent(at * SECOND_US, (number,), "events", "C", {**USUAL, "ts": at * SECOND_US, "kind": "C"})
        for number, at in enumerate(times)
    ]
    found = EngineRoad(bound).answers(events)
    assert found
    assert same(found, oracle_answers(bound, events)), found
