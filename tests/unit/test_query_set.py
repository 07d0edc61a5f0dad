"""Sets of queries in this process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.errors import NotSupportedError, ParameterError, QueryError
from cepheid.local import run, run_set

START = datetime(2024, 1, 1, tzinfo=UTC)
N = 4000
RANDOM = np.random.default_rng(5)
EVENTS = pa.table(
    {
        "ts": [START + timedelta(seconds=int(second)) for second in np.sort(RANDOM.integers(0, N, N))],
        "kind": RANDOM.choice(list("ABCDEFGH"), N),
        "k": pa.array(RANDOM.integers(0, 5, N), mask=RANDOM.random(N) < 0.01),
        "x": pa.array(RANDOM.normal(0, 10, N), mask=RANDOM.random(N) < 0.02),
        "s": RANDOM.choice(["north", "south", "east"], N),
        "v": RANDOM.choice(["north", "west"], N),
    }
)
QUERIES = {
    "rise": "SEQ(A a, B b) WHERE SAME[k] AND b.x > a.x AND a.x > 5 WITHIN 1 min",
    "loop": "SEQ(A a, C+ c, D d) WHERE c.x > :least AND a.k IN (1, 2) AND d.x > 9 WITHIN 2 min POLICY any",
    "without": "SEQ(A a, NOT B b, C c) WHERE SAME[s] AND b.x > 12 AND a.x < -5 AND c.x > 10 WITHIN 5 min "
    "RETURN a.ts AS t, c.x AS x",
    "texts": "SEQ(A a, H h) WHERE a.s = h.v AND a.s = 'north' AND h.x > 8 AND a.x > 8 WITHIN 5 min",
    "any type": "SEQ(* a, * b) WHERE a.x > 25 AND b.x < -25 WITHIN 10 min",
    "never": "SEQ(A a, X b) WHERE a.x > 1e9",
    "of rises": "SEQ(rise p, rise q) WHERE SAME[k] AND q.b.x > p.b.x + 1 WITHIN 10 min FROM rise",
}
OPTIONS = {"time": "ts", "type": "kind", "parameters": {"least": 9}}


def alone(name: str) -> dict[str, object]:
    parameters = {"least": 9} if name == "loop" else {}
    queries = {"rise": QUERIES["rise"]} if name == "of rises" else {}
    return {**OPTIONS, "parameters": parameters, "queries": queries}


def test_each_query_gives_what_it_gives_alone():
    found = cep.match(EVENTS, cep.QuerySet(QUERIES), **OPTIONS)
    assert list(found) == list(QUERIES)
    for name, query in QUERIES.items():
        assert found[name].equals(cep.match(EVENTS, query, **alone(name)))
    assert all(len(found[name]) for name in QUERIES if name != "never")


def test_what_was_rejected_is_told_for_each():
    found = run_set(EVENTS, cep.QuerySet(QUERIES), **OPTIONS, reject_null_keys=True)
    for name, query in QUERIES.items():
        one = run(EVENTS, query, **alone(name), reject_null_keys=True)
        assert found[name].n_null_key == one.n_null_key
        assert found[name].rejected.equals(one.rejected)
    assert found["rise"].n_null_key > 0


def test_tables_come_back_as_the_kind_that_was_given():
    queries = cep.QuerySet({"one": "A a", "two": cep.build.query(cep.build.event("B", "b"))})
    for events, kind in ((EVENTS.to_pandas(), pd.DataFrame), (pl.from_arrow(EVENTS), pl.DataFrame)):
        found = cep.match(events, queries, time="ts", type="kind")
        assert [type(table) for table in found.values()] == [kind, kind]


def test_a_set_is_a_mapping():
    queries = cep.QuerySet(QUERIES)
    assert len(queries) == len(QUERIES)
    assert queries["rise"] == cep.Query.parse(QUERIES["rise"])
    assert "rise" in repr(queries)


def test_events_are_rejected_with_one_warning():
    events = pa.table({"ts": [1, None, 3], "x": [1, 2, 3]})
    with pytest.warns(UserWarning, match="1 of 3 events were rejected") as caught:
        cep.match(events, cep.QuerySet({"one": "* a", "two": "* b"}), time="ts", time_unit="s")
    assert len(caught) == 1


def test_the_query_at_fault_is_named():
    def error(texts: dict[str, str], kind: type[Exception], **more: object) -> str:
        with pytest.raises(kind) as caught:
            cep.match(EVENTS, cep.QuerySet(texts), **{**OPTIONS, "parameters": {}, **more})
        return str(caught.value)

    assert error({"good": "A a", "bad": "A a WHERE a.z > 1"}, QueryError).startswith("bad:1:11:")
    assert error({"bad": "SEQ(A a"}, QueryError).startswith("bad:1:")
    assert "empty" in error({}, QueryError)
    assert "no name" in error({"": "A a"}, QueryError)
    assert error({"good": "A a", "bad": "A a WHERE a.x > :v"}, ParameterError).startswith("bad:")
    assert "no query of the set" in error({"good": "A a", "other": "B b"}, ParameterError, parameters={"w": 1})
    assert "two queries" in error({"good": "A a"}, QueryError, queries={"good": "B b"})
    later = "SEQ(A a, B b) WITHIN 5 min AFTER MATCH SKIP PAST LAST RETURN prev(a).x AS x"
    try:
        cep.match(EVENTS, later, time="ts", type="kind")
    except NotSupportedError:
        assert error({"later": later}, NotSupportedError).startswith("later")
    except QueryError:
        assert error({"later": later}, QueryError).startswith("later")


def test_shared_values_for_parameters_are_checked_for_each():
    queries = cep.QuerySet({"one": "A a WHERE a.x > :v", "two": "B b WHERE b.k > :v"})
    found = cep.match(EVENTS, queries, time="ts", type="kind", parameters={"v": 3})
    assert len(found["two"]) == len(cep.match(EVENTS, "B b WHERE b.k > 3", time="ts", type="kind"))
    with pytest.raises(ParameterError, match="two:"):
        cep.match(EVENTS, queries, time="ts", type="kind", parameters={"v": 3.5})
