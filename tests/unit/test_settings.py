"""`cepheid.Settings`: how many partial matches may be held, and what happens when there would be more."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CapacityError, NotSupportedError, QueryError, SetupError

COLUMNS = {"time": "ts", "type": "kind", "time_unit": "s"}
QUERY = "PATTERN SEQ(A a, B b) WHERE SAME[k] WITHIN 100 POLICY any RETURN a.ts AS ts, a.k AS k"


def events(n: int, n_keys: int = 1, kinds: str = "AB") -> Any:
    """n events of the first kind, one a second, and one of the second for each key after them."""
    ts = [*range(n), *[n] * n_keys]
    keys = [*(i % n_keys for i in range(n)), *range(n_keys)]
    return pa.table({"ts": ts, "kind": [kinds[0]] * n + [kinds[1]] * n_keys, "k": keys})


def dropping(**caps: int) -> cep.Settings:
    return cep.Settings(on_cap="drop oldest", **caps)


def test_what_is_within_the_cap_is_as_without_one():
    table = events(50)
    whole = cep.match(table, QUERY, **COLUMNS)
    assert len(whole) == 50
    assert cep.match(table, QUERY, **COLUMNS, settings=cep.Settings(max_partial_matches=50)).equals(whole)
    assert cep.match(table, QUERY, **COLUMNS, settings=dropping(max_partial_matches=50)).equals(whole)


def test_above_the_cap_is_an_error_that_says_what_to_do():
    with pytest.raises(CapacityError) as raised:
        cep.match(events(50), QUERY, **COLUMNS, settings=cep.Settings(max_partial_matches=10))
    said = str(raised.value)
    assert "16 partial matches are held at once, and max_partial_matches=10" in said
    assert "PATTERN SEQ(A a, B b)" in said
    assert "raise the cap (cep.Settings)" in said
    assert 'on_cap="drop oldest"' in said


def test_dropping_is_advised_only_where_it_can_be():
    query = "PATTERN SEQ(A a, B b) WITHIN 100 POLICY any AFTER MATCH SKIP TO NEXT RETURN a.ts AS ts"
    with pytest.raises(CapacityError, match="partial matches are held at once") as raised:
        cep.match(events(50), query, **COLUMNS, settings=cep.Settings(max_partial_matches=10))
    assert "drop oldest" not in str(raised.value)


def test_partial_matches_that_are_over_do_not_count():
    table = pa.table({"ts": np.arange(1000) * 10, "kind": ["A", "B"] * 500, "k": np.zeros(1000, np.int64)})
    assert len(cep.match(table, QUERY, **COLUMNS, settings=cep.Settings(max_partial_matches=11))) > 500


def test_the_oldest_are_dropped_and_told():
    with pytest.warns(UserWarning, match=r"\d+ partial matches were dropped"):
        found = cep.match(events(50), QUERY, **COLUMNS, settings=dropping(max_partial_matches=10))
    kept = found["ts"].to_pylist()
    assert kept == list(range(50 - len(kept), 50))
    assert 7 <= len(kept) <= 16


def test_what_began_at_one_time_goes_together_or_not_at_all():
    table = pa.table({"ts": [0] * 50 + [1], "kind": ["A"] * 50 + ["B"], "k": [0] * 51})
    with pytest.raises(CapacityError, match="all began at one time"):
        cep.match(table, QUERY, **COLUMNS, settings=dropping(max_partial_matches=10))


def test_a_cap_for_each_key():
    table = pa.concat_tables([events(40, 4), pa.table({"ts": [41], "kind": ["B"], "k": [9]})])
    settings = cep.Settings(max_partial_matches_per_key=10)
    assert len(cep.match(table, QUERY, **COLUMNS, settings=settings)) == 40
    settings = cep.Settings(max_partial_matches_per_key=9)
    with pytest.raises(CapacityError, match=r"10 partial matches of one key are held at once.*per_key=9"):
        cep.match(table, QUERY, **COLUMNS, settings=settings)


def test_the_oldest_of_one_key_are_dropped_and_those_of_others_stay():
    hot = pa.table({"ts": np.arange(60), "kind": ["A"] * 60, "k": [7] * 60})
    cold = pa.table({"ts": [0, 1], "kind": ["A", "A"], "k": [1, 2]})
    ends = pa.table({"ts": [70] * 3, "kind": ["B"] * 3, "k": [7, 1, 2]})
    with pytest.warns(UserWarning, match="were dropped"):
        found = cep.match(
            pa.concat_tables([cold, hot, ends]), QUERY, **COLUMNS, settings=dropping(max_partial_matches_per_key=8)
        )
    by_key = {key: [row["ts"] for row in found.to_pylist() if row["k"] == key] for key in (1, 2, 7)}
    assert (by_key[1], by_key[2]) == ([0], [1])
    assert by_key[7] == list(range(60 - len(by_key[7]), 60))
    assert len(by_key[7]) <= 16


def test_a_stream_counts_what_it_dropped():
    matcher = cep.Matcher(QUERY, **COLUMNS, settings=dropping(max_partial_matches=10))
    table = events(50)
    for start in range(0, 50, 5):
        matcher.push(table.slice(start, 5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            matcher.advance(start + 4)
    gauge = matcher.gauge()
    assert gauge.n_partial_matches + gauge.n_dropped == 50
    assert gauge.n_partial_matches <= 16
    matcher.push(table.slice(50))
    kept = matcher.close()["ts"].to_pylist()
    assert kept == list(range(50 - gauge.n_partial_matches, 50))


def test_a_stream_stops_at_the_cap():
    matcher = cep.Matcher(QUERY, **COLUMNS, settings=cep.Settings(max_partial_matches=10))
    matcher.push(events(50))
    with pytest.raises(CapacityError):
        matcher.close()


def test_what_is_behind_from_has_the_cap_too():
    outer = "PATTERN SEQ(pair p, pair q) FROM pair WITHIN 5 s RETURN p.ts AS ts"
    with pytest.raises(CapacityError):
        cep.match(events(50), outer, **COLUMNS, queries={"pair": QUERY}, settings=cep.Settings(max_partial_matches=10))


@pytest.mark.parametrize("wrong", [None, {"max_partial_matches": 5}])
def test_what_is_no_settings(wrong):
    with pytest.raises(SetupError, match=r"is not a cep\.Settings"):
        cep.match(events(1), QUERY, **COLUMNS, settings=wrong)
    with pytest.raises(SetupError, match=r"is not a cep\.Settings"):
        cep.Matcher(QUERY, **COLUMNS, settings=wrong)


def test_settings_that_are_none():
    for wrong in ({"max_partial_matches": 0}, {"max_partial_matches": True}, {"max_partial_matches_per_key": -1}):
        with pytest.raises(SetupError, match="is not a number of partial matches"):
            cep.Settings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="is not a policy"):
        cep.Settings(on_cap="drop")  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="no SAME"):
        cep.match(events(1), "SEQ(A a, B b)", **COLUMNS, settings=cep.Settings(max_partial_matches_per_key=5))
    with pytest.raises(NotSupportedError, match="drop oldest"):
        cep.match(events(1), "SEQ(A a, B b) POLICY strict", **COLUMNS, settings=dropping())


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SEQ(A a, B b) WINDOW 6 EVENTS SLIDE 2 EVENTS", "its windows count the events that would be forgotten"),
        ("SEQ(A a, B b) WINDOW 6 SLIDE 2 ONE MATCH PER WINDOW", "with ONE MATCH PER WINDOW a match that is lost"),
        ("SEQ(A a, B b) WITHIN 5 AFTER MATCH SKIP PAST LAST", "with AFTER MATCH SKIP PAST LAST a match that is lost"),
        ("SEQ(NOT SEQ(B b, B c), A a, B d) WITHIN 5", "a NOT stands before the first event"),
    ],
)
def test_where_none_can_be_dropped_the_error_says_why(query: str, reason: str):
    with pytest.raises(NotSupportedError, match=f'on_cap="drop oldest" with this query: {reason}'):
        cep.match(events(1), query, **COLUMNS, settings=dropping())


def test_the_origin_of_the_query_stands_in_the_errors():
    in_time, by_count = (cep.Query.parse(text, "rule.cep") for text in (QUERY, "SEQ(A a, B b) POLICY strict"))
    with pytest.raises(CapacityError, match=r"^rule\.cep:1:"):
        cep.match(events(50), in_time, **COLUMNS, settings=cep.Settings(max_partial_matches=10))
    with pytest.raises(NotSupportedError, match=r"^rule\.cep:1:"):
        cep.match(events(1), by_count, **COLUMNS, settings=dropping())
    with pytest.raises(QueryError, match=r"^rule\.cep:1:.*no SAME"):
        cep.match(events(1), by_count, **COLUMNS, settings=cep.Settings(max_partial_matches_per_key=5))
