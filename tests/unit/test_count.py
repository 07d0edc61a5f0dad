"""`cepheid.count`: numbers of matches of every size, without making them."""

from __future__ import annotations

import math
from collections import Counter

import pandas as pd
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import CapacityError, ParameterError, QueryError


def table(types: str, keys: str | None = None) -> pa.Table:
    columns = {"ts": list(range(len(types))), "kind": list(types), "key": list(keys or "k" * len(types))}
    return pa.table(columns)


def counted(types: str, query: str, keys: str | None = None, **more: object) -> object:
    return cep.count(table(types, keys), query, time="ts", time_unit="s", type="kind", **more)  # type: ignore[arg-type]


def test_it_is_the_number_of_matches() -> None:
    types, keys = "ABACBCAABCBBC", "kklklkkllkkll"
    for query in (
        "PATTERN SEQ(A a, B b, C c) WITHIN 6 POLICY any",
        "PATTERN SEQ(A a, B+ b, NOT A x, C c) WHERE SAME[key] WITHIN 9 POLICY any",
        "PATTERN SEQ(A a, ANY(2, A x, B y, C z)) WITHIN 5 EVENTS POLICY any",
        "PATTERN SEQ(A a, B b) WINDOW 6 SLIDE 2 POLICY any",
        "PATTERN SEQ(A a, B b, C c) WITHIN 6 POLICY next",
        "PATTERN SEQ(A a, B b, NOT C c) WITHIN 6 POLICY any",
    ):
        found = cep.match(table(types, keys), query, time="ts", time_unit="s", type="kind")
        assert counted(types, query, keys) == len(found) > 0, query


def test_numbers_of_any_size_are_exact() -> None:
    n = 300
    subsets = "PATTERN SEQ(A a, B+ b, C c) POLICY any"
    assert counted("A" + "B" * n + "C", subsets) == 2**n - 1
    assert counted("A" * n, "PATTERN A{9} a POLICY any") == math.comb(n, 9)
    windows = counted("A" * n, "PATTERN A+ a WITHIN 100 EVENTS POLICY any")
    # Those that end with an event are the subsets of the events before it in its window.
    assert windows == sum(2 ** min(i, 99) for i in range(n))


def test_numbers_by_event() -> None:
    given = table("AABBAB").to_pandas()
    query = "PATTERN SEQ(A a, B b) WITHIN 10 POLICY any"
    told = cep.count(given, query, time="ts", time_unit="s", type="kind", by_event=True)
    assert isinstance(told, pd.DataFrame)
    assert told.to_dict("list") == {"row": [2, 3, 5], "n_matches": [2, 2, 3]}
    shuffled = given.iloc[::-1].reset_index(drop=True)
    told = cep.count(shuffled, query, time="ts", time_unit="s", type="kind", by_event=True)
    assert told.to_dict("list") == {"row": [3, 2, 0], "n_matches": [2, 2, 3]}


def test_numbers_by_event_where_the_matches_have_to_be_made_and_where_windows_slide() -> None:
    types = "ABACBCAABCBBC"
    for query in ("PATTERN SEQ(A a, B b) WITHIN 6 POLICY next", "PATTERN SEQ(A a, B b) WINDOW 6 SLIDE 2 POLICY any"):
        told = counted(types, query, by_event=True)
        found = cep.match(table(types), query, time="ts", time_unit="s", type="kind")
        assert dict(zip(*told.to_pydict().values(), strict=True)) == Counter(
            found["b"].combine_chunks().field("ts").to_pylist()
        )  # type: ignore[attr-defined]


def test_a_number_by_event_that_fits_no_column() -> None:
    query = "PATTERN SEQ(A a, B+ b, C c) WITHIN 62 EVENTS POLICY any"
    assert counted("A" + "B" * 60 + "C", query, by_event=True).to_pylist() == [{"row": 61, "n_matches": 2**60 - 1}]  # type: ignore[attr-defined]
    with pytest.raises(CapacityError, match=f"{2**70 - 1} matches end with one event"):
        counted("A" + "B" * 70 + "C", "PATTERN SEQ(A a, B+ b, C c) POLICY any", by_event=True)


def test_a_number_that_python_does_not_write() -> None:
    with pytest.raises(CapacityError, match="more than 10\\^4300 matches"):
        counted("A" + "B" * 20_000 + "C", "PATTERN SEQ(A a, B+ b, C c) POLICY any")


def test_a_set_of_queries() -> None:
    queries = cep.QuerySet(
        {
            "pairs": "PATTERN SEQ(A a, B b) WHERE a.key <> :key WITHIN 5 POLICY any",
            "outer": "PATTERN SEQ(* x, * y) FROM pairs WITHIN 10 POLICY any",
        }
    )
    told = cep.count(table("AABB"), queries, time="ts", time_unit="s", type="kind", parameters={"key": "l"})
    assert told == {"pairs": 4, "outer": 6}
    with pytest.raises(ParameterError, match=":none"):
        cep.count(table("AAB"), queries, time="ts", time_unit="s", type="kind", parameters={"key": "l", "none": 1})


def test_what_is_wrong_is_told_as_by_match() -> None:
    with pytest.raises(QueryError, match="no attribute"):
        counted("AB", "PATTERN SEQ(A a, B b) WHERE a.none = 1 WITHIN 5 POLICY any")
    events = pa.table({"ts": [1, None], "kind": ["A", "B"]})
    with pytest.warns(UserWarning, match="1 of 2 events were rejected"):
        cep.count(events, "A a POLICY any", time="ts", time_unit="s", type="kind")
    with pytest.warns(cep.errors.NoMatchWarning):
        counted("AB", "PATTERN A a WHERE a.ts > 5 AND a.ts < :p POLICY any", parameters={"p": 4})


def test_the_first_matches_are_those_of_all() -> None:
    types, keys = "ABACBCAABCBBC" * 3, "kklklkkllkkll" * 3
    for query in (
        "PATTERN SEQ(A a, B b, C c) WITHIN 12 POLICY any",
        "PATTERN SEQ(A a, B+ b, NOT A x, C c) WHERE SAME[key] WITHIN 20 EVENTS POLICY any",
        "PATTERN SEQ(A+ a, A b) WITHIN 8 POLICY any",
        "PATTERN SEQ(A a, B b) WINDOW 6 SLIDE 2 POLICY any",
        "PATTERN SEQ(A a, B b, C c) WITHIN 6 POLICY next",
    ):
        found = cep.match(table(types, keys), query, time="ts", time_unit="s", type="kind")
        for limit in (1, 5, len(found), len(found) + 1):
            begun = cep.match(table(types, keys), query, time="ts", time_unit="s", type="kind", limit=limit)
            assert begun.equals(found.slice(0, limit)), query
    told = cep.match(
        table(types), query, time="ts", time_unit="s", type="kind", limit=2, outputs=("matches", "rejected")
    )
    assert len(told.matches) == 2
    several = cep.match(table(types), cep.QuerySet({"q": query}), time="ts", time_unit="s", type="kind", limit=1)
    assert len(several["q"]) == 1
    with pytest.raises(cep.errors.SetupError, match="limit=0"):
        cep.match(table(types), query, time="ts", time_unit="s", type="kind", limit=0)


def test_the_first_of_more_matches_than_could_be_made() -> None:
    found = cep.match(
        table("A" + "B" * 200 + "C"), "SEQ(A a, B+ b, C c) POLICY any", time="ts", time_unit="s", type="kind", limit=3
    )
    assert [[e["ts"] for e in b] for b in found["b"].to_pylist()] == [
        list(range(1, 201)),
        list(range(1, 200)),
        [*range(1, 199), 200],
    ]
