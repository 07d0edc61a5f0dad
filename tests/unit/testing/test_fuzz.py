"""The search for counterexamples finds a fault, makes what it finds small, and writes it as a test."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.language.tree import Event, walk
from cepheid.testing.fuzz import Counterexample, Search, TooLong, same, time_limit
from cepheid.testing.harness import Answer, EngineRoad
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.reports import as_test, coverage_data, coverage_from, coverage_table
from cepheid.testing.shrinking import shrunk
from cepheid.testing.strategies import CATALOG, SCHEMA
from cepheid.testing.strategies_features import Features, operators_of, policy_of, window_of


def bound(text: str):
    return bind(parse(text), SCHEMA, catalog=CATALOG, text=text)


def test_the_engine_passes_and_the_coverage_is_counted():
    search = Search(1, n_streams=3)
    for _ in range(60):
        assert search.step() is None
    coverage = search.coverage
    assert coverage.n_pairs == 3 * coverage.n_queries > 0
    assert sum(n for (operator, _, _), n in coverage.pairs.items() if operator == "all") == coverage.n_pairs
    assert "POLICY next" in coverage_table(coverage)
    assert coverage_from(coverage_data(coverage)) == coverage


def test_the_same_seed_gives_the_same_pairs():
    searches = [Search(7, n_streams=2), Search(7, n_streams=2)]
    for search in searches:
        for _ in range(20):
            search.step()
    assert searches[0].coverage == searches[1].coverage


def computes() -> None:
    while True:
        pass


def test_what_computes_for_too_long_is_stopped_and_what_only_waits_is_given_more_time():
    with pytest.raises(TooLong), time_limit(0.02):
        computes()
    with time_limit(0.02, waiting_s=5):
        time.sleep(0.1)
    with pytest.raises(TooLong), time_limit(5, waiting_s=0.02):
        time.sleep(5)
    with time_limit(5):
        pass  # and nothing goes off later
    time.sleep(0.03)


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that loses matches of three and more events."""
    answers = EngineRoad.answers

    def faulty(road: EngineRoad, events: Sequence[OracleEvent]) -> list[Answer]:
        return [one for one in answers(road, events) if len(one.bindings) < 3]

    monkeypatch.setattr(EngineRoad, "answers", faulty)


def searched(seed: int, always: Features) -> Counterexample:
    search = Search(seed, always=always)
    while (found := search.step()) is None:
        pass
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_found_becomes_small(seed: int, fault: None):
    small = shrunk(searched(seed, Features.CROSS | Features.KLEENE | Features.RETURN))
    query = parse(small.text)
    assert len(small.events) == 3
    assert query.where is None
    assert not query.returns
    assert sum(isinstance(node, Event) for node in walk(query.pattern)) <= 3
    assert small.how.room is None


def test_what_is_found_becomes_a_test(fault: None, monkeypatch: pytest.MonkeyPatch):
    name, text = as_test(shrunk(searched(2, Features.NONE)), "seed 2")
    assert name.startswith("test_")
    found: dict[str, object] = {}
    exec(compile(text, name, "exec"), found)
    check = found["test_engine_gives_what_the_oracle_gives"]
    assert callable(check)
    with pytest.raises(AssertionError, match="the engine gives"):
        check()
    monkeypatch.undo()
    check()


def test_equal_answers():
    nan = float("nan")
    assert same([(1, nan)], [(1, nan)])
    assert not same([1], [1.0])
    assert not same([1], [1, 2])


DEEP = ("two groups deep", "three groups deep")


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("SEQ(A a, B b)", set()),
        ("SEQ(NOT A a, B b, NOT C c, D d, NOT A e) WITHIN 5 s", {"NOT first", "NOT between", "NOT last"}),
        ("SEQ(A a, NOT SEQ(B b, C c), D d)", {"NOT between", "NOT of a group", "SEQ in another group"}),
        ("SEQ(A a, (SEQ(B b, C? c))+, D d)", {"group +", "SEQ in another group", "optional"}),
        ("SEQ(A a, AND(B b, OR(C c, (SEQ(D d, A e))?)))", {"AND", "OR", "group ?", "SEQ in another group", *DEEP}),
        ("SEQ(A* a, B+? b)", {"loop *", "loop +", "optional first", "loop first", "reluctant", "loop last, reluctant"}),
        (
            "OR(SEQ(A a, B b), SEQ(A a, C c))",
            {"OR", "OR with a name in both", "SEQ in another group", "two groups deep"},
        ),
        ("SEQ(A a, B+ b UNTIL b.x = 1, strict C c)", {"loop +", "UNTIL", "prefix strict"}),
        ("SEQ(A a, B b) WHERE SAME[k] AND a.x < b.x WITHIN 5 s", {"SAME", "conditions between events"}),
        ("SEQ(A a, B b) WITHIN 5 s AFTER MATCH SKIP TO NEXT", {"SKIP TO NEXT"}),
    ],
)
def test_operators_of_a_query(text: str, operators: set[str]):
    assert operators_of(bound(text)) == operators


def test_place_in_the_table():
    query = bound("SEQ(A a, B b) WINDOW 5 s SLIDE 1 s POLICY strict")
    assert (policy_of(query), window_of(query)) == ("strict", "sliding time")
