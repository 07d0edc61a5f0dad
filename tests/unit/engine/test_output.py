import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import cepheid as cep
from cepheid.engine.matches import Matches
from cepheid.engine.output import assemble
from cepheid.engine.output_schema import output_schema
from cepheid.errors import QueryError
from cepheid.events.ingest import read_events, schema_of
from cepheid.events.merge import read_tables
from cepheid.events.types import INT, TEXT
from cepheid.language.bind import bind
from cepheid.language.bound import Catalog, Function
from cepheid.language.parser import parse

PARIS = pa.timestamp("ns", "Europe/Paris")
EVENTS = pa.table(
    {
        "ts": pa.array([5_000_001, 1_000_000, 2_000_000, 3_000_000, 4_000_000], PARIS),
        "kind": ["C", "A", "B", "B", "B"],
        "k": pa.array([7, 7, 7, 7, 7], pa.int16()),
        "x": pa.array([9, 1, 2, None, 4], pa.int32()),
        "f": [0.5, 1.5, float("nan"), -0.0, 2.5],
        "price": pa.array(
            [Decimal("1.10"), Decimal("2.20"), None, Decimal("-4.40"), Decimal("0.01")], pa.decimal128(9, 2)
        ),
        "name": pa.array(["c", "a", "b", "ä", "B"], pa.large_string()),
        "place": [{"city": "Oslo"}, {"city": "Rome"}, None, {"city": None}, {"city": "Bonn"}],
        "tags": [["p"], [], None, ["q", "r"], ["s"]],
    }
)


def made(bound, *matches, windows=None):
    """Matches from (variable, position) pairs."""
    names = list(bound.variables)
    entries = [sorted(match, key=lambda entry: entry[1]) for match in matches]
    flat = [entry for match in entries for entry in match]
    bounds = np.array(windows or [], np.int64).reshape(-1, 2)
    return Matches(
        offsets=np.cumsum([0, *map(len, entries)]),
        positions=np.array([p for _, p in flat], np.int64),
        variables=np.array([names.index(v) for v, _ in flat], np.int16),
        decided_us=np.zeros(len(matches), np.int64),
        window_start_us=bounds[:, 0] if windows else None,
        window_end_us=bounds[:, 1] if windows else None,
    )


def output(text, *matches, events=EVENTS, catalog=None, windows=None, **options):
    schema = schema_of(events, time="ts", type="kind")
    bound = bind(parse(text), schema, catalog=catalog, text=text)
    batch = read_events(events, schema)
    table = assemble(bound, batch, made(bound, *matches, windows=windows), **options)
    with_match_id = options.get("with_match_id")
    assert table.schema == output_schema(bound, events.schema, with_match_id=with_match_id)
    table.validate(full=True)
    return table


LOOP = "PATTERN SEQ(A a, B+ b, C c) WITHIN 1 h RETURN "
# Positions: A 0, B 1 2 3, C 4.
ALL = [("a", 0), ("b", 1), ("b", 2), ("b", 3), ("c", 4)]
SOME = [("a", 0), ("b", 2), ("c", 4)]


def test_attributes_come_out_as_they_came_in():
    table = output(
        LOOP + "a.ts AS ts, a.x AS x, c.price AS price, a.name AS name, c.place.city AS city, b.tags AS tags", ALL
    )
    assert [str(f.type) for f in table.schema] == [
        "timestamp[ns, tz=Europe/Paris]",
        "int32",
        "decimal128(9, 2)",
        "large_string",
        "string",
        "list<item: list<item: string>>",
    ]
    row = table.to_pylist()[0]
    assert row["ts"] == EVENTS["ts"][1].as_py()
    assert (row["x"], row["price"], row["name"], row["city"]) == (1, Decimal("1.10"), "a", "Oslo")
    assert row["tags"] == [None, ["q", "r"], ["s"]]


def test_lists_first_last_and_aggregates():
    table = output(
        LOOP + "b.x AS xs, first(b).x AS f, last(b).name AS l, count(b) AS n, count(b.x) AS nx, sum(b.x) AS s,"
        " avg(b.x) AS m, min(b.name) AS least, max(b.f) AS most, min(b.f) AS low, sum(b.price) AS p,"
        " avg(b.price) AS ap,"
        " max(b.price) AS mp, max(b.ts) AS last_b, sum(b.x * 10) + a.x AS t",
        ALL,
        SOME,
    )
    first, second = table.to_pylist()
    nan = first.pop("most")
    assert nan != nan
    assert first == {
        "xs": [2, None, 4],
        "f": 2,
        "l": "B",
        "n": 3,
        "nx": 2,
        "s": 6,
        "m": 3.0,
        "least": "B",
        "low": -0.0,
        "p": Decimal("-4.39"),
        "ap": -4.39 / 2,
        "mp": Decimal("0.01"),
        "last_b": EVENTS["ts"][4].as_py(),
        "t": 61,
    }
    assert second == {
        "xs": [None],
        "f": None,
        "l": "ä",
        "n": 1,
        "nx": 0,
        "s": None,
        "m": None,
        "least": "ä",
        "most": -0.0,
        "low": -0.0,
        "p": Decimal("-4.40"),
        "ap": -4.4,
        "mp": Decimal("-4.40"),
        "last_b": EVENTS["ts"][3].as_py(),
        "t": None,
    }
    assert str(table.schema.field("mp").type) == "decimal128(9, 2)"
    assert str(table.schema.field("last_b").type) == "timestamp[ns, tz=Europe/Paris]"


def test_default_output():
    text = "PATTERN SEQ(A a, B+ b, NOT A n, C) WHERE SAME[k, upper(name)] WITHIN 1 h"
    table = output(text, [("a", 0), ("b", 1), ("b", 3), ("#0", 4)])
    assert table.column_names == ["match_id", "first_time", "last_time", "k", "upper(name)", "a", "b"]
    row = table.to_pylist()[0]
    assert (row["first_time"], row["last_time"]) == (EVENTS["ts"][1].as_py(), EVENTS["ts"][0].as_py())
    assert table.schema.field("first_time").type == PARIS
    assert (row["k"], row["upper(name)"]) == (7, "A")
    assert row["a"] == EVENTS.slice(1, 1).to_pylist()[0]
    assert table["b"].combine_chunks().flatten().to_pylist()[1] == EVENTS.slice(4, 1).to_pylist()[0]
    assert table.schema.field("a").type == pa.struct(list(EVENTS.schema))


def test_what_a_match_does_not_bind_is_null():
    text = "PATTERN OR(SEQ(A a, B* b), SEQ(C c, B* d)) WITHIN 1 h"
    returns = " RETURN a.x AS x, b.x AS bs, d.x AS ds, count(b) AS nb, count(d) AS nd, sum(b.x) AS sb, c.x + 1 AS cx"
    rows = output(text + returns, [("a", 0)], [("a", 0), ("b", 1)], [("c", 4)]).to_pylist()
    assert rows[0] == {"x": 1, "bs": [], "ds": None, "nb": 0, "nd": None, "sb": None, "cx": None}
    assert rows[1] == {"x": 1, "bs": [2], "ds": None, "nb": 1, "nd": None, "sb": 2, "cx": None}
    assert rows[2] == {"x": None, "bs": None, "ds": [], "nb": None, "nd": 0, "sb": None, "cx": 10}
    table = output(text, [("a", 0)], [("c", 4)])
    assert [row["a"] is None for row in table.to_pylist()] == [False, True]
    assert [row["d"] for row in table.to_pylist()] == [None, []]


def test_no_matches():
    for text in (LOOP + "a.x AS x, b.name AS names, sum(b.x) AS s, max(b.f) AS m, upper(a.name) AS u", LOOP[:-8]):
        table = output(text)
        assert table.num_rows == 0


def test_no_events():
    table = output(LOOP + "b.x AS xs, count(b) AS n, sum(b.x) AS s, a.x + 1 AS y", events=EVENTS.slice(0, 0))
    assert table.num_rows == 0


def test_computed_columns():
    catalog = Catalog(
        functions={"tag": Function("tag", (TEXT, INT), TEXT, lambda t, n: None if n is None else f"{t}{n}")}
    )
    table = output(
        LOOP + "a.x + c.x AS s, a.price * c.price AS p, c.ts - a.ts AS gap, a.x < c.x AS less, 'k' AS lit,"
        " tag(a.name, last(b).x) AS t, coalesce(last(b).x, -1) AS z",
        ALL,
        SOME,
        catalog=catalog,
    )
    assert [str(f.type) for f in table.schema] == [
        "int64", "decimal128(19, 4)", "duration[us]", "bool", "string", "string", "int64"
    ]  # fmt: skip
    assert table.to_pylist() == [
        {
            "s": 10,
            "p": Decimal("2.4200"),
            "gap": dt.timedelta(microseconds=4000),
            "less": True,
            "lit": "k",
            "t": t,
            "z": z,
        }
        for t, z in (("a4", 4), (None, -1))
    ]


def test_windows():
    start, end = 0, 10_000_000
    text = "PATTERN SEQ(A a, C c) WINDOW 10 s SLIDE 5 s"
    table = output(text, [("a", 0), ("c", 4)], [("a", 0), ("c", 4)], windows=[(start, end), (start - 5, end - 5)])
    rows = table.to_pylist()
    assert rows[0]["window_start"] == dt.datetime.fromtimestamp(0, dt.UTC)
    assert rows[0]["window_end"] == dt.datetime.fromtimestamp(10, dt.UTC)
    assert rows[0]["match_id"] != rows[1]["match_id"]
    counted = output("PATTERN SEQ(A a, C c) WINDOW 10 EVENTS SLIDE 5 EVENTS", [("a", 0), ("c", 4)], windows=[(0, 10)])
    assert counted.to_pylist()[0]["window_end"] == 10


def test_times_of_a_column_of_numbers_are_utc():
    events = pa.table({"ts": [3, 1], "kind": ["B", "A"]})
    schema = schema_of(events, time="ts", time_unit="s", type="kind")
    bound = bind(parse("PATTERN SEQ(A a, B b) WITHIN 5"), schema)
    table = assemble(bound, read_events(events, schema), made(bound, [("a", 0), ("b", 1)]))
    assert str(table.schema.field("last_time").type) == "timestamp[us, tz=UTC]"
    assert table["last_time"].to_pylist() == [dt.datetime(1970, 1, 1, 0, 0, 3, tzinfo=dt.UTC)]
    assert table["a"].to_pylist() == [{"ts": 1, "kind": "A"}]


def test_match_id_is_of_query_variables_and_events():
    text = "PATTERN SEQ(A a, B+ b) WITHIN 1 h"
    ids = output(text, [("a", 0), ("b", 1)], [("a", 0), ("b", 2)], [("a", 0), ("b", 1), ("b", 2)])[
        "match_id"
    ].to_pylist()
    assert len(set(ids)) == 3
    assert all(len(i) == 32 and set(i) <= set("0123456789abcdef") for i in ids)
    assert output(text, [("a", 0), ("b", 2)])["match_id"].to_pylist() == ids[1:2]
    assert output("PATTERN SEQ( A a,B+ b) WITHIN 60 min", [("a", 0), ("b", 2)])["match_id"].to_pylist() != [ids[0]]
    assert output(text.replace("1 h", "2 h"), [("a", 0), ("b", 1)])["match_id"].to_pylist() != ids[:1]
    other = output(text, [("a", 0), ("b", 1)], source="other")["match_id"].to_pylist()
    assert other != ids[:1]
    returned = output(text + " RETURN a.x AS x", [("a", 0), ("b", 1)], with_match_id=True)
    assert returned.column_names == ["match_id", "x"]
    assert output(text, [("a", 0), ("b", 1)], with_match_id=False).column_names[0] == "first_time"


@pytest.mark.parametrize("order", [("n",), ("s",), ("f", "n"), ("s", "d")])
def test_match_id_does_not_depend_on_where_the_rows_lie(order):
    events = pa.table(
        {
            "ts": [1, 2, 3],
            "n": [10, 20, None],
            "s": ["a", None, "c"],
            "f": [0.5, float("nan"), None],
            "d": pa.array([Decimal(1), None, Decimal(2)], pa.decimal128(5, 1)),
        }
    )
    found = []
    for rows, positions in (([0, 1, 2], (0, 2)), ([2, 1, 0], (0, 2)), ([0, 2], (0, 1))):
        table = events.take(pa.array(rows))
        schema = schema_of(table, time="ts", time_unit="s", order=order)
        bound = bind(parse("PATTERN SEQ(* a, * b) WITHIN 5"), schema)
        matches = made(bound, [("a", positions[0]), ("b", positions[1])])
        found += assemble(bound, read_events(table, schema), matches)["match_id"].to_pylist()
    assert len(set(found)) == 1


def test_several_tables():
    merged, schema = read_tables(
        {"A": pa.table({"ts": [1], "x": [5]}), "B": pa.table({"ts": [2], "y": ["q"]})}, time="ts", time_unit="s"
    )
    bound = bind(parse("PATTERN SEQ(A a, B b) WITHIN 5"), schema)
    table = assemble(bound, read_events(merged, schema), made(bound, [("a", 0), ("b", 1)]))
    assert table["a"].to_pylist() == [{"ts": 1, "x": 5, "type": "A"}]
    assert table["b"].to_pylist() == [{"ts": 2, "y": "q", "type": "B"}]
    assert table.schema.field("a").type.field("type").type == pa.string()


def test_two_columns_of_one_name():
    with pytest.raises(QueryError, match="the output has two columns k"):
        output("PATTERN SEQ(A k, B b) WHERE SAME[k] WITHIN 1 h")
    with pytest.raises(QueryError, match="columns k and K, which Spark does not tell apart"):
        output("PATTERN SEQ(A K, B b) WHERE SAME[k] WITHIN 1 h")


def test_an_alternative_not_taken_in_one_iteration_is_empty_if_another_iteration_passed_it_over():
    table = pa.table({"kind": ["C", "C", "A"], "ts": [0, 1, 2]})
    query = "PATTERN SEQ(C a, ANY(1, A c, A d)*)+ POLICY any RETURN count(c) AS n"
    found = cep.match(table, query, time="ts", type="kind", time_unit="s")
    # a; a a; a; then with the A as c and as d after both, after the first alone, after the second alone.
    assert found["n"].to_pylist() == [0, 0, 0, 1, 0, 1, None, 1, None]
