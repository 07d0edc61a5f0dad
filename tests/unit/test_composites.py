"""FROM: the matches of a query as the events of another, in this process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.composite import events_for
from cepheid.errors import ParameterError, QueryError
from cepheid.events.ingest import read_events, schema_of
from cepheid.language.parameters import with_parameters

START = datetime(2024, 1, 1, tzinfo=UTC)
PAIR = "SEQ(A a, B b) WHERE SAME[k] WITHIN 10 s"


def table(kinds: str, **columns: list[object]) -> pa.Table:
    n = len(kinds)
    times = [START + timedelta(seconds=second) for second in range(n)]
    return pa.table({"ts": times, "kind": list(kinds), "x": list(range(n)), **columns})


EVENTS = table("ABABABAB", k=[1, 1, 2, 2, 1, 1, 2, None])


def found(query: str, events: pa.Table = EVENTS, **options: object) -> list[dict[str, object]]:
    return cep.match(events, query, time="ts", type="kind", **options).to_pylist()  # type: ignore[arg-type]


def test_returned_columns_are_the_attributes():
    rows = found(
        "SEQ(pair p, pair q) WHERE SAME[k] AND q.y > p.y FROM pair RETURN p.y AS y, q.y AS z, q.last_time AS t",
        queries={"pair": f"{PAIR} RETURN a.k AS k, b.x AS y"},
    )
    assert rows == [{"y": 1, "z": 5, "t": START + timedelta(seconds=5)}]


def test_default_output_has_whole_events():
    rows = found(
        "SEQ(pair p, pair q) WHERE q.a.x > p.b.x AND p.k = q.k FROM pair RETURN p, q.a.x AS x".replace(
            "RETURN p, ", "RETURN p.a AS a, "
        ),
        queries={"pair": PAIR},
    )
    assert [(row["a"]["x"], row["x"]) for row in rows] == [(0, 4)]  # type: ignore[index]


def test_composites_agree_with_two_runs():
    inner = cep.match(EVENTS, f"{PAIR} RETURN a.k AS k, b.x AS y, b.ts AS at", time="ts", type="kind")
    twice = cep.match(inner, "SEQ(* p, * q) RETURN p.y AS p, q.y AS q", time="at")
    once = cep.match(
        EVENTS,
        "SEQ(* p, pair q) FROM pair RETURN p.y AS p, q.y AS q",
        time="ts",
        type="kind",
        queries={"pair": f"{PAIR} RETURN a.k AS k, b.x AS y"},
    )
    assert once == twice
    assert len(once) == 2


def test_stacked_queries_and_parameters():
    rows = found(
        "SEQ(two p) WHERE p.late > :late FROM two",
        queries={
            "pair": "SEQ(A a, B b) WHERE SAME[k] AND a.x >= :least RETURN b.x AS y",
            "two": "SEQ(pair p, pair q) FROM pair RETURN q.y AS late",
        },
        parameters={"least": 1, "late": 0},
    )
    assert [row["p"]["late"] for row in rows] == [5]  # type: ignore[index]


def test_the_schema_is_that_of_the_output():
    for text in (PAIR, f"{PAIR} RETURN a.k AS k, b.ts AS t, count(b) AS n", "SEQ(A a, B+ b, X? c) WHERE SAME[k]"):
        schema = schema_of(EVENTS, time="ts", type="kind")
        bound = cep.Query.parse("q x FROM q").bind(schema, cep.Catalog(queries={"q": cep.Query.parse(text)}))
        batch = events_for(with_parameters(bound, {}), read_events(EVENTS, schema))
        assert dict(bound.schema.fields) == dict(schema_of(batch.table, time="last_time").fields)


def test_a_match_has_the_same_id_with_more_events_before():
    query, queries = "SEQ(pair p, pair q) FROM pair", {"pair": PAIR}
    keyed = EVENTS.append_column("n", pa.array(range(10, 18)))
    more = pa.concat_tables([table("ABXX", k=[9, 9, 9, 9], n=[1, 2, 3, 4]).slice(0, 2), keyed.slice(2)])
    ids = [
        {row["match_id"] for row in cep.match(t, query, time="ts", type="kind", order="n", queries=queries).to_pylist()}
        for t in (keyed.slice(2), more)
    ]
    assert ids[0]
    assert ids[0] < ids[1]


def test_no_matches_are_no_events():
    assert found("SEQ(pair p, pair q) FROM pair", queries={"pair": "SEQ(X a, X b)"}) == []


def test_events_in_no_partition_are_counted_on_each_level():
    result = cep.local.run(  # type: ignore[attr-defined]
        EVENTS,
        "SEQ(pair p, pair q) WHERE SAME[y] FROM pair",
        time="ts",
        type="kind",
        queries={"pair": "SEQ(A a, B b) RETURN b.k AS y"},
        reject_null_keys=True,
    )
    assert result.n_null_key == 1
    assert len(result.rejected) == 0


@pytest.mark.parametrize(
    ("query", "queries", "message"),
    [
        ("p x FROM p", {}, "there is no query p"),
        ("pair x FROM pari", {"pair": PAIR}, "did you mean pair"),
        ("a x FROM a", {"a": "b x FROM b", "b": "a x FROM a"}, "would be its own matches"),
        ("p x FROM p", {"p": "A a RETURN a.x AS last_time"}, "two attributes last_time"),
        ("A x FROM p", {"p": PAIR}, "no event has the type A"),
        ("p x WHERE x.z > 1 FROM p", {"p": PAIR}, "no attribute z"),
        ("p x WHERE x.x > :v FROM p", {"p": "A a WHERE a.kind = :v RETURN a.x AS x"}, ":v is of type int here"),
    ],
)
def test_errors(query: str, queries: dict[str, str], message: str):
    with pytest.raises(QueryError) as caught:
        found(query, queries=queries)
    assert message in str(caught.value)


def test_an_error_in_the_inner_query_shows_its_text():
    with pytest.raises(QueryError) as caught:
        found("p x FROM p", queries={"p": "A a WHERE a.amout > 1"})
    assert "A a WHERE a.amout > 1" in str(caught.value)


def test_a_parameter_of_the_inner_query_is_missing():
    with pytest.raises(ParameterError):
        found("p x FROM p", queries={"p": "A a WHERE a.x > :v"})
