"""A cap on partial matches: what is found in spite of dropped ones is a match, and nothing is lost below the cap."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from cepheid.engine.session import Work, prepare, run_plan
from cepheid.engine.settings import Settings
from cepheid.errors import CapacityError, NotSupportedError
from cepheid.events.ingest import read_events
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.ports.pairs import Wanted
from cepheid.testing.harness import answers_of, little_room, table_of
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, SCHEMA, Example, Features, examples
from tests.properties.stub_policies import DropsCells

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Of most examples so many starts share a time that nothing can be dropped, or the plan cannot.
FEW = settings(MANY, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def test_what_is_found_is_a_match() -> None:
    n_compared = n_dropped = 0

    @FEW
    @given(examples(Features.ENGINE), st.integers(1, 3))
    def compare(example: Example, most: int) -> None:
        nonlocal n_compared, n_dropped
        table, schema = table_of(example.events, example.bound.schema)
        batch = read_events(table, schema)
        work = Work()
        try:
            compiled = prepare(example.bound)
            found = run_plan(compiled, batch, work=work, settings=Settings(most, on_cap="drop oldest"))
        except (NotSupportedError, CapacityError):
            reject()
        whole = answers_of(example.bound, batch, run_plan(compiled, batch), None)
        left = answers_of(example.bound, batch, found, None)
        remaining = iter(whole)
        assert all(answer in remaining for answer in left), "they come in the order of all matches"
        assert work.n_dropped or left == whole
        n_compared += 1
        n_dropped += work.n_dropped > 0

    compare()
    assert n_compared >= 60
    assert n_dropped >= 1


@MANY
@given(examples(Features.ENGINE), st.integers(1, 6), st.sampled_from((None, 1, 2, 4)))
def test_an_error_or_all_matches(example: Example, most: int, of_one_key: int | None) -> None:
    table, schema = table_of(example.events, example.bound.schema)
    batch = read_events(table, schema)
    try:
        compiled = prepare(example.bound)
        found = run_plan(compiled, batch, settings=Settings(most, of_one_key if example.bound.partition else None))
    except (NotSupportedError, CapacityError):
        reject()
    left, whole = (answers_of(example.bound, batch, some, None) for some in (found, run_plan(compiled, batch)))
    assert left == whole


STRICT = "PATTERN SEQ(A a, A+ b, B c) WHERE SAME[k] WITHIN 9 s POLICY strict"


@pytest.mark.parametrize("caps", [Settings(4), Settings(max_partial_matches_per_key=4)], ids=["all", "of one key"])
@pytest.mark.parametrize(("kinds", "n_matches"), [("AAAAB" * 9, 27), ("AAAAAAAAB", None)])
def test_under_strict_what_a_start_leaves_is_not_held(caps: Settings, kinds: str, n_matches: int | None) -> None:
    """Of four As in a row each has begun a partial match; those before the last B are over."""
    events = [OracleEvent(i, (i,), "e", kind, {"ts": i, "k": 1, "x": 0}) for i, kind in enumerate(kinds)]
    bound = bind(parse(STRICT), SCHEMA, catalog=CATALOG, text=STRICT)
    table, schema = table_of(events, bound.schema)
    with little_room(1):
        if n_matches is None:
            with pytest.raises(CapacityError, match=r"[5-9] partial matches (of one key )?are held at once"):
                run_plan(prepare(bound), read_events(table, schema), settings=caps)
        else:
            assert len(run_plan(prepare(bound), read_events(table, schema), settings=caps)) == n_matches


@pytest.mark.parametrize("pattern", ["SEQ(A a, B b) WINDOW 9 s SLIDE 3 s", "SEQ(A a, any B b) WITHIN 9 s"])
def test_no_policy_looks_at_pairs_where_events_are_forgotten(pattern: str) -> None:
    text = f"PATTERN {pattern}"
    events = [OracleEvent(i, (i,), "e", "A", {"ts": i, "k": 1, "x": 0}) for i in range(9)]
    bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
    table, schema = table_of(events, bound.schema)
    policy = DropsCells(frozenset(), Wanted(observe=True))
    with pytest.raises(NotSupportedError, match=r'pairs .* with on_cap="drop oldest"'):
        run_plan(
            prepare(bound, wanted=policy.wanted),
            read_events(table, schema),
            settings=Settings(2, on_cap="drop oldest"),
            policy=policy,
        )
