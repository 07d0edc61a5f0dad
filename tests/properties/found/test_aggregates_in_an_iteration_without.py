"""Found at random: in an iteration without a variable, an aggregate over those before it is absent if there are any."""

from __future__ import annotations

from itertools import product

import pytest

from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.harness import engine_matches, oracle_matches
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, SCHEMA

PATTERNS = (
    "SEQ((SEQ(A a, B? b)){2}, C c)",
    "(SEQ(A a, B* b))+",
    "SEQ((SEQ(B* b, A a))+, C c)",
    "SEQ((AND(A a, B? b)){1,2}, C c)",
    "SEQ(C c, (SEQ(A a, OR(B b, D d))){1,2}, C e)",
)
CONDITIONS = (
    "b.x < a.x OR count(b) = 1",
    "b.x < a.x OR count(b) = 0",
    "b.x < a.x OR a.x > 1 OR sum(b.x) > 1",
    "near(b.x, a.x) OR min(b.x) = 7",
    "NOT (b.x >= a.x AND max(b.x) < a.x)",
    "prev(b).x <= b.x OR a.x < 2 OR count(b.f) = 1",
    "near(a.x, b.k) OR near(count(b), 1)",
)


def stream(kinds: str, xs: tuple[int, ...]) -> list[OracleEvent]:
    return [
        OracleEvent(
            i * 1_000_000, (i,), "s", kind, {"ts": i * 1_000_000, "k": 1, "x": x, "f": 1.0 if x else None, "s": "a"}
        )
        for i, (kind, x) in enumerate(zip(kinds, xs, strict=True))
    ]


@pytest.mark.parametrize("policy", ["any", "next", "strict"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_as_in_the_oracle(pattern: str, policy: str) -> None:
    n_matches = 0
    for condition, kinds in product(CONDITIONS, ("ABAC", "AABC", "CABADC", "CAABC", "BAABAC")):
        text = f"PATTERN {pattern} WHERE {condition} WITHIN 9 s POLICY {policy}"
        bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
        for xs in ((2, 0, 1, 3, 1, 0), (1, 1, 3, 0, 2, 2), (0, 2, 2, 1, 0, 3)):
            events = stream(kinds, xs[: len(kinds)])
            found = engine_matches(bound, events)
            assert found == oracle_matches(bound, events), (text, kinds, xs)
            n_matches += len(found)
    assert n_matches


@pytest.mark.parametrize("policy", ["any", "next", "strict"])
@pytest.mark.parametrize(
    ("kinds", "condition", "n_events"),
    [
        # In the second iteration b.x is absent, and count(b), as there is a b before.
        ("ABAC", "b.x < a.x OR count(b) > 5", 4),
        ("ABAC", "b.x < a.x OR a.x > 9 OR count(b) > 5", None),
        # In the first one there is no b yet: the count is 0.
        ("AABC", "b.x < a.x OR count(b) > 5", None),
        ("AABC", "b.x < a.x OR count(b) = 0", 4),
    ],
)
def test_what_is_before_decides(kinds: str, condition: str, n_events: int | None, policy: str) -> None:
    text = f"PATTERN SEQ((SEQ(A a, B? b)){{2}}, C c) WHERE {condition} POLICY {policy}"
    bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
    events = stream(kinds, (2, 0, 1, 0) if kinds == "ABAC" else (2, 2, 0, 0))
    found = engine_matches(bound, events)
    assert found == oracle_matches(bound, events)
    longest = max((len(bindings) for bindings in found), default=None)
    assert longest == n_events
