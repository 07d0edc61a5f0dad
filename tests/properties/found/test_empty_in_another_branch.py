"""Found at random: what an optional part leaves empty in all branches of an OR was absent before."""

from __future__ import annotations

import pytest

from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.harness import engine_matches, oracle_matches
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import SCHEMA

VALUES = {"k": 1, "x": 1, "f": None, "d": None, "s": None, "l": None}
EVENTS = [
    OracleEvent(second * 1_000_000, (second,), "s", kind, {"ts": second * 1_000_000, "kind": kind, **VALUES})
    for second, kind in ((1, "A"), (2, "D"), (4, "D"))
]


@pytest.mark.parametrize(
    "where", ["avg(c.k) <> b.k", "count(d.x) >= 2", "avg(c.k) <> b.k AND count(d.x) >= 2", "first(c).k <> a.k"]
)
@pytest.mark.parametrize("quantifier", ["?", "??"])
def test_a_condition_on_it_is_tested_when_it_becomes_empty(where: str, quantifier: str) -> None:
    """Each run takes one branch; where the optional part takes nothing, the variables of both are empty."""
    text = f"SEQ(OR(A a, A b), (OR((* c)+, C d)){quantifier}, (* f)*) WHERE {where} WITHIN 9 s"
    bound = bind(parse(text), SCHEMA, text=text)
    assert engine_matches(bound, EVENTS) == oracle_matches(bound, EVENTS)
