"""When a row is decided that waits at the end of a pattern with a NOT in its middle."""

from __future__ import annotations

import pytest

from cepheid.testing.fuzz import same
from cepheid.testing.harness import END_OF_INPUT_US, EngineRoad, oracle_answers
from tests.unit.engine.test_until import SECOND_US, bound_to, stream

EVENTS = stream(("A", 1, 0), ("A", 2, 0), ("B", 3, 0), ("A", 4, 0), ("A", 5, 0))


@pytest.mark.parametrize(
    ("query", "decided"),
    [
        # After the A at 4 only a B could follow at once: the A at 5 decides, NOT or no NOT.
        ("SEQ(A a, (SEQ(A f, strict B g))+)", 5),
        ("SEQ(A a, NOT C c, (SEQ(A f, strict B g))+)", 5),
        ("SEQ(A a, (SEQ(A b, * c))??, NOT OR(A d, B e), (SEQ(A f, strict B g))+)", 5),
        ("SEQ(A a, NOT C c, AND((SEQ(A f, strict B g))+, strict B? d))", 5),
        # What the NOT stood before is given back: it stands at the end, until the window closes.
        ("SEQ(A a, A f, NOT C c, (SEQ(B g, A h, strict B e))*) WITHIN 20 s", 21),
    ],
)
def test_what_ended_a_row_decides_it(query, decided):
    bound = bound_to(query)
    found = EngineRoad(bound).answers(EVENTS)
    assert same(found, oracle_answers(bound, EVENTS))
    told = [None if one.decided_us == END_OF_INPUT_US else one.decided_us // SECOND_US for one in found]
    assert told[0] == decided
