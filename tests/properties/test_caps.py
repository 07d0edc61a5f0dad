"""A cap on partial matches: what is found in spite of dropped ones is a match, and nothing is lost below the cap."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import cepheid
from cepheid.engine.session import Work, prepare, run_plan
from cepheid.engine.settings import OnCap, Settings
from cepheid.errors import CapacityError, NotSupportedError
from cepheid.events.ingest import read_events
from cepheid.language.bind import bind
from cepheid.language.parser import parse
from cepheid.plan.evaluation import EAGER, LAZY, asked_for
from cepheid.ports.pairs import Wanted
from cepheid.testing.harness import answers_of, little_room, table_of
from cepheid.testing.oracle_events import OracleEvent
from cepheid.testing.strategies import CATALOG, SCHEMA, Example, Features, examples
from tests.properties.stub_policies import DropsCells

OUTPUTS = ("matches", "rejected")
MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Of most examples so many starts share a time that nothing can be dropped, or the plan cannot.
FEW = settings(MANY, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def test_what_is_found_is_a_match() -> None:
    n_compared = n_dropped = 0

    @FEW
    @given(examples(Features.ENGINE, shuffled=True), st.integers(1, 3), st.sampled_from((EAGER, LAZY)))
    def compare(example: Example, most: int, evaluation: str) -> None:
        nonlocal n_compared, n_dropped
        table, schema = table_of(example.events, example.bound.schema)
        batch = read_events(table, schema)
        work = Work()
        try:
            compiled = prepare(example.bound, evaluation=asked_for(example.bound, evaluation))
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
@given(
    examples(Features.ENGINE, shuffled=True),
    st.integers(1, 6),
    st.sampled_from((None, 1, 2, 4)),
    st.sampled_from((EAGER, LAZY)),
)
def test_an_error_or_all_matches(example: Example, most: int, of_one_key: int | None, evaluation: str) -> None:
    table, schema = table_of(example.events, example.bound.schema)
    batch = read_events(table, schema)
    try:
        compiled = prepare(example.bound, evaluation=asked_for(example.bound, evaluation))
        found = run_plan(compiled, batch, settings=Settings(most, of_one_key if example.bound.partition else None))
    except (NotSupportedError, CapacityError):
        reject()
    left, whole = (answers_of(example.bound, batch, some, None) for some in (found, run_plan(compiled, batch)))
    assert left == whole


@pytest.mark.parametrize("on_cap", ["error", "drop oldest"])
@pytest.mark.parametrize("caps", [{"max_partial_matches": 4}, {"max_partial_matches_per_key": 4}], ids=["all", "key"])
def test_what_is_joined_may_take_more_room_than_is_held(caps: dict[str, int], on_cap: OnCap) -> None:
    """Nothing is held before the B, and then a partial match for each A of a long loop."""
    text = "PATTERN SEQ(A+ a, B b) WHERE SAME[k] AND a.x = prev(a).x + 1 WITHIN 99 s POLICY any"
    events = [OracleEvent(i, (i,), "e", "AB"[i == 20], {"ts": i, "k": 1, "x": i}) for i in range(21)]
    bound = bind(parse(text), SCHEMA, catalog=CATALOG, text=text)
    table, schema = table_of(events, bound.schema)
    compiled = prepare(bound, evaluation=asked_for(bound, LAZY))
    found = run_plan(compiled, read_events(table, schema), settings=Settings(**caps, on_cap=on_cap))
    assert len(found) == 20 * 21 // 2


@pytest.mark.parametrize("pattern", ["SEQ(A a, any B b) WITHIN 9 s", "A a WITHIN 9 s BETWEEN EACH 3 EVENTS"])
def test_tables_may_be_in_any_order_where_partial_matches_may_be_dropped(pattern: str) -> None:
    times, kinds = (5, None, 1, 4, 8, 9), "BBABAC"
    table = pa.table({"ts": pa.array(times, pa.int64()), "kind": list(kinds)})
    told = [
        cepheid.match(table, pattern, time="ts", type="kind", time_unit="s", settings=settings, outputs=OUTPUTS)
        for settings in (Settings(), Settings(on_cap="drop oldest"))
    ]
    assert len(told[0].matches) == 2
    assert told[0].matches.equals(told[1].matches)
    assert told[0].rejected.equals(told[1].rejected)


def test_windows_that_slide_have_bounds_though_there_is_no_match() -> None:
    table = pa.table({"ts": [1], "kind": ["C"]})
    columns = {"time": "ts", "type": "kind", "time_unit": "s"}
    query = "SEQ(B a, C b) WINDOW 5 SLIDE 2"
    found = cepheid.match(table, query, **columns, settings=Settings(on_cap="drop oldest"))
    assert found.equals(cepheid.match(table, query, **columns))


def test_without_a_window_nothing_times_out_and_partial_matches_may_be_dropped() -> None:
    table = pa.table({"ts": [1, 2, 4, 5, 7], "kind": list("CCACA")})
    asked = {"time": "ts", "type": "kind", "time_unit": "s", "settings": Settings(1, on_cap="drop oldest")}
    query = "SEQ(C a, NOT (B b; B f), A e) POLICY any"
    with pytest.warns(UserWarning, match="dropped"):
        found = cepheid.match(table, query, outputs=("matches", "timed_out"), **asked)
    with pytest.warns(UserWarning, match="dropped"):
        assert found.matches.equals(cepheid.match(table, query, **asked))
    assert len(found.timed_out) == 0


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
