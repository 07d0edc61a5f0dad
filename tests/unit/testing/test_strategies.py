"""Random queries mostly bind, and find matches in their streams."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from cepheid.errors import QueryError
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.testing.oracle import match
from cepheid.testing.strategies import CATALOG, SCHEMA, Example, Features, examples, query_texts

N_DRAWN = 300
N_MATCHED = 120
WORDS = ("AND(", "OR(", "ANY(", "NOT SEQ", "UNTIL", "REMOTE", "SLIDE", "SKIP", "strict ", ")+")
DRAW_ONLY = settings(max_examples=N_DRAWN, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("features", [Features.ENGINE_1, Features.ALL])
def test_most_queries_bind(features: Features):
    seen: Counter[str] = Counter()

    @DRAW_ONLY
    @given(query_texts(features))
    def draw(text: str) -> None:
        seen["all"] += 1
        try:
            bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
        except QueryError:
            seen["refused"] += 1

    draw()
    assert seen["refused"] < seen["all"] / 3


@pytest.mark.parametrize("features", [Features.ENGINE_1, Features.ALL])
def test_more_than_a_third_of_the_examples_match(features: Features):
    seen: Counter[str] = Counter()

    @settings(DRAW_ONLY, max_examples=N_MATCHED)
    @given(examples(features, n_most=10))
    def draw(example: Example) -> None:
        found = match(example.bound, example.events, stores=example.stores, timed_out=False).matches
        seen["all"] += 1
        seen["matching"] += bool(found)

    draw()
    assert seen["all"] >= N_MATCHED * 0.9
    assert seen["matching"] > seen["all"] / 3


def test_all_of_the_language_is_drawn():
    seen: Counter[str] = Counter()

    @DRAW_ONLY
    @given(query_texts(Features.ALL))
    def draw(text: str) -> None:
        seen.update(word for word in WORDS if word in text)

    draw()
    assert set(seen) == set(WORDS)


def test_an_example_shows_its_query_and_its_events():
    bound = bind(parse("A a"), SCHEMA)
    assert repr(Example("A a", bound, ())) == "Example(\nA a\n\n)"
